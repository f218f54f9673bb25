package cache

import (
	"context"
	"sync"
	"time"
)

// When a process gathers while it works: soon after its first entry, as most come at
// once, and then seldom.
const (
	gatherSoon = time.Second
	gatherRest = 10 * time.Second
)

// gathering gathers what a process kept, or had to read one by one, also before it ends:
// others that are at work shall not have to read it so, and one that is killed leaves
// little to be read so.
type gathering struct {
	gather func(context.Context)
	after  func(time.Duration, func()) // calls a function later

	mu      sync.Mutex
	isDue   bool // it will be done
	isAgain bool // it was done before
	closed  bool
	cancel  context.CancelFunc // of what is being done
	working sync.WaitGroup
}

func newGathering(gather func(context.Context)) *gathering {
	return &gathering{gather: gather, after: func(d time.Duration, fn func()) { time.AfterFunc(d, fn) }}
}

// want has it done, after a while.
func (g *gathering) want() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isDue || g.closed {
		return
	}
	g.isDue = true
	wait := gatherSoon
	if g.isAgain {
		wait = gatherRest
	}
	g.after(wait, g.do)
}

func (g *gathering) do() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return
	}
	g.isDue, g.isAgain, g.cancel = false, true, cancel
	g.working.Add(1)
	g.mu.Unlock()
	defer g.working.Done()
	g.gather(ctx)
}

// end has it done no more, and breaks off what is being done.
func (g *gathering) end() {
	g.mu.Lock()
	g.closed = true
	if g.cancel != nil {
		g.cancel()
	}
	g.mu.Unlock()
	g.working.Wait()
}
