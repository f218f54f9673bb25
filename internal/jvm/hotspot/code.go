package hotspot

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"
	"strings"
)

// codeCache finds the generated code of a JVM: compiled methods, the interpreter, stubs. A JVM replaces
// code all the time, so what is known is compared with what is there now.
type codeCache struct {
	*rounds
	layout  *layout
	heaps   []codeHeap
	blobs   map[uint64]*blob // by their begin
	byPC    map[uint64]*blob
	seen    map[uint64]sighting // all code that was there at the begin of a round, by its begin
	recent  []uint64            // code that has come in this round; the JVM may not have completed it
	now     record              // this and the next two are used again
	records []byte
	parts   []Part
	// buffers says whether code is a buffer of a compiler, by the address of its name.
	buffers map[uint64]bool
	tables  int // bytes of all tables
}

// A sighting is code, and a round at whose begin it was there.
type sighting struct {
	identity
	since int
}

// A codeHeap is a part of the code cache. A byte for each of its segments says how far back a block
// begins.
type codeHeap struct {
	low, high uint64
	segments  uint64
	shift     uint
	blocks    [2][]byte // the bytes at the begin of this round and of the one before
}

const (
	mostHeaps = 16
	mostBlobs = 100_000 // and as many addresses in code
	mostNames = 1000    // of code that is not a method
	// mostSegments bounds the segments of all heaps. HotSpot permits as many.
	mostSegments = 16 << 20
	// mostTable bounds a table of one compiled method, and mostTables the tables of all methods.
	mostTable  = 4 << 20
	mostTables = 256 << 20
	freeBlock  = 0xFF
)

// begin starts a round: it reads which heaps there are, and what is free in them.
func (c *codeCache) begin() error {
	l := c.layout
	var addresses []uint64
	if l.codeHeap != nil {
		heap, _ := c.memory.u64(l.codeHeap.address)
		addresses = append(addresses, heap)
	} else {
		list, _ := c.memory.u64(l.codeHeaps.address)
		length, _ := c.memory.u32(list + l.listLength.offset)
		data, ok := c.memory.u64(list + l.listData.offset)
		if !ok || length > mostHeaps {
			return errNoTables
		}
		for i := range uint64(length) {
			heap, _ := c.memory.u64(data + 8*i)
			addresses = append(addresses, heap)
		}
	}
	if c.blobs == nil || len(c.blobs) > mostBlobs || len(c.byPC) > mostBlobs || c.tables > mostTables {
		c.blobs, c.byPC, c.tables = map[uint64]*blob{}, map[uint64]*blob{}, 0
	}
	if c.seen == nil || len(c.seen) > mostBlobs {
		c.seen = map[uint64]sighting{}
	}
	before := c.heaps
	c.heaps = make([]codeHeap, 0, len(addresses))
	c.sight(c.recent)
	c.recent = nil
	var all uint64
	for _, heap := range addresses {
		low, _ := c.memory.u64(heap + l.heapMemory.offset + l.spaceLow.offset)
		high, _ := c.memory.u64(heap + l.heapMemory.offset + l.spaceHigh.offset)
		segments, _ := c.memory.u64(heap + l.heapSegments.offset + l.spaceLow.offset)
		shift, ok := c.memory.u32(heap + l.heapSegmentSize.offset)
		if !ok || shift > 20 || high < low || (high-low)>>shift > mostSegments-all {
			return errNoTables
		}
		all += (high - low) >> shift
		h := codeHeap{low: low, high: high, segments: segments, shift: uint(shift)}
		count := int((high - low) >> shift)
		for i := range before {
			if before[i].low == low {
				h.blocks = [2][]byte{before[i].blocks[1], before[i].blocks[0]}
			}
		}
		h.blocks[0] = slices.Grow(h.blocks[0][:0], count)[:count]
		if !c.memory.Read(segments, h.blocks[0]) {
			h.blocks[0] = nil
		}
		c.look(&h)
		c.heaps = append(c.heaps, h)
	}
	return nil
}

// look finds the code that has come since the round before.
func (c *codeCache) look(h *codeHeap) {
	const chunk = 256
	now, before := h.blocks[0], h.blocks[1]
	var found []uint64
	for at := 0; at < len(now) && len(found) < mostBlobs; at += chunk {
		end := min(at+chunk, len(now))
		if end <= len(before) && bytes.Equal(now[at:end], before[at:end]) {
			continue
		}
		for i := at; i < end; i++ {
			if now[i] == 0 {
				found = append(found, h.low+uint64(i)<<h.shift+c.layout.sizeOfBlock)
			}
		}
	}
	c.sight(found)
	c.recent = append(c.recent, found...)
	// No thread executes what the compiler is writing. Marked as free, it is found again in the next round.
	for _, at := range found {
		if c.isWritten(c.seen[at].nameAt) {
			first := (at - c.layout.sizeOfBlock - h.low) >> h.shift
			for i := first; i == first || i < uint64(len(now)) && now[i] != 0 && now[i] != freeBlock; i++ {
				now[i] = freeBlock
			}
		}
	}
}

// isWritten reports whether a name is that of a compiler's buffer.
func (c *codeCache) isWritten(nameAt uint64) bool {
	if c.buffers == nil || len(c.buffers) > mostNames {
		c.buffers = map[uint64]bool{}
	}
	is, known := c.buffers[nameAt]
	if !known {
		name, _ := c.memory.text(nameAt)
		is = strings.HasPrefix(name, "Compile::")
		c.buffers[nameAt] = is
	}
	return is
}

// sight remembers what code is there.
func (c *codeCache) sight(found []uint64) {
	const atOnce = 256
	for all := range slices.Chunk(found, atOnce) {
		size := len(all) * int(c.layout.sizeOfNMethod)
		c.records = slices.Grow(c.records[:0], size)[:size]
		records, parts := c.records, c.parts[:0]
		for part := range slices.Chunk(records, int(c.layout.sizeOfNMethod)) {
			parts = append(parts, Part{all[len(parts)], part})
		}
		c.parts = parts
		if !c.memory.ReadAll(parts) {
			continue
		}
		for i, at := range all {
			id := c.identify(at, parts[i].Into)
			if known, ok := c.seen[at]; !ok || known.identity != id {
				c.seen[at] = sighting{id, c.round}
			}
		}
	}
}

func (c *codeCache) holds(pc uint64) bool { return c.heap(pc) != nil }

func (c *codeCache) heap(pc uint64) *codeHeap {
	for i := range c.heaps {
		if h := &c.heaps[i]; pc >= h.low && pc < h.high {
			return h
		}
	}
	return nil
}

// find returns the code that holds an address; nil if it is not known, or not known to be the code
// that was there when the sample was taken.
func (c *codeCache) find(pc uint64) *blob {
	heap := c.heap(pc)
	if heap == nil {
		return nil
	}
	b := c.byPC[pc]
	if b == nil || b.checked != c.pass && !c.isUnchanged(b) {
		delete(c.byPC, pc)
		at, ok := c.start(heap, pc)
		if !ok {
			return nil
		}
		if b = c.blobs[at]; b == nil || b.checked != c.pass && !c.isUnchanged(b) {
			if b = c.read(at); b == nil {
				delete(c.blobs, at)
				return nil
			}
			b.since = c.next()
			if seen, ok := c.seen[at]; ok && b.is(seen.identity) {
				b.since = seen.since
			}
			c.blobs[at] = b
		}
		c.byPC[pc] = b
	}
	if b.checked != c.pass {
		b.checked = c.pass
		b.usable = c.isOld(b.since) || c.isFree(heap, b) && c.isQuiet()
	}
	if !b.usable || pc < b.codeBegin || pc >= b.codeEnd {
		return nil
	}
	return b
}

func (c *codeCache) isUnchanged(b *blob) bool {
	l := c.layout
	size := int(l.sizeOfBlock + l.sizeOfNMethod)
	c.now = slices.Grow(c.now[:0], size)[:size]
	return c.memory.Read(b.begin-l.sizeOfBlock, c.now) && c.now.u(l.blockUsed) == 1 && b.is(c.identify(b.begin, c.now[l.sizeOfBlock:]))
}

// isFree reports whether no code was at the place of new code at the begin of the round before. If
// nothing was freed since, it is the code that a sample has met there.
func (c *codeCache) isFree(h *codeHeap, b *blob) bool {
	first, last := (b.begin-c.layout.sizeOfBlock-h.low)>>h.shift, (b.begin+b.size-1-h.low)>>h.shift
	if last >= uint64(len(h.blocks[1])) {
		return h.blocks[1] != nil // there was no memory yet
	}
	return !slices.ContainsFunc(h.blocks[1][first:last+1], func(block byte) bool { return block != freeBlock })
}

// start returns the begin of the block that holds an address.
func (c *codeCache) start(h *codeHeap, pc uint64) (uint64, bool) {
	const chunk = 4096
	segment := (pc - h.low) >> h.shift
	for range mostSegments / chunk {
		first := segment - min(segment, chunk-1)
		blocks := c.memory.bytes(h.segments+first, int(segment-first)+1)
		for blocks != nil && segment >= first {
			back := uint64(blocks[segment-first])
			switch {
			case back == freeBlock, back > segment:
				return 0, false
			case back == 0:
				return h.low + segment<<h.shift + c.layout.sizeOfBlock, true
			}
			segment -= back
		}
		if blocks == nil {
			break
		}
	}
	return 0, false
}

// A blobKind is what generated code is.
type blobKind uint8

const (
	stubCode blobKind = iota
	compiledCode
	nativeWrapper // calls a native method
	interpreterCode
)

// A blob is a piece of generated code.
type blob struct {
	identity
	codeBegin, codeEnd uint64
	frame              uint64 // size in bytes, with return address and saved frame pointer; 0 if unknown
	complete           uint64 // where the frame is complete

	kind    blobKind
	name    string
	level   int // of the compiler
	origPC  uint64
	deopts  [2]uint64 // return addresses of frames that will continue in the interpreter
	entry   uint64    // for verified receivers
	record  record
	since   int  // it was there at the begin of this round
	checked int  // the last pass
	usable  bool // in that pass

	loaded   bool
	pcs      []byte // descriptions of addresses, in their order
	scopes   []byte
	metadata []byte // addresses of methods and classes

	calls map[uint64]call // that were right, by their return addresses
}

// A call is what compiled code has called at a place. Only where it is fixed, it cannot be another method the next time.
type call struct {
	method  uint64
	isFixed bool
}

// hasScopes reports whether the code is that of a method.
func (b *blob) hasScopes() bool { return b.kind == compiledCode || b.kind == nativeWrapper }

// isCalled reports whether a stub is entered by calls. Adapters and the like are jumped to.
func (b *blob) isCalled() bool {
	return b.kind == stubCode && (strings.HasPrefix(b.name, "StubRoutines") || strings.Contains(b.name, "C1 Runtime") || strings.Contains(b.name, "Runtime1 stub"))
}

// copiesFrames reports whether code copies frames of a virtual thread between heap and stack. The outermost frame on
// the stack returns to it if there are more on the heap.
func (b *blob) copiesFrames() bool {
	return b.kind == stubCode && strings.Contains(b.name, "continuation")
}

// is reports whether code has an identity. Only methods have a number.
func (b *blob) is(other identity) bool {
	if !b.hasScopes() {
		other.method, other.id = b.method, b.id
	}
	return b.identity == other
}

// An identity distinguishes pieces of code at one address.
type identity struct {
	begin, size uint64
	nameAt      uint64
	method      uint64
	id          uint64
}

// identify returns the identity of the code at an address.
func (c *codeCache) identify(at uint64, r record) identity {
	l := c.layout
	return identity{begin: at, size: r.u(l.blobSize), nameAt: r.u(l.blobName), method: r.u(l.nmMethod), id: r.u(l.nmID)}
}

func (c *codeCache) read(at uint64) *blob {
	l := c.layout
	block := record(c.memory.bytes(at-l.sizeOfBlock, int(l.sizeOfBlock+l.sizeOfNMethod)))
	if block == nil || block.u(l.blockUsed) != 1 {
		return nil
	}
	r := block[l.sizeOfBlock:]
	b := &blob{identity: c.identify(at, r), record: r}
	if known := c.blobs[at]; known != nil && known.nameAt == b.nameAt {
		b.name = known.name
	} else if name, ok := c.memory.text(b.nameAt); ok {
		b.name = name
	} else {
		return nil
	}
	if b.size > 1<<30 {
		return nil
	}
	if l.blobCodeBegin != nil {
		b.codeBegin, b.codeEnd = r.u(l.blobCodeBegin), r.u(l.blobCodeEnd)
	} else {
		b.codeBegin, b.codeEnd = at+r.u(l.blobCodeOffset), at+r.u(l.blobDataStart)
		if l.blobDataStart != nil && b.codeEnd <= b.codeBegin {
			b.codeEnd = at + b.size
		}
	}
	if b.codeBegin < at || b.codeEnd > at+b.size || b.codeEnd < b.codeBegin {
		return nil
	}
	if words := r.i(l.blobFrame); words > 0 && words < 1<<20 {
		b.frame = uint64(words) * 8
	}
	b.complete = b.codeBegin
	if offset := r.i(l.blobComplete); offset > 0 {
		b.complete += uint64(offset)
	}
	switch b.name {
	case "nmethod":
		b.kind = compiledCode
	case "native nmethod":
		b.kind = nativeWrapper
	case "Interpreter":
		b.kind = interpreterCode
		return b
	default:
		return b
	}
	b.level = int(r.u(l.nmLevel))
	b.origPC = r.u(l.nmOrigPC)
	for i, f := range l.nmDeopt {
		if i < len(b.deopts) {
			if b.deopts[i] = r.u(f); !l.deoptIsAddress && b.deopts[i] != 0 {
				b.deopts[i] += at
			}
		}
	}
	b.entry = r.u(l.nmVerified)
	if l.nmVerified == nil {
		b.entry = b.codeBegin + r.u(l.nmVerifiedOffset)
	}
	return b
}

// load reads the tables of a compiled method once.
func (c *codeCache) load(b *blob) {
	if b.loaded {
		return
	}
	b.loaded = true
	l, r := c.layout, b.record
	base := b.begin
	var pcsEnd, scopes, scopesEnd, metadata, metadataEnd uint64
	pcs := r.u(l.nmScopesPCs)
	if l.nmImmutable != nil {
		base = r.u(l.nmImmutable)
		scopes = base + r.u(l.nmScopesOffset)
		pcs, pcsEnd, scopesEnd = base+pcs, scopes, base+r.u(l.nmImmutableSize)
	} else {
		pcs, pcsEnd = base+pcs, base+r.u(l.nmPCsEnd)
		scopes, scopesEnd = base+r.u(l.nmScopesOffset), pcs
		if l.nmScopesBegin != nil {
			scopes = r.u(l.nmScopesBegin)
		}
	}
	if l.nmMetadata != nil {
		metadata, metadataEnd = b.begin+r.u(l.nmMetadata), scopes
		if l.nmImmutable != nil {
			metadataEnd = b.begin + b.size
		}
	} else {
		mutable := r.u(l.blobMutable)
		metadata, metadataEnd = mutable+r.u(l.blobRelocation), mutable+r.u(l.blobMutableSize)
	}
	table := func(from, to uint64) []byte {
		if from == 0 || to <= from || to-from > mostTable || c.tables > mostTables {
			return nil
		}
		c.tables += int(to - from)
		return c.memory.bytes(from, int(to-from))
	}
	b.scopes, b.metadata, b.pcs = table(scopes, scopesEnd), table(metadata, metadataEnd), table(pcs, pcsEnd)
	if !c.isUnchanged(b) {
		b.scopes, b.metadata, b.pcs = nil, nil, nil // of something else
	}
}

// desc returns the scope of a return address; if exact is false, that of the next described address after
// an address.
func (c *codeCache) desc(b *blob, pc uint64, exact bool) (scope uint32, ok bool) {
	c.load(b)
	l, step := c.layout, int(c.layout.sizeOfPC)
	at := func(i int) record { return b.pcs[i*step:][:step] }
	offset := int32(pc - b.codeBegin)
	if !exact {
		offset++
	}
	// The first has the offset -1.
	count := len(b.pcs) / step
	i := sort.Search(count, func(i int) bool { return int32(at(i).u(l.pcOffset)) >= offset })
	if i == count || exact && int32(at(i).u(l.pcOffset)) != offset {
		return 0, false
	}
	return uint32(at(i).u(l.pcScope)), true
}

// A scope is a method, and the position in it, that an address in compiled code belongs to.
type scope struct {
	method uint64
	bci    int
}

// mostInlined bounds the methods that are inlined into each other.
const mostInlined = 1000

// scopesAt returns the methods of a scope, the innermost first.
func (c *codeCache) scopesAt(b *blob, offset uint32) (all []scope) {
	c.load(b)
	for range mostInlined {
		if offset == 0 || uint64(offset) >= uint64(len(b.scopes)) {
			return all
		}
		in := stream{data: b.scopes[offset:], noZero: c.layout.release >= 20}
		sender, index, bci := in.next(), in.next(), in.next()
		if in.failed || index == 0 || uint64(index)*8 > uint64(len(b.metadata)) {
			return nil
		}
		method := binary.LittleEndian.Uint64(b.metadata[(index-1)*8:])
		all = append(all, scope{method: method, bci: int(int32(bci)) - 1})
		if sender >= offset && sender != 0 {
			return nil // senders are written before
		}
		offset = sender
	}
	return nil
}

// A stream reads numbers as HotSpot compresses them: six bits for each byte above a limit. Since
// release 20 no byte is zero.
type stream struct {
	data   []byte
	noZero bool
	failed bool
}

func (s *stream) byte() uint32 {
	if len(s.data) == 0 {
		s.failed = true
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return uint32(b)
}

func (s *stream) next() uint32 {
	low, limit := uint32(0), uint32(192)
	if s.noZero {
		low, limit = 1, 191
	}
	var sum uint32
	for i := range 5 {
		b := s.byte() - low
		sum += b << (6 * i)
		if s.failed || b < limit {
			break
		}
	}
	return sum
}

// signed reads a number that may be negative.
func (s *stream) signed() int32 {
	v := s.next()
	return int32(v>>1) ^ -int32(v&1)
}
