package hotspots

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// What a Collection may hold. Stacks beyond that are cut to their innermost frame or, if even its
// method is not known yet, to nothing; threads beyond that are put together.
const (
	maxCollected = 256 << 20 // bytes of methods and stacks
	maxThreads   = 10_000
	maxGroups    = 1 << 20
)

// A Collection holds all samples that were added. Equal samples are counted, so that its size
// depends on the number of different stacks, and it is limited.
type Collection struct {
	began, newest time.Time
	period        time.Duration
	groups        []group
	index         map[sameSamples]int
	methods       map[jfr.Method]*numbered
	threads       map[jfr.Thread]*jfr.Thread
	stacks        map[string]*jfr.Stack
	short         map[*numbered]*jfr.Stack // stacks that were cut, by their only method
	size          int                      // bytes of methods and stacks, about
	cut           int
	first, last   map[int64]time.Duration // processor time of each thread
}

// sameSamples identifies samples that are counted together.
type sameSamples struct {
	thread *jfr.Thread
	stack  *jfr.Stack
	source jfr.Source
	wait   jfr.Wait
	lock   Lock
}

type numbered struct {
	*jfr.Method
	number uint64
}

// NewCollection returns a collection without samples.
func NewCollection() *Collection {
	return &Collection{
		index: map[sameSamples]int{}, methods: map[jfr.Method]*numbered{}, threads: map[jfr.Thread]*jfr.Thread{},
		stacks: map[string]*jfr.Stack{}, short: map[*numbered]*jfr.Stack{},
	}
}

// Add adds samples as Window.Add does. at may be zero.
func (c *Collection) Add(at time.Time, samples []jfr.Sample, period time.Duration, times map[int64]time.Duration) {
	c.beginAt(at)
	if period > 0 {
		c.period = period
	}
	known := map[*jfr.Stack]*jfr.Stack{}
	for _, s := range samples {
		if s.Stack == nil || s.Thread == nil {
			continue
		}
		c.beginAt(s.At)
		if s.Source != jfr.Accounted && s.At.After(c.newest) { // other samples may come later
			c.newest = s.At
		}
		stack := known[s.Stack]
		if stack == nil {
			stack = c.stack(s.Stack)
			known[s.Stack] = stack
		}
		c.count(s, c.thread(s.Thread), stack)
	}
	if times == nil {
		return
	}
	if c.first == nil {
		c.first, c.last = maps.Clone(times), map[int64]time.Duration{}
	}
	if len(c.last) < maxGroups {
		maps.Copy(c.last, times)
	}
}

func (c *Collection) beginAt(at time.Time) {
	if !at.IsZero() && (c.began.IsZero() || at.Before(c.began)) {
		c.began = at
	}
}

func (c *Collection) count(s jfr.Sample, thread *jfr.Thread, stack *jfr.Stack) {
	if stack.Truncated && !s.Stack.Truncated {
		c.cut++
	}
	same := sameSamples{thread, stack, s.Source, s.Wait, heldIn(s.Lock)}
	at, known := c.index[same]
	if !known && len(c.groups) >= maxGroups {
		c.cut++
		return
	}
	if !known {
		at = len(c.groups)
		c.index[same] = at
		c.groups = append(c.groups, group{Sample: jfr.Sample{At: s.At, Source: s.Source, Wait: s.Wait, Thread: thread, Stack: stack}, held: same.lock})
	}
	c.groups[at].n++
	c.groups[at].period += s.Period
}

// others stands for threads beyond the limit.
var others = &jfr.Thread{JavaID: math.MinInt32, Name: "(other threads)"}

func (c *Collection) thread(t *jfr.Thread) *jfr.Thread {
	known := c.threads[*t]
	switch {
	case known != nil:
		return known
	case len(c.threads) >= maxThreads:
		return others
	}
	c.threads[*t] = t
	return t
}

// stack returns the collection's stack with the same frames. Only the innermost keeps its line.
func (c *Collection) stack(s *jfr.Stack) *jfr.Stack {
	made := &jfr.Stack{Frames: make([]jfr.Frame, 0, len(s.Frames)), Truncated: s.Truncated, Broken: s.Broken}
	key := make([]byte, 0, 4*len(s.Frames))
	for i, f := range s.Frames {
		m := c.method(methodOf(f))
		if m == nil {
			return c.cutStack(s)
		}
		if i > 0 {
			f.Line = 0
		}
		made.Frames = append(made.Frames, jfr.Frame{Method: m.Method, Kind: f.Kind, Line: f.Line})
		key = binary.AppendUvarint(binary.AppendVarint(key, int64(f.Line)), m.number)
		key = append(append(key, f.Kind...), 0)
	}
	if known := c.stacks[string(key)]; known != nil {
		return known
	}
	if c.size > maxCollected {
		return c.cutStack(s)
	}
	const frameBytes = 48
	c.size += len(made.Frames)*frameBytes + len(key)
	c.stacks[string(key)] = made
	return made
}

// cutStack returns a stack of the innermost frame, or of none if its method is not known.
func (c *Collection) cutStack(s *jfr.Stack) *jfr.Stack {
	var m *numbered
	if len(s.Frames) > 0 {
		m = c.methods[*methodOf(s.Frames[0])]
	}
	if c.short[m] == nil {
		c.short[m] = &jfr.Stack{Truncated: true}
		if m != nil {
			c.short[m].Frames = []jfr.Frame{{Method: m.Method, Kind: s.Frames[0].Kind}}
		}
	}
	return c.short[m]
}

// method returns the collection's method, nil if there is no room for it.
func (c *Collection) method(m *jfr.Method) *numbered {
	known := c.methods[*m]
	if known != nil || c.size > maxCollected {
		return known
	}
	const methodBytes = 200
	c.size += methodBytes + len(m.Class) + len(m.Name) + len(m.Descriptor)
	made := &numbered{m, uint64(len(c.methods))}
	c.methods[*m] = made
	return made
}

// Cut returns how many samples were not counted with their whole stacks, because there were too many
// different ones.
func (c *Collection) Cut() int { return c.cut }

// Table summarizes the samples up to a given time, or up to the newest if that is later.
func (c *Collection) Table(to time.Time) *Table {
	if c.newest.After(to) {
		to = c.newest
	}
	var used map[int64]time.Duration
	if c.first != nil {
		used = make(map[int64]time.Duration, len(c.last))
		for thread, after := range c.last {
			used[thread] = max(0, after-c.first[thread])
		}
	}
	return newTable(c.began, to, slices.Clone(c.groups), c.period, used)
}
