package cache

import (
	"bytes"
	"encoding/binary"
	"sort"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A segment is a file with many entries behind each other: one that is in it is had by a
// single read, without its own file being opened, looked at and closed. It is made of
// entries, and can go at any time; who is not sure of anything in it takes the entry's own
// file. So nothing of it but the entries is checksummed: what leads to a wrong place leads
// to an entry of another key, or to none.
//
//	        entries, as their files are
//	56 each rows, by name: 32 name (a key, or an alias), 8 of the key, 8 offset, 4 length,
//	        4 the hour since 1970 of the last use, or 0
//	257×4   for each first byte of names, how many rows are before it; then how many there are
//	8       magic, with the version of the format
//
// A segment never changes but for the hours.
type segment struct {
	fd      int
	index   int64 // where rows begin
	fan     [257]uint32
	shelves [256]atomic.Pointer[shelf]
	stat    unix.Stat_t
}

// A shelf is the rows of names with the same first byte. They are read when the first of
// them is wanted: who wants few entries shall not pay for all.
type shelf struct {
	rows   []byte
	isUsed []atomic.Bool // which were of use to this process
	isNew  atomic.Bool   // and some since that was written
}

const (
	segmentMagic = "sonde\x00\xc6\x01"
	rowSize      = 56
	hourAt       = rowSize - 4
	tailSize     = 257*4 + len(segmentMagic)
)

// readSegment reads of a segment what leads to the rest; false where it is none.
func readSegment(fd int, stat *unix.Stat_t) (*segment, bool) {
	var tail [tailSize]byte
	at := stat.Size - int64(len(tail))
	if at < 0 || readAt(fd, tail[:], at) != nil || string(tail[257*4:]) != segmentMagic {
		return nil, false
	}
	s := &segment{fd: fd, stat: *stat}
	for i := range s.fan {
		s.fan[i] = binary.LittleEndian.Uint32(tail[4*i:])
		if i > 0 && s.fan[i] < s.fan[i-1] {
			return nil, false
		}
	}
	s.index = at - rowSize*int64(s.fan[256])
	return s, s.fan[0] == 0 && s.index >= 0
}

// count is how many rows there are.
func (s *segment) count() int { return int(s.fan[256]) }

// shelf gives the rows of a first byte; nil where they cannot be read.
func (s *segment) shelf(first byte) *shelf {
	if known := s.shelves[first].Load(); known != nil {
		return known
	}
	from, to := s.fan[first], s.fan[int(first)+1]
	read := &shelf{rows: make([]byte, rowSize*(to-from)), isUsed: make([]atomic.Bool, to-from)}
	if readAt(s.fd, read.rows, s.index+rowSize*int64(from)) != nil {
		return nil
	}
	s.shelves[first].CompareAndSwap(nil, read) // another may have been faster
	return s.shelves[first].Load()
}

// row finds a name among those with its first byte.
func (h *shelf) row(name *Key) (n int, ok bool) {
	n = sort.Search(len(h.isUsed), func(i int) bool { return bytes.Compare(h.name(i), name[:]) >= 0 })
	return n, n < len(h.isUsed) && bytes.Equal(h.name(n), name[:])
}

func (h *shelf) name(n int) []byte { return h.rows[rowSize*n:][:len(Key{})] }

// start is how the key of the entry of a row begins.
func (h *shelf) start(n int) keyStart { return keyStart(h.rows[rowSize*n+len(Key{}):]) }

// A keyStart is enough of a key to tell entries of one segment apart.
type keyStart [8]byte

func (k *Key) start() keyStart { return keyStart(k[:]) }

// place is where the entry of a row lies.
func (h *shelf) place(n int) (offset int64, length uint32) {
	row := h.rows[rowSize*n : rowSize*(n+1)]
	return int64(binary.LittleEndian.Uint64(row[40:])), binary.LittleEndian.Uint32(row[48:])
}

// file reads the entry of a row, unchecked; nil where that cannot be.
func (s *segment) file(h *shelf, n int) []byte {
	offset, length := h.place(n)
	if offset < 0 || int64(length) > mostFile || offset > s.index-int64(length) {
		return nil
	}
	file := make([]byte, length)
	if readAt(s.fd, file, offset) != nil {
		return nil
	}
	return file
}

// hour is when the entry of a row was of use last, as the file has it.
func (h *shelf) hour(n int) uint32 { return binary.LittleEndian.Uint32(h.rows[rowSize*n+hourAt:]) }

// use notes that an entry is of use.
func (h *shelf) use(n int) {
	if !h.isUsed[n].Load() {
		h.isUsed[n].Store(true)
		h.isNew.Store(true)
	}
}

// useAsOf notes that entries are of use that were so in a segment before this one, and
// that was not written there.
func (s *segment) useAsOf(old *segment) {
	for first := range old.shelves {
		before := old.shelves[first].Load()
		if before == nil || !before.isNew.Load() {
			continue
		}
		h := s.shelf(byte(first))
		for n := range before.isUsed {
			if h == nil || !before.isUsed[n].Load() {
				continue
			}
			name := Key(before.name(n))
			if here, ok := h.row(&name); ok {
				h.use(here)
			}
		}
	}
}

// writeNotes has other processes see what was of use until this hour. All else is written
// as it is there already, so nobody reads anything that is half written.
func (s *segment) writeNotes(hour uint32) {
	for first := range s.shelves {
		h := s.shelves[first].Load()
		if h == nil || !h.isNew.Swap(false) {
			continue
		}
		rows := bytes.Clone(h.rows)
		for i := range h.isUsed {
			if h.isUsed[i].Load() {
				binary.LittleEndian.PutUint32(rows[rowSize*i+hourAt:], hour)
			}
		}
		// That this fails harms none.
		_, _ = unix.Pwrite(s.fd, rows, s.index+rowSize*int64(s.fan[first]))
	}
}

// each goes through all rows.
func (s *segment) each(fn func(h *shelf, n int)) {
	for first := range s.shelves {
		if h := s.shelf(byte(first)); h != nil {
			for n := range h.isUsed {
				fn(h, n)
			}
		}
	}
}

// hours are the last uses of entries, by either name.
func (s *segment) hours() map[keyStart]uint32 {
	hours := make(map[keyStart]uint32)
	s.each(func(h *shelf, n int) { hours[h.start(n)] = max(hours[h.start(n)], h.hour(n)) })
	return hours
}

// hourOf is the hour of a moment, as rows have it.
func hourOf(at time.Time) uint32 { return uint32(at.Unix() / int64(rest/time.Second)) }

func hourTime(hour uint32) time.Time { return time.Unix(int64(hour)*int64(rest/time.Second), 0) }
