package hotspot

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// The memory of an image begins at base. Its first words are the exported variables.
const base = 0x100000

// exports are the variables that libjvm.so exports.
var exports = []string{
	"gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride", "gHotSpotVMTypeEntryTypeNameOffset", "gHotSpotVMTypeEntrySizeOffset",
	"gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride", "gHotSpotVMStructEntryTypeNameOffset", "gHotSpotVMStructEntryFieldNameOffset",
	"gHotSpotVMStructEntryTypeStringOffset", "gHotSpotVMStructEntryIsStaticOffset", "gHotSpotVMStructEntryOffsetOffset", "gHotSpotVMStructEntryAddressOffset",
}

// A slab is a piece of memory.
type slab []byte

func (s slab) Read(address uint64, into []byte) bool {
	if address < base || address-base > uint64(len(s)) || uint64(len(into)) > uint64(len(s))-(address-base) {
		return false
	}
	copy(into, s[address-base:])
	return true
}

func (s slab) ReadAll(parts []Part) bool {
	for _, part := range parts {
		if !s.Read(part.Address, part.Into) {
			return false
		}
	}
	return true
}

// Exported makes a slab the libraries of a process without native code.
func (s slab) Exported(name string) (uint64, bool) {
	i := slices.Index(exports, name)
	return base + 8*uint64(i), i >= 0
}

func (s slab) Find(uint64) *Mapped { return nil }

func (s slab) Search(uint64) *Mapped { return nil }

// A fakeJVM is the memory of a small JVM: a release of which the walker knows everything it needs.
type fakeJVM struct {
	slab
	offsets map[string]uint64 // of fields, by Type::_name
	statics map[string]uint64 // addresses
	release int
	texts   map[string]uint64

	segments, heap uint64 // of the code cache
	code           uint64 // where the next code goes
}

// Sizes of types in the image, and the shape of its code cache.
const (
	sizeOfBlock  = 16
	sizeOfHeader = 256 // of an nmethod
	sizeOfConst  = 64
	sizeOfPool   = 48
	sizeOfPC     = 16
	segmentBits  = 7
	heapSize     = 64 << 10
)

// imageFields are the fields of the structures, with their types.
var imageFields = []string{
	"GrowableArrayBase::_len int", "GrowableArray<int>::_vtable int*", "GrowableArray<int>::_data int*",
	"CodeHeap::_memory VirtualSpace", "CodeHeap::_segmap VirtualSpace", "CodeHeap::_log2_segment_size int",
	"HeapBlock::Header::_used bool",
	"CodeBlob::_name char*", "CodeBlob::_size int", "CodeBlob::_frame_size int", "CodeBlob::_frame_complete_offset int",
	"CodeBlob::_code_offset int", "CodeBlob::_data_offset int",
	"nmethod::_method Method*", "nmethod::_comp_level int", "nmethod::_compile_id int", "nmethod::_orig_pc_offset int", "nmethod::_verified_entry_offset int",
	"nmethod::_metadata_offset int", "nmethod::_scopes_pcs_offset int", "nmethod::_dependencies_offset int", "nmethod::_scopes_data_offset int",
	"nmethod::_deopt_handler_offset int",
	"Method::_constMethod ConstMethod*", "Method::_access_flags u2",
	"ConstMethod::_constants ConstantPool*", "ConstMethod::_code_size u2", "ConstMethod::_max_stack u2", "ConstMethod::_flags u2", "ConstMethod::_name_index u2", "ConstMethod::_signature_index u2",
	"ConstantPool::_pool_holder InstanceKlass*", "ConstantPool::_length int", "Klass::_name Symbol*", "Symbol::_length u2", "Symbol::_body u1",
	"PcDesc::_pc_offset int", "PcDesc::_scope_decode_offset int",
	"JavaCallWrapper::_anchor JavaFrameAnchor", "JavaFrameAnchor::_last_Java_sp intptr_t*", "JavaFrameAnchor::_last_Java_fp intptr_t*", "JavaFrameAnchor::_last_Java_pc address",
	"ThreadsList::_length uint", "ThreadsList::_threads JavaThread**", "JavaThread::_osthread OSThread*", "OSThread::_thread_id pid_t", "JavaThread::_anchor JavaFrameAnchor",
	"JavaThread::_threadObj OopHandle", "InstanceKlass::_constants ConstantPool*", "JavaThread::_next JavaThread*",
}

// imageStatics are static fields.
var imageStatics = []string{
	"CodeCache::_heaps GrowableArray<CodeHeap*>*", "StubRoutines::_call_stub_return_address address", "ThreadsSMRSupport::_java_thread_list ThreadsList*",
	"Abstract_VM_Version::_vm_major_version int", "CollectedHeap::_total_collections unsigned int",
}

var imageSizes = map[string]uint64{
	"HeapBlock": sizeOfBlock, "nmethod": sizeOfHeader, "ConstMethod": sizeOfConst, "ConstantPool": sizeOfPool, "PcDesc": sizeOfPC, "JavaThread": 256,
}

// newFakeJVM makes a JVM without code.
func newFakeJVM() *fakeJVM {
	i := &fakeJVM{slab: make(slab, 8*len(exports)), offsets: map[string]uint64{}, statics: map[string]uint64{}, texts: map[string]uint64{}, release: 21}
	next := map[string]uint64{}
	var fields, types []byte
	row := func(cells ...uint64) (row []byte) {
		for _, cell := range cells {
			row = binary.LittleEndian.AppendUint64(row, cell)
		}
		return row
	}
	for _, text := range append(imageFields, "VirtualSpace::_low char*", "VirtualSpace::_high char*") {
		name, kind, _ := strings.Cut(text, " ")
		at := strings.LastIndex(name, "::")
		owner := name[:at]
		offset := next[owner]
		if owner == "nmethod" {
			offset = max(offset, 64) // a CodeBlob comes first
		}
		next[owner] = offset + 8
		switch kind {
		case "VirtualSpace":
			next[owner] += 8
		case "JavaFrameAnchor":
			next[owner] += 16
		}
		i.offsets[name] = offset
		fields = append(fields, row(i.text(owner), i.text(name[at+2:]), i.text(kind), 0, offset, 0)...)
	}
	for _, text := range imageStatics {
		name, kind, _ := strings.Cut(text, " ")
		at := strings.LastIndex(name, "::")
		i.statics[name] = i.add(make([]byte, 8))
		fields = append(fields, row(i.text(name[:at]), i.text(name[at+2:]), i.text(kind), 1, 0, i.statics[name])...)
	}
	for name, size := range imageSizes {
		types = append(types, row(i.text(name), size)...)
	}
	values := []uint64{i.add(append(types, make([]byte, 16)...)), 16, 0, 8, i.add(append(fields, make([]byte, 48)...)), 48, 0, 8, 16, 24, 32, 40}
	for n, value := range values {
		i.put(base+8*uint64(n), value)
	}
	i.put(i.statics["Abstract_VM_Version::_vm_major_version"], uint64(i.release))

	// The code cache is one heap.
	i.segments = i.add(slices.Repeat([]byte{freeBlock}, heapSize>>segmentBits))
	i.align(1 << segmentBits)
	i.heap = i.add(make([]byte, heapSize))
	i.code = i.heap
	heap := i.object()
	i.set(heap, "CodeHeap::_memory", i.heap)
	i.put(heap+i.offsets["CodeHeap::_memory"]+8, i.heap+heapSize)
	i.set(heap, "CodeHeap::_segmap", i.segments)
	i.set(heap, "CodeHeap::_log2_segment_size", segmentBits)
	list := i.object()
	i.set(list, "GrowableArrayBase::_len", 1)
	i.set(list, "GrowableArray<int>::_data", i.add(row(heap)))
	i.put(i.statics["CodeCache::_heaps"], list)
	return i
}

func (i *fakeJVM) align(to int) {
	for len(i.slab)%to != 0 {
		i.slab = append(i.slab, 0)
	}
}

// add appends bytes to the memory and returns their address.
func (i *fakeJVM) add(data []byte) uint64 {
	i.align(8)
	at := base + uint64(len(i.slab))
	i.slab = append(i.slab, data...)
	return at
}

// object appends an empty structure.
func (i *fakeJVM) object() uint64 { return i.add(make([]byte, 256)) }

// text appends a string, once.
func (i *fakeJVM) text(s string) uint64 {
	if _, ok := i.texts[s]; !ok {
		i.texts[s] = i.add(append([]byte(s), 0))
	}
	return i.texts[s]
}

func (i *fakeJVM) put(address, value uint64) {
	binary.LittleEndian.PutUint64(i.slab[address-base:], value)
}

// set sets a field of a structure.
func (i *fakeJVM) set(object uint64, name string, value uint64) {
	at, ok := i.offsets[name]
	if !ok {
		panic("no field " + name)
	}
	i.put(object+at, value)
}

func (i *fakeJVM) symbol(s string) uint64 {
	at := i.add(make([]byte, 32+len(s)))
	i.set(at, "Symbol::_length", uint64(len(s)))
	copy(i.slab[at+i.offsets["Symbol::_body"]-base:], s)
	return at
}

// method appends a method whose code has a line for each ten bytes, beginning with 100.
func (i *fakeJVM) method(class, name string) uint64 {
	const codeSize = 60
	pool := i.add(make([]byte, sizeOfPool+3*8))
	klass := i.object()
	i.set(klass, "Klass::_name", i.symbol(class))
	i.set(pool, "ConstantPool::_pool_holder", klass)
	i.set(pool, "ConstantPool::_length", 3)
	i.put(pool+sizeOfPool+8, i.symbol(name))
	i.put(pool+sizeOfPool+16, i.symbol("()V"))
	lines := append(largeStep(i.release, 0, 100), pairs(10, 1, codeSize/10-1)...)
	body := i.add(append(make([]byte, sizeOfConst+codeSize), append(lines, 0)...))
	i.set(body, "ConstMethod::_constants", pool)
	i.set(body, "ConstMethod::_code_size", codeSize)
	i.set(body, "ConstMethod::_max_stack", 3)
	i.set(body, "ConstMethod::_flags", hasLineNumbers)
	i.set(body, "ConstMethod::_name_index", 1)
	i.set(body, "ConstMethod::_signature_index", 2)
	at := i.object()
	i.set(at, "Method::_constMethod", body)
	return at
}

// pairs are steps of positions and lines in one byte each.
func pairs(bci, line, count int) []byte { return slices.Repeat([]byte{byte(bci<<3 | line)}, count) }

// largeStep returns a step that takes more than one byte.
func largeStep(release, bci, line int) []byte {
	return appendSigned(appendSigned([]byte{0xFF}, release, bci), release, line)
}

func appendSigned(to []byte, release, n int) []byte {
	return appendNumber(to, release, uint32(n<<1)^uint32(n>>31))
}

// appendNumber compresses a number as HotSpot does.
func appendNumber(to []byte, release int, n uint32) []byte {
	low, limit := uint32(0), uint32(192)
	if release >= 20 {
		low, limit = 1, 191
	}
	for range 4 {
		if n < limit {
			break
		}
		n -= limit
		to = append(to, byte(low+limit+n%64))
		n /= 64
	}
	return append(to, byte(low+n))
}

// A piece describes code to add to an image.
type piece struct {
	name     string
	frame    int    // words
	complete int    // offset
	entry    int    // offset
	code     []byte // instructions
	method   uint64
	id       int
	level    int
	deopt    int                // offset of the handler from the begin of the header
	calls    map[int][]position // scopes of return addresses, the innermost first
}

// A position is a position in a method.
type position struct {
	method uint64
	bci    int
}

// place appends code to the code cache and returns where its instructions begin.
func (i *fakeJVM) place(p piece) (begin uint64) {
	codeSize := max(len(p.code), 64)
	var scopes, metadata, pcs []byte
	scopes = append(scopes, 0) // the offset 0 means none
	addPC := func(offset int32, scope int) {
		row := make([]byte, sizeOfPC)
		binary.LittleEndian.PutUint32(row[i.offsets["PcDesc::_pc_offset"]:], uint32(offset))
		binary.LittleEndian.PutUint32(row[i.offsets["PcDesc::_scope_decode_offset"]:], uint32(scope))
		pcs = append(pcs, row...)
	}
	addPC(-1, 0)
	for offset := range 1 << 12 {
		positions, ok := p.calls[offset]
		if !ok {
			continue
		}
		sender := 0
		for _, at := range slices.Backward(positions) {
			metadata = binary.LittleEndian.AppendUint64(metadata, at.method)
			begin := len(scopes)
			for _, n := range []int{sender, len(metadata) / 8, at.bci + 1} {
				scopes = appendNumber(scopes, i.release, uint32(n))
			}
			sender = begin
		}
		addPC(int32(offset), sender)
	}
	header := i.code + sizeOfBlock
	begin = header + sizeOfHeader
	size := sizeOfHeader + codeSize + len(metadata) + len(scopes) + len(pcs) + 64
	set := func(name string, value int) {
		binary.LittleEndian.PutUint32(i.slab[header+i.offsets[name]-base:], uint32(value))
	}
	i.set(header, "CodeBlob::_name", i.text(p.name))
	set("CodeBlob::_size", size)
	set("CodeBlob::_frame_size", p.frame)
	set("CodeBlob::_frame_complete_offset", p.complete)
	set("CodeBlob::_code_offset", sizeOfHeader)
	set("CodeBlob::_data_offset", sizeOfHeader+codeSize)
	copy(i.slab[begin-base:], p.code)
	if p.name == "nmethod" || p.name == "native nmethod" {
		i.set(header, "nmethod::_method", p.method)
		set("nmethod::_comp_level", p.level)
		set("nmethod::_compile_id", p.id)
		set("nmethod::_verified_entry_offset", p.entry)
		set("nmethod::_deopt_handler_offset", p.deopt)
		at := sizeOfHeader + codeSize
		for _, table := range []struct {
			name string
			data []byte
		}{{"nmethod::_metadata_offset", metadata}, {"nmethod::_scopes_data_offset", scopes}, {"nmethod::_scopes_pcs_offset", pcs}, {"nmethod::_dependencies_offset", nil}} {
			set(table.name, at)
			copy(i.slab[header+uint64(at)-base:], table.data)
			at += len(table.data)
		}
	}
	i.slab[i.code+i.offsets["HeapBlock::Header::_used"]-base] = 1
	count := (sizeOfBlock + size + 1<<segmentBits - 1) >> segmentBits
	for n := range count {
		i.slab[i.segments-base+(i.code-i.heap)>>segmentBits+uint64(n)] = byte(n)
	}
	i.code += uint64(count) << segmentBits
	return begin
}

// walker opens the JVM, and begins a round whose samples can have met what is there.
func (i *fakeJVM) walker(t testing.TB, machine machine) *Walker {
	t.Helper()
	i.align(pageSize)
	w, err := NewWalker(i, i)
	if err != nil {
		t.Fatal(err)
	}
	w.machine = machine
	if err := w.Begin(); err != nil {
		t.Fatal(err)
	}
	return w
}

// names are the methods of frames, with positions and kinds.
func names(frames []jfr.Frame) (all []string) {
	for _, f := range frames {
		all = append(all, fmt.Sprintf("%s.%s:%d %s", f.Method.Class, f.Method.Name, f.Line, f.Kind))
	}
	return all
}
