package device

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpuactor/gpuactor/cudart"
)

// ErrBudget says that the budget is used up for now: waiting for releases helps.
var ErrBudget = errors.New("device: the memory budget is used up")

// BudgetError is a request for more than the whole budget. It is an
// ErrOutOfMemory: no waiting helps.
type BudgetError struct{ Asked, Budget uint64 } // bytes

// Error says how much was asked of how much, and where the budget is set.
func (e *BudgetError) Error() string {
	asked, budget := size(e.Asked).String(), size(e.Budget).String()
	if asked == budget { // as they are rounded
		asked, budget = fmt.Sprintf("%d bytes", e.Asked), fmt.Sprintf("%d bytes", e.Budget)
	}
	return fmt.Sprintf("device: %s asked, the whole budget is %s (actor.WithBudget sets it)", asked, budget)
}

// Unwrap is ErrOutOfMemory.
func (e *BudgetError) Unwrap() error { return cudart.ErrOutOfMemory }

// Reserve waits for bytes of the budget, first come first served, until ctx
// ends. AllocReserved then turns them into a block; Unreserve gives them back.
func (d *Device) Reserve(ctx context.Context, bytes uint64) error {
	_, size := classOf(bytes)
	return d.mem.sem.Acquire(ctx, int64(min(size, d.mem.budget)))
}

// AllocReserved is Alloc with bytes that were reserved before.
func (d *Device) AllocReserved(s *Stream, bytes uint64) (*Block, error) {
	class, size := classOf(bytes)
	size = min(size, d.mem.budget)
	d.mem.mu.Lock()
	b := d.mem.takeClean(class)
	d.mem.mu.Unlock()
	if b != nil {
		return b, nil
	}
	return d.mem.grow(s, class, size)
}

// Unreserve gives back what Reserve took.
func (d *Device) Unreserve(bytes uint64) {
	_, size := classOf(bytes)
	d.mem.sem.Release(int64(min(size, d.mem.budget)))
}
