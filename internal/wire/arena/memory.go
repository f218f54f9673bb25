package arena

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"unsafe"
)

// ErrDamaged says that what the arena holds cannot be.
var ErrDamaged = errors.New("the arena is damaged")

// memory is the mapped file. The other side may be anyone: no ref is followed
// that was not checked, and a file cut short under us is an error, not the end
// of the process.
type memory []byte

// guard lends the memory to use, which must not keep it, and turns a fault of
// the mapping into an error. Close waits meanwhile.
func (a *Arena) guard(use func(memory) error) (err error) {
	a.lock.RLock()
	defer a.lock.RUnlock()
	if a.memory == nil {
		return ErrClosed
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			failure, ok := fault.(error)
			if !ok {
				panic(fault)
			}
			if _, isFault := fault.(interface{ Addr() uintptr }); !isFault && !errors.Is(failure, ErrDamaged) {
				panic(fault)
			}
			err = fmt.Errorf("%w: %w", ErrDamaged, failure)
		}
	}()
	return use(a.memory)
}

// allocated is how much of the file may be touched. It grows meanwhile.
func (m memory) allocated() uint64 { return min(m.u64(headerLimit), uint64(len(m))) }

// check ends the reading, by guard, where a piece is not inside what is
// allocated.
func (m memory) check(offset, size uint64) {
	end := m.allocated()
	if offset < headerSize || offset%layoutUnit != 0 || offset > end || size > end-offset {
		panic(fmt.Errorf("%w: a piece of %d bytes at %#x", ErrDamaged, size, offset))
	}
}

// piece is the checked offset of what a ref names.
func (m memory) piece(ref uint32, size uint64) uint64 {
	offset := uint64(ref) * layoutUnit
	m.check(offset, size)
	return offset
}

// A walk is one way through the arena, from piece to piece. Pieces never
// overlap, so a walk that meets more bytes than there are goes in a circle.
type walk struct {
	memory
	met     uint64 // bytes
	climbed uint64 // steps from nodes to their parents
}

// mostClimbed bounds a walk through a tree made to be climbed for ever: it is a
// few seconds' worth, and far more than the deepest stacks need.
const mostClimbed = 1 << 30

// meet is piece for one that the walk comes to for the first time.
func (w *walk) meet(ref uint32, size uint64) uint64 {
	offset := w.piece(ref, size)
	if w.met += size; w.met > w.allocated() {
		panic(fmt.Errorf("%w: its pieces are linked in a circle", ErrDamaged))
	}
	return offset
}

// Every access is atomic: the target writes meanwhile. Offsets are inside a
// checked piece and aligned, by layout.table.

func (m memory) u32(offset uint64) uint32 { return atomic.LoadUint32(m.word32(offset)) }
func (m memory) u64(offset uint64) uint64 { return atomic.LoadUint64(m.word64(offset)) }

func (m memory) put32(offset uint64, value uint32) { atomic.StoreUint32(m.word32(offset), value) }
func (m memory) put64(offset uint64, value uint64) { atomic.StoreUint64(m.word64(offset), value) }

func (m memory) word32(offset uint64) *uint32 {
	return (*uint32)(unsafe.Pointer(&m[offset : offset+4][0]))
}

func (m memory) word64(offset uint64) *uint64 {
	return (*uint64)(unsafe.Pointer(&m[offset : offset+8][0]))
}

// take reserves a piece for Sonde, among the target's; 0 where there is no room.
func (m memory) take(bytes uint64) uint32 {
	bytes = (bytes + layoutUnit - 1) / layoutUnit * layoutUnit
	for {
		begin, end := m.u64(headerNext), m.allocated()
		if begin < headerSize || begin%layoutUnit != 0 || begin > end || bytes > end-begin {
			return 0
		}
		if atomic.CompareAndSwapUint64(m.word64(headerNext), begin, begin+bytes) {
			return uint32(begin / layoutUnit)
		}
	}
}
