package jfr

import (
	"bytes"
	"slices"
)

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
