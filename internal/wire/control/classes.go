package control

import (
	"context"
	"fmt"
)

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
