package arena

import (
	"encoding/binary"
	"errors"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"
)

// only is the arena's one ring.
func only(t testing.TB, a *Arena) *Ring {
	t.Helper()
	rings, err := a.Rings()
	if err != nil || len(rings) != 1 {
		t.Fatalf("%d rings, %v", len(rings), err)
	}
	return rings[0]
}

func records(t testing.TB, r *Ring) (all []Record) {
	t.Helper()
	if err := r.Read(func(record Record) { all = append(all, record) }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	m := newModel(t, 1<<16)
	if rings, err := m.arena.Rings(); rings != nil || err != nil {
		t.Errorf("%v, %v where there is no ring", rings, err)
	}
	ring := m.thread(7, false).ring(1 << 12)
	want := []Record{
		{Kind: ValueRecord, Transaction: 1<<40 | 3, ID: 1 << 31, Depth: 1, Index: 2, Text: "grün 🙂"},
		{Kind: ValueRecord, Transaction: 1<<40 | 3, ID: 1 << 31, Depth: 1, Index: 3, AtExit: true, Null: true},
		{Kind: ValueRecord, Transaction: 1<<40 | 3, ID: 1 << 31, Depth: 1, Failed: true},
		{Kind: ValueRecord, Transaction: 1<<40 | 3, ID: 1 << 31, Depth: 1, Cut: true, Text: strings.Repeat("x", layoutMostUnits)},
		{Kind: CallRecord, Transaction: 1<<40 | 3, ID: 1 << 31, Depth: 1, Start: 5, Nanos: 6, Label: 8193, Thread: 7, Threw: true, Cut: true},
		{Kind: CallRecord, Transaction: 1<<40 | 3, ID: 70000, Start: 4, Nanos: 9, Lost: 12, Thread: 7, Root: true},
		{Kind: CallRecord, Transaction: 2, ID: 70000, Handed: true},
		{Kind: DiscardedRecord, Transaction: 4},
	}
	for _, one := range want {
		switch one.Kind {
		case CallRecord:
			if !ring.enter() {
				t.Fatal("no room")
			}
			ring.exit(one)
		case ValueRecord:
			if !ring.value(one) {
				t.Fatal("no room")
			}
		default:
			ring.discard(one.Transaction)
		}
	}
	r := only(t, m.arena)
	if state, err := r.State(); err != nil || state.Thread != 7 || state.Capacity != 1<<12 || state.Unread == 0 {
		t.Errorf("%+v, %v", state, err)
	}
	if got := records(t, r); !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if got := records(t, only(t, m.arena)); got != nil {
		t.Errorf("%+v a second time", got)
	}
	if r.Ref() != ring.ref {
		t.Errorf("ring %d, not %d", r.Ref(), ring.ref)
	}
}

func TestWhatIsNotPublishedIsNotRead(t *testing.T) {
	m := newModel(t, 1<<16)
	ring := m.thread(7, false).ring(1 << 10)
	w := m.arena.memory
	at := ring.begin(callSize, CallRecord, 0, 70000)
	w.put64(at+callTransaction, 9)
	w.put64(ring.ring+ringWrite, callSize)
	r := only(t, m.arena)
	if got := records(t, r); got != nil {
		t.Errorf("%+v", got)
	}
	w.put64(ring.ring+ringHead, callSize)
	if got := records(t, r); len(got) != 1 || got[0].Transaction != 9 {
		t.Errorf("%+v", got)
	}
}

// TestRingsGoRound has nested calls with values, now and then read: all come out, and
// every outer call has found its room.
func TestRingsGoRound(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for _, capacity := range []uint64{layoutLeastRingBytes, 1 << 12, 1 << 14} {
		m := newModel(t, 1<<17)
		ring := m.thread(1, false).ring(capacity)
		var want, got []Record
		var open []uint32
		dropped := 0
		for i := range uint64(20_000) {
			switch choice := random.Intn(10); {
			case choice < 4:
				if ring.enter() {
					open = append(open, uint32(len(open)))
				} else {
					dropped++
				}
			case choice < 8 && len(open) > 0:
				record := Record{Kind: CallRecord, Transaction: i, ID: uint32(i), Depth: open[len(open)-1], Start: i}
				open = open[:len(open)-1]
				ring.exit(record)
				want = append(want, record)
			case choice < 9:
				value := Record{Kind: ValueRecord, Transaction: i, ID: uint32(i), Text: strings.Repeat("v", random.Intn(layoutMostUnits+1))}
				if ring.value(value) {
					want = append(want, value)
				}
			case random.Intn(5) == 0:
				got = append(got, records(t, only(t, m.arena))...)
			}
			if free := m.arena.memory.u64(ring.ring+ringWrite) - m.arena.memory.u64(ring.ring+ringTail); free > capacity {
				t.Fatalf("%d bytes in a ring of %d", free, capacity)
			}
		}
		if got = append(got, records(t, only(t, m.arena))...); !slices.Equal(got, want) {
			t.Errorf("capacity %d: %d records, want %d", capacity, len(got), len(want))
		}
		if dropped == 0 {
			t.Errorf("capacity %d: the ring was never full", capacity)
		}
	}
}

func TestRingsAreReadWhileTheyAreWritten(t *testing.T) {
	const calls = 20_000
	m := newModel(t, 1<<16)
	ring := m.thread(1, false).ring(1 << 10)
	r := only(t, m.arena)
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := uint64(1); i <= calls; {
			if ring.enter() {
				ring.exit(Record{Transaction: i, ID: uint32(i), Start: i, Nanos: i})
				i++
			}
		}
	})
	next := uint64(1)
	for next <= calls {
		for _, record := range records(t, r) {
			if record.Transaction != next || uint64(record.ID) != next || record.Start != next || record.Nanos != next {
				t.Fatalf("%+v, want %d", record, next)
			}
			next++
		}
	}
	writer.Wait()
}

func TestRingsHaveBounds(t *testing.T) {
	a := newArena(t, 1<<16, 1<<16)
	if got := a.memory.u32(headerRingBytes); got != layoutRingBytes {
		t.Errorf("rings of %d bytes where nothing else was said", got)
	}
	for _, bytes := range []uint32{0, layoutLeastRingBytes - 1, layoutMostRingBytes + 1} {
		if err := a.SetRings(bytes, 0); err == nil {
			t.Errorf("a ring of %d bytes", bytes)
		}
	}
	if err := a.SetRings(1<<12, 5); err != nil || a.memory.u32(headerRingBytes) != 1<<12 || a.memory.u32(headerTraceLevels) != 5 {
		t.Errorf("%v, %d bytes, %d levels", err, a.memory.u32(headerRingBytes), a.memory.u32(headerTraceLevels))
	}
}

func TestCallsWithoutARingAreCounted(t *testing.T) {
	m := newModel(t, 1<<16)
	for range 2 {
		m.arena.memory.put32(m.thread(1, false).block+blockRingless, 5)
	}
	if calls, err := m.arena.Ringless(); err != nil || calls != 10 {
		t.Errorf("%d, %v", calls, err)
	}
}

func TestIdleValuesAreNamedByTheirPlaces(t *testing.T) {
	if word := Idle([layoutWatchValues]bool{1: true}, [layoutWatchValues]bool{0: true, 3: true}); word != 0b1001_0010 {
		t.Errorf("%b", word)
	}
}

// TestJoiningIsNoCall has a frame that only says that a thread works for another
// transaction.
func TestJoiningIsNoCall(t *testing.T) {
	m := newModel(t, 1<<16)
	thread := m.thread(1, false)
	thread.enter(70000, On|Timed)
	w := m.arena.memory
	w.put32(thread.frame(1)+frameFlags, layoutFrameJoined|3<<layoutFrameDepthShift)
	w.put64(thread.frame(1)+frameStart, 1<<40)
	w.put32(thread.block+blockDepth, 2)
	stacks, err := m.arena.Stacks()
	if err != nil || len(stacks) != 1 || len(stacks[0].Stack) != 1 || stacks[0].Stack[0].ID != 70000 {
		t.Errorf("%+v, %v", stacks, err)
	}
}

// ringSample is an arena with two rings that have something to read, of which the
// second goes round.
func ringSample(t testing.TB) *model {
	m := newModel(t, 1<<14)
	for i := range 2 {
		ring := m.thread(uint64(i+1), false).ring(layoutLeastRingBytes)
		for n := range 18 * (i + 1) {
			if !ring.enter() {
				m.arena.memory.put64(ring.ring+ringTail, m.arena.memory.u64(ring.ring+ringHead)-2*callSize)
				ring.enter()
			}
			ring.exit(Record{Transaction: uint64(n + 1), ID: 70000})
		}
		ring.value(Record{Text: "value"})
	}
	return m
}

// readRings reads all rings of an arena, whatever is in it.
func readRings(t testing.TB, a *Arena) {
	t.Helper()
	length := int(a.Length())
	rings, err := a.Rings()
	judge(t, err)
	if len(rings)*(ringSize+layoutLeastRingBytes) > length {
		t.Errorf("%d rings in an arena of %d bytes", len(rings), length)
	}
	for _, ring := range rings {
		state, err := ring.State()
		judge(t, err)
		if state.Unread > uint64(length) {
			t.Errorf("%d bytes to be read in an arena of %d", state.Unread, length)
		}
		count := 0
		judge(t, ring.Read(func(record Record) {
			if count++; len(record.Text) > 3*layoutMostUnits {
				t.Errorf("a text of %d bytes", len(record.Text))
			}
		}))
		if count*discardedSize > length {
			t.Errorf("%d records in an arena of %d bytes", count, length)
		}
		if again := 0; ring.Read(func(Record) { again++ }) == nil && again != 0 {
			t.Errorf("%d records a second time", again)
		}
	}
	_, err = a.Ringless()
	judge(t, err)
}

func TestEveryWordOfARingMayBeWrong(t *testing.T) {
	original := ringSample(t).arena.memory
	random := rand.New(rand.NewSource(1))
	places := []uint64{headerRings, headerLimit, headerLimit + 4}
	newest := uint64(original.u32(headerRings)) * layoutUnit
	for at := newest; at < newest+ringSize+layoutLeastRingBytes; at += 4 {
		places = append(places, at)
	}
	for _, at := range places {
		was := original.u32(at)
		for _, wrong := range []uint32{0, 1, was + 1, was - 1, original.u32(headerRings), 1<<32 - 1, random.Uint32(), was ^ 0xff0000} {
			m := slices.Clone(original)
			m.put32(at, wrong)
			readRings(t, &Arena{memory: m})
		}
	}
}

func TestADamagedRingIsGivenUpOnce(t *testing.T) {
	m := newModel(t, 1<<14)
	ring := m.thread(1, false).ring(layoutLeastRingBytes)
	ring.enter()
	ring.exit(Record{Transaction: 1, ID: 70000})
	w, r := m.arena.memory, only(t, m.arena)
	w.put32(ring.ring+ringSize, 0)
	if err := r.Read(func(Record) {}); !errors.Is(err, ErrOverrun) || !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	ring.enter()
	ring.exit(Record{Transaction: 2, ID: 70000})
	if got := records(t, r); len(got) != 1 || got[0].Transaction != 2 {
		t.Errorf("%+v", got)
	}
	w.put64(ring.ring+ringTail, 1<<40)
	if err := r.Read(func(Record) {}); !errors.Is(err, ErrOverrun) {
		t.Error(err)
	}
	if got := records(t, r); got != nil {
		t.Errorf("%+v", got)
	}
}

// FuzzDamagedRings reads rings that were changed in many places at once. An input is a
// list of edits: where, in words, and the word that is there then.
func FuzzDamagedRings(f *testing.F) {
	original := ringSample(f).arena.memory
	newest := original.u32(headerRings)
	ring := newest * layoutUnit / 4
	edit := func(words ...uint32) (edits []byte) {
		for i := 0; i < len(words); i += 2 {
			edits = binary.LittleEndian.AppendUint16(edits, uint16(words[i]))
			edits = binary.LittleEndian.AppendUint32(edits, words[i+1])
		}
		return edits
	}
	f.Add(edit())
	f.Add(edit(ring+ringOlder/4, newest))
	f.Add(edit(ring+ringCapacity/4, 1<<26, headerLimit/4, 1<<31))
	f.Add(edit(ring+ringHead/4, 0, ring+ringTail/4, 8))
	f.Add(edit(ring+ringSize/4, 24|layoutRecordValue<<16, ring+ringSize/4+valueIndex/4, 0xffff0000))
	f.Fuzz(func(t *testing.T, edits []byte) {
		m := slices.Clone(original)
		for ; len(edits) >= 6; edits = edits[6:] {
			at := uint64(binary.LittleEndian.Uint16(edits)) * 4
			binary.LittleEndian.PutUint32(m[at%uint64(len(m)):], binary.LittleEndian.Uint32(edits[2:]))
		}
		readRings(t, &Arena{memory: m})
	})
}

// A modelRing writes a ring as the hooks do, with the same room and in the same
// order of stores.
type modelRing struct {
	*model
	ref      uint32
	ring     uint64
	capacity uint64
	reserved uint64
}

// ring gives a thread its ring.
func (t *modelThread) ring(capacity uint64) *modelRing {
	w, ref := t.arena.memory, t.take(ringSize+capacity)
	r := &modelRing{t.model, ref, uint64(ref) * layoutUnit, capacity, 0}
	w.put32(r.ring+ringCapacity, uint32(capacity))
	w.put64(r.ring+ringTid, w.u64(t.block+blockTid))
	w.put32(r.ring+ringOlder, w.u32(headerRings))
	w.put32(headerRings, ref)
	w.put32(t.block+blockRing, ref)
	return r
}

// hasRoom is for bytes besides what is reserved, and a record more.
func (r *modelRing) hasRoom(bytes uint64) bool {
	w := r.arena.memory
	return w.u64(r.ring+ringWrite)-w.u64(r.ring+ringTail)+r.reserved+bytes+callSize <= r.capacity
}

// enter reserves room for a call's record, where there is some.
func (r *modelRing) enter() bool {
	if !r.hasRoom(callSize) {
		return false
	}
	r.reserved += callSize
	return true
}

// exit writes the record for which room is reserved.
func (r *modelRing) exit(c Record) {
	r.reserved -= callSize
	flags := uint32(0)
	for bit, is := range map[uint32]bool{layoutCallThrew: c.Threw, layoutCallRoot: c.Root, layoutCallCut: c.Cut, layoutCallHanded: c.Handed} {
		if is {
			flags |= bit
		}
	}
	w, at := r.arena.memory, r.begin(callSize, CallRecord, flags, c.ID)
	w.put64(at+callTransaction, c.Transaction)
	w.put64(at+callStart, c.Start)
	w.put64(at+callNanos, c.Nanos)
	w.put32(at+callDepth, c.Depth)
	w.put32(at+callLabel, c.Label)
	w.put32(at+callLost, c.Lost)
	w.put32(at+callThread, c.Thread)
	r.end(callSize)
}

// value writes one, where there is room.
func (r *modelRing) value(c Record) bool {
	units := utf16.Encode([]rune(c.Text))
	flags := uint32(0)
	for bit, is := range map[uint32]bool{layoutValueCut: c.Cut, layoutValueFailed: c.Failed, layoutValueNull: c.Null} {
		if is {
			flags |= bit
		}
	}
	index := uint32(c.Index) | uint32(len(units))<<16
	if c.AtExit {
		index |= layoutValueAtExit
	}
	size := valueSize + (2*uint64(len(units))+7)&^7
	if !r.hasRoom(size + r.pad(size)) {
		return false
	}
	w, at := r.arena.memory, r.begin(size, ValueRecord, flags, c.ID)
	w.put64(at+valueTransaction, c.Transaction)
	w.put32(at+valueDepth, c.Depth)
	w.put32(at+valueIndex, index)
	for i := 0; i < len(units); i += 2 {
		pair := uint32(units[i])
		if i+1 < len(units) {
			pair |= uint32(units[i+1]) << 16
		}
		w.put32(at+valueSize+2*uint64(i), pair)
	}
	r.end(size)
	return true
}

func (r *modelRing) discard(transaction uint64) {
	r.arena.memory.put64(r.begin(discardedSize, DiscardedRecord, 0, 0)+discardedTransaction, transaction)
	r.end(discardedSize)
}

// pad is how much the end of the data cuts off of a record.
func (r *modelRing) pad(size uint64) uint64 {
	left := r.capacity - r.arena.memory.u64(r.ring+ringWrite)&(r.capacity-1)
	if left < size {
		return left
	}
	return 0
}

func (r *modelRing) begin(size uint64, kind RecordKind, flags, id uint32) (at uint64) {
	w, write := r.arena.memory, r.arena.memory.u64(r.ring+ringWrite)
	if pad := r.pad(size); pad > 0 {
		w.put32(r.ring+ringSize+write&(r.capacity-1), uint32(pad)|layoutRecordPad<<layoutRecordKindShift)
		write += pad
		w.put64(r.ring+ringWrite, write)
	}
	at = r.ring + ringSize + write&(r.capacity-1)
	w.put32(at, uint32(size)|uint32(kind)<<layoutRecordKindShift|flags<<layoutRecordFlagsShift)
	w.put32(at+callId, id)
	return at
}

func (r *modelRing) end(size uint64) {
	w := r.arena.memory
	write := w.u64(r.ring+ringWrite) + size
	w.put64(r.ring+ringWrite, write)
	w.put64(r.ring+ringHead, write)
}
