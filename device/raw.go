package device

// Uses checks that owner may use memory as the arguments say, for commands that
// this package does not see, and notes what they write.
func (s *Stream) Uses(owner uint32, args ...Arg) error {
	for i := range args {
		if args[i].mem == nil {
			continue
		}
		if _, _, _, err := args[i].mem.Use(owner, args[i].gen, args[i].access); err != nil {
			return err
		}
	}
	for i := range args {
		if args[i].mem != nil && args[i].access.Writes() {
			args[i].mem.Issued(args[i].gen)
		}
	}
	return nil
}

// Touched notes that the stream was given work behind this package's back: what
// leaves it from now on is behind that work.
func (s *Stream) Touched() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given.Store(s.number(nil))
}
