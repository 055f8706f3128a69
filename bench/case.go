package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Round is one way to do a case: it does it once, checks what came out, and returns
// the value in the round's unit.
type Round struct {
	Case, Side, Unit string
	run              func(*Rig) (float64, error)
}

// Units of values.
const (
	Nanoseconds = "ns"
	Millions    = "M/s"  // launches or messages
	Gigabytes   = "GB/s" // 10⁹ bytes
	Percent     = "%"    // of one core
	Count       = "calls"
	Kilobytes   = "KiB"
	Allocations = "allocs"
)

// Result is a round's line of JSON, as every side prints it, in whatever language.
type Result struct {
	Case  string  `json:"case"`
	Side  string  `json:"side"`
	Unit  string  `json:"unit,omitempty"`
	Value float64 `json:"value"`
	Error string  `json:"error,omitempty"`
}

var errNoRound = errors.New("no such case or side")

// Rounds are all that this side can do.
func Rounds() []Round {
	var all []Round
	for _, part := range [][]Round{pipelineRounds(), handoffRounds(), launchRounds(), copyRounds(), sliceRounds(), messageRounds(), crowdRounds(), allocRounds(), mainJobRounds()} {
		all = append(all, part...)
	}
	return all
}

// Run runs one round.
func (r *Rig) Run(name, side string) Result {
	res := Result{Case: name, Side: side}
	for _, c := range Rounds() {
		if c.Case != name || c.Side != side {
			continue
		}
		v, err := c.run(r)
		if err != nil {
			res.Error = err.Error()
		} else {
			res.Unit, res.Value = c.Unit, v
		}
		return res
	}
	res.Error = errNoRound.Error()
	return res
}

// Serve runs a round for each line of in, "CASE SIDE", and writes its result as a
// line to out. Between rounds it blocks in the read; no thread of the rig spins.
func (r *Rig) Serve(in io.Reader, out io.Writer) error {
	enc := json.NewEncoder(out)
	for {
		var name, side string
		switch n, err := fmt.Fscanln(in, &name, &side); {
		case errors.Is(err, io.EOF) && n == 0:
			return nil
		case err != nil:
			return fmt.Errorf("bench: a request that is not \"CASE SIDE\": %w", err)
		}
		if err := enc.Encode(r.Run(strings.TrimSpace(name), side)); err != nil {
			return err
		}
	}
}
