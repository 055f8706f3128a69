package actor

import (
	"time"

	proto "github.com/asynkron/protoactor-go/actor"
)

// What protoactor needs, under the names it has there, so that a program imports
// one package called actor. Everything else of protoactor works with these too.
type (
	// PID is the address of an actor.
	PID = proto.PID
	// Props say how an actor in message style is made, again at each restart.
	Props = proto.Props
	// PropsOption is an option of [PropsFromFunc] and [PropsFromProducer].
	PropsOption = proto.PropsOption
	// Context is what a handler gets: the message, who sent it, and ways to answer.
	Context = proto.Context
	// Receiver is an actor in message style: it has a method Receive.
	Receiver = proto.Actor
	// ReceiveFunc is a function as a [Receiver].
	ReceiveFunc = proto.ReceiveFunc
	// Producer makes a [Receiver], a new one for each life of the actor.
	Producer = proto.Producer
	// RootContext sends from outside of any actor: see [System.Root].
	RootContext = proto.RootContext
	// Future is an answer that is awaited with a timeout, and carries no buffers; see
	// [System.Request] and [Stream.Ask] for one that may.
	Future = proto.Future

	// SupervisorStrategy decides what becomes of an actor that failed.
	SupervisorStrategy = proto.SupervisorStrategy
	// DeciderFunc maps a reason of failure to a [Directive].
	DeciderFunc = proto.DeciderFunc
	// Directive is such a decision: [Resume], [Restart], [Stop] or [Escalate].
	Directive = proto.Directive

	// Started is an actor's first message, in each of its lives.
	Started = proto.Started
	// Stopping is the message before an actor's children are stopped, and it with them.
	Stopping = proto.Stopping
	// Stopped is an actor's last message.
	Stopped = proto.Stopped
	// Restarting is the last message of a life that failed.
	Restarting = proto.Restarting
	// Terminated tells a watcher that the actor it watched has ended.
	Terminated = proto.Terminated
)

const (
	// Resume has the actor go on with the next message.
	Resume Directive = proto.ResumeDirective
	// Restart has the actor begin anew, with the messages that are queued.
	Restart Directive = proto.RestartDirective
	// Stop ends the actor.
	Stop Directive = proto.StopDirective
	// Escalate leaves the decision to the supervisor above; there is none above the
	// root, and the actor is stopped.
	Escalate Directive = proto.EscalateDirective
)

// PropsFromFunc are props of an actor that is one function.
func PropsFromFunc(receive ReceiveFunc, opts ...PropsOption) *Props {
	return proto.PropsFromFunc(receive, opts...)
}

// PropsFromProducer are props of an actor with a state of its own, which produce makes.
func PropsFromProducer(produce Producer, opts ...PropsOption) *Props {
	return proto.PropsFromProducer(produce, opts...)
}

// NewOneForOneStrategy decides about each actor alone. One that has been restarted
// more than retries times within a while is stopped.
func NewOneForOneStrategy(retries int, within time.Duration, decide DeciderFunc) SupervisorStrategy {
	return proto.NewOneForOneStrategy(retries, within, decide)
}

// NewExponentialBackoff restarts after a pause that begins with initial and grows
// with each failure, until there has been none for window.
func NewExponentialBackoff(window, initial time.Duration) SupervisorStrategy {
	return proto.NewExponentialBackoffStrategy(window, initial)
}

// DefaultSupervisor restarts ten times within ten seconds, and then stops.
func DefaultSupervisor() SupervisorStrategy { return proto.DefaultSupervisorStrategy() }

var (
	// ErrDeadLetter is the error of a [Future] whose request nobody took.
	ErrDeadLetter error = proto.ErrDeadLetter
	// ErrTimeout is the error of a [Future] that was not answered in time.
	ErrTimeout error = proto.ErrTimeout
	// ErrNameExists is a spawn under a name that is taken, by protoactor's own calls.
	ErrNameExists error = proto.ErrNameExists
)
