// Package hsperf reads the counters that a HotSpot JVM publishes in a file of
// shared memory, /tmp/hsperfdata_<user>/<pid>, without the JVM taking part.
//
// The file belongs to another process, which may be writing it this moment, may
// have died half way, or may lie: whatever it holds, reading it gives counters
// or a *FormatError, never more work than its size.
package perfdata

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"
)

// The file is a header and a run of entries, in the byte order the header
// names. Lengths and offsets inside an entry count from its start.
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

// MaxSize is more than HotSpot ever lets such a file have.
const MaxSize = 32 << 20

var magic = [4]byte{0xca, 0xfe, 0xc0, 0xc0}

// Counters are what one JVM publishes: numbers and texts, by name.
type Counters struct {
	numbers map[string]int64
	texts   map[string]string
}

// Number returns a counter that is a number.
func (c *Counters) Number(name string) (int64, bool) {
	n, ok := c.numbers[name]
	return n, ok
}

// Text returns a counter that is a text.
func (c *Counters) Text(name string) (string, bool) {
	s, ok := c.texts[name]
	return s, ok
}

// Len is how many counters there are.
func (c *Counters) Len() int { return len(c.numbers) + len(c.texts) }

// Read reads counters to the end of r, which may be at most MaxSize away.
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

// Parse reads counters from the content of a file. Where that ends early or
// contradicts itself the error is a *FormatError, and the counters before the
// defect, if any, are returned with it.
func Parse(data []byte) (*Counters, error) {
	h, err := parseHeader(data)
	if err != nil {
		return nil, err
	}
	c := &Counters{numbers: map[string]int64{}, texts: map[string]string{}}
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
	used    int // never more than there is
	entries int // where they begin
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

// add reads the entry at an offset and returns its length. An entry of a type
// HotSpot has no counters of is passed over; of two with one name the first
// counts.
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

// JavaVersion is the version of the JDK, such as 17.0.15.
func (c *Counters) JavaVersion() string { return c.texts["java.property.java.version"] }

// VMName is what the JVM calls itself, such as "OpenJDK 64-Bit Server VM".
func (c *Counters) VMName() string { return c.texts["java.property.java.vm.name"] }

// VMVendor is who built the JVM.
func (c *Counters) VMVendor() string { return c.texts["java.property.java.vm.vendor"] }

// Command is the main class or jar and the program's arguments, joined by
// spaces that cannot be told from spaces in them.
func (c *Counters) Command() string { return c.texts["sun.rt.javaCommand"] }

// maxText is where HotSpot cuts texts off.
const maxText = 1024

// Arguments are the JVM's options from all their sources, joined by spaces.
// Options of many words are cut off, which complete tells.
func (c *Counters) Arguments() (text string, complete bool) {
	text, ok := c.texts["java.rt.vmArgs"]
	return text, ok && len(text) < maxText-1
}

// Flags are the options the JVM took from a file named by -XX:Flags.
func (c *Counters) Flags() string { return c.texts["java.rt.vmFlags"] }

// AttachEnabled tells whether the JVM answers to the attach protocol; known is
// false where it does not say.
func (c *Counters) AttachEnabled() (enabled, known bool) {
	capabilities := c.texts["sun.rt.jvmCapabilities"]
	if capabilities == "" {
		return false, false
	}
	switch capabilities[0] {
	case '1':
		return true, true
	case '0':
		return false, true
	}
	return false, false
}

// Started is when the JVM began to start, by its own wall clock.
func (c *Counters) Started() (time.Time, bool) {
	millis, ok := c.numbers["sun.rt.createVmBeginTime"]
	if !ok || millis <= 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(millis), true
}

// A Heap is the size of the Java heap in bytes; 0 is not known.
type Heap struct{ Used, Max int64 }

// Heap is the heap as last published: by most collectors after a collection
// only, so before the first one what is used may not be known.
func (c *Counters) Heap() Heap {
	const generations, spaces = 2, 5 // no collector has more
	var h Heap
	// Collectors with fixed generations, which have policies named such as
	// "Copy:MSC", share the heap out. In all others each may have all of it.
	shared := strings.Contains(c.texts["sun.gc.policy.name"], ":")
	for g := range generations {
		prefix := fmt.Sprintf("sun.gc.generation.%d.", g)
		limit := c.size(prefix + "maxCapacity")
		if shared {
			h.Max += limit
		} else {
			h.Max = max(h.Max, limit)
		}
		for s := range spaces {
			h.Used += c.size(fmt.Sprintf("%sspace.%d.used", prefix, s))
		}
	}
	// G1 of JDK 17 publishes a few bytes more, to keep tools from dividing by
	// nothing.
	const page = 4096
	h.Max -= h.Max % page
	return h
}

// size is a number of bytes, 0 where none is published or no memory has it.
func (c *Counters) size(name string) int64 {
	const most = 1 << 56
	if n := c.numbers[name]; n > 0 && n < most {
		return n
	}
	return 0
}

// A FormatError tells where a file stops being readable. What was read before
// that place is returned with it: a JVM that is starting publishes counters
// while it still allocates others.
type FormatError struct {
	Structure string // "header" or "entry 12"
	Offset    int    // in the file
	Detail    string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("hsperfdata: %s at offset %d: %s", e.Structure, e.Offset, e.Detail)
}
