package hotspot

import (
	"encoding/binary"
	"sort"
)

// codeCache finds the generated code of a JVM: compiled methods, the interpreter, stubs. What it has
// read once it keeps, and checks again once in a round, because a JVM replaces code all the time.
type codeCache struct {
	memory space
	layout *layout
	round  int
	heaps  []codeHeap
	blobs  map[uint64]*blob // by their begin
	byPC   map[uint64]*blob
}

// A codeHeap is a part of the code cache. A byte for each of its segments says how far back a block
// begins.
type codeHeap struct {
	low, high uint64
	segments  uint64
	shift     uint
}

const (
	mostHeaps = 16
	mostBlobs = 100_000 // and as many addresses in code
	// mostHops bounds the search for the begin of a block: each hop goes back by up to 254 segments
	// of 128 bytes.
	mostHops = 4096
	// mostTable bounds the tables of one compiled method.
	mostTable = 8 << 20
	freeBlock = 0xFF
)

// begin starts a round: it reads which heaps there are.
func (c *codeCache) begin() error {
	c.round++
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
	c.heaps = c.heaps[:0]
	for _, heap := range addresses {
		low, _ := c.memory.u64(heap + l.heapMemory.offset + l.spaceLow.offset)
		high, _ := c.memory.u64(heap + l.heapMemory.offset + l.spaceHigh.offset)
		segments, _ := c.memory.u64(heap + l.heapSegments.offset + l.spaceLow.offset)
		shift, ok := c.memory.u32(heap + l.heapSegmentSize.offset)
		if !ok || shift > 20 || high < low || high-low > 4<<30 {
			return errNoTables
		}
		c.heaps = append(c.heaps, codeHeap{low: low, high: high, segments: segments, shift: uint(shift)})
	}
	if len(c.blobs) > mostBlobs || len(c.byPC) > mostBlobs {
		c.blobs, c.byPC = nil, nil
	}
	if c.blobs == nil {
		c.blobs, c.byPC = map[uint64]*blob{}, map[uint64]*blob{}
	}
	return nil
}

// holds reports whether an address is in the code cache.
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
	b := c.byPC[pc]
	if b == nil {
		heap := c.heap(pc)
		if heap == nil {
			return nil
		}
		at, ok := c.start(heap, pc)
		if !ok {
			return nil
		}
		if b = c.blobs[at]; b == nil {
			if b = c.read(at); b == nil {
				return nil
			}
			c.blobs[at] = b
		}
		c.byPC[pc] = b
	}
	if b.checked != c.round {
		now := c.read(b.begin)
		if now == nil {
			now = &blob{identity: identity{begin: b.begin}}
		}
		if now.identity != b.identity {
			// Something else is there now. The samples of this round may have met either.
			now.doubtful = c.round
			*b = *now
		}
		b.checked = c.round
	}
	if b.doubtful == c.round || pc < b.codeBegin || pc >= b.codeEnd {
		delete(c.byPC, pc)
		return nil
	}
	return b
}

// start returns the begin of the block that holds an address.
func (c *codeCache) start(h *codeHeap, pc uint64) (uint64, bool) {
	segment := (pc - h.low) >> h.shift
	for range mostHops {
		back, ok := c.memory.u8(h.segments + segment)
		switch {
		case !ok, back == freeBlock, uint64(back) > segment:
			return 0, false
		case back == 0:
			block := h.low + segment<<h.shift
			used, ok := c.memory.u8(block + c.layout.blockUsed.offset)
			return block + c.layout.sizeOfBlock, ok && used == 1
		}
		segment -= uint64(back)
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

	kind     blobKind
	name     string
	level    int // of the compiler
	origPC   uint64
	deopts   [2]uint64 // return addresses of frames that will continue in the interpreter
	entry    uint64    // for verified receivers
	record   record
	checked  int
	doubtful int // in this round it replaced other code

	loaded   bool
	pcs      []pcDesc
	scopes   []byte
	metadata []byte
}

// hasScopes reports whether the code is that of a method.
func (b *blob) hasScopes() bool { return b.kind == compiledCode || b.kind == nativeWrapper }

// identity tells pieces of code at one address apart.
type identity struct {
	begin, size uint64
	nameAt      uint64
	method      uint64
	id          uint64
}

// A pcDesc says in which scope an address is.
type pcDesc struct {
	offset uint32
	scope  uint32
	flags  uint32
}

func (c *codeCache) read(at uint64) *blob {
	l := c.layout
	r := record(c.memory.bytes(at, int(l.sizeOfNMethod)))
	if r == nil {
		return nil
	}
	b := &blob{identity: identity{begin: at, size: r.u(l.blobSize), nameAt: r.u(l.blobName)}, checked: c.round, record: r}
	name, ok := c.memory.text(b.nameAt)
	if !ok || b.size > 1<<30 {
		return nil
	}
	b.name = name
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
	switch name {
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
	b.method, b.id = r.u(l.nmMethod), r.u(l.nmID)
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
		if from == 0 || to <= from || to-from > mostTable {
			return nil
		}
		return c.memory.bytes(from, int(to-from))
	}
	b.scopes, b.metadata = table(scopes, scopesEnd), table(metadata, metadataEnd)
	raw, step := table(pcs, pcsEnd), int(l.sizeOfPC)
	for ; len(raw) >= step; raw = raw[step:] {
		r := record(raw[:step])
		b.pcs = append(b.pcs, pcDesc{offset: uint32(r.u(l.pcOffset)), scope: uint32(r.u(l.pcScope)), flags: uint32(r.u(l.pcFlags))})
	}
	// The first is a limit with the offset -1, and not in order.
	if len(b.pcs) > 0 && int32(b.pcs[0].offset) < 0 {
		b.pcs = b.pcs[1:]
	}
}

// desc returns the description of a return address; of the one after an address in between if
// exact is false.
func (c *codeCache) desc(b *blob, pc uint64, exact bool) *pcDesc {
	c.load(b)
	offset := uint32(pc - b.codeBegin)
	if !exact {
		offset++
	}
	i := sort.Search(len(b.pcs), func(i int) bool { return b.pcs[i].offset >= offset })
	if i == len(b.pcs) || exact && b.pcs[i].offset != offset {
		return nil
	}
	return &b.pcs[i]
}

// A scope is a method, and the position in it, that an address in compiled code belongs to.
type scope struct {
	method uint64
	bci    int
}

// mostInlined bounds the methods that are inlined into each other.
const mostInlined = 1000

// scopesAt returns the methods that an address belongs to, the innermost first.
func (c *codeCache) scopesAt(b *blob, d *pcDesc) (all []scope) {
	c.load(b)
	offset := d.scope
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
