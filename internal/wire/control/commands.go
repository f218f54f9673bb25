package control

import (
	"context"
	"fmt"
	"math/bits"
	"time"
)

// Ping waits for an answer of the agent.
func (p *Peer) Ping(ctx context.Context) error { return p.do(ctx, KindPing, nothing{}) }

// Map makes the agent map the arena, a file at a path in the JVM's file system.
func (p *Peer) Map(ctx context.Context, path string, length uint64, epoch uint32) error {
	return p.do(ctx, KindMap, mapping{path, length, epoch})
}

// Probes sets the agent's table of probes, whose length must be a power of two or 0.
func (p *Peer) Probes(ctx context.Context, table []uint64) error {
	if bits.OnesCount(uint(len(table))) > 1 {
		return fmt.Errorf("a table of %d probes: its length must be a power of two", len(table))
	}
	return p.do(ctx, KindProbes, table)
}

// Switch changes or adds entries of the agent's table of probes in place. The agent must have
// a table, and one of its entries must stay empty.
func (p *Peer) Switch(ctx context.Context, entries []uint64) error {
	return p.do(ctx, KindSwitch, entries)
}

// Watches replaces the agent's table of spots, anchors and tag points.
func (p *Peer) Watches(ctx context.Context, wanted Watches) error {
	return p.do(ctx, KindWatches, wanted)
}

// Watch makes the agent send every class that passes a filter to the Handler when it is loaded,
// unless its name begins with one of the excludes. It replaces earlier filters.
func (p *Peer) Watch(ctx context.Context, filters []Filter, excludes []string) error {
	return p.do(ctx, KindWatch, view{filters, excludes})
}

// Follow sets whether members called by reflection or through method handles are announced in
// the arena. The JDK methods that announce them must have been woven.
func (p *Peer) Follow(ctx context.Context, on bool) error {
	return p.do(ctx, KindFollow, on)
}

// Threads returns the threads of the JVM.
func (p *Peer) Threads(ctx context.Context) ([]Thread, error) {
	return request[[]Thread](ctx, p, KindThreads, nothing{})
}

// Calibrate makes the agent call a method with a known body, with and without hooks, in several
// runs.
func (p *Peer) Calibrate(ctx context.Context, asked Calibration) ([]Run, error) {
	return request[[]Run](ctx, p, KindCalibrate, asked)
}

// Install makes the JVM retransform classes, all at once. The Handler is called for each of
// them before Install returns.
func (p *Peer) Install(ctx context.Context, list []uint32) (Installed, error) {
	list, asked := distinct(list)
	installed, err := request[Installed](ctx, p, KindInstall, list)
	if err != nil {
		return Installed{}, err
	}
	installed.Err = cut(installed.Err)
	for _, handle := range installed.Gone {
		if !asked.take(handle) {
			return Installed{}, p.reject(notAsked(KindInstalled, handle))
		}
	}
	return installed, nil
}

// Restore makes the agent restore every class and unmap the arena.
func (p *Peer) Restore(ctx context.Context) (Restored, error) {
	return p.restore(ctx, KindRestore, func(Restoring) {})
}

// restore requests a restoration and reports its progress.
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
			restored, err := decodeFrom[Restored](p, f)
			for i, remark := range restored.Remarks {
				restored.Remarks[i] = cut(remark)
			}
			return restored, err
		}
		part, err := decodeFrom[Restoring](p, f)
		if err != nil {
			return Restored{}, err
		}
		progress(part)
	}
}

// hangUpLimit bounds the time that the agent may take to hang up after its last frame.
const hangUpLimit = 2 * time.Second

// Bye makes the agent restore everything and exit, and reports the progress. It closes the Peer.
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

// do sends a request that is answered by DONE.
func (p *Peer) do(ctx context.Context, kind Kind, body any) error {
	_, err := request[nothing](ctx, p, kind, body)
	return err
}

// request sends a request that is answered by one frame.
func request[T any](ctx context.Context, p *Peer, kind Kind, body any) (T, error) {
	var none T
	a, err := p.ask(ctx, kind, body)
	if err != nil {
		return none, err
	}
	f, err := a.next(ctx)
	if err != nil {
		return none, err
	}
	return decodeFrom[T](p, f)
}

// decodeFrom decodes a frame. A malformed frame ends the conversation.
func decodeFrom[T any](p *Peer, f frame) (T, error) {
	value, err := decode[T](f)
	if err != nil {
		var none T
		return none, p.reject(err)
	}
	return value, nil
}

// What the answers of an agent may take: more than any JVM has. Tests set smaller limits.
var (
	maxClasses = 4 << 20
	maxNames   = 128 << 20 // bytes of the names of all classes
	maxFetched = 2 << 30   // bytes of the class files of one Fetch
)

// maxName is the limit of class files for the bytes of a name.
const maxName = 65535

// List returns the loaded classes.
func (p *Peer) List(ctx context.Context) ([]Class, error) {
	a, err := p.ask(ctx, KindList, nothing{})
	if err != nil {
		return nil, err
	}
	var all []Class
	known, names := make(handleSet), 0
	for {
		f, err := a.next(ctx)
		if err != nil {
			return nil, err
		}
		some, err := decode[classes](f)
		if err != nil {
			return nil, p.reject(err)
		}
		for _, c := range some.List {
			names += len(c.Name)
			_, isKnown := known[c.Handle]
			switch known[c.Handle] = struct{}{}; {
			case c.Handle == 0:
				return nil, p.reject(f.defect(ErrMalformed, "a class has no handle"))
			case isKnown:
				return nil, p.reject(f.defect(ErrMalformed, fmt.Sprintf("class %d is listed twice", c.Handle)))
			case len(c.Name) > maxName || names > maxNames || len(known) > maxClasses:
				return nil, p.reject(f.defect(ErrTooLong, "the list of classes has no end"))
			}
		}
		all = append(all, some.List...)
		if some.Last {
			return all, nil
		}
	}
}

// fetchBatch is the number of classes per request: enough to hide the round trip, few enough to
// hold in memory.
const fetchBatch = 128

// Fetch calls each with the class file of every class, once, in any order, on the caller's
// goroutine. If a file is nil, supers are the superclass and the interfaces of the class.
func (p *Peer) Fetch(ctx context.Context, list []uint32, each func(handle uint32, file []byte, supers []string)) error {
	list, _ = distinct(list)
	left := maxFetched
	for len(list) > 0 {
		n := min(len(list), fetchBatch)
		if err := p.fetch(ctx, list[:n], &left, each); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// fetch fetches the files of one request. left is how many bytes they may still have.
func (p *Peer) fetch(ctx context.Context, list []uint32, left *int, each func(uint32, []byte, []string)) error {
	_, missing := distinct(list)
	a, err := p.ask(ctx, KindFetch, list)
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
		*left -= len(f.body)
		switch {
		case err != nil:
			return p.reject(err)
		case *left < 0:
			return p.reject(f.defect(ErrTooLong, "the class files have no end"))
		case !missing.take(one.Handle):
			return p.reject(notAsked(f.kind, one.Handle))
		case one.Found && len(one.Bytes) == 0:
			return p.reject(f.defect(ErrMalformed, "the class file is empty"))
		case one.Found:
			each(one.Handle, one.Bytes, nil)
		default:
			each(one.Handle, nil, one.Supers)
		}
	}
}

// Sees returns for each class why its loader does not find the hooks; an empty reason means that
// it does.
func (p *Peer) Sees(ctx context.Context, list []uint32) (map[uint32]string, error) {
	list, missing := distinct(list)
	answers, err := request[[]sight](ctx, p, KindSees, list)
	if err != nil {
		return nil, err
	}
	reasons := make(map[uint32]string, len(answers))
	for _, one := range answers {
		if !missing.take(one.Handle) {
			return nil, p.reject(notAsked(KindSeen, one.Handle))
		}
		reasons[one.Handle] = cut(one.Reason)
	}
	if len(missing) > 0 {
		return nil, p.reject(&FrameError{Kind: KindSeen, Defect: ErrOutOfTurn, Detail: fmt.Sprintf("%d classes are missing", len(missing))})
	}
	return reasons, nil
}

// A handleSet holds the classes that were requested and have not arrived.
type handleSet map[uint32]struct{}

func (s handleSet) take(handle uint32) bool {
	_, there := s[handle]
	delete(s, handle)
	return there
}

// distinct removes duplicates and keeps the order.
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
