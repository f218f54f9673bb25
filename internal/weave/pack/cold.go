package pack

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// coldWriter writes what only Sonde reads.
type coldWriter struct{ b []byte }

func (w *coldWriter) number(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

func (w *coldWriter) text(all ...string) {
	for _, s := range all {
		w.number(uint64(len(s)))
		w.b = append(w.b, s...)
	}
}

func encodeCold(c *Content, classes []Class) []byte {
	w := new(coldWriter)
	w.text(c.Engine, c.Title, string(c.Probes))
	w.number(uint64(len(c.Names)))
	for _, n := range c.Names {
		w.number(uint64(n.ID))
		w.text(n.Class, n.Method, n.Descriptor, n.Probe, n.Sequence)
		w.number(uint64(len(n.Groups)))
		w.text(n.Groups...)
	}
	w.number(uint64(len(classes)))
	for _, class := range classes {
		w.text(string(describe(class.Entry, c.Engine)))
	}
	w.number(uint64(len(c.Left)))
	for _, l := range c.Left {
		w.text(l.Class, l.Method, l.Reason)
	}
	return w.b
}

// deflate has the length before what it makes.
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

// mostCold bounds the description by the rest of the pack: that names every hook, too, so
// the description is a few times as long. What is left alone has no hook.
func mostCold(hot int) int64 { return 64<<20 + 16*int64(hot) }

// inflate makes no more than a pack whose rest has so many bytes can have.
func inflate(packed []byte, hot int) (string, error) {
	if len(packed) < 4 {
		return "", damaged("it has no description")
	}
	length := int64(binary.LittleEndian.Uint32(packed))
	packed = packed[4:]
	if length > mostCold(hot) || length > mostInflated*int64(len(packed)) {
		return "", damaged("its description cannot be that long")
	}
	var plain strings.Builder
	n, err := io.Copy(&plain, io.LimitReader(flate.NewReader(bytes.NewReader(packed)), length+1))
	if err != nil || n != length {
		return "", damaged("its description cannot be unpacked")
	}
	return plain.String(), nil
}

// mostInflated is more than deflating can make of a byte.
const mostInflated = 1032

// describe leaves out when an entry was made, and an engine that all have.
func describe(e *cache.Entry, engine string) []byte {
	plain := *e
	plain.Made = time.UnixMilli(0)
	if plain.Engine == engine {
		plain.Engine = ""
	}
	return plain.AppendDescription(nil)
}

// coldReader reads it. After the first thing that is wrong everything is zero, and nothing
// is left.
type coldReader struct {
	rest   string
	failed error
}

func (r *coldReader) fail(what string) {
	if r.failed == nil {
		r.failed = damaged("its description: %s", what)
	}
	r.rest = ""
}

func (r *coldReader) number() (n uint64) {
	for shift := 0; shift < 64; shift += 7 {
		if r.rest == "" {
			r.fail("it ends in the middle")
			return 0
		}
		b := r.rest[0]
		r.rest = r.rest[1:]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	r.fail("a number without an end")
	return 0
}

// many is how many things follow, of so many bytes at least.
func (r *coldReader) many(size int) int {
	n := r.number()
	if n > uint64(len(r.rest)/size) {
		r.fail("it counts more than there is")
		return 0
	}
	return int(n)
}

func (r *coldReader) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.fail("it ends in the middle")
		return ""
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}

func (r *coldReader) name() Name {
	id := r.number()
	if id > 1<<32-1 {
		r.fail("an id that is none")
	}
	n := Name{uint32(id), r.text(), r.text(), r.text(), r.text(), r.text(), nil}
	for range r.many(1) {
		n.Groups = append(n.Groups, r.text())
	}
	return n
}

func (r *coldReader) class(engine string) Class {
	e, err := cache.ReadDescription(r.text())
	if err != nil {
		r.fail(err.Error())
		return Class{Entry: new(cache.Entry)}
	}
	if e.Engine == "" {
		e.Engine = engine
	}
	e.Made = time.Time{}
	return Class{Entry: e}
}

// decodeCold reads the cold part into a content, behind so many bytes of the rest.
func decodeCold(cold []byte, hot int, c *Content) error {
	plain, err := inflate(cold, hot)
	if err != nil {
		return err
	}
	r := &coldReader{rest: plain}
	c.Engine, c.Title = r.text(), r.text()
	if probes := r.text(); probes != "" {
		c.Probes = []byte(probes)
	}
	for range r.many(7) {
		c.Names = append(c.Names, r.name())
	}
	for range r.many(1) {
		c.Classes = append(c.Classes, r.class(c.Engine))
	}
	for range r.many(3) {
		c.Left = append(c.Left, Left{r.text(), r.text(), r.text()})
	}
	if r.rest != "" {
		r.fail("there is something behind its end")
	}
	return r.failed
}
