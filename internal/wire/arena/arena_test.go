package arena

import (
	"encoding/binary"
	"errors"
	"math/rand"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestOwnerIsRead(t *testing.T) {
	owner := Owner{Target: 4711, TargetStart: 99, Sonde: 12, Command: strings.Repeat("x", 600), Opened: time.Unix(5, 7)}
	file := newFile(t, 1<<16)
	a, err := Create(file, 1<<15, owner)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	b, err := Open(file, true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	owner.Command = owner.Command[:512]
	if have, err := b.Owner(); err != nil || have != owner {
		t.Errorf("%+v, %v", have, err)
	}
	if b.Epoch() == 0 || b.Epoch() != a.Epoch() || b.Epoch() > layoutMostEpoch {
		t.Errorf("epochs %d and %d", a.Epoch(), b.Epoch())
	}
	if used, limit := b.Room(); used != headerSize || limit != 1<<15 || b.Length() != 1<<16 {
		t.Errorf("room %d of %d of %d", used, limit, b.Length())
	}
	b.AskStop()
	if !a.StopAsked() {
		t.Error("what one asks the other does not see")
	}
}

func TestWhatIsNoArenaIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(memory){
		"another magic":   func(m memory) { m[0]++ },
		"another version": func(m memory) { m.put32(headerVersion, layoutVersion+1) },
		"another length":  func(m memory) { m.put64(headerLength, 1<<15) },
	} {
		file := newFile(t, 1<<16)
		a, err := Create(file, 1<<16, Owner{})
		if err != nil {
			t.Fatal(err)
		}
		spoil(a.memory)
		_ = a.Close()
		if _, err := Open(file, false); !errors.Is(err, ErrNotArena) {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := newFile(t, 1<<16)
	if _, err := Create(long, 1<<16, Owner{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(long.Truncate(MostBytes+layoutUnit), putLength(long, MostBytes+layoutUnit)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(long, false); !errors.Is(err, ErrNotArena) {
		t.Errorf("a file that is longer than hooks can address: %v", err)
	}
	if _, err := Open(newFile(t, headerSize-1), false); !errors.Is(err, ErrNotArena) {
		t.Errorf("a file too short: %v", err)
	}
	for _, limit := range []int64{headerSize - 1, 1<<16 + 1} {
		if _, err := Create(newFile(t, 1<<16), limit, Owner{}); err == nil {
			t.Errorf("a limit of %d was accepted", limit)
		}
	}
}

func putLength(file *os.File, length uint64) error {
	_, err := file.WriteAt(binary.LittleEndian.AppendUint64(nil, length), headerLength)
	return err
}

// TestChunksHaveALimit: a sparse file could declare any number of nodes for nothing.
func TestChunksHaveALimit(t *testing.T) {
	m := newModel(t, 1<<20)
	m.thread(1, false).enter(3, On|Timed)
	memory := m.arena.memory
	memory.put32(uint64(memory.u32(first(memory)+blockChunk))*layoutUnit+chunkUsed, layoutMostNodes+1)
	_, summing := m.arena.Sum(0)
	_, threads := m.arena.Threads()
	if !errors.Is(summing, ErrDamaged) || !errors.Is(threads, ErrDamaged) {
		t.Errorf("%v, %v; want %v", summing, threads, ErrDamaged)
	}
}

func TestNamesAddUp(t *testing.T) {
	a := newArena(t, 1<<16, 1<<13)
	first := []Method{{ID: 2, Name: "a.B.c()V"}, {ID: 1<<32 - 1, Name: "a.B.<init>()V", LowerBound: true}}
	at := time.Unix(1, 2)
	second := []Method{{ID: 3, Name: "ä.Ö.ü(I)V", Hooked: at}, {ID: 4, Name: "a\t1.b()V", LowerBound: true, Hooked: at}}
	for _, methods := range [][]Method{first, nil, second} {
		if err := a.Describe(methods); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := a.Methods(); err != nil || !slices.Equal(have, append(second, first...)) {
		t.Errorf("%v, %v", have, err)
	}
}

// A method whose calls are a lower bound is in every sum from when it was described on.
func TestLowerBoundsAreSummed(t *testing.T) {
	a := newArena(t, 1<<16, 1<<13)
	for _, m := range []Method{{ID: 70_001, Name: "a.B.c()V"}, {ID: 70_002, Name: "a.B.d()V", LowerBound: true}, {ID: 70_003, Name: "a.B.e()V", LowerBound: true}} {
		if err := a.Describe([]Method{m}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			sum, err := a.Sum(0)
			if err != nil {
				t.Fatal(err)
			}
			for id := uint32(70_001); id <= 70_003; id++ {
				if got, want := sum.Methods[id] != nil && sum.Methods[id].LowerBound, id > 70_001 && id <= m.ID; got != want {
					t.Errorf("with %s described, %d is a lower bound: %v, want %v", m.Name, id, got, want)
				}
			}
		}
	}
}

func TestAFullArenaSaysSoAndLosesNothing(t *testing.T) {
	a := newArena(t, 1<<16, 1<<13)
	long := []Method{{ID: 2, Name: strings.Repeat("x", 1<<13)}}
	if err := a.Describe(long); !errors.Is(err, ErrFull) {
		t.Errorf("names: %v", err)
	}
	if err := a.MakeSpill(1 << 10); !errors.Is(err, ErrFull) {
		t.Errorf("spill table: %v", err)
	}
	if used, _ := a.Room(); used != headerSize {
		t.Errorf("what found no room took %d bytes", used-headerSize)
	}
	a.Raise(1 << 15)
	if err := a.Describe(long); err != nil {
		t.Errorf("after more was allocated: %v", err)
	}
}

// TestAFileCutShortIsDamaged takes the pages away under the mapping: touching
// them is a SIGBUS.
func TestAFileCutShortIsDamaged(t *testing.T) {
	for name, left := range map[string]int64{"to nothing": 0, "after its header": headerSize} {
		t.Run(name, func(t *testing.T) {
			file := newFile(t, 1<<20)
			a, err := Create(file, 1<<20, Owner{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = a.Close() }()
			m := &model{t: t, arena: a}
			m.thread(1, false).enter(3, On|Timed)
			if err := errors.Join(a.MakeSpill(64), a.Describe([]Method{{ID: 2, Name: "a.b()V"}})); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(file.Name(), left); err != nil {
				t.Fatal(err)
			}
			_, summing := a.Sum(0)
			_, threads := a.Threads()
			_, methods := a.Methods()
			for what, err := range map[string]error{
				"Sum": summing, "Threads": threads, "Methods": methods,
				"Describe": a.Describe([]Method{{ID: 3, Name: "c.d()V"}}), "MakeSpill": a.MakeSpill(64),
			} {
				if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "was cut short") {
					t.Errorf("%s: %v, want that it was cut short", what, err)
				}
			}
			a.Raise(1 << 20)
			a.AskStop()
			_, _ = a.Owner()
			a.Room()
			if left == 0 && (a.StopAsked() || a.Epoch() != 0 || a.OpenedNanos() != 0) {
				t.Error("there is something in an empty file")
			}
		})
	}
}

// TestClosedArenaReturnsNothing closes an arena under its readers.
func TestClosedArenaReturnsNothing(t *testing.T) {
	a, err := Create(newFile(t, 1<<16), 1<<16, Owner{})
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	var once sync.Once
	begun := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for err := error(nil); !errors.Is(err, ErrClosed); {
				_, err = a.Sum(0)
				a.Room()
				a.AddBatchCost(1, 1)
				once.Do(func() { close(begun) })
			}
		})
	}
	<-begun
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	readers.Wait()
	a.SetHookCost(1)
	a.Raise(1)
	a.AskStop()
	if used, limit := a.Room(); used != 0 || limit != 0 || a.Length() != 0 || a.Epoch() != 0 || a.OpenedNanos() != 0 || a.StopAsked() {
		t.Errorf("a closed arena has room %d of %d", used, limit)
	}
	for name, use := range map[string]func() error{
		"spill":    func() error { return a.MakeSpill(1) },
		"describe": func() error { return a.Describe([]Method{{ID: 1, Name: "m"}}) },
		"methods":  func() error { _, err := a.Methods(); return err },
		"threads":  func() error { _, err := a.Threads(); return err },
		"owner":    func() error { _, err := a.Owner(); return err },
		"cost":     func() error { _, err := a.Cost(); return err },
	} {
		if err := use(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := a.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

// sample is an arena with something of everything in it.
func sample(t testing.TB) *model {
	m := newModel(t, 1<<16)
	for i := range uint64(3) {
		thread := m.thread(i, i == 1)
		for id := range uint32(12) {
			thread.enter(3+id%5, On|Timed)
			m.now += 3
		}
		thread.exit(true)
		thread.enter(9, On|Timed|Flat)
	}
	for range 2 {
		if err := errors.Join(m.arena.MakeSpill(8), m.arena.Describe([]Method{{ID: 2, Name: "a.B.c()V"}, {ID: 3, Name: "a.B.d()V"}})); err != nil {
			t.Fatal(err)
		}
		m.spill(5)
	}
	return m
}

// first is the newest block of an arena.
func first(m memory) uint64 { return uint64(m.u32(headerBlocks)) * layoutUnit }

func TestDamageIsFound(t *testing.T) {
	chunk := func(m memory) uint64 { return uint64(m.u32(first(m)+blockChunk)) * layoutUnit }
	for name, spoil := range map[string]func(memory){
		"blocks in a circle":      func(m memory) { m.put32(first(m)+blockOlder, m.u32(headerBlocks)) },
		"chunks in a circle":      func(m memory) { m.put32(chunk(m)+chunkOlder, m.u32(first(m)+blockChunk)) },
		"frames in another piece": func(m memory) { m.put32(first(m)+blockFrames, 1<<31) },
		"a block in the header":   func(m memory) { m.put32(headerBlocks, 1) },
		"a block after the end":   func(m memory) { m.put32(headerBlocks, 1<<16/layoutUnit-1) },
		"more nodes than there is room": func(m memory) {
			m.put32(chunk(m)+chunkUsed, 1<<32-1)
		},
		"a node that is its own parent": func(m memory) {
			node := chunk(m) + chunkSize
			m.put32(node+nodeParent, uint32(node/layoutUnit))
			m.put64(node+nodeNanos, 1)
		},
		"a giant spill table":   func(m memory) { m.put32(uint64(m.u32(headerSpill))*layoutUnit+spillMask, 1<<32-1) },
		"spills in a circle":    func(m memory) { m.put32(uint64(m.u32(headerSpill))*layoutUnit+spillOlder, m.u32(headerSpill)) },
		"a limit of nothing":    func(m memory) { m.put64(headerLimit, 0) },
		"a limit cut too short": func(m memory) { m.put64(headerLimit, headerSize+64) },
	} {
		m := sample(t)
		spoil(m.arena.memory)
		if s, err := m.arena.Sum(0); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func TestADamagedDirectoryIsFound(t *testing.T) {
	head := func(m memory) uint64 { return uint64(m.u32(headerDirectory)) * layoutUnit }
	for name, spoil := range map[string]func(memory){
		"in a circle": func(m memory) { m.put32(head(m)+directoryOlder, m.u32(headerDirectory)) },
		"giant":       func(m memory) { m.put32(head(m)+directoryBytes, 1<<32-1) },
		"not numbers": func(m memory) { m[head(m)+directorySize] = 'x' },
	} {
		m := sample(t)
		spoil(m.arena.memory)
		if methods, err := m.arena.Methods(); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, %v", name, methods, err)
		}
	}
}

// TestDamagedArrivalsAreRead needs an arena of its own: a ring is large.
func TestDamagedArrivalsAreRead(t *testing.T) {
	m := newModel(t, 1<<18)
	if err := m.arena.MakeArrivals(); err != nil {
		t.Fatal(err)
	}
	m.announce(m.ticket(), 5, "a.B.e()V")
	w := m.arena.memory
	slot := uint64(w.u32(headerArrivals)) * layoutUnit
	for _, at := range []uint64{
		headerArrivals, headerArrivalsNext, headerArrivalsNext + 4, headerArrivalsAnswered, headerArrivalsAnswered + 4,
		slot + arrivalTicket, slot + arrivalTicket + 4, slot + arrivalLength,
	} {
		was := w.u32(at)
		for _, wrong := range []uint32{0, 1, was + 1, was - 1, 1 << 31, 1<<32 - 1} {
			w.put32(at, wrong)
			readAll(t, m.arena)
		}
		w.put32(at, was)
	}
}

// TestEveryWordMayBeWrong changes single words of an arena: what comes of it
// does not matter, as long as something does.
func TestEveryWordMayBeWrong(t *testing.T) {
	m := sample(t)
	w := m.arena.memory
	random := rand.New(rand.NewSource(1))
	for at := uint64(headerBlocks); at < w.u64(headerNext); at += 4 {
		was := w.u32(at)
		for _, wrong := range []uint32{0, 1, was + 1, was - 1, w.u32(headerBlocks), 1<<32 - 1, random.Uint32()} {
			w.put32(at, wrong)
			readAll(t, m.arena)
		}
		w.put32(at, was)
	}
}

// TestNoiseIsRead has arenas of random words, most of which name pieces.
func TestNoiseIsRead(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range 300 {
		m := make(memory, 1<<16)
		for at := uint64(0); at < uint64(len(m)); at += 4 {
			m.put32(at, headerSize/layoutUnit+random.Uint32()%(1<<10))
		}
		m.put64(headerLimit, uint64(len(m)))
		readAll(t, &Arena{memory: m})
	}
}

// FuzzDamagedArenas reads arenas that were changed in many places at once. An
// input is a list of edits: where, in words, and the word that is there then.
func FuzzDamagedArenas(f *testing.F) {
	original := sample(f).arena.memory
	edit := func(words ...uint32) (edits []byte) {
		for i := 0; i < len(words); i += 2 {
			edits = binary.LittleEndian.AppendUint16(edits, uint16(words[i]))
			edits = binary.LittleEndian.AppendUint32(edits, words[i+1])
		}
		return edits
	}
	block, newest := uint32(first(original)/4), original.u32(headerBlocks)
	chunk := original.u32(first(original) + blockChunk)
	f.Add(edit())
	f.Add(edit(headerBlocks/4, 1<<32-1))
	f.Add(edit(block+blockOlder/4, newest, block+blockChunk/4, newest))
	f.Add(edit(block+blockDepth/4, 1<<32-1, block+blockFrames/4, chunk, headerSpill/4, chunk))
	f.Add(edit(chunk*layoutUnit/4+chunkUsed/4, 200, headerDirectory/4, newest, headerLimit/4, 1<<32-1))
	f.Fuzz(func(t *testing.T, edits []byte) {
		m := slices.Clone(original)
		for ; len(edits) >= 6; edits = edits[6:] {
			at := uint64(binary.LittleEndian.Uint16(edits)) * 4
			binary.LittleEndian.PutUint32(m[at%uint64(len(m)):], binary.LittleEndian.Uint32(edits[2:]))
		}
		readAll(t, &Arena{memory: m})
	})
}

// readAll reads all there is. What is read is never more than what is there:
// the smallest thing of each kind takes a known number of bytes.
func readAll(t testing.TB, a *Arena) {
	t.Helper()
	length := int(a.Length())
	threads, err := a.Threads()
	judge(t, err)
	pieces := 0
	for _, thread := range threads {
		pieces += blockSize + len(thread.Nodes)*nodeSize + len(thread.Stack)*frameSize
	}
	if pieces > length {
		t.Errorf("threads of %d bytes in an arena of %d", pieces, length)
	}
	sum, err := a.Sum(1 << 40)
	judge(t, err)
	if err == nil && len(sum.Methods)*spilledSize > length {
		t.Errorf("%d methods in an arena of %d bytes", len(sum.Methods), length)
	}
	methods, err := a.Methods()
	judge(t, err)
	if len(methods)*len("0\n") > length {
		t.Errorf("%d names in an arena of %d bytes", len(methods), length)
	}
	arrivals, err := a.Arrivals(0)
	judge(t, err)
	if len(arrivals)*arrivalSize > length {
		t.Errorf("%d arrivals in an arena of %d bytes", len(arrivals), length)
	}
	_, err = a.Stacks()
	judge(t, err)
	readRings(t, a)
	owner, err := a.Owner()
	judge(t, err)
	if len(owner.Command) > 512 {
		t.Errorf("a command of %d bytes", len(owner.Command))
	}
	if used, limit := a.Room(); used < 0 || used > limit || limit > a.Length() {
		t.Errorf("room: %d of %d of %d", used, limit, a.Length())
	}
}

func judge(t testing.TB, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}
