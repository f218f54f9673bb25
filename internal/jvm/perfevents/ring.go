package perfevents

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// A ring is memory into which the kernel writes the records of one processor. Positions count all bytes ever
// written, and the position in data is the remainder.
type ring struct {
	head, tail *uint64 // the kernel moves the head, Sonde the tail
	data       []byte  // its length is a power of two
	whole      []byte  // a record that continues at the beginning of data, put together
}

// written returns the position up to which records are complete.
func (r *ring) written() uint64 { return atomic.LoadUint64(r.head) }

// isHalfFull reports whether half of it waits to be read.
func (r *ring) isHalfFull() bool {
	return r.written()-atomic.LoadUint64(r.tail) >= uint64(len(r.data))/2
}

// headerSize is the length of a record's header: kind uint32, misc uint16, size of the record uint16.
const headerSize = 8

// read passes the records before a position, without their headers, and gives their memory back to the kernel.
// After a malformed record it skips all that was written.
func (r *ring) read(head uint64, yield func(kind uint32, body []byte) error) error {
	size := uint64(len(r.data))
	tail := atomic.LoadUint64(r.tail)
	var err error
	for tail != head && err == nil {
		left := head - tail
		if left > size || left < headerSize || tail%headerSize != 0 {
			err = fmt.Errorf("%d unread bytes at position %d, in a ring of %d bytes", left, tail, size)
			break
		}
		at := tail % size
		header := r.data[at : at+headerSize]
		kind, length := binary.NativeEndian.Uint32(header), uint64(binary.NativeEndian.Uint16(header[6:]))
		if length < headerSize || length > left || length%headerSize != 0 {
			err = fmt.Errorf("a record of kind %d claims %d of %d unread bytes", kind, length, left)
			break
		}
		record := r.data[at:min(at+length, size)]
		if at+length > size {
			r.whole = append(append(r.whole[:0], record...), r.data[:at+length-size]...)
			record = r.whole
		}
		err = yield(kind, record[headerSize:])
		tail += length
		atomic.StoreUint64(r.tail, tail)
	}
	if err != nil {
		atomic.StoreUint64(r.tail, head)
	}
	return err
}

// The kinds of records that are used (linux/perf_event.h).
const (
	recordLost        = 2
	recordExit        = 4
	recordThrottle    = 5
	recordFork        = 7
	recordSample      = 9
	recordLostSamples = 13
)

// fields reads a record. After its end it returns zeros and remembers that.
type fields struct {
	rest  []byte
	short bool
}

func (f *fields) bytes(n uint64) []byte {
	if n > uint64(len(f.rest)) {
		f.short, f.rest = true, nil
		return nil
	}
	part := f.rest[:n:n]
	f.rest = f.rest[n:]
	return part
}

func (f *fields) uint64() uint64 {
	if part := f.bytes(8); part != nil {
		return binary.NativeEndian.Uint64(part)
	}
	return 0
}

// pair reads two numbers of 32 bits.
func (f *fields) pair() (first, second int) {
	if part := f.bytes(8); part != nil {
		return int(int32(binary.NativeEndian.Uint32(part))), int(int32(binary.NativeEndian.Uint32(part[4:])))
	}
	return 0, 0
}

// err returns an error if the record was too short.
func (f *fields) err(kind string) error {
	if f.short {
		return fmt.Errorf("a %s is too short", kind)
	}
	return nil
}

// abi64 marks the registers of a thread in 64-bit mode; abiNone means that there are no registers.
const (
	abiNone = 0
	abi64   = 2
)

// lowestMarker is the lowest of the numbers that stand between addresses in a call chain (PERF_CONTEXT_MAX).
const lowestMarker = math.MaxUint64 - 4095 + 1

// decode reads the body of a sample. It uses the memory of Kernel again.
func (s *Sample) decode(body []byte, callchain bool) error {
	f := fields{rest: body}
	*s = Sample{Kernel: s.Kernel[:0]}
	s.pid, s.TID = f.pair()
	s.At = time.Duration(f.uint64())
	s.event = f.uint64()
	s.CPU, _ = f.pair()
	s.Period = time.Duration(f.uint64())
	if callchain {
		n := f.uint64()
		for range min(n, uint64(len(f.rest)/8)+1) { // one more finds that the record is too short
			if ip := f.uint64(); ip < lowestMarker {
				s.Kernel = append(s.Kernel, ip)
			}
		}
	}
	abi := f.uint64()
	if abi != abiNone {
		for i := range s.Registers {
			s.Registers[i] = f.uint64()
		}
	}
	s.HasRegisters = abi == abi64
	if size := f.uint64(); size != 0 {
		stack := f.bytes(size)
		s.Stack = stack[:min(f.uint64(), uint64(len(stack)))]
	}
	return f.err("sample")
}

// A change is a thread that was created or that has ended.
type change struct {
	pid, tid, creator int
	at                uint64
	ended             bool
}

// decodeChange reads the body of a FORK or EXIT record.
func decodeChange(body []byte, ended bool) (change, error) {
	f := fields{rest: body}
	c := change{ended: ended}
	c.pid, _ = f.pair()
	c.tid, c.creator = f.pair()
	c.at = f.uint64()
	return c, f.err("record of a thread")
}
