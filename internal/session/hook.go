package session

import (
	"context"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/arena"
)

// A Hook is a method that is to have a hook, and what that is to do. Without
// arena.On among its flags the hook is put in and does nothing.
type Hook struct {
	Class, Name, Descriptor string // as class files have them
	Flags                   arena.Flags
	Period                  uint32 // of arena.Sampled
}

func (h Hook) member() string { return h.Name + h.Descriptor }
func (h Hook) full() string   { return h.Class + "." + h.member() }

// A Site is where a method calls a native one, which has no code a hook could
// stand in.
type Site struct {
	Class, Name, Descriptor string // of the caller
	// Owner, Called and CalledDescriptor name the call as the caller's class file
	// does.
	Owner, Called, CalledDescriptor string
	Native                          Hook // the method that is meant
}

func (s Site) caller() string { return s.Class + "." + s.Name + s.Descriptor }
func (s Site) called() string { return s.Owner + "." + s.Called + s.CalledDescriptor }

// A Request is what to put hooks into, by name.
type Request struct {
	Hooks []Hook
	Sites []Site
	// Reflection has calls by reflection, and method handles that are made, told as
	// arrivals.
	Reflection bool
}

// Hook puts hooks into methods of classes that Prefetch has found or that loaded
// since, in as few batches as can be, and switches them as the request says, all
// at one moment. Of methods that have hooks only the switch is set. It asks no
// class loader, so a thread of the program may wait for it.
func (s *Session) Hook(ctx context.Context, request Request) (*Installation, error) {
	installation := &Installation{}
	candidates, err := s.candidates(ctx, s.choices.add(&s.book, request))
	if err != nil {
		return installation, err
	}
	handles := s.book.take(&selection{picked: candidates})
	for batch := range slices.Chunk(handles, s.batchSize()) {
		if err := s.install(ctx, batch, installation); err != nil {
			return installation, err
		}
	}
	if request.Reflection {
		if err := s.peer.Follow(ctx, true); err != nil {
			return installation, s.explain(err)
		}
	}
	return installation, s.switchOn(ctx)
}

const (
	listings    = 5
	listingWait = 4 * time.Millisecond
)

// candidates finds the loaded classes of some names. Those that have loaded
// since classes were last listed have no handle yet: then they are listed again,
// several times where one is on its way in.
func (s *Session) candidates(ctx context.Context, names []string) ([]candidate, error) {
	found, unknown := s.store.find(names)
	for i := 0; len(unknown) > 0 && i < listings; i++ {
		if i > 0 {
			if !s.store.awaits(unknown) {
				break
			}
			time.Sleep(listingWait)
		}
		classes, err := s.peer.List(ctx)
		if err != nil {
			return nil, s.explain(err)
		}
		s.store.meet(classes)
		var more []candidate
		more, unknown = s.store.find(unknown)
		found = append(found, more...)
	}
	for _, name := range unknown {
		s.book.leave(name, "it is not loaded")
	}
	return found, nil
}

// ID is the id of a method's hook.
func (s *Session) ID(class, name, descriptor string) uint32 {
	return uint32(s.book.identify(class, name, descriptor))
}

// IsHooked reports whether a method has a hook.
func (s *Session) IsHooked(id uint32) bool {
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	_, is := s.book.methods[id]
	return is
}
