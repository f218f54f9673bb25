package pack

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A Pack is one that was read, and found to be whole. It is safe for use by many
// goroutines, but for Close.
type Pack struct {
	path    string
	file    []byte // nil once it is closed
	header  *header
	records []record
	content *Content
}

// Open reads a pack and checks all of it. The error is that of the system, or a
// *FileError.
func Open(path string) (*Pack, error) {
	file, err := readFile(path)
	if err != nil {
		return nil, err
	}
	p, err := read(file)
	var failed *FileError
	if errors.As(err, &failed) {
		failed.Path = path
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	p.path = path
	return p, nil
}

// readFile reads the file whole, if it begins as packs do: others may be large.
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

// readBeginning tells what is no pack, or one of another version.
func readBeginning(file []byte) (*header, *FileError) {
	const version = len(magic) - 1
	switch {
	case len(file) < len(magic) || string(file[:version]) != magic[:version]:
		return nil, &FileError{Kind: ErrNotPack}
	case file[version] != magic[version]:
		return nil, &FileError{Kind: ErrVersion, Detail: fmt.Sprintf("its format is %d, this Sonde reads %d", file[version], magic[version])}
	case len(file) < headerSize:
		return nil, &FileError{Kind: ErrDamaged, Detail: fmt.Sprintf("it has %d bytes, fewer than any", len(file))}
	}
	return readHeader(file), nil
}

// read checks a file as a whole, then part by part.
func read(file []byte) (*Pack, error) {
	h, failed := readBeginning(file)
	if failed != nil {
		return nil, failed
	}
	if int64(h.length) != int64(len(file)) {
		return nil, damaged("it should have %d bytes, and has %d", h.length, len(file))
	}
	deltas, cold := h.parts.deltas, h.parts.cold
	isInOrder := slices.IsSortedFunc(h.parts.each(), func(a, b *part) int { return cmp.Compare(a.at, b.at) })
	switch {
	case !isInOrder || deltas.at < headerSize || uint64(cold.at)+uint64(cold.size) != uint64(len(file)) || deltas.size != cold.at-deltas.at:
		return nil, damaged("its parts are not where they can be")
	case binary.LittleEndian.Uint32(file[frontSumAt:]) != sum(file[summedFrom:deltas.at]):
		return nil, damaged("the checksum of its front is wrong")
	case binary.LittleEndian.Uint32(file[deltaSumAt:]) != sum(file[deltas.at:cold.at]):
		return nil, damaged("the checksum of its deltas is wrong")
	case h.coldSum != sum(file[cold.at:]):
		return nil, damaged("the checksum of its description is wrong")
	}
	p := &Pack{file: file, header: h, content: &Content{Build: h.build}}
	for _, check := range []func() error{p.readRecords, p.readIndex, p.readWatches, p.readCold} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// part is the content of one, of which each has so many bytes.
func (p *Pack) part(of part, each uint64) ([]byte, error) {
	size := uint64(of.size) * each
	if of.at < headerSize || of.at%alignment != 0 || uint64(of.at)+size > uint64(p.header.parts.deltas.at) {
		return nil, damaged("a part of %d bytes at %d", size, of.at)
	}
	return p.file[of.at : uint64(of.at)+size], nil
}

// bytes is the content of a part that is known to be inside the file.
func (p *Pack) bytes(of part) []byte { return p.file[of.at : of.at+of.size] }

func (p *Pack) readRecords() error {
	parts := &p.header.parts
	all, err := p.part(parts.records, uint64(recordBytes))
	if err != nil {
		return err
	}
	for _, of := range []part{parts.names, parts.dictionary, parts.image} {
		if _, err := p.part(of, 1); err != nil {
			return err
		}
	}
	p.records = make([]record, parts.records.size)
	delta := uint64(0)
	for i := range p.records {
		r := readRecord(all[i*recordBytes:])
		p.records[i] = r
		switch {
		case uint64(r[recordName])+textSize(r[recordNameLength]) > uint64(parts.names.size),
			r[recordNext] != 0 && r[recordNext] != uint32(i)+2,
			r[recordSize] > mostClassFile || r[recordWovenSize] > mostClassFile,
			uint64(r[recordDelta]) != delta:
			return damaged("its record %d", i+1)
		}
		delta += uint64(r[recordDeltaSize])
	}
	if n := len(p.records); delta != uint64(parts.deltas.size) || n > 0 && p.records[n-1][recordNext] != 0 {
		return damaged("its records")
	}
	return nil
}

// readIndex holds the index to the records: there is one that is right.
func (p *Pack) readIndex() error {
	index, err := p.part(p.header.parts.index, slotBytes)
	if err != nil {
		return err
	}
	if len(index) != slotBytes*slotsFor(p.records) {
		return damaged("its index has not the size it should")
	}
	want, err := makeIndex(p.records)
	if err != nil {
		return damaged("%v", err)
	}
	for i, n := range want {
		if readSlot(index, i) != n {
			return damaged("its index")
		}
	}
	return nil
}

func (p *Pack) readWatches() error {
	parts := &p.header.parts
	table, err := p.part(parts.table, 8)
	if err != nil {
		return err
	}
	w := &p.content.Watches
	for ; len(table) > 0; table = table[8:] {
		w.Table = append(w.Table, binary.LittleEndian.Uint64(table))
	}
	r, err := p.texts(parts.anchors, 8)
	for i := uint32(0); err == nil && i < parts.anchors.size; i++ {
		positions := r.number()
		w.Anchors = append(w.Anchors, control.Anchor{Member: r.text(), Positions: positions})
		err = r.failed
	}
	if err != nil {
		return err
	}
	r, err = p.texts(parts.bridges, 4)
	for i := uint32(0); err == nil && i < parts.bridges.size; i++ {
		w.Bridges = append(w.Bridges, r.text())
		err = r.failed
	}
	return err
}

// texts reads a part of which each has so many bytes at least.
func (p *Pack) texts(of part, least uint64) (*frontReader, error) {
	if _, err := p.part(of, least); err != nil {
		return nil, err
	}
	return &frontReader{rest: p.file[of.at:p.header.parts.deltas.at]}, nil
}

// frontReader reads numbers and texts, up to what is wrong.
type frontReader struct {
	rest   []byte
	failed error
}

func (r *frontReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.failed = damaged("a text that has no end")
		r.rest = nil
		return make([]byte, min(n, 4))
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *frontReader) number() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }

func (r *frontReader) text() string {
	length := r.number()
	encoded := r.take(textSize(length))
	if r.failed != nil {
		return ""
	}
	return decodeText(encoded, length)
}

// readCold reads the rest, and holds its classes to the records.
func (p *Pack) readCold() error {
	if err := decodeCold(p.bytes(p.header.parts.cold), int(p.header.parts.cold.at), p.content); err != nil {
		return err
	}
	if len(p.content.Classes) != len(p.records) {
		return damaged("it describes %d classes, and has %d", len(p.content.Classes), len(p.records))
	}
	names := p.bytes(p.header.parts.names)
	for i := range p.records {
		r, e := &p.records[i], p.content.Classes[i].Entry
		all, err := units(e.Class)
		if err != nil {
			return damaged("%v", err)
		}
		encoded, length := encodeText(all)
		at := uint64(r[recordName])
		if length != r[recordNameLength] || hash(all) != r[recordHash] || string(encoded) != string(names[at:at+textSize(length)]) ||
			e.Original.Size != int(r[recordSize]) {
			return damaged("its record %d is not that of %s", i+1, e.Class)
		}
		if isNext := i > 0 && p.content.Classes[i-1].Entry.Class == e.Class; isNext != (i > 0 && p.records[i-1][recordNext] != 0) {
			return damaged("its classes called %s", e.Class)
		}
	}
	return nil
}

// apply makes a woven class of so many bytes; false where the delta does not say how.
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

// A maker reads a delta, up to what is wrong.
type maker struct {
	rest, dictionary, original, woven []byte

	last   origin // of the last copy
	behind int    // where that ended
	ended  int    // where the last copy of the original did
	failed bool
}

// An origin is what bytes are copied from.
type origin int

const (
	ofOriginal origin = iota
	ofWoven
	ofDictionary
)

// copy does the next copy, with so many new bytes before it.
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

// mostVarint is how many bytes one has: what it says is below 2^35.
const mostVarint = 5

func (m *maker) number() (n uint64) {
	for i := range min(mostVarint, len(m.rest)) {
		n |= uint64(m.rest[i]&0x7f) << (7 * i)
		if m.rest[i] < 0x80 {
			m.rest = m.rest[i+1:]
			return n
		}
	}
	m.failed = true
	return 0
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
