package session

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
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
// at one moment. Of methods that have hooks only the switch is set. It also does
// what is owed (Owes). It asks no class loader, so a thread of the program may wait
// for it.
func (s *Session) Hook(ctx context.Context, request Request) (*Installation, error) {
	installation := &Installation{}
	s.choices.add(&s.book, request)
	debts := s.choices.take(time.Now())
	if err := s.pay(ctx, debts, installation); err != nil {
		s.choices.giveBack(debts)
		return installation, err
	}
	if err := s.followReflection(ctx); err != nil {
		return installation, err
	}
	return installation, s.switchOn(ctx)
}

// pay weaves what is owed. Classes that are on their way in stay owed.
func (s *Session) pay(ctx context.Context, debts map[string]*debt, installation *Installation) error {
	if len(debts) == 0 {
		return nil
	}
	found, awaited, err := s.candidates(ctx, debts)
	if err != nil {
		return err
	}
	handles := s.book.take(&selection{picked: found})
	for batch := range slices.Chunk(handles, s.batchSize()) {
		if err := s.install(ctx, batch, installation); err != nil {
			return err
		}
	}
	again, lost := postpone(awaited, found, time.Now())
	s.choices.giveBack(again)
	for _, name := range lost {
		if !s.store.giveUp(name) {
			s.book.leave(name, notLoaded)
		}
	}
	return nil
}

// followReflection has the agent tell of calls by reflection once that is wanted
// and the JDK's own methods are woven for it.
func (s *Session) followReflection(ctx context.Context) error {
	s.choices.lock.Lock()
	isDue := s.choices.reflection && !s.choices.following
	s.choices.lock.Unlock()
	if !isDue {
		return nil
	}
	if err := s.peer.Follow(ctx, true); err != nil {
		return s.explain(err)
	}
	s.choices.lock.Lock()
	s.choices.following = true
	s.choices.lock.Unlock()
	return nil
}

const (
	listings    = 5
	listingWait = 4 * time.Millisecond
)

// candidates finds the loaded classes that are owed, and tells of which names more
// are on their way in. Those that have loaded since classes were last listed have no
// handle yet: then they are listed again, several times where one is on its way in
// for the first time.
func (s *Session) candidates(ctx context.Context, debts map[string]*debt) (found []candidate, awaited map[string]*debt, err error) {
	names := slices.Sorted(maps.Keys(debts))
	isFirst := func(name string) bool { return debts[name].tries == 0 }
	unmet := s.store.unmet(names)
	for i := 0; len(unmet) > 0 && i < listings; i++ {
		if i > 0 {
			if !slices.ContainsFunc(unmet, isFirst) || !slices.ContainsFunc(unmet, s.store.awaits) {
				break
			}
			time.Sleep(listingWait)
		}
		classes, err := s.peer.List(ctx)
		if err != nil {
			return nil, nil, s.explain(err)
		}
		s.store.meet(classes)
		unmet = s.store.unmet(unmet)
	}
	awaited = make(map[string]*debt)
	for _, name := range unmet {
		if s.store.awaits(name) {
			awaited[name] = debts[name]
		} else {
			s.book.leave(name, notLoaded)
		}
	}
	for _, c := range s.store.find(names) {
		if !debts[c.name].woven[c.handle] {
			found = append(found, c)
		}
	}
	return found, awaited, nil
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
