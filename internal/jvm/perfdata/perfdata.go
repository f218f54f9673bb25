// Package perfdata reads the counters that a HotSpot JVM publishes in a file of shared memory,
// /tmp/hsperfdata_<user>/<pid>, without involving the JVM.
//
// The file belongs to another process, which may be writing it, may have died while writing it,
// or may be hostile. Reading it returns counters or a *FormatError, and takes time in proportion
// to its size.
package perfdata

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// The file is a header and a sequence of entries, in the byte order given by the header. Offsets
// inside an entry count from its start.
//
//	header                          entry
//	 0  magic ca fe c0 c0            0  length of the entry     int32
//	 4  byte order, 1 = little       4  offset of its name      int32
//	 5  major version, 2             8  elements, 0 = a scalar  int32
//	 6  minor version               12  type, a descriptor letter
//	 7  1 once counters are usable  13  flags, units, variability
//	 8  bytes in use        int32   16  offset of the value     int32
//	12  bytes that lacked   int32   20  name, ended by a zero; value
//	16  time of change      int64
//	24  offset of entries   int32
//	28  number of entries   int32
const (
	headerSize      = 32
	entryHeaderSize = 20
	majorVersion    = 2

	typeLong = 'J'
	typeByte = 'B'
)

// MaxSize is larger than any file that HotSpot creates.
const MaxSize = 32 << 20

var magic = [4]byte{0xca, 0xfe, 0xc0, 0xc0}

// Counters are the numbers and texts that a JVM publishes, by name.
type Counters struct {
	numbers map[string]int64
	places  map[string]int // offsets of numbers
	texts   map[string]string
}

// Number returns a numeric counter.
func (c *Counters) Number(name string) (int64, bool) {
	n, ok := c.numbers[name]
	return n, ok
}

// Place returns the offset of a numeric counter in the file.
func (c *Counters) Place(name string) (int, bool) {
	place, ok := c.places[name]
	return place, ok
}

// Read reads counters to the end of r, at most MaxSize bytes.
func Read(r io.Reader) (*Counters, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("hsperfdata: %w", err)
	}
	if len(data) > MaxSize {
		return nil, &FormatError{"header", 0, fmt.Sprintf("the file is larger than the %d bytes HotSpot allows", MaxSize)}
	}
	return Parse(data)
}

// Parse reads counters from the content of a file. If it ends early or contradicts itself, the
// error is a *FormatError, and the counters before the defect are returned with it.
func Parse(data []byte) (*Counters, error) {
	h, err := parseHeader(data)
	if err != nil {
		return nil, err
	}
	c := &Counters{numbers: map[string]int64{}, places: map[string]int{}, texts: map[string]string{}}
	offset := h.entries
	for i := range h.count {
		length, err := c.add(h.order, data[:h.used], offset)
		if err != nil {
			err.Structure = fmt.Sprintf("entry %d", i)
			return c, err
		}
		offset += length
	}
	if !h.usable {
		return c, &FormatError{"header", 7, "the JVM is still starting and its counters are not yet usable"}
	}
	return c, nil
}

type header struct {
	order   binary.ByteOrder
	used    int // at most the size of the file
	entries int // offset of the first one
	count   int
	usable  bool
}

func parseHeader(data []byte) (h header, err error) {
	if len(data) < headerSize {
		return h, &FormatError{"header", len(data), fmt.Sprintf("ends after %d of %d bytes", len(data), headerSize)}
	}
	if !bytes.Equal(data[:4], magic[:]) {
		return h, &FormatError{"header", 0, fmt.Sprintf("magic % x instead of % x", data[:4], magic)}
	}
	switch data[4] {
	case 0:
		h.order = binary.BigEndian
	case 1:
		h.order = binary.LittleEndian
	default:
		return h, &FormatError{"header", 4, fmt.Sprintf("byte order %d is neither 0 nor 1", data[4])}
	}
	if data[5] != majorVersion {
		return h, &FormatError{"header", 5, fmt.Sprintf("version %d.%d, known is %d", data[5], data[6], majorVersion)}
	}
	h.usable = data[7] != 0
	used, entries, count := h.order.Uint32(data[8:]), h.order.Uint32(data[24:]), h.order.Uint32(data[28:])
	h.used = int(min(uint64(used), uint64(len(data))))
	if entries < headerSize || uint64(entries) > uint64(h.used) {
		return h, &FormatError{"header", 24, fmt.Sprintf("entries begin at %d, outside the %d bytes in use", entries, h.used)}
	}
	h.entries = int(entries)
	if most := (h.used - h.entries) / entryHeaderSize; uint64(count) > uint64(most) {
		return h, &FormatError{"header", 28, fmt.Sprintf("%d entries do not fit, %d would", count, most)}
	}
	h.count = int(count)
	return h, nil
}

// add reads the entry at an offset and returns its length. It ignores types that HotSpot does not
// use for counters, and entries whose name is known.
func (c *Counters) add(order binary.ByteOrder, data []byte, offset int) (length int, bad *FormatError) {
	rest := data[offset:]
	if len(rest) < entryHeaderSize {
		return 0, &FormatError{"", offset, fmt.Sprintf("ends after %d of %d bytes", len(rest), entryHeaderSize)}
	}
	declared := order.Uint32(rest)
	if declared < entryHeaderSize || uint64(declared) > uint64(len(rest)) {
		return 0, &FormatError{"", offset, fmt.Sprintf("length %d, while %d bytes are left", declared, len(rest))}
	}
	entry := rest[:declared]
	nameAt, elements, valueAt := order.Uint32(entry[4:]), order.Uint32(entry[8:]), order.Uint32(entry[16:])
	if nameAt < entryHeaderSize || nameAt >= declared {
		return 0, &FormatError{"", offset + 4, fmt.Sprintf("name at %d, outside the entry's %d bytes", nameAt, declared)}
	}
	end := bytes.IndexByte(entry[nameAt:], 0)
	if end <= 0 {
		return 0, &FormatError{"", offset + int(nameAt), "the name is empty or has no end"}
	}
	name := string(entry[nameAt:][:end])
	size := uint64(elements)
	if entry[12] == typeLong {
		size = 8
	}
	if uint64(valueAt)+size > uint64(declared) || valueAt < entryHeaderSize {
		return 0, &FormatError{"", offset + 16, fmt.Sprintf("%s: %d bytes of value at %d, outside the entry's %d bytes", name, size, valueAt, declared)}
	}
	value := entry[valueAt:][:size]
	switch {
	case c.knows(name):
	case entry[12] == typeLong && elements == 0:
		c.numbers[name] = int64(order.Uint64(value))
		c.places[name] = offset + int(valueAt)
	case entry[12] == typeByte && elements > 0:
		text, _, _ := bytes.Cut(value, []byte{0})
		c.texts[name] = string(text)
	}
	return int(declared), nil
}

func (c *Counters) knows(name string) bool {
	_, number := c.numbers[name]
	_, text := c.texts[name]
	return number || text
}

// Text returns a counter that is a text, "" if there is none.
func (c *Counters) Text(name string) string { return c.texts[name] }

// maxText is the length at which HotSpot truncates texts.
const maxText = 1024

// Arguments returns the JVM's options from all sources, joined by spaces. complete is false if
// they were truncated.
func (c *Counters) Arguments() (text string, complete bool) {
	text, ok := c.texts["java.rt.vmArgs"]
	return text, ok && len(text) < maxText-1
}

// AttachEnabled reports whether the JVM answers the attach protocol; known is false if it does
// not publish that.
func (c *Counters) AttachEnabled() (enabled, known bool) {
	capabilities := c.texts["sun.rt.jvmCapabilities"]
	enabled = strings.HasPrefix(capabilities, "1")
	return enabled, enabled || strings.HasPrefix(capabilities, "0")
}

// Heap returns the sizes of the Java heap in bytes as last published; 0 means unknown. Most collectors
// publish them after a collection, so the first may be unknown before it.
func (c *Counters) Heap() (used, limit int64) {
	const generations, spaces = 2, 5 // no collector has more
	// Collectors with fixed generations, whose policies have names such as "Copy:MSC", divide
	// the heap. With all others, each generation may take all of it.
	shared := strings.Contains(c.texts["sun.gc.policy.name"], ":")
	for g := range generations {
		prefix := fmt.Sprintf("sun.gc.generation.%d.", g)
		capacity := c.size(prefix + "maxCapacity")
		if shared {
			limit += capacity
		} else {
			limit = max(limit, capacity)
		}
		for s := range spaces {
			used += c.size(fmt.Sprintf("%sspace.%d.used", prefix, s))
		}
	}
	// G1 of JDK 17 adds a few bytes to keep tools from dividing by zero.
	const page = 4096
	return used, limit - limit%page
}

// size returns a number of bytes, 0 if it is not published or not plausible.
func (c *Counters) size(name string) int64 {
	const most = 1 << 56
	if n := c.numbers[name]; n > 0 && n < most {
		return n
	}
	return 0
}

// A FormatError is a defect of a file. The counters before it are returned as well, because a JVM
// that is starting publishes counters while it still allocates others.
type FormatError struct {
	Structure string // "header" or "entry 12"
	Offset    int    // in the file
	Detail    string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("hsperfdata: %s at offset %d: %s", e.Structure, e.Offset, e.Detail)
}
