package control

import (
	"context"
	"fmt"
	"math/bits"
	"time"
)

// Ping waits until the agent answers.
func (p *Peer) Ping(ctx context.Context) error { return p.do(ctx, KindPing, nothing{}) }

// Map has the agent map the arena: a file at a path as the JVM sees it.
func (p *Peer) Map(ctx context.Context, path string, length uint64, epoch uint32) error {
	return p.do(ctx, KindMap, mapping{path, length, epoch})
}

// Probes gives the agent its table of probes, whose length is a power of two,
// or 0.
func (p *Peer) Probes(ctx context.Context, table []uint64) error {
	if bits.OnesCount(uint(len(table))) > 1 {
		return fmt.Errorf("a table of %d probes: its length must be a power of two", len(table))
	}
	return p.do(ctx, KindProbes, words(table))
}

// Switch changes or adds entries of the agent's table of probes, in place. There
// must be one, and an entry of it must stay empty.
func (p *Peer) Switch(ctx context.Context, entries []uint64) error {
	return p.do(ctx, KindSwitch, words(entries))
}

// Watches gives the agent its table of spots, anchors and tag points, as
// arena.WatchTable makes it, in place of the one there was.
func (p *Peer) Watches(ctx context.Context, wanted Watches) error {
	return p.do(ctx, KindWatches, wanted)
}

// Watch has the agent send classes that pass a filter to the Handler when they
// are loaded, except those whose names begin as one of the excludes. It replaces
// the filters there were.
func (p *Peer) Watch(ctx context.Context, filters []Filter, excludes []string) error {
	return p.do(ctx, KindWatch, view{filters, excludes})
}

// Follow sets whether members that are called by reflection or through method
// handles are announced in the arena, where the JDK's own methods have been
// woven to tell of them.
func (p *Peer) Follow(ctx context.Context, on bool) error {
	return p.do(ctx, KindFollow, choice(on))
}

// Threads are the JVM's, with their names.
func (p *Peer) Threads(ctx context.Context) ([]Thread, error) {
	return request[threads](ctx, p, KindThreads, nothing{})
}

// Calibrate has the agent make calls of a known body, with hooks and without, in
// several runs.
func (p *Peer) Calibrate(ctx context.Context, asked Calibration) ([]Run, error) {
	return request[runs](ctx, p, KindCalibrate, asked)
}

// Install has the JVM retransform classes, all at once. The Handler is asked
// for each before Install returns.
func (p *Peer) Install(ctx context.Context, list []uint32) (Installed, error) {
	list, asked := distinct(list)
	installed, err := request[Installed](ctx, p, KindInstall, handles(list))
	if err != nil {
		return Installed{}, err
	}
	for _, handle := range installed.Gone {
		if !asked.take(handle) {
			return Installed{}, p.reject(notAsked(KindInstalled, handle))
		}
	}
	return installed, nil
}

// Restore has the agent put every class back and unmap the arena.
func (p *Peer) Restore(ctx context.Context) (Restored, error) {
	return p.restore(ctx, KindRestore, func(Restoring) {})
}

// restore asks for a restoration and passes on how far it is, until it is done.
func (p *Peer) restore(ctx context.Context, kind Kind, progress func(Restoring)) (Restored, error) {
	a, err := p.ask(ctx, kind, nothing{})
	if err != nil {
		return Restored{}, err
	}
	for {
		f, err := a.next(ctx)
		if err != nil {
			return Restored{}, err
		}
		if f.kind == KindRestored {
			return decodeFrom[Restored](p, f)
		}
		part, err := decodeFrom[Restoring](p, f)
		if err != nil {
			return Restored{}, err
		}
		progress(part)
	}
}

// hangUpLimit is how long the agent may take to hang up after its last word.
const hangUpLimit = 2 * time.Second

// Bye has the agent put everything back and end, and reports how far that is.
// Afterwards the Peer is closed.
func (p *Peer) Bye(ctx context.Context, progress func(Restoring)) (Restored, error) {
	restored, err := p.restore(ctx, KindBye, progress)
	if err != nil {
		return Restored{}, err
	}
	timer := time.NewTimer(hangUpLimit)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-ctx.Done():
	case <-timer.C:
	}
	return restored, p.Close()
}

// do asks for something whose answer is that it is done.
func (p *Peer) do(ctx context.Context, kind Kind, b body) error {
	_, err := request[nothing](ctx, p, kind, b)
	return err
}

// request asks for something that is answered by one frame.
func request[T any, P interface {
	*T
	read(*cursor)
}](ctx context.Context, p *Peer, kind Kind, b body) (T, error) {
	var none T
	a, err := p.ask(ctx, kind, b)
	if err != nil {
		return none, err
	}
	f, err := a.next(ctx)
	if err != nil {
		return none, err
	}
	return decodeFrom[T, P](p, f)
}

// decodeFrom decodes a frame; one that is malformed ends the conversation.
func decodeFrom[T any, P interface {
	*T
	read(*cursor)
}](p *Peer, f frame) (T, error) {
	value, err := decode[T, P](f)
	if err != nil {
		var none T
		return none, p.reject(err)
	}
	return value, nil
}

// maxClasses is more than any JVM has loaded: a list without an end is no list.
const maxClasses = 4 << 20

// List names the classes that are loaded.
func (p *Peer) List(ctx context.Context) ([]Class, error) {
	a, err := p.ask(ctx, KindList, nothing{})
	if err != nil {
		return nil, err
	}
	var all []Class
	for {
		f, err := a.next(ctx)
		if err != nil {
			return nil, err
		}
		some, err := decode[classes](f)
		if err != nil {
			return nil, p.reject(err)
		}
		if all = append(all, some.list...); len(all) > maxClasses {
			return nil, p.reject(f.defect(ErrTooLong, "the list of classes has no end"))
		}
		if some.last {
			return all, nil
		}
	}
}

// fetchBatch is how many classes are asked for at a time: enough that the way
// there and back does not count, few enough to hold in memory.
const fetchBatch = 128

// Fetch gives the class files of classes, each once, in any order, on the
// caller's goroutine. Where a file is nil, reason says why there is none.
func (p *Peer) Fetch(ctx context.Context, list []uint32, each func(handle uint32, file []byte, reason string)) error {
	list, _ = distinct(list)
	for len(list) > 0 {
		n := min(len(list), fetchBatch)
		if err := p.fetch(ctx, list[:n], each); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

func (p *Peer) fetch(ctx context.Context, list []uint32, each func(uint32, []byte, string)) error {
	_, missing := distinct(list)
	a, err := p.ask(ctx, KindFetch, handles(list))
	if err != nil {
		return err
	}
	for {
		f, err := a.next(ctx)
		if err != nil {
			return err
		}
		if f.kind == KindDone {
			if _, err := decode[nothing](f); err != nil {
				return p.reject(err)
			}
			if len(missing) > 0 {
				return p.reject(f.defect(ErrOutOfTurn, fmt.Sprintf("%d classes are missing", len(missing))))
			}
			return nil
		}
		one, err := decode[original](f)
		switch {
		case err != nil:
			return p.reject(err)
		case !missing.take(one.handle):
			return p.reject(notAsked(f.kind, one.handle))
		case one.found && len(one.bytes) == 0:
			return p.reject(f.defect(ErrMalformed, "the class file is empty"))
		case one.found:
			each(one.handle, one.bytes, "")
		default:
			each(one.handle, nil, oneLine(string(one.bytes)))
		}
	}
}

// Sees tells of each class whether its loader finds the hooks: with an empty
// reason it does.
func (p *Peer) Sees(ctx context.Context, list []uint32) (map[uint32]string, error) {
	list, missing := distinct(list)
	answers, err := request[seen](ctx, p, KindSees, handles(list))
	if err != nil {
		return nil, err
	}
	reasons := make(map[uint32]string, len(answers))
	for _, one := range answers {
		if !missing.take(one.handle) {
			return nil, p.reject(notAsked(KindSeen, one.handle))
		}
		reasons[one.handle] = one.reason
	}
	if len(missing) > 0 {
		return nil, p.reject(&FrameError{Kind: KindSeen, Defect: ErrOutOfTurn, Detail: fmt.Sprintf("%d classes are missing", len(missing))})
	}
	return reasons, nil
}

// A handleSet is what was asked for and has not come.
type handleSet map[uint32]struct{}

func (s handleSet) take(handle uint32) bool {
	_, there := s[handle]
	delete(s, handle)
	return there
}

// distinct leaves out what was named before, keeping the order.
func distinct(list []uint32) ([]uint32, handleSet) {
	set := make(handleSet, len(list))
	once := make([]uint32, 0, len(list))
	for _, handle := range list {
		if _, there := set[handle]; !there {
			set[handle] = struct{}{}
			once = append(once, handle)
		}
	}
	return once, set
}

func notAsked(kind Kind, handle uint32) error {
	return &FrameError{Kind: kind, Defect: ErrOutOfTurn, Detail: fmt.Sprintf("class %d was not asked for", handle)}
}
