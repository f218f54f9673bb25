package suggest

// appeal is how much rather than another method one is proposed that covers as much: a
// person looks for causes, and those are where requests come in, databases are asked and
// locks are held, not in what compilers made.
func (c *Candidate) appeal() float64 {
	appeal := 1.0
	if c.Entry != "" {
		appeal *= 2
	}
	for _, use := range c.Uses {
		switch use.Kind {
		case Database, HTTP, Queue:
			appeal *= 1.8
		case Network, Files:
			appeal *= 1.4
		case Lock:
			appeal *= 1.1
		}
	}
	if c.Blocked >= leastWait {
		appeal *= 2
	}
	if c.isLambdaBody() {
		appeal *= 0.5
	}
	if c.Inlined {
		appeal *= 0.5
	}
	if isLibrary(c.Class) {
		appeal *= 0.3
	}
	return appeal
}
