package main

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
)

// event is a piece of work of a stream, in ns.
type event struct {
	Stream string `json:"stream"`
	Name   string `json:"name"`
	Start  int64  `json:"start_ns"`
	End    int64  `json:"end_ns"`
}

// report is what a run showed. It is complete where nothing went wrong.
type report struct {
	Runtime  string      `json:"runtime"`
	Devices  []string    `json:"devices"`
	Clock    clockReport `json:"clock"`
	Events   []event     `json:"events"` // by stream and time; the first of all begins at 0
	Edges    []edge      `json:"edges"`  // one for each wait that the library added
	Problems []string    `json:"problems"`

	copyError, deviceError int64 // ns
	oneGPU                 bool  // which the devices are contexts of
}

// clockReport is on which clock the events are, and how well the times of two
// devices, or of a kernel and the copy, compare.
type clockReport struct {
	Source string `json:"source"`
	Step   int64  `json:"step_ns"`
	Error  int64  `json:"error_ns"`
}

// report puts the actors' times on one clock, and judges what was seen.
func (sc *scenario) report() *report {
	r := &report{Runtime: sc.sys.Runtime().Name(), Edges: sc.trace.edges(), Events: []event{}, Problems: []string{}}
	for _, d := range sc.sys.Devices() {
		r.Devices = append(r.Devices, d.Name())
	}
	r.oneGPU = sc.sys.Device(0).Info().Ordinal == sc.sys.Device(1).Info().Ordinal
	gpu1, gpu2 := sc.clocks[gpu1s1], sc.clocks[gpu2s1]
	shift, err := together(gpu2.host.minus(gpu1.host))
	r.deviceError, r.copyError = err, gpu2.events.errorAt(gpu2.events.middle())
	r.Clock = clockReport{"%globaltimer", max(gpu1.step, gpu2.step), 0}
	if r.Runtime == "sim" {
		r.Clock.Source = "the host's"
	}
	r.Clock.Error = r.deviceError + r.copyError + r.Clock.Step
	for _, s := range streams {
		for _, e := range sc.ran[s] {
			if s == gpu2s1 || s == gpu2s2 {
				e.Start, e.End = e.Start-shift, e.End-shift
			}
			r.Events = append(r.Events, e)
		}
	}
	fromZero(r.Events)
	r.Problems = append(r.Problems, problems(r.Events, r.Edges, sc.trace.streams(), r.Clock.Error)...)
	if sc.wrong != nil {
		r.Problems = append(r.Problems, sc.wrong.Error())
	}
	return r
}

// failed is the report of a run that saw nothing, for the reason that is given.
func failed(why string) *report {
	return &report{Devices: []string{}, Events: []event{}, Edges: []edge{}, Problems: []string{why}}
}

// write prints the report. Of a run that failed there is no timeline; an object there
// always is.
func (r *report) write(stdout io.Writer, asJSON bool) error {
	switch {
	case asJSON:
		return r.writeJSON(stdout)
	case len(r.Events) == 0:
		return nil
	}
	return r.writeTimeline(stdout, widthOf(stdout))
}

// fromZero has the first of all events begin at 0.
func fromZero(events []event) {
	if len(events) == 0 {
		return
	}
	first := slices.MinFunc(events, func(a, b event) int { return cmp.Compare(a.Start, b.Start) }).Start
	for i := range events {
		events[i].Start -= first
		events[i].End -= first
	}
}

func (r *report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(r)
}
