package jfr

import (
	"bytes"
	"encoding/binary"
	"time"
)

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
