package arena

// ContextLosses is what could not be told of contexts: how many tasks were handed on
// in two contexts at once, so that they have none, and how many calls of anchors and
// of methods that set tags found no room.
func (a *Arena) ContextLosses() (ambiguous, lost uint64) {
	_ = a.guard(func(m memory) error {
		ambiguous, lost = m.u64(headerAmbiguous), m.u64(headerContextsLost)
		return nil
	})
	return ambiguous, lost
}
