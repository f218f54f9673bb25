package jfr

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// A chunk is read in one piece, or flush by flush while it is written. Its
// types and pools grow with each.
type chunk struct {
	header header
	fixed  bool // integers are not compressed
	file   string
	offset int64 // of the chunk in its file
	live   bool  // more may come, and the bytes do not stay

	meta  *metadata
	pools pools
	shared
	waiting [][]byte // checkpoints with values of types not known yet
	held    []rawSample

	visitor Visitor
	samples bool // are wanted
	since   int64
	out     *Batch
	stopped bool // the visitor wants no more

	missing, unknown, damaged int64 // events unresolved, of no known type, cut short
	lostBytes, lostSamples    int64 // by the JVM, as it says
}

func newChunk(h header, file string, offset int64) *chunk {
	return &chunk{
		header: h, fixed: !h.compressed(), file: file, offset: offset,
		pools: newPools(), out: &Batch{}, since: -1 << 63,
	}
}

// A piece is a part of a chunk that begins and ends between two events.
type piece struct {
	data []byte
	at   int64 // in the chunk
	cut  bool  // it ends too early
}

// add reads the events of a piece. Values that events name are in the same
// piece or an earlier one, though often behind the events: so there is a pass
// for the checkpoints first. It returns where the piece ends, which is earlier
// than its bytes do where another chunk begins among them.
func (ch *chunk) add(p piece) (end int) {
	found := ch.survey(p)
	ch.learn(p, found.metadata)
	if ch.meta == nil {
		if len(found.runs) > 0 {
			ch.lose(NoMetadata, p.at, int64(len(p.data)), "nothing in the chunk tells how its events are laid out")
		}
		return found.end
	}
	for _, at := range found.checkpoints {
		ch.index(p, at)
	}
	ch.release()
	for _, r := range found.runs {
		ch.events(p.data[r.from:r.to])
	}
	ch.report()
	return found.end
}

// learn takes the newest metadata that can be read.
func (ch *chunk) learn(p piece, places []int) {
	for i := len(places) - 1; i >= 0; i-- {
		at := places[i]
		size, _, body, _ := ch.head(p.data, at)
		m, err := parseMetadata(cursor{data: p.data[:at+size], at: body, fixed: ch.fixed})
		if err != nil {
			ch.lose(Corrupt, p.at+int64(at), int64(size), err.Error())
			continue
		}
		for _, t := range m.types {
			t.wanted = t.event && ch.visitor.Event != nil && (ch.visitor.Wants == nil || ch.visitor.Wants(t))
		}
		ch.meta = m
		ch.pools.bind(m)
		return
	}
}

// index takes up the checkpoint at a place, after those that wait for types.
func (ch *chunk) index(p piece, at int) {
	size, _, _, _ := ch.head(p.data, at)
	event := p.data[at : at+size : at+size]
	if ch.live {
		event = append([]byte(nil), event...)
	}
	waiting := ch.waiting
	ch.waiting = nil
	for _, blob := range append(waiting, event) {
		_, _, body, _ := ch.head(blob, 0)
		ch.pools.blobs = append(ch.pools.blobs, blob)
		err := ch.pools.index(cursor{data: blob, at: body, fixed: ch.fixed}, ch.meta)
		if err == nil {
			continue
		}
		if ch.live && len(ch.waiting) < maxWaiting {
			ch.waiting = append(ch.waiting, blob)
			continue
		}
		ch.lose(Corrupt, p.at+int64(at), int64(len(blob)), err.Error())
	}
}

// maxWaiting bounds the checkpoints that are tried again. The JVM writes new
// metadata before it writes values of new types, so there should be none.
const maxWaiting = 4

// events goes through whole events.
func (ch *chunk) events(data []byte) {
	e := Event{chunk: ch}
	for at := 0; at < len(data) && !ch.stopped; {
		size, id, body, _ := ch.head(data, at)
		t := ch.meta.lookup(id)
		switch {
		case t == nil || !t.event:
			if id != metadataEvent && id != checkpointEvent {
				ch.unknown++
			}
		case t.broken:
			ch.unknown++
		default:
			if t.plan != nil && ch.samples {
				ch.sample(t, data[body:at+size])
			}
			if t.notice != noticeNone && ch.samples {
				ch.notice(t, data[body:at+size])
			}
			if t.wanted {
				e.Type, e.body = t, data[body:at+size]
				ch.visit(&e)
			}
		}
		at += size
	}
}

func (ch *chunk) visit(e *Event) {
	if ch.since > -1<<63 && e.Start().Before(time.Unix(0, ch.since)) {
		return
	}
	ch.stopped = !ch.visitor.Event(e)
}

// head reads how long the event at a place is, its type, and where its fields
// begin; ok says whether all of it is there.
func (ch *chunk) head(data []byte, at int) (size int, id int64, body int, ok bool) {
	// Most events are short and so is the number of their type: skipping them
	// is what reading a recording is, mostly.
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
	ch.out.Losses = append(ch.out.Losses, Loss{Defect: d, File: ch.file, Offset: ch.offset + at, Count: count, Detail: detail})
}

// report says what was counted, and counts anew.
func (ch *chunk) report() {
	if ch.missing > 0 {
		ch.lose(Unresolved, 0, ch.missing, "the chunk does not hold the stacks they name")
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

// finish gives out what was held back: nothing more will come.
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

// A header begins each chunk. Its numbers are big-endian whatever the rest is:
//
//	 0  "FLR\0"
//	 4  u2 major, u2 minor
//	 8  u8 size of the chunk, this header included
//	16  u8 where its last checkpoint is
//	24  u8 where its last metadata is
//	32  u8 start in ns since 1970
//	40  u8 duration in ns
//	48  u8 start in ticks
//	56  u8 ticks per second
//	64  u1 state: 0 finished, 255 being rewritten, else counts the flushes
//	65  u1, u1 unused
//	67  u1 flags: 1 integers are compressed, 2 the last chunk of a recording
//
// Up to JDK 13 the last four bytes are one number of flags, so the state reads
// as finished from the first; the size is what tells, 0 until the chunk is done.
type header struct {
	major, minor   uint16
	size           int64
	checkpoint     int64
	metadata       int64
	start          time.Time
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

// parseHeader takes a header apart; what it says of the chunk is not checked yet.
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
		start:          time.Unix(0, long(32)),
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

// finished says whether the JVM is done with the chunk. A finished chunk always
// has metadata, so a header whose fields are written one by one never passes.
func (h *header) finished() bool {
	return h.state == stateFinished && h.size >= headerSize && h.metadata >= headerSize
}

func (h *header) compressed() bool { return h.flags&flagCompressed != 0 }

// end is when the chunk had been written so far.
func (h *header) end() time.Time { return h.start.Add(h.duration) }

// nanos converts ticks of the JVM's clock to ns since 1970, rounding as the
// JDK's own reader does so that both name the same instant.
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

func (h *header) time(ticks int64) time.Time { return time.Unix(0, h.nanos(ticks)) }

// A run is a part of a piece with whole events only.
type run struct{ from, to int }

// What a survey of a piece has found.
type survey struct {
	runs        []run
	metadata    []int // where such events are
	checkpoints []int
	end         int // where the piece really ends: at another chunk, if there is one
}

// survey goes from event to event by their sizes, and has to come by all places
// that the header leads to. Where an event has an impossible size, or one that
// leads past such a place, it goes on there.
func (ch *chunk) survey(p piece) survey {
	found := survey{end: len(p.data)}
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
		another := p.data[at] == magic[0] && isHeader(p.data[at:])
		if ok && at+size <= next && !another {
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
		if another {
			found.end = at
			ch.lose(Truncated, p.at+int64(at), int64(len(p.data)-at), "another chunk begins before this one ends")
			return found
		}
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

// isHeader tells the beginning of another chunk from an event: no event has the
// type and the time that it would read as.
func isHeader(b []byte) bool {
	return len(b) > 5 && bytes.Equal(b[:4], magic) && b[4] == 0 && b[5] == 2
}

// landmarks are the places of a piece that the header leads to, in their order:
// it knows the last metadata and checkpoint, and each checkpoint the one before.
func (ch *chunk) landmarks(p piece) []int {
	var places []int
	for next := ch.header.checkpoint - p.at; next >= 0 && next < int64(len(p.data)); {
		at := int(next)
		_, id, body, ok := ch.head(p.data, at)
		if !ok || id != checkpointEvent {
			break
		}
		places = append(places, at)
		c := cursor{data: p.data, at: body, fixed: ch.fixed}
		c.long()
		c.long()
		before := int64(c.long())
		if before >= 0 {
			break // it must lead backwards, or the way would have no end
		}
		next += before
	}
	if at := ch.header.metadata - p.at; at >= 0 && at < int64(len(p.data)) {
		if _, id, _, ok := ch.head(p.data, int(at)); ok && id == metadataEvent {
			places = append(places, int(at))
		}
	}
	slices.Sort(places)
	return places
}
