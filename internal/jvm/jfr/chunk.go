package jfr

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// A chunk is read flush by flush while the JVM writes it. Its types and pools grow with
// each flush.
type chunk struct {
	header header
	fixed  bool // integers are not compressed
	file   string
	live   bool  // more may come
	since  int64 // samples taken before this time, in ns since 1970, are left out

	meta  *metadata
	pools pools
	shared
	waiting [][]byte // checkpoints with values of types not known yet
	held    []rawSample

	out *Batch

	missing, unknown, damaged int64 // events unresolved, of unknown type, cut short
	lostBytes, lostSamples    int64 // as reported by the JVM
}

func newChunk(h header, file string) *chunk {
	return &chunk{header: h, fixed: !h.compressed(), file: file, live: true, pools: newPools(), out: &Batch{}, since: -1 << 63}
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
	found := ch.survey(p)
	ch.learn(p, found.metadata)
	if ch.meta == nil {
		if len(found.runs) > 0 {
			ch.lose(NoMetadata, p.at, int64(len(p.data)), "nothing in the chunk describes the layout of its events")
		}
		return
	}
	for _, at := range found.checkpoints {
		ch.index(p, at)
	}
	ch.release()
	for _, r := range found.runs {
		ch.events(p.data[r.from:r.to])
	}
	ch.report()
}

// learn adopts the newest metadata that can be read.
func (ch *chunk) learn(p piece, offsets []int) {
	for _, at := range slices.Backward(offsets) {
		size, _, body, _ := ch.head(p.data, at)
		m, err := parseMetadata(cursor{data: p.data[:at+size], at: body, fixed: ch.fixed})
		if err != nil {
			ch.lose(Corrupt, p.at+int64(at), int64(size), err.Error())
			continue
		}
		ch.meta = m
		ch.pools.bind(m)
		return
	}
}

// index reads the checkpoint at an offset, after the checkpoints that wait for types.
func (ch *chunk) index(p piece, at int) {
	size, _, _, _ := ch.head(p.data, at)
	event := bytes.Clone(p.data[at : at+size])
	waiting := ch.waiting
	ch.waiting = nil
	for _, blob := range append(waiting, event) {
		_, _, body, _ := ch.head(blob, 0)
		ch.pools.blobs = append(ch.pools.blobs, blob)
		err := ch.pools.index(cursor{data: blob, at: body, fixed: ch.fixed}, ch.meta)
		if err == nil {
			continue
		}
		if len(ch.waiting) < maxWaiting {
			ch.waiting = append(ch.waiting, blob)
			continue
		}
		ch.lose(Corrupt, p.at+int64(at), int64(len(blob)), err.Error())
	}
}

// maxWaiting bounds the checkpoints that are tried again. The JVM writes new metadata
// before it writes values of new types, so there should be none.
const maxWaiting = 4

// events reads the samples and notices among whole events.
func (ch *chunk) events(data []byte) {
	for at := 0; at < len(data); {
		size, id, body, _ := ch.head(data, at)
		t := ch.meta.lookup(id)
		switch {
		case id == metadataEvent, id == checkpointEvent:
		case t == nil || !t.event || t.broken:
			ch.unknown++
		case t.plan != nil:
			ch.sample(t, data[body:at+size])
		case t.notice != noticeNone:
			ch.notice(t, data[body:at+size])
		}
		at += size
	}
}

// head reads the size and the type of the event at an offset, and where its fields begin.
// ok reports whether the event is complete.
func (ch *chunk) head(data []byte, at int) (size int, id int64, body int, ok bool) {
	// Most events are short and their type has a small number. Skipping them takes most of
	// the time of reading a recording.
	if !ch.fixed && len(data)-at > 3 && data[at] < 0x80 {
		size, body = int(data[at]), at+2
		id = int64(data[at+1])
		if id >= 0x80 {
			if data[at+2] >= 0x80 {
				return ch.longHead(data, at)
			}
			id = id&0x7f | int64(data[at+2])<<7
			body++
		}
		return size, id, body, size >= body-at && size <= len(data)-at
	}
	return ch.longHead(data, at)
}

func (ch *chunk) longHead(data []byte, at int) (size int, id int64, body int, ok bool) {
	c := cursor{data: data, at: at, fixed: ch.fixed}
	size = int(c.int())
	id = int64(c.long())
	return size, id, c.at, !c.short && size >= c.at-at && size <= len(data)-at
}

func (ch *chunk) lose(d Defect, at, count int64, detail string) {
	ch.out.Losses = append(ch.out.Losses, Loss{Defect: d, File: ch.file, Offset: at, Count: count, Detail: detail})
}

// report adds the counted losses to the batch and resets the counts.
func (ch *chunk) report() {
	if ch.missing > 0 {
		ch.lose(Unresolved, 0, ch.missing, "the chunk does not hold their stacks")
	}
	if ch.unknown > 0 {
		ch.lose(Unresolved, 0, ch.unknown, "the metadata of the chunk does not have their types")
	}
	if ch.damaged > 0 {
		ch.lose(Unresolved, 0, ch.damaged, "they are shorter than their fields")
	}
	if n := ch.lostBytes; n > 0 {
		ch.lose(LostByJVM, 0, n, fmt.Sprintf("the JVM had no room for %d bytes of events", n))
	}
	if n := ch.lostSamples; n > 0 {
		ch.lose(LostSamples, 0, n, fmt.Sprintf("the JVM had no room for %d samples of processor time", n))
	}
	ch.missing, ch.unknown, ch.damaged, ch.lostBytes, ch.lostSamples = 0, 0, 0, 0, 0
}

// finish emits the samples that were held back, because nothing more will come.
func (ch *chunk) finish() {
	ch.live = false
	if ch.meta != nil {
		ch.release()
	}
	for _, blob := range ch.waiting {
		ch.lose(Corrupt, 0, int64(len(blob)), "a checkpoint has values of types that the metadata does not have")
	}
	ch.waiting = nil
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
//	67  u1 flags: 1 integers are compressed, 2 the last chunk of a recording
//
// Up to JDK 13 the last four bytes are one number of flags, so the state always reads as
// finished. There the size decides: it is 0 until the chunk is finished.
type header struct {
	major, minor   uint16
	size           int64
	checkpoint     int64
	metadata       int64
	startNanos     int64
	duration       time.Duration
	startTicks     int64
	ticksPerSecond int64
	state          uint8
	flags          uint8
}

const (
	headerSize = 68

	stateFinished  = 0
	stateRewritten = 255

	flagCompressed = 1
)

var magic = []byte("FLR\x00")

// parseHeader reads the fields of a header. Only the magic and the version are checked.
func parseHeader(b []byte) (header, error) {
	if len(b) < headerSize || !bytes.Equal(b[:4], magic) {
		return header{}, ErrNoRecording
	}
	long := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
	h := header{
		major:          binary.BigEndian.Uint16(b[4:]),
		minor:          binary.BigEndian.Uint16(b[6:]),
		size:           long(8),
		checkpoint:     long(16),
		metadata:       long(24),
		startNanos:     long(32),
		duration:       time.Duration(long(40)),
		startTicks:     long(48),
		ticksPerSecond: long(56),
		state:          b[64],
		flags:          b[67],
	}
	if h.major != 2 {
		return h, &VersionError{Major: h.major, Minor: h.minor}
	}
	return h, nil
}

// finished reports whether the JVM has finished the chunk. A finished chunk always has
// metadata, so a header that is being written field by field never passes.
func (h *header) finished() bool {
	return h.state == stateFinished && h.size >= headerSize && h.metadata >= headerSize
}

func (h *header) compressed() bool { return h.flags&flagCompressed != 0 }

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

// A run is a part of a piece that consists of whole events.
type run struct{ from, to int }

// A survey is the structure of a piece.
type survey struct {
	runs        []run
	metadata    []int // offsets of such events
	checkpoints []int
}

// survey walks from event to event by their sizes, and must reach every landmark that the
// header leads to. If an event has an impossible size, or one that leads past a landmark,
// the walk continues at that landmark.
func (ch *chunk) survey(p piece) (found survey) {
	marks := ch.landmarks(p)
	at := 0
	if p.at == 0 {
		at = headerSize
	}
	from := at
	for at < len(p.data) {
		for len(marks) > 0 && marks[0] <= at {
			marks = marks[1:]
		}
		next := len(p.data)
		if len(marks) > 0 {
			next = marks[0]
		}
		size, id, _, ok := ch.head(p.data, at)
		if ok && at+size <= next {
			switch id {
			case metadataEvent:
				found.metadata = append(found.metadata, at)
			case checkpointEvent:
				found.checkpoints = append(found.checkpoints, at)
			}
			at += size
			continue
		}
		found.add(run{from, at})
		defect, detail := Corrupt, "no event begins here"
		if next == len(p.data) && p.cut {
			defect, detail = Truncated, "the file ends in the middle of an event"
		}
		ch.lose(defect, p.at+int64(at), int64(next-at), detail)
		at, from = next, next
	}
	found.add(run{from, at})
	return found
}

func (s *survey) add(r run) {
	if r.from < r.to {
		s.runs = append(s.runs, r)
	}
}

// landmarks are the offsets in a piece that the header leads to, in ascending order: it
// refers to the last metadata and the last checkpoint, and each checkpoint to the one before.
func (ch *chunk) landmarks(p piece) []int {
	var offsets []int
	for next := ch.header.checkpoint - p.at; next >= 0 && next < int64(len(p.data)); {
		at := int(next)
		_, id, body, ok := ch.head(p.data, at)
		if !ok || id != checkpointEvent {
			break
		}
		offsets = append(offsets, at)
		c := cursor{data: p.data, at: body, fixed: ch.fixed}
		c.long()
		c.long()
		before := int64(c.long())
		if before >= 0 {
			break // it must lead backwards, or the walk would not end
		}
		next += before
	}
	if at := ch.header.metadata - p.at; at >= 0 && at < int64(len(p.data)) {
		if _, id, _, ok := ch.head(p.data, int(at)); ok && id == metadataEvent {
			offsets = append(offsets, int(at))
		}
	}
	slices.Sort(offsets)
	return offsets
}
