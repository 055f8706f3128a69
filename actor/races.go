package actor

import (
	"fmt"
	"os"
	"sync/atomic"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check"
	"github.com/gpuactor/gpuactor/device"
)

// racesLogged is how many reports of races a system logs.
const racesLogged = 100

// looksForRaces reports whether the options, or else the environment, ask for a checker.
func (c *config) looksForRaces() (bool, error) {
	switch v := os.Getenv(check.Env); {
	case c.races:
		return true, nil
	case v == "":
		return false, nil
	case v != check.Value:
		return false, fmt.Errorf("actor: %s=%q: it is unset, or %s", check.Env, v, check.Value)
	}
	_, already := c.runtime.(*check.Checker)
	return !already, nil
}

// checked is rt with a checker around it that logs what it finds and tells the program.
func (c *config) checked(rt cudart.Runtime) cudart.Runtime {
	var found atomic.Int64
	return check.New(rt, check.Options{Site: device.Site, Report: func(r *check.Report) {
		switch n := found.Add(1); {
		case n < racesLogged:
			c.log.Error("the order is wrong", "kind", string(r.Kind), "report", r.String())
		case n == racesLogged:
			c.log.Error("the order is wrong; nothing more of this kind is logged", "kind", string(r.Kind), "report", r.String())
		}
		if c.report != nil {
			c.report(r)
		}
	}})
}
