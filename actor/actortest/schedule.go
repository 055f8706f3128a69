package actortest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpuactor/gpuactor/cudart/sim"
)

// Schedule is what was chosen in a run, where that was not what the calmest order
// would do: about actors, and about the device. It can be printed, read again, and
// given to [Config.Replay].
type Schedule struct {
	set    bool // though nothing is forced
	forced []forced
	device sim.Schedule
}

// forced is the value of the nth choice.
type forced struct{ nth, value int }

// Empty reports whether it is the zero Schedule, which leaves everything to the seed.
func (s Schedule) Empty() bool { return !s.set }

// Len is how many choices it forces.
func (s Schedule) Len() int { return len(s.forced) + s.device.Len() }

// pick takes what is forced, or what is nearest to it.
func (s Schedule) pick(_ *conductor, _ question, nth, n int) int {
	i, found := slices.BinarySearchFunc(s.forced, nth, func(f forced, nth int) int { return cmp.Compare(f.nth, nth) })
	if !found {
		return 0
	}
	return min(s.forced[i].value, n-1)
}

// String is short: "7=2 | 3.0=2" is that the seventh choice about actors was 2, and
// what [sim.Schedule] says of the device.
func (s Schedule) String() string { return strings.Join(s.actors(), " ") + " | " + s.device.String() }

func (s Schedule) actors() []string {
	words := make([]string, len(s.forced))
	for i, f := range s.forced {
		words[i] = fmt.Sprintf("%d=%d", f.nth, f.value)
	}
	return words
}

// ParseSchedule reads what [Schedule.String] printed; "" is the zero Schedule.
func ParseSchedule(text string) (s Schedule, err error) {
	if text == "" {
		return s, nil
	}
	actors, device, ok := strings.Cut(text, "|")
	if !ok {
		return s, fmt.Errorf("actortest: no schedule: %q has no |", text)
	}
	s.set = true
	for _, w := range strings.Fields(actors) {
		nth, value, ok := strings.Cut(w, "=")
		a, err := strconv.Atoi(nth)
		b, err2 := strconv.Atoi(value)
		if !ok || err != nil || err2 != nil || b < 0 || len(s.forced) > 0 && s.forced[len(s.forced)-1].nth >= a {
			return Schedule{}, fmt.Errorf("actortest: no schedule: %q", w)
		}
		s.forced = append(s.forced, forced{a, b})
	}
	s.device, err = sim.ParseSchedule(device)
	return s, err
}
