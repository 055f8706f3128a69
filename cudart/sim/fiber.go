package sim

// fiber is a kernel on a goroutine of its own, which runs only while the track that
// has it waits for it. A coroutine of package iter would do, but for threads: it
// belongs to the thread that made it, and any thread may resume a kernel.
type fiber struct {
	start  func() *loss
	begun  bool
	resume chan bool // false: end
	back   chan bool // true: it is done
	lost   *loss
}

func newFiber(start func() *loss) *fiber {
	return &fiber{start: start, resume: make(chan bool), back: make(chan bool)}
}

// run goes on with it until it yields or is done.
func (f *fiber) run() (done bool, lost *loss) {
	if !f.begun {
		f.begun = true
		go func() {
			defer func() { f.back <- true }() // however it ends
			f.lost = f.start()
		}()
	} else {
		f.resume <- true
	}
	if !<-f.back {
		return false, nil
	}
	return true, f.lost
}

// yield gives the device back, from inside.
func (f *fiber) yield() {
	f.back <- false
	if !<-f.resume {
		panic(ended{})
	}
}

// stop ends a kernel that has yielded. One that yields again in spite of it is told again.
func (f *fiber) stop() {
	for done := !f.begun; !done; done = <-f.back {
		f.resume <- false
	}
}
