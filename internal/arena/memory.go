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

// guard calls read, and turns a fault of the mapping into an error.
func guard(read func() error) (err error) {
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
	return read()
}

// check ends the reading, by guard, where a piece is not inside the file.
func (m memory) check(offset, size uint64) {
	if offset%layoutUnit != 0 || offset > uint64(len(m)) || size > uint64(len(m))-offset {
		panic(fmt.Errorf("%w: a piece of %d bytes at %#x", ErrDamaged, size, offset))
	}
}

// piece is the checked offset of what a ref names.
func (m memory) piece(ref uint32, size uint64) uint64 {
	offset := uint64(ref) * layoutUnit
	if ref == 0 {
		panic(fmt.Errorf("%w: a ref of 0", ErrDamaged))
	}
	m.check(offset, size)
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
	end := atomic.AddUint64(m.word64(headerNext), bytes)
	if end > m.u64(headerLimit) || end > uint64(len(m)) {
		return 0
	}
	return uint32((end - bytes) / layoutUnit)
}
