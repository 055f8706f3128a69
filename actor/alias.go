package actor

import (
	proto "github.com/asynkron/protoactor-go/actor"
)

// What protoactor needs, under the names it has there, so that a program imports
// one package called actor. Everything else of protoactor works with these too.
type (
	PID                = proto.PID
	Props              = proto.Props
	PropsOption        = proto.PropsOption
	Context            = proto.Context
	Receiver           = proto.Actor
	ReceiveFunc        = proto.ReceiveFunc
	SupervisorStrategy = proto.SupervisorStrategy
	Directive          = proto.Directive
	DeciderFunc        = proto.DeciderFunc
	RootContext        = proto.RootContext
	Future             = proto.Future

	Started    = proto.Started
	Stopping   = proto.Stopping
	Stopped    = proto.Stopped
	Restarting = proto.Restarting
	Terminated = proto.Terminated
)

// What a supervisor can decide for an actor that failed.
const (
	Resume   = proto.ResumeDirective
	Restart  = proto.RestartDirective
	Stop     = proto.StopDirective
	Escalate = proto.EscalateDirective
)

// Constructors of protoactor's that a program with stream actors needs.
var (
	PropsFromFunc         = proto.PropsFromFunc
	PropsFromProducer     = proto.PropsFromProducer
	NewOneForOneStrategy  = proto.NewOneForOneStrategy
	NewExponentialBackoff = proto.NewExponentialBackoffStrategy
	DefaultSupervisor     = proto.DefaultSupervisorStrategy
	ErrDeadLetter         = proto.ErrDeadLetter
	ErrTimeout            = proto.ErrTimeout
	ErrNameExists         = proto.ErrNameExists
)
