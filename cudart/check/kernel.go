package check

import (
	"fmt"
	"sync"

	"github.com/gpuactor/gpuactor/cudart"
)

// kernels are findings about kernels, which come from inside the runtime's calls, with
// and without the checker's lock, and are told when that is next let go of.
type kernels struct {
	mu    sync.Mutex
	found []cudart.Misdeclared
}

func (k *kernels) add(m cudart.Misdeclared) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.found = append(k.found, m)
}

// take puts what has come into words, under the checker's lock.
func (k *kernels) take(c *Checker) (all []*Report) {
	k.mu.Lock()
	found := k.found
	k.found = nil
	k.mu.Unlock()
	for _, m := range found {
		first := Command{Op: cudart.OpLaunch.String(), Name: m.Kernel, Does: fmt.Sprintf("argument %d is declared %v, and it %s", m.Arg, m.Access, m.Text)}
		if s := c.streams[m.Stream]; s != nil {
			first.Stream, first.On = s.s.Name, s.s.Context().Name
		}
		all = append(all, &Report{Kind: BadKernel, First: first, Fix: fmt.Sprintf("declare argument %d as inout where the kernel is declared, or have the kernel do what is declared", m.Arg)})
	}
	return all
}
