package pack

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// The header (docs/formats/pack.md). All numbers are little-endian.
//
//	  0   8  magic, with the version of the format
//	  8   4  CRC-32C of the front from 16 on
//	 12   4  CRC-32C of the deltas
//	 16   4  length of the file
//	 20   4  CRC-32C of the cold part
//	 24  32  build of the agent
//	 56      parts: place and size of each
//	136      the arena: length, limit, places
const (
	magic      = "sonde\x00\x9c\x01"
	frontSumAt = 8
	deltaSumAt = 12
	summedFrom = 16
	buildAt    = 24
	buildSize  = 32
	partsAt    = buildAt + buildSize
	headerSize = 256

	alignment = 8
	mostBytes = 1<<31 - 1 // the agent has it in a Java array
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// A part is the place of a part of the file, and the number of its elements.
type part struct{ at, size uint32 }

// parts are in the order of the file and of the header. The first six sizes count slots,
// records, bytes, words of 8 bytes, anchors and bridges; the others count bytes.
type parts struct {
	index, records, names, table, anchors, bridges, dictionary, image, deltas, cold part
}

func (p *parts) each() []*part {
	return []*part{
		&p.index, &p.records, &p.names, &p.table, &p.anchors, &p.bridges, &p.dictionary, &p.image, &p.deltas, &p.cold,
	}
}

// A header is the decoded beginning of a pack.
type header struct {
	length  uint32 // of the file
	coldSum uint32
	build   string
	parts   parts
	arena   arena.Image // without its bytes
}

// append appends the header without the two checksums at its beginning.
func (h *header) append(dst []byte) []byte {
	begin := len(dst)
	dst = append(dst, magic...)
	dst = append(dst, make([]byte, summedFrom-len(magic))...)
	number := func(n uint32) { dst = binary.LittleEndian.AppendUint32(dst, n) }
	number(h.length)
	number(h.coldSum)
	dst = append(dst, h.build...)
	dst = append(dst, make([]byte, buildSize-len(h.build))...)
	for _, p := range h.parts.each() {
		number(p.at)
		number(p.size)
	}
	number(uint32(h.arena.Length))
	number(uint32(h.arena.Limit))
	dst = must(binary.Append(dst, binary.LittleEndian, h.arena.Places))
	return append(dst, make([]byte, begin+headerSize-len(dst))...)
}

// readHeader reads the header of a file that has at least headerSize bytes.
func readHeader(file []byte) *header {
	rest := file[summedFrom:headerSize]
	number := func() uint32 {
		n := binary.LittleEndian.Uint32(rest)
		rest = rest[4:]
		return n
	}
	h := &header{length: number(), coldSum: number()}
	build, _, _ := strings.Cut(string(rest[:buildSize]), "\x00")
	h.build, rest = build, rest[buildSize:]
	for _, p := range h.parts.each() {
		p.at, p.size = number(), number()
	}
	h.arena.Length, h.arena.Limit = int64(number()), int64(number())
	must(binary.Decode(rest, binary.LittleEndian, &h.arena.Places))
	return h
}

// must returns the result of coding values of fixed size, which cannot fail.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// A record is what the agent reads about a class.
//
//	0  hash of the name          4  original: length        8  woven: CRC-32C
//	1  place of the name         5    CRC-32                9  delta: place
//	2  length of the name        6    CRC-32C              10    length
//	3  next of the same name     7  woven: length          11  methods that were woven
type record [12]uint32

const (
	recordHash = iota
	recordName
	recordNameLength
	recordNext
	recordSize
	recordSum32
	recordSum32C
	recordWovenSize
	recordWovenSum
	recordDelta
	recordDeltaSize
	recordMethods

	recordBytes = 4 * len(record{})
)

// At least three quarters of the slots of an index are empty.
const (
	leastSlots    = 16
	slotsPerName  = 4
	hashSpread    = 0x9E3779B9
	slotBytes     = 4
	mostClassFile = 64 << 20 // far larger than any real class file
)

// is reports whether a class file has the size and checksums of the original.
func (r *record) is(file []byte) bool {
	return int(r[recordSize]) == len(file) && r[recordSum32] == crc32.ChecksumIEEE(file) && r[recordSum32C] == sum(file)
}

// slotOf returns the slot where the search for a hash begins.
func slotOf(hash uint32, slots int) int {
	return int(hash * hashSpread >> (33 - bits.Len(uint(slots))))
}

// isFirst reports whether a record is the first of its name.
func isFirst(records []record, i int) bool { return i == 0 || records[i-1][recordNext] != uint32(i+1) }

// slotsFor returns the number of slots of the index of records.
func slotsFor(records []record) int {
	names := 0
	for i := range records {
		if isFirst(records, i) {
			names++
		}
	}
	slots := leastSlots
	for slots < slotsPerName*names {
		slots *= 2
	}
	return slots
}

// The limit of steps from slot to slot, for all records together. Ordinary names take less
// than one step each; names chosen to have the same hash would take hours.
const (
	freeSteps    = 1 << 20
	stepsPerSlot = 8
)

// makeIndex returns the index, which leads to the first record of each name.
func makeIndex(records []record) ([]uint32, error) {
	slots := slotsFor(records)
	index := make([]uint32, slots)
	left := freeSteps + stepsPerSlot*slots
	for i := range records {
		if !isFirst(records, i) {
			continue
		}
		at := slotOf(records[i][recordHash], slots)
		for ; index[at] != 0 && left > 0; left-- {
			at = (at + 1) % slots
		}
		if left == 0 {
			return nil, ErrAlike
		}
		index[at] = uint32(i) + 1
	}
	return index, nil
}

// link sets the names of records, and links records of the same name, which are adjacent.
func link(records []record, names []string) (text []byte, err error) {
	for i, name := range names {
		r := &records[i]
		if i > 0 && names[i-1] == name {
			before := &records[i-1]
			before[recordNext] = uint32(i) + 1
			r[recordHash], r[recordName], r[recordNameLength] = before[recordHash], before[recordName], before[recordNameLength]
			continue
		}
		all, err := units(name)
		if err != nil {
			return nil, fmt.Errorf("a class of the pack: %w", err)
		}
		encoded, length := encodeText(all)
		r[recordHash], r[recordName], r[recordNameLength] = hash(all), uint32(len(text)), length
		text = append(text, encoded...)
	}
	return text, nil
}

// readSlot returns the content of a slot of an index.
func readSlot(index []byte, at int) uint32 { return binary.LittleEndian.Uint32(index[slotBytes*at:]) }

// isWide, in the length of a text, means two bytes for each code unit.
const isWide = 1 << 31

// units returns the UTF-16 code units of a name in the modified UTF-8 of class files.
func units(name string) ([]uint16, error) {
	all := make([]uint16, 0, len(name))
	for i := 0; i < len(name); {
		b := name[i:]
		switch {
		case b[0] < 0x80:
			all = append(all, uint16(b[0]))
			i++
		case b[0]&0xe0 == 0xc0 && len(b) > 1 && isTail(b[1]):
			all = append(all, uint16(b[0]&0x1f)<<6|uint16(b[1]&0x3f))
			i += 2
		case b[0]&0xf0 == 0xe0 && len(b) > 2 && isTail(b[1]) && isTail(b[2]):
			all = append(all, uint16(b[0])<<12|uint16(b[1]&0x3f)<<6|uint16(b[2]&0x3f))
			i += 3
		default:
			return nil, fmt.Errorf("%q is not a name that a class file can have", name)
		}
	}
	return all, nil
}

func isTail(b byte) bool { return b&0xc0 == 0x80 }

// hash returns what String.hashCode returns in Java.
func hash(text []uint16) (h uint32) {
	for _, unit := range text {
		h = 31*h + uint32(unit)
	}
	return h
}

// encodeText returns a text in a form that Java reads fast, and its length in code units,
// with isWide if it is wide.
func encodeText(text []uint16) (encoded []byte, length uint32) {
	length = uint32(len(text))
	if slices.ContainsFunc(text, func(unit uint16) bool { return unit > 0xff }) {
		length |= isWide
	}
	encoded = make([]byte, 0, textSize(length))
	for _, unit := range text {
		encoded = append(encoded, byte(unit))
		if length&isWide != 0 {
			encoded = append(encoded, byte(unit>>8))
		}
	}
	return encoded, length
}

// textSize returns the number of bytes of a text whose length encodeText returned.
func textSize(length uint32) uint64 {
	size := uint64(length &^ isWide)
	if length&isWide != 0 {
		size *= 2
	}
	return size
}

// appendText appends the length of a text and the text.
func appendText(dst []byte, text string) ([]byte, error) {
	all, err := units(text)
	if err != nil {
		return nil, err
	}
	encoded, length := encodeText(all)
	return append(binary.LittleEndian.AppendUint32(dst, length), encoded...), nil
}

// decodeText reverses encodeText, and returns modified UTF-8.
func decodeText(encoded []byte, length uint32) string {
	var name []byte
	for i := range int(length &^ isWide) {
		var unit uint16
		if length&isWide != 0 {
			unit = binary.LittleEndian.Uint16(encoded[2*i:])
		} else {
			unit = uint16(encoded[i])
		}
		switch {
		case unit != 0 && unit < 0x80:
			name = append(name, byte(unit))
		case unit < 0x800:
			name = append(name, 0xc0|byte(unit>>6), 0x80|byte(unit&0x3f))
		default:
			name = append(name, 0xe0|byte(unit>>12), 0x80|byte(unit>>6&0x3f), 0x80|byte(unit&0x3f))
		}
	}
	return string(name)
}

// encodeCold returns the description, the part that only Sonde reads.
func encodeCold(c *Content, classes []Class) []byte {
	w := new(cache.Writer)
	w.Text(c.Engine, c.Title, string(c.Probes))
	w.Number(uint64(len(c.Names)))
	for _, n := range c.Names {
		w.Number(uint64(n.ID))
		w.Text(n.Class, n.Method, n.Descriptor, n.Probe, n.Sequence)
		w.Number(uint64(len(n.Groups)))
		w.Text(n.Groups...)
	}
	w.Number(uint64(len(classes)))
	for _, class := range classes {
		w.Text(string(describe(class.Entry, c.Engine)))
	}
	w.Number(uint64(len(c.Left)))
	for _, l := range c.Left {
		w.Text(l.Class, l.Method, l.Reason)
	}
	if len(c.Records)+len(c.Tags) == 0 {
		return w.Bytes
	}
	w.Number(uint64(len(c.Tags)))
	w.Text(c.Tags...)
	w.Number(uint64(len(c.Records)))
	for _, r := range c.Records {
		w.Number(uint64(r.ID))
		w.Text(r.Probe, r.Name)
		w.Number(uint64(r.Kind))
		w.Number(uint64(len(r.Groups)))
		w.Text(r.Groups...)
	}
	return w.Bytes
}

// deflate returns the length of the plain bytes, followed by the compressed bytes.
func deflate(plain []byte) ([]byte, error) {
	var packed bytes.Buffer
	packed.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(plain))))
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(plain)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}

// mostCold limits the description by the rest of the pack, which names every hook too, so
// that the description is a few times as long. The constant is for classes without hooks.
func mostCold(hot int) int64 { return 64<<20 + 16*int64(hot) }

// inflate refuses to make more than a pack with hot other bytes can have.
func inflate(packed []byte, hot int) string {
	if len(packed) < 4 {
		panic(damaged("it has no description"))
	}
	length := int64(binary.LittleEndian.Uint32(packed))
	packed = packed[4:]
	if length > mostCold(hot) || length > mostInflated*int64(len(packed)) {
		panic(damaged("its description cannot be that long"))
	}
	var plain strings.Builder
	n, err := io.Copy(&plain, io.LimitReader(flate.NewReader(bytes.NewReader(packed)), length+1))
	if err != nil || n != length {
		panic(damaged("its description cannot be unpacked"))
	}
	return plain.String()
}

// mostInflated is an upper bound of the compression ratio of deflate.
const mostInflated = 1032

// describe encodes an entry without its time, and without the engine that all have in common.
func describe(e *cache.Entry, engine string) []byte {
	plain := *e
	plain.Made = time.UnixMilli(0)
	if plain.Engine == engine {
		plain.Engine = ""
	}
	return plain.AppendDescription(nil)
}

func readName(r *cache.Reader) Name {
	return Name{uint32(r.Within(1<<32 - 1)), r.Text(), r.Text(), r.Text(), r.Text(), r.Text(), readTexts(r)}
}

func readTexts(r *cache.Reader) (texts []string) {
	for range r.Count(1) {
		texts = append(texts, r.Text())
	}
	return texts
}

func readClass(r *cache.Reader, engine string) Class {
	e, err := cache.ReadDescription(r.Text())
	if err != nil {
		r.Fail(err.Error())
		return Class{}
	}
	if e.Engine == "" {
		e.Engine = engine
	}
	e.Made = time.Time{}
	return Class{Entry: e}
}

// decodeCold reads the cold part, which follows hot other bytes, into a content.
func decodeCold(cold []byte, hot int, c *Content) {
	r := cache.NewReader(inflate(cold, hot))
	c.Engine, c.Title = r.Text(), r.Text()
	if probes := r.Text(); probes != "" {
		c.Probes = []byte(probes)
	}
	for range r.Count(7) {
		c.Names = append(c.Names, readName(r))
	}
	for range r.Count(1) {
		c.Classes = append(c.Classes, readClass(r, c.Engine))
	}
	for range r.Count(3) {
		c.Left = append(c.Left, Left{r.Text(), r.Text(), r.Text()})
	}
	if !r.AtEnd() { // otherwise there are neither tags nor templates, or an earlier version has made it
		c.Tags = readTexts(r)
		for range r.Count(5) {
			one := Record{ID: uint32(r.Within(1<<32 - 1)), Probe: r.Text()}
			one.Record = weave.Record{Name: r.Text(), Kind: weave.RecordKind(r.Within(uint64(weave.Tag)))}
			one.Groups = readTexts(r)
			c.Records = append(c.Records, one)
		}
	}
	if reason := r.End(); reason != "" {
		panic(damaged("its description: %s", reason))
	}
}
