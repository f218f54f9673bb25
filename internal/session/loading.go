package session

import (
	"context"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A loading is asked which spots a class gets, on its way in.
type loading struct {
	excludes []string
	spots    func(class string, file []byte) []Spot
}

// OnLoading has a function asked about every class that loads from now on, while a
// thread of the program waits, but for those whose internal names begin as one of
// excludes: it says which spots the class gets. It may be asked by several threads
// at once. What it asks for in classes that are loaded is owed (Owes): Watch does it,
// also with an empty request. It takes the place of the one before; nil asks nobody.
func (s *Session) OnLoading(ctx context.Context, excludes []string, f func(class string, file []byte) []Spot) error {
	var asked *loading
	if f != nil {
		asked = &loading{excludes, f}
	}
	s.book.lock.Lock()
	s.book.loading = asked
	s.book.lock.Unlock()
	return s.showLoading(ctx)
}

// showLoading tells the agent which classes to show while they load.
func (s *Session) showLoading(ctx context.Context) error {
	filters, excludes := s.filters()
	if err := s.peer.Watch(ctx, filters, excludes); err != nil {
		return s.explain(err)
	}
	return nil
}

// ask shows a class that is loading to whoever is to say what it gets.
func (s *Session) ask(class control.Transform) {
	s.book.lock.Lock()
	follower, loading := s.book.follower, s.book.loading
	s.book.lock.Unlock()
	if class.Handle != 0 || exemption(class.Name) != "" {
		return
	}
	follows := follower != nil && !isExcluded(class.Name, follower.Excludes)
	spots := loading != nil && !isExcluded(class.Name, loading.excludes)
	if !follows && !spots {
		return
	}
	isOnly := s.store.arrive(class.Name, class.Bytes)
	// Other classes that have to be woven again are not: this is no moment to wait
	// for that. They are owed.
	if follows {
		s.choices.add(&s.book, follower.Loading(class.Name, class.Bytes))
	}
	if spots {
		s.addSpots(loading.spots(class.Name, class.Bytes))
	}
	if isOnly {
		s.choices.settle(class.Name)
	}
}

func isExcluded(class string, excludes []string) bool {
	return slices.ContainsFunc(excludes, func(prefix string) bool { return strings.HasPrefix(class, prefix) })
}

// filters are what tells the agent which classes to hand over as they load: all
// that a pattern may name, and some more; or, where somebody is asked about classes,
// all but what nobody wants to see.
func (s *Session) filters() (filters []control.Filter, excludes []string) {
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	for _, w := range s.book.wanted {
		for _, pattern := range w.Methods.Includes() {
			prefix, suffix := pattern.ClassBounds()
			filters = append(filters, control.Filter{Prefix: prefix, Suffix: suffix})
		}
	}
	for _, class := range s.choices.handing() {
		filters = append(filters, control.Filter{Prefix: slashed(class)})
	}
	follower, loading := s.book.follower, s.book.loading
	switch {
	case follower == nil && loading == nil:
		return filters, nil
	case loading == nil:
		excludes = follower.Excludes
	case follower == nil:
		excludes = loading.excludes
	default:
		excludes = common(follower.Excludes, loading.excludes)
	}
	for _, filter := range filters {
		excludes = sparing(excludes, filter.Prefix)
	}
	return []control.Filter{{}}, excludes
}
