package arena

import (
	"maps"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func sum(t *testing.T, m *model) map[uint32]Totals {
	t.Helper()
	s, err := m.arena.Sum(m.now)
	if err != nil {
		t.Fatal(err)
	}
	totals := make(map[uint32]Totals)
	for id, method := range s.Methods {
		totals[id] = *method
	}
	return totals
}

func expect(t *testing.T, have, want map[uint32]Totals) {
	t.Helper()
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if have[id] != want[id] {
			t.Errorf("method %d:\nhave %+v\nwant %+v", id, have[id], want[id])
		}
	}
	if len(have) != len(want) {
		t.Errorf("%d methods, not %d", len(have), len(want))
	}
}

func TestAnEmptyArenaSumsToNothing(t *testing.T) {
	s, err := newModel(t, 1<<16).arena.Sum(0)
	if err != nil || len(s.Methods) != 0 || s.Threads != 0 || s.Dropped != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestCallsAreTimedByOutermost(t *testing.T) {
	for name, flags := range map[string]Flags{"flat": On | Timed | Flat, "tree": On | Timed} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, 1<<16)
			thread := m.thread(7, false)
			thread.enter(10, flags) // 10 → 20 → 10, which throws
			m.now += 5
			thread.enter(20, flags)
			m.now += 3
			thread.enter(10, flags)
			m.now += 2
			thread.exit(true)
			thread.exit(false)
			m.now++
			thread.exit(false)
			expect(t, sum(t, m), map[uint32]Totals{
				10: {Calls: 2, Timed: 2, Nanos: 11, Self: 8, Threw: 1},
				20: {Calls: 1, Timed: 1, Nanos: 5, Self: 3},
			})
		})
	}
}

func TestCallsUnderWayAreRunning(t *testing.T) {
	m := newModel(t, 1<<16)
	thread := m.thread(7, false)
	thread.enter(10, On|Timed)
	m.now += 5
	thread.enter(10, On|Timed) // not counted twice
	m.now += 5
	thread.enter(20, On) // only counted
	expect(t, sum(t, m), map[uint32]Totals{
		10: {Calls: 2, Active: 2, Running: 10},
		20: {Calls: 1},
	})
}

func TestSpilledAndDroppedCallsAreReported(t *testing.T) {
	m := newModel(t, 1<<16)
	for range 2 { // of a later table, and of the one before
		if err := m.arena.MakeSpill(10); err != nil {
			t.Fatal(err)
		}
		m.spill(5)
		m.spill(5 + 64) // has the same home
	}
	m.thread(1, false).enter(5, On|Flat)
	m.arena.memory.put64(headerDropped, 3)
	s, err := m.arena.Sum(m.now)
	if err != nil || s.Dropped != 3 || s.Threads != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	expect(t, sum(t, m), map[uint32]Totals{5: {Calls: 3, Untimed: 2}, 5 + 64: {Calls: 2, Untimed: 2}})
}

func TestCalibrationIsNoMethod(t *testing.T) {
	m := newModel(t, 1<<16)
	m.thread(1, false).enter(CalibrationID, On|Flat)
	s, err := m.arena.Sum(m.now)
	if err != nil || len(s.Methods) != 0 || s.Threads != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestSumIsWhatWasDone has threads call and return at random, and keeps its own
// account.
func TestSumIsWhatWasDone(t *testing.T) {
	for _, mode := range []Flags{On | Flat, On, On | Timed | Flat, On | Timed} {
		random := rand.New(rand.NewSource(int64(mode)))
		m := newModel(t, 4<<20)
		account := make(map[uint32]Totals)
		var threads []*accountedThread
		for i := range 5 {
			threads = append(threads, &accountedThread{modelThread: m.thread(uint64(i+1), i%2 == 0), account: account})
		}
		for range 20_000 {
			m.now += int64(random.Intn(9))
			thread := threads[random.Intn(len(threads))]
			if len(thread.calls) > 0 && random.Intn(20) < 9 {
				thread.leave(random.Intn(4) == 0)
			} else {
				thread.call(3+uint32(random.Intn(7)), mode)
			}
		}
		for _, thread := range threads {
			thread.running(mode)
		}
		t.Logf("mode %d: %d frames deep, %d bytes", mode, len(threads[0].calls), m.arena.memory.u64(headerNext))
		expect(t, sum(t, m), account)
	}
}

// An accountedThread keeps books on what it has the model write.
type accountedThread struct {
	*modelThread
	account map[uint32]Totals
	calls   []accountedCall
}

type accountedCall struct {
	id           uint32
	start, child int64
}

func (a *accountedThread) call(id uint32, flags Flags) {
	a.enter(id, flags)
	a.calls = append(a.calls, accountedCall{id: id, start: a.now})
	totals := a.account[id]
	totals.Calls++
	a.account[id] = totals
}

func (a *accountedThread) leave(threw bool) {
	last := len(a.calls) - 1
	call := a.calls[last]
	a.calls = a.calls[:last]
	framed := a.open[last].framed
	a.exit(threw)
	totals := a.account[call.id]
	if threw {
		totals.Threw++
	}
	if framed {
		took := a.now - call.start
		totals.Timed++
		totals.Self += took - call.child
		if last > 0 {
			a.calls[last-1].child += took
		}
		if !slices.ContainsFunc(a.calls, func(outer accountedCall) bool { return outer.id == call.id }) {
			totals.Nanos += uint64(took)
		}
	}
	a.account[call.id] = totals
}

// running adds what is under way at the end.
func (a *accountedThread) running(flags Flags) {
	if flags&Timed == 0 {
		return
	}
	for i, call := range a.calls {
		totals := a.account[call.id]
		totals.Active++
		if !slices.ContainsFunc(a.calls[:i], func(outer accountedCall) bool { return outer.id == call.id }) {
			totals.Running += uint64(a.now - call.start)
		}
		a.account[call.id] = totals
	}
}

func TestAdd(t *testing.T) {
	one := Totals{1, 2, 3, -4, 5, 6, 7, 8, 9, 10, 11, 12, nil, false}
	added := one
	added.Add(&one)
	if want := (Totals{2, 4, 6, -8, 10, 12, 14, 16, 9, 20, 22, 24, nil, false}); added != want {
		t.Errorf("%+v", added)
	}
	spread := &Spread{}
	spread.Add(spread)
	added.Add(&Totals{Max: 11, Spread: spread})
	if added.Max != 11 || added.Spread == nil || added.Spread == spread {
		t.Errorf("%+v", added)
	}
}

// TestBucketsAdjoin walks all of them: each begins where the one before ends, and
// holds its own bounds.
func TestBucketsAdjoin(t *testing.T) {
	next := uint64(0)
	for bucket := range layoutSpreadBuckets {
		least, greatest := bucketRange(bucket)
		if least != next || greatest < least || bucketOf(least) != bucket || bucketOf(greatest) != bucket {
			t.Fatalf("bucket %d is of %d to %d, and %d comes next", bucket, least, greatest, next)
		}
		if width := greatest - least + 1; width > 1 && 8*width > least {
			t.Errorf("bucket %d, of %d to %d, is too wide", bucket, least, greatest)
		}
		next = greatest + 1
	}
	if next != 1<<40 {
		t.Errorf("the last ends before %d", next)
	}
	for _, nanos := range []uint64{1 << 40, 1 << 50, math.MaxInt64} {
		if got := bucketOf(nanos); got != layoutSpreadBuckets-1 {
			t.Errorf("%d ns is counted in bucket %d", nanos, got)
		}
	}
}

// hookBucket is how SondeHooksSpread finds a bucket.
func hookBucket(nanos uint64) int {
	octave := 0
	for nanos >= 256 {
		nanos >>= 4
		octave += 4
	}
	for nanos >= 16 {
		nanos >>= 1
		octave++
	}
	return min(8*octave+int(nanos), layoutSpreadBuckets-1)
}

func TestNoQuantileExceedsTheLongestCall(t *testing.T) {
	if got, isKnown := new(Totals).Quantile(0.99); isKnown {
		t.Errorf("a quantile of no calls is %v", got)
	}
	for nanos := uint64(1); nanos < 1<<40; nanos = nanos*9/8 + 1 {
		totals := Totals{Max: nanos, Spread: &Spread{}}
		totals.Spread.Record(nanos)
		if got, isKnown := totals.Quantile(0.99); !isKnown || got > float64(nanos) {
			t.Errorf("the quantile of one call of %d ns is %v, known: %v", nanos, got, isKnown)
		}
	}
}

func TestQuantilesAreThoseOfTheTimes(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for _, count := range []int{1, 2, 3, 10, 1000, 20_000} {
		var parts [3]Spread
		var times []uint64
		for range count {
			nanos := uint64(math.Exp(random.Float64() * 27)) // up to nine minutes
			if bucketOf(nanos) != hookBucket(nanos) {
				t.Fatalf("%d ns is counted in bucket %d, and in %d by hooks", nanos, bucketOf(nanos), hookBucket(nanos))
			}
			parts[random.Intn(3)].Record(nanos)
			times = append(times, nanos)
		}
		slices.Sort(times)
		var all Spread
		for i := range parts {
			all.Add(&parts[i])
		}
		all.Add(nil)
		if all.Count() != uint64(count) {
			t.Errorf("%d of %d calls", all.Count(), count)
		}
		for _, q := range []float64{0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1} {
			want := float64(times[max(int(math.Ceil(q*float64(count))), 1)-1])
			if got := all.Quantile(q); math.Abs(got-want) > want/16 {
				t.Errorf("%v of %d: %v, not %v", q, count, got, want)
			}
		}
	}
	if got := new(Spread).Quantile(0.5); got != 0 {
		t.Errorf("nothing has the median %v", got)
	}
}

func TestWhatWasCountedSince(t *testing.T) {
	var before, after Spread
	const wrapping = 100
	before.counts[wrapping] = 1<<32 - 2 // and three more, of a node that counts modulo 2^32
	after.counts[wrapping] = 1
	after.Record(5)
	since := after.Since(&before)
	if since.Count() != 4 || since.counts[wrapping] != 3 || since.Quantile(0) != 5 {
		t.Errorf("%d calls, %d of them in the bucket", since.Count(), since.counts[wrapping])
	}
	if got := after.Since(nil).Count(); got != after.Count() {
		t.Errorf("%d calls since ever, of %d", got, after.Count())
	}
}

func TestWhatTookLess(t *testing.T) {
	var s Spread
	for _, nanos := range []uint64{0, 1, 1023, 1024, 1025, 1 << 39, 1 << 41} {
		s.Record(nanos)
	}
	for limit, want := range map[uint64]uint64{0: 0, 1: 1, 2: 2, 1 << 10: 3, 1 << 11: 5, 1 << 39: 5} {
		if got := s.Below(limit); got != want {
			t.Errorf("%d calls took less than %d ns, not %d", got, limit, want)
		}
	}
}

// A model writes an arena as the hooks do, with the same pieces in the same
// order of stores, but finds children in a Go map and takes the time from its
// caller.
type model struct {
	t     testing.TB
	arena *Arena
	now   int64
}

// What a block is made of, all taken at once.
const (
	modelFramesAt = blockSize
	modelTableAt  = modelFramesAt + layoutFirstFrames*frameSize
	modelChunkAt  = modelTableAt + layoutFirstTable*4
	modelRootAt   = modelChunkAt + chunkSize
	modelBlock    = modelRootAt + layoutFirstNodes*nodeSize
)

// newModel makes an arena of a length, of which all is allocated.
func newModel(t testing.TB, length int64) *model {
	t.Helper()
	return &model{t: t, arena: newArena(t, length, length), now: 1000}
}

func newArena(t testing.TB, length, limit int64) *Arena {
	t.Helper()
	a, err := Create(newFile(t, length), limit, Owner{Target: 1, Command: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// newFile is a file of zeros.
func newFile(t testing.TB, length int64) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "arena"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if err := file.Truncate(length); err != nil {
		t.Fatal(err)
	}
	return file
}

func (m *model) take(bytes uint64) uint32 {
	ref, _ := m.arena.memory.take(bytes)
	if ref == 0 {
		m.t.Fatal("the model's arena is too small")
	}
	return ref
}

// A modelThread writes one block.
type modelThread struct {
	*model
	block    uint64
	children map[[2]uint32]uint32 // refs, by the parent's ref and id
	open     []modelCall
}

// A modelCall is what a token encodes for the exit.
type modelCall struct {
	node   uint64
	framed bool
	flat   bool
	start  int64
	child  int64
}

func (m *model) thread(tid uint64, virtual bool) *modelThread {
	ref := m.take(modelBlock)
	w, block := m.arena.memory, uint64(ref)*layoutUnit
	chunk := ref + modelChunkAt/layoutUnit
	if virtual {
		w.put32(block+blockFlags, layoutBlockVirtual)
	}
	w.put32(block+blockFrames, ref+modelFramesAt/layoutUnit)
	w.put32(block+blockChunk, chunk)
	w.put32(block+blockRoot, ref+modelRootAt/layoutUnit)
	w.put32(uint64(chunk)*layoutUnit+chunkCapacity, layoutFirstNodes)
	w.put32(uint64(chunk)*layoutUnit+chunkUsed, 1)
	w.put32(block+blockOlder, w.u32(headerBlocks))
	w.put32(headerBlocks, ref)
	w.put64(block+blockTid, tid)
	w.put32(block+blockOwners, 1)
	return &modelThread{model: m, block: block, children: make(map[[2]uint32]uint32)}
}

// enter begins a call; flags decide whether it is timed and where its node is.
func (t *modelThread) enter(id uint32, flags Flags) {
	w := t.arena.memory
	parent := w.u32(t.block + blockRoot)
	if flags&Flat == 0 {
		for i := len(t.open) - 1; i >= 0; i-- {
			if !t.open[i].flat {
				parent = uint32(t.open[i].node / layoutUnit)
				break
			}
		}
	}
	node := t.child(parent, id)
	w.put64(node+nodeCalls, w.u64(node+nodeCalls)+1)
	call := modelCall{node: node, flat: flags&Flat != 0, framed: flags&Timed != 0, start: t.now}
	if call.framed {
		if call.flat {
			w.put32(node+nodeActive, w.u32(node+nodeActive)+1)
		}
		depth := w.u32(t.block + blockDepth)
		frame := t.frame(depth)
		w.put64(frame+frameNode, node/layoutUnit|(layoutFrameTimed|layoutFrameDrawn)<<32)
		w.put64(frame+frameChild, 0)
		w.put32(t.block+blockDepth, depth+1)
		w.put64(frame+frameStart, uint64(t.now))
	}
	t.open = append(t.open, call)
}

// exit ends the innermost call.
func (t *modelThread) exit(threw bool) {
	w := t.arena.memory
	call := t.open[len(t.open)-1]
	t.open = t.open[:len(t.open)-1]
	if threw {
		w.put64(call.node+nodeThrew, w.u64(call.node+nodeThrew)+1)
	}
	if !call.framed {
		return
	}
	outermost := true
	if call.flat {
		active := w.u32(call.node+nodeActive) - 1
		w.put32(call.node+nodeActive, active)
		outermost = active == 0
	}
	nanos := t.now - call.start
	w.put64(call.node+nodeTimed, w.u64(call.node+nodeTimed)+1)
	w.put64(call.node+nodeSelf, w.u64(call.node+nodeSelf)+uint64(nanos-call.child))
	if outermost {
		w.put64(call.node+nodeNanos, w.u64(call.node+nodeNanos)+uint64(nanos))
	}
	for i := len(t.open) - 1; i >= 0; i-- {
		if t.open[i].framed {
			t.open[i].child += nanos
			w.put64(t.frame(w.u32(t.block+blockDepth)-2)+frameChild, uint64(t.open[i].child))
			break
		}
	}
	w.put32(t.block+blockDepth, w.u32(t.block+blockDepth)-1)
}

func (t *modelThread) frame(depth uint32) uint64 {
	first, piece := uint32(0), 0
	for depth >= first+layoutFirstFrames<<piece {
		first += layoutFirstFrames << piece
		piece++
	}
	w, at := t.arena.memory, t.block+blockFrames+4*uint64(piece)
	if w.u32(at) == 0 {
		w.put32(at, t.take(frameSize*layoutFirstFrames<<piece))
	}
	return uint64(w.u32(at))*layoutUnit + uint64(depth-first)*frameSize
}

func (t *modelThread) child(parent, id uint32) uint64 {
	ref, known := t.children[[2]uint32{parent, id}]
	if !known {
		ref = t.newNode(parent, id)
		t.children[[2]uint32{parent, id}] = ref
	}
	return uint64(ref) * layoutUnit
}

func (t *modelThread) newNode(parent, id uint32) uint32 {
	w, ref := t.arena.memory, t.arena.memory.u32(t.block+blockChunk)
	chunk := uint64(ref) * layoutUnit
	if capacity := w.u32(chunk + chunkCapacity); w.u32(chunk+chunkUsed) == capacity {
		capacity = min(4*capacity, layoutMostNodes)
		older := ref
		ref = t.take(chunkSize + uint64(capacity)*nodeSize)
		chunk = uint64(ref) * layoutUnit
		w.put32(chunk+chunkCapacity, capacity)
		w.put32(chunk+chunkOlder, older)
		w.put32(t.block+blockChunk, ref)
	}
	used := w.u32(chunk + chunkUsed)
	node := chunk + chunkSize + uint64(used)*nodeSize
	w.put32(node+nodeId, id)
	w.put32(node+nodeParent, parent)
	w.put64(node+nodeBorn, uint64(t.now))
	w.put32(chunk+chunkUsed, used+1)
	return uint32(node / layoutUnit)
}

// spill counts a call for which there was no room.
func (m *model) spill(id uint32) {
	w := m.arena.memory
	head := uint64(w.u32(headerSpill)) * layoutUnit
	for slot := id; ; slot++ {
		entry := head + spillSize + uint64(slot&w.u32(head+spillMask))*spilledSize
		if owner := w.u32(entry + spilledId); owner == 0 || owner == id {
			w.put32(entry+spilledId, id)
			w.put64(entry+spilledCalls, w.u64(entry+spilledCalls)+1)
			return
		}
	}
}
