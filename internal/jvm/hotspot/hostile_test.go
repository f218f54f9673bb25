package hotspot

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/unwind"
)

// counted counts what is read, to bound what a hostile process can make Sonde do.
type counted struct {
	slab
	reads, bytes *int
}

func (c counted) Read(address uint64, into []byte) bool {
	*c.reads++
	*c.bytes += len(into)
	return c.slab.Read(address, into)
}

func (c counted) ReadAll(parts []Part) bool {
	*c.reads++
	for _, part := range parts {
		*c.bytes += len(part.Into)
	}
	return c.slab.ReadAll(parts)
}

// TestHostileTables opens processes whose tables are false. Each gives an error of one line, after few reads.
func TestHostileTables(t *testing.T) {
	export := func(name string) uint64 { return base + 8*uint64(slices.Index(exports, name)) }
	static := func(p *fakeJVM, name string) uint64 { return p.statics[name] }
	for _, test := range []struct {
		name   string
		damage func(p *fakeJVM)
	}{
		{"no tables", func(p *fakeJVM) { p.slab = p.slab[:0] }},
		{"tables at a wild address", func(p *fakeJVM) { p.put(export("gHotSpotVMStructs"), 0xdead_beef_0000) }},
		{"a table at the end of the address space", func(p *fakeJVM) { p.put(export("gHotSpotVMStructs"), 1<<64-8) }},
		{"rows without size", func(p *fakeJVM) { p.put(export("gHotSpotVMStructEntryArrayStride"), 0) }},
		{"rows of any size", func(p *fakeJVM) { p.put(export("gHotSpotVMStructEntryArrayStride"), 1<<40) }},
		{"columns outside of rows", func(p *fakeJVM) { p.put(export("gHotSpotVMStructEntryOffsetOffset"), 1<<63) }},
		{"columns at the end of the address space", func(p *fakeJVM) { p.put(export("gHotSpotVMStructEntryOffsetOffset"), 1<<64-4) }},
		{"a table without end", func(p *fakeJVM) {
			endless := p.add(slices.Repeat(binary.LittleEndian.AppendUint64(nil, p.text("Type")), 6*(mostEntries+10)))
			p.put(export("gHotSpotVMStructs"), endless)
		}},
		{"names without end", func(p *fakeJVM) {
			name := p.add([]byte(strings.Repeat("x", 1<<16)))
			p.put(binary.LittleEndian.Uint64(p.slab[export("gHotSpotVMStructs")-base:]), name)
		}},
		{"types without sizes", func(p *fakeJVM) { p.put(export("gHotSpotVMTypeEntrySizeOffset"), 0) }},
		{"no list of heaps", func(p *fakeJVM) { p.put(static(p, "CodeCache::_heaps"), 0xdead_beef_0000) }},
		{"four billion heaps", func(p *fakeJVM) {
			list := binary.LittleEndian.Uint64(p.slab[static(p, "CodeCache::_heaps")-base:])
			p.set(list, "GrowableArrayBase::_len", 1<<32-1)
		}},
		{"a heap of all memory", func(p *fakeJVM) { p.put(p.heapObject()+p.offsets["CodeHeap::_memory"]+8, 1<<62) }},
		{"a heap that ends before it begins", func(p *fakeJVM) { p.put(p.heapObject()+p.offsets["CodeHeap::_memory"]+8, 1) }},
		{"segments of any size", func(p *fakeJVM) { p.set(p.heapObject(), "CodeHeap::_log2_segment_size", 63) }},
		{"a release that is none", func(p *fakeJVM) { p.put(static(p, "Abstract_VM_Version::_vm_major_version"), 1<<31) }},
	} {
		p := newProgram(amd64)
		test.damage(p.fakeJVM)
		p.align(pageSize)
		var reads, bytes int
		_, err := NewWalker(counted{p.slab, &reads, &bytes}, p)
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one of one line", test.name, err)
		}
		if reads > 10*mostEntries || bytes > 64<<20 {
			t.Errorf("%s: %d reads of %d bytes", test.name, reads, bytes)
		}
	}
}

// heapObject returns the address of the CodeHeap.
func (i *fakeJVM) heapObject() uint64 {
	at := func(address uint64) uint64 { return binary.LittleEndian.Uint64(i.slab[address-base:]) }
	return at(at(at(i.statics["CodeCache::_heaps"]) + i.offsets["GrowableArray<int>::_data"]))
}

// TestHostileMemory walks stacks of processes whose data is false. Nothing is wrong but unknown, after a bounded number of reads.
func TestHostileMemory(t *testing.T) {
	const largeSize = 1<<31 - 1
	header := func(code uint64) uint64 { return code - sizeOfHeader }
	for _, test := range []struct {
		name   string
		damage func(p *program, th *thread)
	}{
		{"a segment map that leads nowhere", func(p *program, _ *thread) {
			for n := range heapSize >> segmentBits {
				p.slab[p.segments-base+uint64(n)] = 1
			}
		}},
		{"segments that lead before the heap", func(p *program, _ *thread) {
			for n := range heapSize >> segmentBits {
				p.slab[p.segments-base+uint64(n)] = 254
			}
		}},
		{"a block at each segment", func(p *program, _ *thread) {
			for n := range heapSize >> segmentBits {
				p.slab[p.segments-base+uint64(n)] = 0
			}
		}},
		{"code of any size", func(p *program, _ *thread) { p.set(header(p.leafCode), "CodeBlob::_size", largeSize) }},
		{"code that begins anywhere", func(p *program, _ *thread) { p.set(header(p.leafCode), "CodeBlob::_code_offset", largeSize) }},
		{"a frame of any size", func(p *program, _ *thread) { p.set(header(p.leafCode), "CodeBlob::_frame_size", largeSize) }},
		{"tables of any size", func(p *program, _ *thread) { p.set(header(p.leafCode), "nmethod::_dependencies_offset", largeSize) }},
		{"tables that end before they begin", func(p *program, _ *thread) { p.set(header(p.leafCode), "nmethod::_dependencies_offset", 0) }},
		{"scopes outside of their table", func(p *program, _ *thread) {
			offset := binary.LittleEndian.Uint32(p.slab[header(p.leafCode)+p.offsets["nmethod::_scopes_pcs_offset"]-base:])
			p.set(header(p.leafCode)+uint64(offset)+sizeOfPC, "PcDesc::_scope_decode_offset", largeSize)
		}},
		{"a scope that is its own sender", func(p *program, _ *thread) {
			offset := binary.LittleEndian.Uint32(p.slab[header(p.leafCode)+p.offsets["nmethod::_scopes_data_offset"]-base:])
			p.slab[header(p.leafCode)+uint64(offset)+1-base] = 2 // the number 1
		}},
		{"a method at a wild address", func(p *program, _ *thread) { p.set(header(p.leafCode), "nmethod::_method", 0xdead_beef_0000) }},
		{"a name at a wild address", func(p *program, _ *thread) { p.set(header(p.leafCode), "CodeBlob::_name", 1<<64-8) }},
		{"a stack of return addresses", func(p *program, th *thread) {
			for address := th.sp; address < stackTop; address += 8 {
				th.words[address] = p.outerCode + callInOuter
			}
		}},
		{"a stack of addresses in code", func(p *program, th *thread) {
			for address := th.sp; address < stackTop; address += 8 {
				th.words[address] = p.heap + (address*31)%heapSize
			}
		}},
		{"frames that lead to themselves", func(p *program, th *thread) {
			for address := th.sp; address < stackTop; address += 8 {
				th.words[address] = th.sp + 8
			}
		}},
		{"a pointer at the end of the address space", func(_ *program, th *thread) { th.set(amd64.fp, 1<<64-8) }},
		{"a stack at the end of the address space", func(_ *program, th *thread) { th.set(amd64.sp, 1<<64-8) }},
	} {
		p := newProgram(amd64)
		th := newThread(t, p, amd64)
		th.interpreted(p.main)
		th.compiled(6, p.outerCode+callInOuter)
		th.compiled(4, p.leafCode+40)
		test.damage(p, th)
		p.align(pageSize)
		var reads, bytes int
		w, err := NewWalker(counted{p.slab, &reads, &bytes}, p)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if err := w.Begin(); err != nil {
			t.Error(err)
		}
		reads, bytes = 0, 0
		if th.get(amd64.sp) == 0 {
			th.set(amd64.sp, th.sp)
		}
		frames, end := w.Walk(th.regs, th.stack())
		if len(frames) > 10 && end == Complete {
			t.Errorf("%s: %d frames, %v", test.name, len(frames), end)
		}
		if reads > 3*mostLooks || bytes > 64<<20 {
			t.Errorf("%s: %d reads of %d bytes", test.name, reads, bytes)
		}
	}
}

// TestHostileNames reads methods whose names cannot be those of a method.
func TestHostileNames(t *testing.T) {
	for _, test := range []struct {
		name, class, method string
		want                bool
	}{
		{"usual", "a/B", "c", true},
		{"constructor", "a/B", "<init>", true},
		{"other letters", "ä/Ü", "ß", true},
		{"a letter beyond 16 bits, as class files have it", "a/\xed\xa0\xbd\xed\xb8\x80", "c", true},
		{"the longest", strings.Repeat("x", 65535), "c", true},
		{"empty", "", "c", false},
		{"zeros", "a\x00b", "c", false},
		{"lines", "a\nb", "c", false},
		{"no text", "\xff\xfe\xfd", "c", false},
		{"a descriptor", "a/B", "c;", false},
	} {
		p := newFakeJVM()
		at := p.method(test.class, test.method)
		w := p.walker(t, amd64)
		if found := w.methods.find(at); (found != nil) != test.want {
			t.Errorf("%s: found %v, want %v", test.name, found != nil, test.want)
		}
	}
}

// TestHostileThreads lists threads of processes whose lists are false.
func TestHostileThreads(t *testing.T) {
	newThreads := func(p *fakeJVM, numbers ...uint64) (list uint64, threads []uint64) {
		var addresses []byte
		for _, number := range numbers {
			at, os := p.object(), p.object()
			p.set(os, "OSThread::_thread_id", number)
			p.set(at, "JavaThread::_osthread", os)
			addresses = binary.LittleEndian.AppendUint64(addresses, at)
			threads = append(threads, at)
		}
		list = p.object()
		p.set(list, "ThreadsList::_length", uint64(len(numbers)))
		p.set(list, "ThreadsList::_threads", p.add(addresses))
		p.put(p.statics["ThreadsSMRSupport::_java_thread_list"], list)
		return list, threads
	}
	for _, test := range []struct {
		name   string
		damage func(p *fakeJVM, list uint64, threads []uint64)
		want   []int
	}{
		{"usual", func(*fakeJVM, uint64, []uint64) {}, []int{11, 12, 13}},
		{"four billion", func(p *fakeJVM, list uint64, _ []uint64) { p.set(list, "ThreadsList::_length", 1<<32-1) }, nil},
		{"more than there are", func(p *fakeJVM, list uint64, _ []uint64) { p.set(list, "ThreadsList::_length", mostThreads) }, nil},
		{"at a wild address", func(p *fakeJVM, list uint64, _ []uint64) { p.set(list, "ThreadsList::_threads", 1<<64-8) }, nil},
		{"without a number", func(p *fakeJVM, _ uint64, threads []uint64) { p.set(threads[1], "JavaThread::_osthread", 0) }, []int{11, 13}},
	} {
		p := newFakeJVM()
		list, threads := newThreads(p, 11, 12, 13)
		test.damage(p, list, threads)
		var got []int
		for _, one := range p.walker(t, amd64).Threads() {
			got = append(got, one.ID)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: threads %v, want %v", test.name, got, test.want)
		}
	}
	// JDK 11 and older have a list in which each thread knows the next.
	p := newFakeJVM()
	_, threads := newThreads(p, 11, 12, 13)
	for i, at := range threads {
		p.set(at, "JavaThread::_next", threads[(i+1)%len(threads)]) // it has no end
	}
	w := p.walker(t, amd64)
	w.layout.threads = nil
	first := p.statics["Abstract_VM_Version::_vm_major_version"]
	p.put(first, threads[0])
	w.layout.threadList, w.layout.threadNext = &field{address: first}, &field{offset: p.offsets["JavaThread::_next"], size: 8}
	if got := len(w.Threads()); got != 3 {
		t.Errorf("a list without end: %d threads, want 3", got)
	}
}

// TestWaiting walks the stack of a thread that waits, more of which is read as far as it is needed.
func TestWaiting(t *testing.T) {
	p := newProgram(amd64)
	th := newThread(t, p, amd64)
	th.interpreted(p.main)
	for range 500 {
		th.compiled(6, p.outerCode+callInOuter)
	}
	copied := th.stack()
	memory := &withStack{slab: p.slab, stack: copied}
	p.align(pageSize)
	memory.slab = p.slab
	w, err := NewWalker(memory, p)
	if err != nil {
		t.Fatal(err)
	}
	frames, end := w.WalkWaiting(&Thread{anchor: anchor{sp: th.sp, fp: th.get(amd64.fp), pc: th.get(amd64.pc)}})
	if len(frames) != 1001 || end != Complete {
		t.Errorf("%d frames, %v; want 1001, %v", len(frames), end, Complete)
	}
	frames, end = w.Walk(unwind.Registers{}, &Stack{})
	if len(frames) != 0 || end != UnknownCode {
		t.Errorf("nothing: %d frames, %v", len(frames), end)
	}
}

// withStack is a process with a stack.
type withStack struct {
	slab
	stack *Stack
}

func (w *withStack) Read(address uint64, into []byte) bool {
	if w.slab.Read(address, into) {
		return true
	}
	if begin := w.stack.Begin - 8; address >= begin && address+uint64(len(into)) <= w.stack.end() {
		copy(into, append(make([]byte, 8), w.stack.Bytes...)[address-begin:])
		return true
	}
	return false
}

func (w *withStack) ReadAll(parts []Part) bool {
	return !slices.ContainsFunc(parts, func(p Part) bool { return !w.Read(p.Address, p.Into) })
}

// TestReplacedCode walks samples after their code was replaced: names are right or missing.
func TestReplacedCode(t *testing.T) {
	p := newProgram(amd64)
	other := p.method("Other", "leaf")
	w := p.walker(t, amd64)
	sample := func() []string {
		th := newThread(t, p, amd64)
		th.interpreted(p.main)
		th.compiled(6, p.outerCode+callInOuter)
		th.compiled(4, p.leafCode+40)
		got, _ := th.walk(w)
		return got
	}
	begin := func() {
		t.Helper()
		if err := w.Begin(); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when string, want string) {
		t.Helper()
		got := "unknown"
		if frames := sample(); len(frames) > 0 {
			got, _, _ = strings.Cut(frames[0], ":")
		}
		if got != want {
			t.Errorf("%s: the innermost method is %s, want %s", when, got, want)
		}
	}
	expect("at first", "App.leaf")
	begin()
	p.set(p.leafCode-sizeOfHeader, "nmethod::_method", other)
	p.set(p.leafCode-sizeOfHeader, "nmethod::_compile_id", 99)
	offset := binary.LittleEndian.Uint32(p.slab[p.leafCode-sizeOfHeader+p.offsets["nmethod::_metadata_offset"]-base:])
	p.put(p.leafCode-sizeOfHeader+uint64(offset), other)
	expect("in the round in which it was replaced", "unknown")
	begin()
	expect("in the round after that, whose samples may be older", "unknown")
	begin()
	expect("later", "Other.leaf")
	begin()
	p.slab[p.leafCode-sizeOfHeader-sizeOfBlock-base] = 0
	expect("after it was freed", "unknown")
}

// TestNewCode walks samples in code that has just been compiled: it is known if nothing else can have been there.
func TestNewCode(t *testing.T) {
	p := newProgram(amd64)
	w := p.walker(t, amd64)
	fresh := p.place(piece{name: "nmethod", frame: 4, method: p.leaf, id: 20, level: 4, calls: map[int][]position{48: {{p.leaf, 10}}}})
	find := func() bool { return w.code.find(fresh+8) != nil }
	if err := w.Begin(); err != nil {
		t.Fatal(err)
	}
	if !find() {
		t.Error("code at a place that was free is unknown")
	}
	p = newProgram(amd64)
	w = p.walker(t, amd64)
	counter := p.statics["CollectedHeap::_total_collections"]
	w.rounds.counters = []uint64{counter}
	fresh = p.place(piece{name: "nmethod", frame: 4, method: p.leaf, id: 20, level: 4})
	p.put(counter, 1)
	if find() {
		t.Error("code at a place that was free is known, although code was freed since")
	}
	for name, want := range map[string]bool{"Compile::scratch_buffer": true, "I2C/C2I adapters": false} {
		p = newProgram(amd64)
		place := p.code
		p.place(piece{name: name})
		w = p.walker(t, amd64)
		p.code = place
		fresh = p.place(piece{name: "nmethod", frame: 4, method: p.leaf, id: 20, level: 4})
		if got := find(); got != want {
			t.Errorf("new code at the place of %s is known: %v, want %v", name, got, want)
		}
	}
}

// TestUnloadedClass finds a method after its class was unloaded, and another has its place: all addresses are the same.
func TestUnloadedClass(t *testing.T) {
	p := newFakeJVM()
	at := p.method("First", "run")
	w := p.walker(t, amd64)
	counter := p.statics["CollectedHeap::_total_collections"]
	w.rounds.counters = []uint64{counter}
	expect := func(when, want string) {
		t.Helper()
		got := "unknown"
		if m := w.methods.find(at); m != nil {
			got = m.info.Class
		}
		if got != want {
			t.Errorf("%s: class %s, want %s", when, got, want)
		}
	}
	begin := func() {
		t.Helper()
		if err := w.Begin(); err != nil {
			t.Fatal(err)
		}
	}
	expect("at first, with nothing unloaded", "First")
	begin()
	copy(p.slab[strings.Index(string(p.slab), "First"):], "Other")
	p.put(counter, 1)
	expect("in the round in which it was unloaded", "unknown")
	begin()
	expect("in the next round", "unknown")
	begin()
	expect("later", "Other")
	w.rounds.live = true
	copy(p.slab[strings.Index(string(p.slab), "Other"):], "Third")
	p.put(counter, 2)
	w.rounds.pass++
	expect("on a stack that stands still", "Third")
}

func TestLines(t *testing.T) {
	for _, release := range []int{8, 17, 21} {
		lines := append(pairs(5, 2, 2), largeStep(release, 3, -1)...)
		lines = append(lines, largeStep(release, 0, 500)...)
		lines = append(lines, largeStep(release, 20, -400)...)
		p := newFakeJVM()
		body := p.add(append(append(make([]byte, sizeOfConst+60), lines...), 0))
		p.align(pageSize)
		m := methods{rounds: &rounds{memory: space{p}}, layout: &layout{release: release, sizeOfConst: sizeOfConst}}
		of := &method{body: body, codeSize: 60, hasLines: true}
		for bci, want := range map[int]int{-1: 0, 0: 0, 4: 0, 5: 2, 9: 2, 10: 4, 13: 3, 14: 503, 32: 503, 33: 103, 59: 103} {
			if got := m.line(of, bci); got != want {
				t.Errorf("JDK %d: line %d of position %d, want %d", release, got, bci, want)
			}
		}
		endless := &method{body: p.add(append(make([]byte, sizeOfConst), pairs(0, 1, 5000)...)), hasLines: true}
		if got := m.line(endless, 0); got != 0 {
			t.Errorf("lines without end: line %d, want none", got)
		}
	}
}

func TestStream(t *testing.T) {
	for _, release := range []int{17, 20} {
		for _, n := range []uint32{0, 1, 190, 191, 192, 255, 1000, 65_535, 1 << 20, 1<<32 - 1} {
			in := stream{data: appendNumber(nil, release, n), noZero: release >= 20}
			if got := in.next(); got != n || in.failed || len(in.data) != 0 {
				t.Errorf("JDK %d: %d, failed %v, %d bytes left; want %d", release, got, in.failed, len(in.data), n)
			}
		}
		for _, n := range []int{0, -1, 1, -1000, 1000} {
			in := stream{data: appendSigned(nil, release, n), noZero: release >= 20}
			if got := in.signed(); int(got) != n {
				t.Errorf("JDK %d: %d, want %d", release, got, n)
			}
		}
	}
	in := stream{data: []byte{0xFF}}
	if in.next(); !in.failed {
		t.Error("a number that ends early is not noticed")
	}
}
