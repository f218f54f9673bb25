package jfr

import (
	"fmt"
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
