package session

import (
	"context"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
)

// batchSize bounds how many classes one pause redefines. Before JDK 15 each class
// of a batch has the JVM look through all that is loaded, with the program
// stopped all the while.
func (s *Session) batchSize() int {
	if s.jdk.Feature < 15 {
		return 25
	}
	return 1000
}

// An Installation is what putting hooks in took.
type Installation struct {
	Batches []Batch
	Loaded  int // classes of the JVM
	Matched int // of those, that a pattern names
	// Unmatched are the patterns, of this call, that name no class that is loaded.
	Unmatched []Unmatched
}

// A Batch is one retransformation.
type Batch struct {
	Classes int
	Took    time.Duration // of the call; the program runs meanwhile
	Cost    cost.Cost     // what stood still, and what the compilers did
}

// Pause is how long the program was stopped for all batches; false where a
// JVM does not tell.
func (i *Installation) Pause() (pause time.Duration, known bool) {
	known = true
	for _, batch := range i.Batches {
		pause += batch.Cost.Pause
		known = known && batch.Cost.Known.Pauses
	}
	return pause, known
}

// Instrument puts hooks into what is wanted: classes that are loaded, in few
// batches, and those that will be, as they load. The hooks of all that is loaded
// when the last batch is in go on at one moment. What cannot have hooks is in
// LeftAlone.
func (s *Session) Instrument(ctx context.Context, wanted Wanted) (*Installation, error) {
	s.book.lock.Lock()
	s.book.wanted = append(slices.Clone(s.book.wanted), wanted)
	s.book.installing++
	s.book.lock.Unlock()
	installation, err := s.installAll(ctx, wanted)
	s.book.lock.Lock()
	s.book.installing--
	s.book.lock.Unlock()
	if err != nil {
		return installation, err
	}
	return installation, s.switchOn(ctx)
}

func (s *Session) installAll(ctx context.Context, wanted Wanted) (*Installation, error) {
	// First those that load from now on, then those that are loaded: none is
	// missed in between, and one that is met twice is woven once.
	if err := s.showLoading(ctx); err != nil {
		return nil, err
	}
	classes, err := s.peer.List(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	s.book.lock.Lock()
	wishes := wishes(s.book.wanted)
	s.book.lock.Unlock()
	chosen, err := s.choose(ctx, classes, wishes)
	if err != nil {
		return nil, err
	}
	installation := &Installation{Loaded: len(classes), Matched: chosen.matched, Unmatched: unmatched(wanted.Methods, classes)}
	handles := s.book.take(chosen)
	for batch := range slices.Chunk(handles, s.batchSize()) {
		if err := s.install(ctx, batch, installation); err != nil {
			return installation, err
		}
	}
	s.book.lock.Lock()
	clear(s.book.files)
	clear(s.book.handles)
	s.book.lock.Unlock()
	return installation, nil
}

// install has a batch retransformed. Where the JVM refuses it, it is halved
// until the guilty class is alone, which is then left alone and named; the rest
// goes in.
func (s *Session) install(ctx context.Context, handles []uint32, installation *Installation) error {
	before, _ := s.meter.Read()
	installed, err := s.peer.Install(ctx, handles)
	if err != nil {
		return s.explain(err)
	}
	after, _ := s.meter.Read()
	cost := before.Until(after)
	s.arena.AddBatchCost(cost.Pause, cost.CompileCPU)
	installation.Batches = append(installation.Batches, Batch{
		Classes: len(handles) - len(installed.Gone), Took: time.Duration(installed.Nanos), Cost: cost,
	})
	switch {
	case installed.Err == "":
		return nil
	case len(handles) == 1:
		s.quarantine(handles[0], installed.Err)
		return nil
	}
	half := len(handles) / 2
	if err := s.install(ctx, handles[:half], installation); err != nil {
		return err
	}
	return s.install(ctx, handles[half:], installation)
}

func (s *Session) quarantine(handle uint32, reason string) {
	s.book.lock.Lock()
	reason = "the JVM refused it: " + firstLine(reason)
	s.book.bad[handle] = true
	name := s.book.handles[handle]
	s.book.watch.withdraw(name, reason)
	s.book.lock.Unlock()
	s.book.leave(name, reason)
}
