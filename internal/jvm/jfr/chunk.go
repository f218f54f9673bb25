package jfr

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A chunk is read flush by flush while the JVM writes it. Its types and pools grow with
// each flush.
type chunk struct {
	header header
	file   string
	live   bool  // more may come
	since  int64 // samples taken before this time, in ns since 1970, are left out

	recording *Recording // that a file contains; nil in a repository
	waits     bool       // events about waiting threads are read

	meta  metadata
	pools map[int64]map[uint64][]byte // bytes from the start of a value on, by its type and its key
	shared
	held      []rawSample
	heldCalls []rawCall

	indexed, values int // bytes of checkpoints and number of values in the pools
	made            int // bytes of what was made from them

	out  *Batch
	lost [len(countedLosses)]int64 // since the last report
}

// What a chunk may take. The chunks of a JVM have a tenth of that; others may be made to exhaust
// the memory.
const (
	maxIndexed = 256 << 20
	maxValues  = 2 << 20
	maxMade    = 256 << 20
	maxSamples = 1 << 20 // of a piece
	// maxMetadata bounds how many metadata of a piece are tried. A JVM writes them again with a flush if types are new.
	maxMetadata = 16
	// maxLosses bounds the losses that are reported. Those of bytes that are damaged everywhere would be as many as the bytes.
	maxLosses = 50
)

// makes reports whether there is room for bytes of something that is made from the bytes of the chunk.
func (ch *chunk) makes(bytes int) bool {
	ch.made += bytes
	if ch.made > maxMade {
		ch.lost[lostRoom]++
		return false
	}
	return true
}

// isRead reports whether events of a type are read.
func (ch *chunk) isRead(id int64) bool {
	t := ch.meta[id]
	return t != nil && t.event && !t.broken && t.reader != nil && id != metadataEvent && id != checkpointEvent
}

func newChunk(h header, file string) *chunk {
	return &chunk{
		header: h, file: file, live: true, pools: map[int64]map[uint64][]byte{}, out: &Batch{}, since: -1 << 63,
		shared: shared{map[uint64]*Stack{}, map[uint64]*Method{}, map[uint64]*Thread{}, map[uint64]FrameKind{}, map[uint64]string{}},
	}
}

// A piece is a part of a chunk that begins and ends between two events.
type piece struct {
	data []byte
	at   int64 // offset in the chunk
	cut  bool  // it ends too early
}

// add reads the events of a piece. Values that events refer to are in the same piece or an
// earlier one, often after the events, so the checkpoints are read in a first pass.
func (ch *chunk) add(p piece) {
	var metadata []int
	end := 0
	for end < len(p.data) {
		size, id, _, ok := ch.head(p.data, end)
		if !ok {
			defect, detail := Corrupt, "no event begins here"
			if p.cut {
				defect, detail = Truncated, "the file ends in the middle of an event"
			}
			ch.lose(defect, p.at+int64(end), int64(len(p.data)-end), detail)
			break
		}
		if id == metadataEvent {
			metadata = append(metadata[max(0, len(metadata)-maxMetadata+1):], end)
		}
		end += size
	}
	ch.learn(p, metadata)
	if ch.meta == nil {
		if end > 0 {
			ch.lose(NoMetadata, p.at, int64(len(p.data)), "nothing in the chunk describes the layout of its events")
		}
		return
	}
	for at := 0; at < end; {
		size, id, body, _ := ch.head(p.data, at)
		if id == checkpointEvent {
			if err := ch.index(cursor{data: bytes.Clone(p.data[at : at+size]), at: body - at}); err != nil {
				ch.lose(Corrupt, p.at+int64(at), int64(size), err.Error())
			}
		}
		at += size
	}
	ch.release()
	ch.events(p.data[:end])
	ch.report()
}

// learn adopts the newest metadata that can be read.
func (ch *chunk) learn(p piece, offsets []int) {
	for _, at := range slices.Backward(offsets) {
		size, _, body, _ := ch.head(p.data, at)
		m, err := parseMetadata(cursor{data: p.data[:at+size], at: body})
		if err == nil {
			ch.meta = m
			return
		}
		ch.lose(Corrupt, p.at+int64(at), int64(size), err.Error())
	}
}

// index adds the values of a checkpoint to the pools. The cursor is at its fields:
//
//	long start, long duration, long distance to the checkpoint before, byte kind,
//	int count, count × (long type, int count, count × (long key, value))
func (ch *chunk) index(c cursor) error {
	if ch.indexed += len(c.data); ch.indexed > maxIndexed {
		return errors.New("the chunk has too much checkpoint data")
	}
	c.long()
	c.long()
	c.long()
	c.byte()
	for range c.count() {
		id := int64(c.long())
		n := c.count()
		if c.short {
			break
		}
		t := ch.meta[id]
		if t == nil {
			return fmt.Errorf("checkpoint: values of type %d, which the metadata does not have", id)
		}
		if t.broken {
			return fmt.Errorf("checkpoint: values of type %s, which contains itself", t.name)
		}
		if ch.pools[id] == nil {
			ch.pools[id] = map[uint64][]byte{}
		}
		for range n {
			key, at := c.long(), c.at
			t.skip(&c)
			if c.short {
				break
			}
			if ch.values++; ch.values > maxValues {
				return errors.New("checkpoint: the chunk has too many values")
			}
			// A later value replaces an earlier one: threads change their names.
			ch.pools[id][key] = c.data[at:]
		}
	}
	if c.short {
		return fmt.Errorf("checkpoint: %w", errShort)
	}
	return nil
}

// events reads the samples and notices among whole events.
func (ch *chunk) events(data []byte) {
	for at := 0; at < len(data); {
		size, id, body, _ := ch.head(data, at)
		t := ch.meta[id]
		switch {
		case id == metadataEvent, id == checkpointEvent:
		case t == nil || !t.event || t.broken:
			ch.lost[lostUnknown]++
		case t.reader != nil:
			t.reader(ch, t, data[body:at+size])
		}
		at += size
	}
}

// head reads the size and the type of the event at an offset, and where its fields begin.
// ok reports whether the event is complete.
func (ch *chunk) head(data []byte, at int) (size int, id int64, body int, ok bool) {
	c := cursor{data: data, at: at}
	size = int(int32(c.long()))
	id = int64(c.long())
	return size, id, c.at, !c.short && size >= c.at-at && size <= len(data)-at
}

func (ch *chunk) lose(d Defect, at, count int64, detail string) {
	ch.out.lose(Loss{Defect: d, File: ch.file, Offset: at, Count: count, Detail: detail})
}

// The losses that are counted, and reported once for a piece.
const (
	lostStacks = iota
	lostUnknown
	lostDamaged
	lostBytes
	lostSamples
	lostRoom
	lostMany
)

var countedLosses = [...]struct {
	defect Defect
	detail string
}{
	lostStacks:  {Unresolved, "%d events unresolved: the chunk does not hold their stacks"},
	lostUnknown: {Unresolved, "%d events unresolved: the metadata of the chunk does not have their types"},
	lostDamaged: {Unresolved, "%d events unresolved: they are shorter than their fields"},
	lostBytes:   {LostByJVM, "the JVM had no room for %d bytes of events"},
	lostSamples: {LostSamples, "the JVM had no room for %d samples of processor time"},
	lostRoom:    {Unresolved, "%d stacks, methods or threads unresolved: the chunk has too many of them"},
	lostMany:    {TooLarge, "%d samples are more than are read at once"},
}

// report adds the counted losses to the batch and resets the counts.
func (ch *chunk) report() {
	for i, n := range ch.lost {
		if n > 0 {
			ch.lose(countedLosses[i].defect, 0, n, fmt.Sprintf(countedLosses[i].detail, n))
		}
		ch.lost[i] = 0
	}
}

// finish emits the samples that were held back, because nothing more will come.
func (ch *chunk) finish() {
	ch.live = false
	ch.release()
	ch.report()
}

// A header begins each chunk. Its numbers are always big-endian:
//
//	 0  "FLR\0"
//	 4  u2 major, u2 minor
//	 8  u8 size of the chunk, including this header
//	16  u8 offset of its last checkpoint
//	24  u8 offset of its last metadata
//	32  u8 start in ns since 1970
//	40  u8 duration in ns
//	48  u8 start in ticks
//	56  u8 ticks per second
//	64  u1 state: 0 finished, 255 being rewritten, otherwise the number of flushes
//	65  u1, u1 unused
//	67  u1 flags: 1 integers are compressed, as they are in every release; 2 the last chunk of a recording
type header struct {
	size           int64
	metadata       int64
	startNanos     int64
	duration       time.Duration
	startTicks     int64
	ticksPerSecond int64
	state          uint8
}

const (
	headerSize = 68

	stateFinished  = 0
	stateRewritten = 255

	flagCompressed = 1
)

var magic = []byte("FLR\x00")

// parseHeader reads the fields of a header. It checks only that the format is one that is
// read; the error is a Loss.
func parseHeader(b []byte) (header, error) {
	if len(b) < headerSize || !bytes.Equal(b[:4], magic) {
		return header{}, Loss{Defect: Corrupt, Detail: "not a flight recording: it does not begin with FLR"}
	}
	if major, minor := binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[6:]); major != 2 || b[67]&flagCompressed == 0 {
		return header{}, Loss{Defect: OtherVersion, Detail: fmt.Sprintf("flight recording of version %d.%d: "+
			"only version 2 with compressed integers is read, which OpenJDK 8u and JDK 11 or newer write", major, minor)}
	}
	long := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
	return header{
		size:           long(8),
		metadata:       long(24),
		startNanos:     long(32),
		duration:       time.Duration(long(40)),
		startTicks:     long(48),
		ticksPerSecond: long(56),
		state:          b[64],
	}, nil
}

// finished reports whether the JVM has finished the chunk. A finished chunk always has
// metadata, so a header that is being written field by field never passes.
func (h *header) finished() bool {
	return h.state == stateFinished && h.size >= headerSize && h.metadata >= headerSize
}

// end is the time up to which the chunk has been written.
func (h *header) end() time.Time { return time.Unix(0, h.startNanos).Add(h.duration) }

// nanos converts ticks of the JVM's clock to ns since 1970, rounding as the JDK's own
// reader does.
func (h *header) nanos(ticks int64) int64 {
	return h.startNanos + h.span(ticks-h.startTicks)
}

// span converts a number of ticks to ns.
func (h *header) span(ticks int64) int64 {
	if h.ticksPerSecond <= 0 {
		return 0
	}
	return int64(float64(ticks) / (float64(h.ticksPerSecond) / float64(time.Second)))
}
