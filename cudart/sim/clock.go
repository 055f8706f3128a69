package sim

// Clock decides when what streams were given runs, how long it takes, and what
// the time is. It is given to a machine by [Config], and to one only.
//
// Nil is real time: every stream that has something to do runs beside the others,
// on a goroutine of its own, as fast as the processor goes.
type Clock interface {
	// drive makes what runs the streams of r.
	drive(r *simulator) executor
}
