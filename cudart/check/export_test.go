package check

// Remembered is how many handles and ranges of memory there are.
func (c *Checker) Remembered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.contexts) + len(c.streams) + len(c.events) + len(c.space.regions) + len(c.space.freed) + len(c.destroyed)
}
