package session

import "context"

// A Follower is asked about every class that loads, on its way in, while a thread
// of the program waits.
type Follower struct {
	// Excludes are beginnings of internal names: such classes are not shown.
	Excludes []string
	// Loading says what of the class gets hooks.
	Loading func(class string, file []byte) Request
}

// Follow has classes that load from now on shown to a follower.
func (s *Session) Follow(ctx context.Context, follower Follower) error {
	s.book.lock.Lock()
	s.book.follower = &follower
	s.book.lock.Unlock()
	return s.showLoading(ctx)
}
