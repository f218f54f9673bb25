package pack

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A Pack is a pack that was read and checked. It is safe for concurrent use.
type Pack struct {
	file    []byte
	header  *header
	records []record
	content *Content
}

// Open reads a pack and checks all of it. The error is that of the operating system, or a
// *FileError.
func Open(path string) (*Pack, error) {
	file, err := readFile(path)
	if err != nil {
		return nil, err
	}
	p, failed := read(file)
	if failed != nil {
		failed.Path = path
		return nil, failed
	}
	return p, nil
}

// readFile reads a file that begins like a pack. Other files may be large.
func readFile(path string) ([]byte, error) {
	from, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }() // only read
	info, err := from.Stat()
	if err != nil {
		return nil, err
	}
	beginning := make([]byte, headerSize)
	n, err := io.ReadFull(from, beginning)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	h, failed := readBeginning(beginning[:n])
	if failed != nil {
		failed.Path = path
		return nil, failed
	}
	if info.Size() > mostBytes || int64(h.length) != info.Size() {
		return nil, &FileError{path, ErrDamaged, fmt.Sprintf("it should have %d bytes, and has %d", h.length, info.Size())}
	}
	file := make([]byte, info.Size())
	if _, err := io.ReadFull(io.NewSectionReader(from, 0, info.Size()), file); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return file, nil
}

// readBeginning refuses files that are no pack, or a pack of another version.
func readBeginning(file []byte) (*header, *FileError) {
	const version = len(magic) - 1
	switch {
	case len(file) < len(magic) || string(file[:version]) != magic[:version]:
		return nil, &FileError{Kind: ErrNotPack}
	case file[version] != magic[version]:
		return nil, &FileError{Kind: ErrVersion, Detail: fmt.Sprintf("its format is %d, this Sonde reads %d", file[version], magic[version])}
	case len(file) < headerSize:
		return nil, &FileError{Kind: ErrDamaged, Detail: fmt.Sprintf("it has only %d bytes", len(file))}
	}
	return readHeader(file), nil
}

// read checks a file as a whole, then part by part. The functions it calls panic with a
// *FileError where the file is damaged.
func read(file []byte) (p *Pack, failed *FileError) {
	h, failed := readBeginning(file)
	if failed != nil {
		return nil, failed
	}
	defer recoverDamage(&failed)
	if int64(h.length) != int64(len(file)) {
		panic(damaged("it should have %d bytes, and has %d", h.length, len(file)))
	}
	deltas, cold := h.parts.deltas, h.parts.cold
	isInOrder := slices.IsSortedFunc(h.parts.each(), func(a, b *part) int { return cmp.Compare(a.at, b.at) })
	switch {
	case !isInOrder || deltas.at < headerSize || uint64(cold.at)+uint64(cold.size) != uint64(len(file)) || deltas.size != cold.at-deltas.at:
		panic(damaged("its parts overlap or lie outside the file"))
	case binary.LittleEndian.Uint32(file[frontSumAt:]) != sum(file[summedFrom:deltas.at]):
		panic(damaged("the checksum of its front is wrong"))
	case binary.LittleEndian.Uint32(file[deltaSumAt:]) != sum(file[deltas.at:cold.at]):
		panic(damaged("the checksum of its deltas is wrong"))
	case h.coldSum != sum(file[cold.at:]):
		panic(damaged("the checksum of its description is wrong"))
	}
	checked := &Pack{file: file, header: h, content: &Content{Build: h.build}}
	checked.readRecords()
	checked.readIndex()
	checked.readWatches()
	checked.readCold()
	return checked, nil
}

// recoverDamage turns the *FileError that reading panicked with into a returned error.
func recoverDamage(failed **FileError) {
	switch failure := recover().(type) {
	case nil:
	case *FileError:
		*failed = failure
	default:
		panic(failure)
	}
}

// part returns the content of a part whose elements have each bytes or more.
func (p *Pack) part(of part, each uint64) []byte {
	size := uint64(of.size) * each
	if of.at < headerSize || of.at%alignment != 0 || uint64(of.at)+size > uint64(p.header.parts.deltas.at) {
		panic(damaged("a part of %d bytes at %d", size, of.at))
	}
	return p.file[of.at : uint64(of.at)+size]
}

// bytes returns the content of a part that is known to be inside the file.
func (p *Pack) bytes(of part) []byte { return p.file[of.at : of.at+of.size] }

func (p *Pack) readRecords() {
	parts := &p.header.parts
	all := p.part(parts.records, uint64(recordBytes))
	for _, of := range []part{parts.names, parts.dictionary, parts.image} {
		p.part(of, 1)
	}
	p.records = make([]record, parts.records.size)
	must(binary.Decode(all, binary.LittleEndian, p.records))
	delta := uint64(0)
	for i, r := range p.records {
		switch {
		case uint64(r[recordName])+textSize(r[recordNameLength]) > uint64(parts.names.size),
			r[recordNext] != 0 && r[recordNext] != uint32(i)+2,
			r[recordSize] > mostClassFile || r[recordWovenSize] > mostClassFile,
			uint64(r[recordDelta]) != delta:
			panic(damaged("its record %d", i+1))
		}
		delta += uint64(r[recordDeltaSize])
	}
	if n := len(p.records); delta != uint64(parts.deltas.size) || n > 0 && p.records[n-1][recordNext] != 0 {
		panic(damaged("its records"))
	}
}

// readIndex compares the index with the only index that is right for the records.
func (p *Pack) readIndex() {
	index := p.part(p.header.parts.index, slotBytes)
	want, err := makeIndex(p.records)
	if err != nil {
		panic(damaged("%v", err))
	}
	if !bytes.Equal(index, must(binary.Append(nil, binary.LittleEndian, want))) {
		panic(damaged("its index"))
	}
}

func (p *Pack) readWatches() {
	parts := &p.header.parts
	w := &p.content.Watches
	for table := p.part(parts.table, 8); len(table) > 0; table = table[8:] {
		w.Table = append(w.Table, binary.LittleEndian.Uint64(table))
	}
	r := p.texts(parts.anchors, 8)
	for range parts.anchors.size {
		positions := r.number()
		w.Anchors = append(w.Anchors, control.Anchor{Member: r.text(), Positions: positions})
	}
	r = p.texts(parts.bridges, 4)
	for range parts.bridges.size {
		w.Bridges = append(w.Bridges, r.text())
	}
}

// texts returns a reader of a part whose elements have least bytes or more.
func (p *Pack) texts(of part, least uint64) *frontReader {
	p.part(of, least)
	return &frontReader{p.file[of.at:p.header.parts.deltas.at]}
}

// frontReader reads numbers and texts.
type frontReader struct{ rest []byte }

func (r *frontReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		panic(damaged("a text has no end"))
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *frontReader) number() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }

func (r *frontReader) text() string {
	length := r.number()
	return decodeText(r.take(textSize(length)), length)
}

// readCold reads the description and compares its classes with the records.
func (p *Pack) readCold() {
	decodeCold(p.bytes(p.header.parts.cold), int(p.header.parts.cold.at), p.content)
	if len(p.content.Classes) != len(p.records) {
		panic(damaged("it describes %d classes, and has %d", len(p.content.Classes), len(p.records)))
	}
	names := p.bytes(p.header.parts.names)
	for i := range p.records {
		r, e := &p.records[i], p.content.Classes[i].Entry
		all, err := units(e.Class)
		if err != nil {
			panic(damaged("%v", err))
		}
		encoded, length := encodeText(all)
		at := uint64(r[recordName])
		if length != r[recordNameLength] || hash(all) != r[recordHash] || string(encoded) != string(names[at:at+textSize(length)]) ||
			e.Original.Size != int(r[recordSize]) {
			panic(damaged("its record %d is not that of %s", i+1, e.Class))
		}
		if isNext := i > 0 && p.content.Classes[i-1].Entry.Class == e.Class; isNext != (i > 0 && p.records[i-1][recordNext] != 0) {
			panic(damaged("its classes called %s", e.Class))
		}
	}
}

// apply computes a woven class of size bytes from a delta. It reports false where the
// delta is invalid.
func apply(delta, original, dictionary []byte, size int) ([]byte, bool) {
	m := maker{rest: delta, dictionary: dictionary, original: original, woven: make([]byte, 0, size)}
	for len(m.woven) < size && !m.failed {
		fresh := m.number()
		m.woven = append(m.woven, m.take(fresh)...)
		if len(m.woven) < size && !m.failed {
			m.copy(fresh)
		}
	}
	return m.woven, !m.failed && len(m.woven) == size && len(m.rest) == 0
}

// A maker applies a delta, up to the first error.
type maker struct {
	rest, dictionary, original, woven []byte

	last   origin // of the last copy
	behind int    // where that ended
	ended  int    // where the last copy of the original did
	failed bool
}

// An origin is the source of a copy.
type origin int

const (
	ofOriginal origin = iota
	ofWoven
	ofDictionary
)

// copy executes the next copy, which follows fresh new bytes.
func (m *maker) copy(fresh uint64) {
	head := m.number()
	from := m.behind + int(fresh)
	switch head & 3 {
	case fromHere:
		m.last, from = ofOriginal, m.ended
	case fromFurther:
		n := m.number()
		m.last, from = ofOriginal, m.ended+int(n>>1^-(n&1))
	case fromBack:
		m.last, from = ofWoven, len(m.woven)-int(m.number())
		if from < 0 {
			m.last, from = ofDictionary, len(m.dictionary)+from
		}
	}
	source := [...][]byte{m.original, m.woven, m.dictionary}[m.last]
	length := int(head >> 2)
	if m.failed || length == 0 || from < 0 || from > len(source) || length > len(source)-from {
		m.failed = true
		return
	}
	m.woven = append(m.woven, source[from:from+length]...)
	m.behind = from + length
	if m.last == ofOriginal {
		m.ended = m.behind
	}
}

// mostVarint is the maximum length of a number, which is below 2^35.
const mostVarint = 5

func (m *maker) number() uint64 {
	n, size := binary.Uvarint(m.rest)
	if size <= 0 || size > mostVarint {
		m.failed = true
		return 0
	}
	m.rest = m.rest[size:]
	return n
}

func (m *maker) take(n uint64) []byte {
	if n > uint64(len(m.rest)) {
		m.failed = true
		return nil
	}
	taken := m.rest[:n]
	m.rest = m.rest[n:]
	return taken
}
