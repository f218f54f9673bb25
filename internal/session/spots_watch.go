package session

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Watch puts spots into classes that are loaded, in few batches, and takes out those
// it is to go on without. What is taken out is off before the first batch, and what
// is new goes on at one moment, behind the last. Of a spot that is there with the
// same code only the setting changes. What cannot have its hook is in LeftAlone.
//
// It asks class loaders for files that Prefetch and Survey have not got. Classes that
// load later are the matter of OnLoading.
func (s *Session) Watch(ctx context.Context, request WatchRequest) (*Installation, error) {
	s.watching.Lock()
	defer s.watching.Unlock()
	s.removeSpots(request.Without)
	if err := s.switchOn(ctx); err != nil {
		return nil, err
	}
	installation, err := s.installSpots(ctx, request)
	if err != nil {
		return installation, err
	}
	if err := s.followReflection(ctx); err != nil {
		return installation, err
	}
	return installation, s.switchOn(ctx)
}

// Unwatch takes spots out, in few batches: all are off at one moment, before the
// first is out. What they have measured stays. A class that has none left is what it
// was. With the last spot go the hooks by which tasks carry their context.
func (s *Session) Unwatch(ctx context.Context, spots []Spot) error {
	_, err := s.Watch(ctx, WatchRequest{Without: spots})
	return err
}

// installSpots weaves what is owed, with all that is new switched off.
func (s *Session) installSpots(ctx context.Context, request WatchRequest) (*Installation, error) {
	s.book.beginWatch(&request)
	defer s.book.endWatch(&request)
	s.addSpots(request.Spots)
	installation := &Installation{}
	if err := s.startHandOff(ctx, request.HandOff); err != nil {
		return installation, err
	}
	debts := s.choices.take(time.Now())
	err := s.know(ctx, debts)
	if err == nil {
		s.nameObstacles(slices.Sorted(maps.Keys(debts)))
		err = s.pay(ctx, debts, installation)
	}
	if err != nil {
		s.choices.giveBack(debts)
		return installation, err
	}
	s.nameUnfollowed()
	return installation, nil
}

// know gets the files of classes that are owed, as far as they are not known: of
// those that loaded before anybody was asked about them, or have loaded again in
// another loader.
func (s *Session) know(ctx context.Context, debts map[string]*debt) error {
	if len(debts) == 0 {
		return nil
	}
	isOwed := func(class string) bool { return debts[class] != nil }
	_, err := s.Prefetch(ctx, isOwed, isOwed)
	return err
}

// nameObstacles names the classes with spots that can have no hooks.
func (s *Session) nameObstacles(classes []string) {
	for _, class := range classes {
		if len(s.choices.spotted(class)) == 0 {
			continue
		}
		for _, reason := range s.store.obstacles(class) {
			s.book.leave(class, reason)
		}
	}
}

// SwitchSpots sets what some spots do, by id, all at one moment and without weaving
// again. One that is being put in does as it was asked for until it is in.
func (s *Session) SwitchSpots(ctx context.Context, changes map[uint32]arena.Probe) error {
	s.switches.Lock()
	defer s.switches.Unlock()
	s.book.lock.Lock()
	entries := maps.Clone(s.book.watch.sent)
	for id, setting := range changes {
		setting.ID = id
		entry, is := s.book.watch.entries[id]
		if !is {
			continue
		}
		entry.Probe = setting
		s.book.watch.entries[id] = entry
		if _, has := entries[id]; has {
			entries[id] = entry
		}
	}
	isSame := maps.Equal(entries, s.book.watch.sent) && !s.book.watch.unsure
	s.book.lock.Unlock()
	if isSame {
		return nil
	}
	return s.sendWatches(ctx, entries, false)
}

// beginWatch has new spots stay off until endWatch. Where none is asked for, those of
// classes that load meanwhile go on as they would without.
func (b *book) beginWatch(request *WatchRequest) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if len(request.Spots) > 0 {
		b.watch.installing++
	}
	b.watch.fresh = b.watch.fresh || request.Fresh
	for _, bridge := range request.Bridges {
		b.watch.bridges[bridge] = true
	}
}

func (b *book) endWatch(request *WatchRequest) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if len(request.Spots) > 0 {
		b.watch.installing--
	}
}

// ContextLosses is how many tasks were handed on in two contexts at once, and so have
// none, and how many calls of anchors and tag points found no room.
func (s *Session) ContextLosses() (ambiguous, contexts uint64) { return s.arena.ContextLosses() }
