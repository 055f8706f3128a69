package actor

import (
	"errors"
	"fmt"
	"strings"
)

// Why a call was not carried out.
var (
	ErrClosed         = errors.New("actor: the channel is closed")
	ErrSystemClosed   = errors.New("actor: the system is closed")
	ErrStopped        = errors.New("actor: the actor has ended")
	ErrTooManyThreads = errors.New("actor: too many threads")
	ErrGoexit         = errors.New("actor: the function called runtime.Goexit")
	ErrNoActor        = errors.New("actor: no actor has this PID")
)

// ThreadError is a call of a stream's method by somebody else than its actor.
type ThreadError struct {
	Stream string // whose stream it is
	Text   string
}

func (e *ThreadError) Error() string {
	return fmt.Sprintf("actor: %s may be used by its own function or handler only: %s", e.Stream, e.Text)
}

// PanicError is a panic of an actor's function or handler, as a reason of failure.
type PanicError struct {
	Actor string
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("actor: %s panicked: %v", e.Actor, e.Value) }

// Unwrap is the value, where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// HandlerFailed answers a request whose handler failed: the future of the request
// gets it, where protoactor alone would let it run into its timeout.
type HandlerFailed struct {
	Actor  string
	Reason error
}

func (e *HandlerFailed) Error() string {
	if p, ok := e.Reason.(*PanicError); ok {
		return fmt.Sprintf("actor: the handler of %s panicked: %v", e.Actor, p.Value)
	}
	return fmt.Sprintf("actor: the handler of %s failed: %s", e.Actor, strings.TrimPrefix(fmt.Sprint(e.Reason), "actor: "))
}

func (e *HandlerFailed) Unwrap() error { return e.Reason }

// endedError is [ErrNoActor] for an actor of ours.
type endedError struct{ name string }

func (e *endedError) Error() string { return fmt.Sprintf("actor: %s has ended", e.name) }

func (e *endedError) Is(target error) bool { return target == ErrNoActor }

// CloseError says who did not stop before the deadline of [System.Close].
type CloseError struct {
	Stuck []string
	Err   error
}

func (e *CloseError) Error() string {
	return fmt.Sprintf("actor: close: still running: %s: %v", strings.Join(e.Stuck, ", "), e.Err)
}

func (e *CloseError) Unwrap() error { return e.Err }
