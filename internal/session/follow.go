package session

import (
	"context"
	"strings"

	"github.com/sonde-jvm/sonde/internal/control"
)

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
	filters, excludes := s.filters()
	if err := s.peer.Watch(ctx, filters, excludes); err != nil {
		return s.explain(err)
	}
	return nil
}

// ask shows a class that is loading to the follower, if there is one.
func (s *Session) ask(class control.Transform) {
	s.book.lock.Lock()
	follower := s.book.follower
	s.book.lock.Unlock()
	if follower == nil || class.Handle != 0 || exemption(class.Name) != "" {
		return
	}
	for _, prefix := range follower.Excludes {
		if strings.HasPrefix(class.Name, prefix) {
			return
		}
	}
	isOnly := s.store.arrive(class.Name, class.Bytes)
	// Other classes that have to be woven again are not: this is no moment to wait
	// for that. They are owed.
	s.choices.add(&s.book, follower.Loading(class.Name, class.Bytes))
	if isOnly {
		s.choices.settle(class.Name)
	}
}
