package control

import (
	"context"
	"fmt"
	"sync"
)

// A turn is what may answer a request: any number of parts, then the last.
// FAILED may take the place of the last.
type turn struct {
	part, last Kind
}

var turns = map[Kind]turn{
	KindPing:      {last: KindDone},
	KindMap:       {last: KindDone},
	KindList:      {part: KindClasses, last: KindClasses},
	KindFetch:     {part: KindOriginal, last: KindDone},
	KindSees:      {last: KindSeen},
	KindInstall:   {last: KindInstalled},
	KindProbes:    {last: KindDone},
	KindSwitch:    {last: KindDone},
	KindWatch:     {last: KindDone},
	KindWatches:   {last: KindDone},
	KindFollow:    {last: KindDone},
	KindRestore:   {part: KindRestoring, last: KindRestored},
	KindBye:       {part: KindRestoring, last: KindRestored},
	KindThreads:   {last: KindNamed},
	KindCalibrate: {last: KindCalibrated},
}

// ends tells whether a frame may answer, and whether it is the last that does.
func (t turn) ends(f frame) (last, fits bool) {
	switch {
	case f.kind == KindFailed:
		return true, true
	case f.kind == KindClasses && f.kind == t.last:
		return len(f.body) > 0 && f.body[0] == 1, true
	case f.kind == t.last:
		return true, true
	}
	return false, f.kind == t.part
}

// requests are Sonde's that wait for answers. One that nobody waits for any
// more stays until it is answered, so that its answer is not one to nothing.
type requests struct {
	mu   sync.Mutex
	last uint32
	open map[uint32]*answer
}

// add gives a request the next odd number that is free.
func (r *requests) add(a *answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for a.number == 0 || r.open[a.number] != nil {
		r.last = (r.last + 1) | 1
		a.number = r.last
	}
	r.open[a.number] = a
}

func (r *requests) remove(number uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, number)
}

// settle gives a frame to the request that it answers.
func (r *requests) settle(f frame) error {
	r.mu.Lock()
	a := r.open[f.request]
	r.mu.Unlock()
	if a == nil {
		return f.defect(ErrOutOfTurn, "it answers no request")
	}
	last, fits := a.turn.ends(f)
	if !fits {
		return f.defect(ErrOutOfTurn, fmt.Sprintf("it does not answer %v", a.asked))
	}
	if last {
		r.remove(f.request)
		if a.asked == KindBye && f.kind != KindFailed {
			a.peer.leaving.Store(true)
		}
	}
	return a.put(f)
}

// maxQueued bounds the bytes of an answer that nobody has taken yet.
const maxQueued = 256 << 20

// An answer is what has come of one and was not taken yet.
type answer struct {
	peer   *Peer
	asked  Kind
	number uint32
	turn   turn
	come   chan struct{} // has room for one: something came

	mu        sync.Mutex
	frames    []frame
	queued    int
	abandoned bool
}

// ask sends a request.
func (p *Peer) ask(ctx context.Context, kind Kind, b body) (*answer, error) {
	if err := p.Err(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("asking the agent for %v: %w", kind, err)
	}
	a := &answer{peer: p, asked: kind, turn: turns[kind], come: make(chan struct{}, 1)}
	p.requests.add(a)
	data, err := encode(kind, a.number, b)
	if err == nil {
		err = p.send(ctx, data)
	}
	if err != nil {
		p.requests.remove(a.number)
		return nil, fmt.Errorf("asking the agent for %v: %w", kind, err)
	}
	return a, nil
}

// put adds a frame, without waiting.
func (a *answer) put(f frame) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.abandoned {
		return nil
	}
	a.frames = append(a.frames, f)
	if a.queued += len(f.body); a.queued > maxQueued {
		return f.defect(ErrTooLong, "more comes than is taken")
	}
	select {
	case a.come <- struct{}{}:
	default:
	}
	return nil
}

// next waits for a frame. FAILED is an error. After an error there is no more.
func (a *answer) next(ctx context.Context) (frame, error) {
	for {
		// What came before the end counts.
		err := a.peer.Err()
		if f, ok := a.pop(); ok {
			return f, a.failure(f)
		}
		if err != nil {
			return frame{}, err
		}
		select {
		case <-a.come:
		case <-a.peer.done:
		case <-ctx.Done():
			a.abandon()
			return frame{}, fmt.Errorf("waiting for the agent to do %v: %w", a.asked, ctx.Err())
		}
	}
}

func (a *answer) pop() (frame, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.frames) == 0 {
		return frame{}, false
	}
	f := a.frames[0]
	a.frames[0] = frame{}
	a.frames = a.frames[1:]
	a.queued -= len(f.body)
	return f, true
}

func (a *answer) failure(f frame) error {
	if f.kind != KindFailed {
		return nil
	}
	reason, err := decode[message](f)
	if err != nil {
		return a.peer.reject(err)
	}
	return &FailedError{Asked: a.asked, Reason: string(reason)}
}

// abandon is for one who waits no longer.
func (a *answer) abandon() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.abandoned, a.frames, a.queued = true, nil, 0
}

// reject ends the conversation over a defect that showed only when an answer
// was looked into.
func (p *Peer) reject(defect error) error {
	p.end(defect)
	return p.Err()
}
