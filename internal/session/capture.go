package session

import (
	"context"
	"maps"
	"slices"

	"github.com/sonde-jvm/sonde/internal/weave/original"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// mostCaptured bounds how many classes are redefined for no other end than to see
// them.
const mostCaptured = 500

// capture gets the class files of classes that no loader has, because the program
// has made them: the JVM is asked to redefine them, and what it shows is kept. It
// is not asked where it would lose a part of the class by that.
func (s *Session) capture(ctx context.Context, classes []*candidate, named func(class string) bool) error {
	names := make(map[uint32]string)
	for _, c := range classes {
		if c.file == nil && c.reason == "" && (original.KeepsAll(s.jdk) || named != nil && named(c.name)) {
			names[c.handle] = c.name
		}
	}
	if len(names) == 0 || len(names) > mostCaptured {
		return nil
	}
	s.book.lock.Lock()
	s.book.captured = make(map[uint32][]byte, len(names))
	for handle, name := range names {
		s.book.captured[handle], s.book.handles[handle] = nil, name
	}
	s.book.lock.Unlock()
	handles := slices.Sorted(maps.Keys(names))
	var installation Installation
	err := s.install(ctx, handles, &installation)
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	s.book.capturing.Batches = append(s.book.capturing.Batches, installation.Batches...)
	for _, c := range classes {
		if s.book.bad[c.handle] && c.reason == "" {
			c.reason = "the JVM refuses to change it"
		}
		if file := s.book.captured[c.handle]; file != nil {
			c.file = file
		}
	}
	s.book.captured = nil
	return err
}

// Captured is what it took so far to see classes that no loader has a file of.
func (s *Session) Captured() *Installation {
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	return &Installation{Batches: slices.Clone(s.book.capturing.Batches)}
}

// isCaptured keeps a class that was asked for to be seen.
func (b *book) isCaptured(class control.Transform) bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	if _, is := b.captured[class.Handle]; !is {
		return false
	}
	b.captured[class.Handle] = slices.Clone(class.Bytes)
	return true
}
