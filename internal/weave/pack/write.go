package pack

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// Errors of contents that cannot be packed.
var (
	// ErrTooLarge reports a pack larger than an agent can read.
	ErrTooLarge = errors.New("the pack would be larger than 2 GiB: pack fewer classes")
	// ErrDescriptionTooLong reports a description that is too long to be read again.
	ErrDescriptionTooLong = errors.New("the description of the pack would be too long: request fewer methods; leave out those that cannot get a hook")
	// ErrAlike reports names that would make the lookup of classes slow.
	ErrAlike = errors.New("too many class names have the same hash: pack fewer classes")
)

// Write writes a pack. Classes with the same bytes, woven in the same way, are written once.
func Write(w io.Writer, c *Content) error {
	file, err := encode(c)
	if err != nil {
		return err
	}
	_, err = w.Write(file)
	return err
}

func encode(c *Content) ([]byte, error) {
	if len(c.Build) > buildSize || strings.ContainsRune(c.Build, 0) {
		return nil, fmt.Errorf("%q is not the build number of an agent", c.Build)
	}
	classes, err := inOrder(c.Classes)
	if err != nil {
		return nil, err
	}
	image, err := arena.NewImage(methods(c.Names))
	if err != nil {
		return nil, err
	}
	made, err := makeDeltas(classes)
	if err != nil {
		return nil, err
	}
	records, names, err := makeRecords(classes, made.deltas)
	if err != nil {
		return nil, err
	}
	f := &assembly{header: header{build: c.Build, arena: *image}, file: make([]byte, headerSize)}
	p := &f.header.parts
	index, err := makeIndex(records)
	if err != nil {
		return nil, err
	}
	f.begin(&p.index, len(index))
	f.file = must(binary.Append(f.file, binary.LittleEndian, index))
	f.begin(&p.records, len(records))
	f.file = must(binary.Append(f.file, binary.LittleEndian, records))
	f.add(&p.names, names)
	if err := f.watches(&c.Watches); err != nil {
		return nil, err
	}
	f.add(&p.dictionary, made.dictionary)
	f.add(&p.image, image.Bytes)
	f.add(&p.deltas, bytes.Join(made.deltas, nil))
	plain := encodeCold(c, classes)
	if int64(len(plain)) > mostCold(len(f.file)) {
		return nil, ErrDescriptionTooLong
	}
	cold, err := deflate(plain)
	if err != nil {
		return nil, err
	}
	return f.finish(cold)
}

// methods returns the methods that the arena names.
func methods(names []Name) []arena.Method {
	all := make([]arena.Method, len(names))
	for i, n := range names {
		all[i] = arena.Method{ID: n.ID, Name: strings.ReplaceAll(n.Class, "/", ".") + "." + n.Method + n.Descriptor}
	}
	return all
}

// inOrder sorts classes by name and original, and removes duplicates.
func inOrder(classes []Class) ([]Class, error) {
	classes = slices.Clone(classes)
	for _, c := range classes {
		switch {
		case len(c.Entry.Woven) == 0:
			return nil, fmt.Errorf("%s: no method of it is woven, so it does not belong in a pack", c.Entry.Class)
		case cache.OriginalOf(c.Original) != c.Entry.Original:
			return nil, fmt.Errorf("%s: the given class file differs from the class file that was woven", c.Entry.Class)
		case len(c.Original) > mostClassFile || len(c.Entry.Woven) > mostClassFile:
			return nil, fmt.Errorf("%s: its class file is larger than %d bytes", c.Entry.Class, mostClassFile)
		}
	}
	slices.SortStableFunc(classes, func(a, b Class) int {
		return cmp.Or(strings.Compare(a.Entry.Class, b.Entry.Class), bytes.Compare(a.Entry.Original.Digest[:], b.Entry.Original.Digest[:]))
	})
	for i := 1; i < len(classes); i++ {
		a, b := classes[i-1].Entry, classes[i].Entry
		if a.Class == b.Class && a.Original == b.Original && !bytes.Equal(a.Woven, b.Woven) {
			return nil, fmt.Errorf("%s: the same class file was woven in two ways", a.Class)
		}
	}
	return slices.CompactFunc(classes, func(a, b Class) bool {
		return a.Entry.Class == b.Entry.Class && a.Entry.Original == b.Entry.Original
	}), nil
}

func makeRecords(classes []Class, deltas [][]byte) (records []record, text []byte, err error) {
	records = make([]record, len(classes))
	names := make([]string, len(classes))
	at := 0
	for i, c := range classes {
		r := &records[i]
		names[i] = c.Entry.Class
		r[recordSize], r[recordSum32], r[recordSum32C] = uint32(len(c.Original)), crc32.ChecksumIEEE(c.Original), sum(c.Original)
		r[recordWovenSize], r[recordWovenSum] = uint32(len(c.Entry.Woven)), sum(c.Entry.Woven)
		r[recordDelta], r[recordDeltaSize] = uint32(at), uint32(len(deltas[i]))
		at += len(deltas[i])
		for j := range c.Entry.Methods {
			if c.Entry.Methods[j].Woven {
				r[recordMethods]++
			}
		}
		// The agent distinguishes files by 64 bits of checksums.
		for j := i - 1; j >= 0 && names[j] == names[i]; j-- {
			if records[j].is(c.Original) {
				return nil, nil, fmt.Errorf("%s: two class files have the same checksums", names[i])
			}
		}
	}
	text, err = link(records, names)
	return records, text, err
}

// An assembly is a file that is being composed of parts.
type assembly struct {
	header header
	file   []byte
}

// begin begins a part with size elements.
func (f *assembly) begin(p *part, size int) {
	for len(f.file)%alignment != 0 {
		f.file = append(f.file, 0)
	}
	p.at, p.size = uint32(len(f.file)), uint32(size)
}

func (f *assembly) add(p *part, content []byte) {
	f.begin(p, len(content))
	f.file = append(f.file, content...)
}

func (f *assembly) watches(w *control.Watches) (err error) {
	p := &f.header.parts
	f.begin(&p.table, len(w.Table))
	f.file = must(binary.Append(f.file, binary.LittleEndian, w.Table))
	f.begin(&p.anchors, len(w.Anchors))
	for _, anchor := range w.Anchors {
		f.file = binary.LittleEndian.AppendUint32(f.file, anchor.Positions)
		if f.file, err = appendText(f.file, anchor.Member); err != nil {
			return err
		}
	}
	f.begin(&p.bridges, len(w.Bridges))
	for _, bridge := range w.Bridges {
		if f.file, err = appendText(f.file, bridge); err != nil {
			return err
		}
	}
	return nil
}

// finish adds the cold part, which directly follows the deltas, and the header.
func (f *assembly) finish(cold []byte) ([]byte, error) {
	h := &f.header
	h.parts.cold = part{uint32(len(f.file)), uint32(len(cold))}
	if len(f.file)+len(cold) > mostBytes {
		return nil, ErrTooLarge
	}
	h.length, h.coldSum = uint32(len(f.file)+len(cold)), sum(cold)
	h.append(f.file[:0]) // in place: the file begins with room for it
	deltas := h.parts.deltas.at
	binary.LittleEndian.PutUint32(f.file[frontSumAt:], sum(f.file[summedFrom:deltas]))
	binary.LittleEndian.PutUint32(f.file[deltaSumAt:], sum(f.file[deltas:]))
	return append(f.file, cold...), nil
}
