package harness

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Every is how often programs are asked how far they are.
const Every = 200 * time.Millisecond

// A Progress is how far a program is.
type Progress struct {
	Done float64 // operations
	CPU  time.Duration
	Took time.Duration // by all operations; 0 if the program does not say it
}

// A Paced is a program that reports its progress.
type Paced interface {
	Progress() (Progress, error)
	Close()
}

// A Reading is both programs' progress at a moment.
type Reading struct {
	At            time.Time
	Touched, Twin Progress
}

// A Pair is a program and a twin that nobody touches, whose progress shows how fast the
// machine is meanwhile. Both are followed until Close.
type Pair[P Paced] struct {
	Touched, Twin P

	stop    context.CancelFunc
	stopped chan struct{}

	lock  sync.Mutex
	track Track
	err   error
}

// StartPair starts both, the touched one first.
func StartPair[P Paced](ctx context.Context, start func(name string) (P, error)) (*Pair[P], error) {
	touched, err := start("touched")
	if err != nil {
		return nil, err
	}
	twin, err := start("twin")
	if err != nil {
		touched.Close()
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	p := &Pair[P]{Touched: touched, Twin: twin, stop: stop, stopped: make(chan struct{})}
	go p.follow(ctx)
	return p, nil
}

// follow asks both programs, again and again.
func (p *Pair[P]) follow(ctx context.Context) {
	defer close(p.stopped)
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	for {
		r := Reading{At: time.Now()}
		var err error
		if r.Touched, err = p.Touched.Progress(); err == nil {
			r.Twin, err = p.Twin.Progress()
		}
		p.lock.Lock()
		p.err = err
		if err == nil {
			p.track = append(p.track, r)
		}
		p.lock.Unlock()
		if err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Seen is what was read so far.
func (p *Pair[P]) Seen() (Track, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.track[:len(p.track):len(p.track)], p.err
}

// last is the newest reading; the zero one where there is none yet.
func (p *Pair[P]) last() (Reading, error) {
	track, err := p.Seen()
	if err != nil || len(track) == 0 {
		return Reading{}, err
	}
	return track[len(track)-1], nil
}

var errStopped = errors.New("the programs are followed no more")

// Run lets both run until each has had so much processor time more, however busy the
// machine is, and gives when that was.
func (p *Pair[P]) Run(ctx context.Context, used time.Duration) (Span, error) {
	s := Span{From: time.Now()}
	first, err := p.last()
	for now := first; err == nil; now, err = p.last() {
		switch {
		case first.At.Before(s.From):
			first = now // what was read before it began does not count
		case now.Touched.CPU-first.Touched.CPU >= used && now.Twin.CPU-first.Twin.CPU >= used:
			s.Until = time.Now()
			return s, nil
		}
		select {
		case <-time.After(Every):
		case <-p.stopped:
			if _, err := p.Seen(); err != nil {
				return s, err
			}
			return s, errStopped
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
	return s, err
}

// Close ends both.
func (p *Pair[P]) Close() {
	p.stop()
	<-p.stopped
	p.Touched.Close()
	p.Twin.Close()
}

// A Track is all readings, in order.
type Track []Reading

// A Span is a time from one moment to another.
type Span struct{ From, Until time.Time }

// Length is how long it takes.
func (s Span) Length() time.Duration { return max(s.Until.Sub(s.From), 0) }

// Within are the readings in a span.
func (t Track) Within(s Span) Track {
	begin := slices.IndexFunc(t, func(r Reading) bool { return !r.At.Before(s.From) })
	if begin < 0 {
		return nil
	}
	end := begin
	for end < len(t) && !t[end].At.After(s.Until) {
		end++
	}
	return t[begin:end]
}

// Window is how much processor time both programs have in the pieces in which speeds are
// compared.
const Window = 2 * time.Second

// Windows cuts what was read in a span into pieces.
func (t Track) Windows(s Span) []Track {
	var all []Track
	rest := t.Within(s)
	begin := 0
	for i := range rest {
		both := min(rest[i].Touched.CPU-rest[begin].Touched.CPU, rest[i].Twin.CPU-rest[begin].Twin.CPU)
		if both >= Window-Every/2 {
			all = append(all, rest[begin:i+1])
			begin = i
		}
	}
	return all
}

var errIdle = errors.New("a program had no processor time: the machine is too busy")

// rate is what a program did for a second of its processor time.
func rate(from, until Progress) (float64, error) {
	used := until.CPU - from.CPU
	if used <= 0 {
		return 0, errIdle
	}
	return (until.Done - from.Done) / used.Seconds(), nil
}

// Share is what the touched program did of what its twin did, each for the same
// processor time.
func (t Track) Share() (float64, error) {
	first, last := t[0], t[len(t)-1]
	touched, err := rate(first.Touched, last.Touched)
	if err != nil {
		return 0, err
	}
	twin, err := rate(first.Twin, last.Twin)
	if err != nil {
		return 0, err
	}
	if twin == 0 {
		return 0, errIdle
	}
	return touched / twin, nil
}

// Shares are those of all windows in spans.
func (t Track) Shares(spans ...Span) (shares []float64) {
	for _, s := range spans {
		for _, w := range t.Windows(s) {
			if share, err := w.Share(); err == nil {
				shares = append(shares, share)
			}
		}
	}
	return shares
}

// Lost is the processor time of the touched program in a span that brought nothing,
// if it should have done a share of what its twin did for the same.
func (t Track) Lost(s Span, expected float64) time.Duration {
	part := t.Within(s)
	if len(part) < 2 || expected <= 0 {
		return 0
	}
	first, last := part[0], part[len(part)-1]
	twin, err := rate(first.Twin, last.Twin)
	if err != nil || twin == 0 {
		return 0
	}
	used := last.Touched.CPU - first.Touched.CPU
	return used - time.Duration((last.Touched.Done-first.Touched.Done)/(twin*expected)*float64(time.Second))
}

// After is the moment at which the touched program has had so much processor time
// more than at another.
func (t Track) After(at time.Time, used time.Duration) time.Time {
	var first *Reading
	for i := range t {
		switch {
		case t[i].At.Before(at):
		case first == nil:
			first = &t[i]
		case t[i].Touched.CPU-first.Touched.CPU >= used:
			return t[i].At
		}
	}
	return at
}

// Used is the processor time the touched program had in a span.
func (t Track) Used(s Span) time.Duration {
	part := t.Within(s)
	if len(part) == 0 {
		return 0
	}
	return part[len(part)-1].Touched.CPU - part[0].Touched.CPU
}

// Without is what is left of a span when others are taken out of it.
func (s Span) Without(others []Span) []Span {
	left := []Span{s}
	for _, o := range others {
		var next []Span
		for _, one := range left {
			for _, piece := range []Span{{one.From, earlier(one.Until, o.From)}, {later(one.From, o.Until), one.Until}} {
				if piece.Length() > 0 {
					next = append(next, piece)
				}
			}
		}
		left = next
	}
	return left
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Union joins spans that touch one another.
func Union(spans []Span) []Span {
	sorted := slices.SortedFunc(slices.Values(spans), func(a, b Span) int { return a.From.Compare(b.From) })
	var all []Span
	for _, s := range sorted {
		if last := len(all) - 1; last >= 0 && !s.From.After(all[last].Until) {
			all[last].Until = later(all[last].Until, s.Until)
			continue
		}
		all = append(all, s)
	}
	return all
}
