package device

import (
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
