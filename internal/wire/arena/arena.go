// Package arena reads and writes the arena, the memory into which hooks write what they measure: a
// file mapped by the target and by Sonde.
//
// The target's threads write without locks, each into blocks of its own; Sonde reads at any moment without asking the
// target. Blocks are allocated one after the other and are never moved or reused, so a reference to one stays valid. Only
// the part of the file below a limit is ever accessed, and Sonde raises the limit after allocating space: a store to a page that the file
// system cannot provide would kill the program.
//
// The layout is in layout.table, from which the constants for Go and Java are generated.
package arena

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

//go:generate go run ./gen -java ../../../agent/hooks/stubs/sonde/layout/Layout.java

var (
	// ErrNotArena reports a file that is not an arena, or one of another version.
	ErrNotArena = errors.New("not an arena of this version of sonde")
	// ErrFull reports that the allocated part of an arena is used up.
	ErrFull = errors.New("the arena is full")
	// ErrClosed reports that an arena is no longer mapped.
	ErrClosed = errors.New("the arena was closed")
)

// MostBytes is the length of the largest arena that hooks can address. A sparse file of any length costs its owner nothing.
const MostBytes = 1 << 30

// An Arena is an arena that is mapped into this process. It is safe for concurrent use.
type Arena struct {
	lock   sync.RWMutex // held while the mapping is used; for writing, to end it
	memory memory       // nil once it is closed

	lowerBounds lowerBounds
}

// An Owner describes the processes that an arena belongs to.
type Owner struct {
	Target      int    // process
	TargetStart uint64 // its start, in clock ticks since the boot, which distinguishes it from a later process with its PID
	Sonde       int    // process
	Command     string // for users
	Opened      time.Time
}

// Create creates an arena in an empty file of its final length, whose first bytes, up to limit, are allocated.
func Create(file *os.File, limit int64, owner Owner) (*Arena, error) {
	a, err := mapFile(file, true)
	if err != nil {
		return nil, err
	}
	if limit < headerSize || limit > int64(len(a.memory)) {
		_ = a.Close()
		return nil, fmt.Errorf("a limit of %d does not fit an arena of %d bytes", limit, len(a.memory))
	}
	var epoch [4]byte
	if _, err := rand.Read(epoch[:]); err != nil {
		_ = a.Close()
		return nil, err
	}
	if err := a.begin(limit, binary.LittleEndian.Uint32(epoch[:])&layoutMostEpoch|1, owner); err != nil {
		_ = a.Close()
		return nil, err
	}
	return a, nil
}

// commandMost bounds the bytes of the command.
const commandMost = 512

// begin writes the header, with the magic last.
func (a *Arena) begin(limit int64, epoch uint32, owner Owner) error {
	return a.use(func(m memory) {
		m.put32(headerVersion, layoutVersion)
		m.put32(headerEpoch, epoch)
		m.put64(headerLength, uint64(len(m)))
		m.put64(headerLimit, uint64(limit))
		m.put64(headerNext, headerSize)
		m.put32(headerRingBytes, layoutRingBytes)
		m.put64(headerOpenedWall, uint64(owner.Opened.UnixNano()))
		m.put32(headerTargetPid, uint32(owner.Target))
		m.put64(headerTargetStart, owner.TargetStart)
		m.put32(headerSondePid, uint32(owner.Sonde))
		m.put32(headerCommandLength, uint32(copy(m[headerCommand:headerCommand+commandMost], owner.Command)))
		m.put64(headerMagic, layoutMagic)
	})
}

// Open maps an existing arena.
func Open(file *os.File, writable bool) (*Arena, error) {
	a, err := mapFile(file, writable)
	if err != nil {
		return nil, err
	}
	err = a.guard(func(m memory) error {
		version, length := m.u32(headerVersion), m.u64(headerLength)
		switch {
		case m.u64(headerMagic) != layoutMagic:
			return fmt.Errorf("%s: %w", file.Name(), ErrNotArena)
		case version != layoutVersion:
			return fmt.Errorf("%s: %w: it has version %d; this Sonde reads %d", file.Name(), ErrNotArena, version, layoutVersion)
		case length != uint64(len(m)):
			return fmt.Errorf("%s: %w, or cut short: it has %d of %d bytes", file.Name(), ErrNotArena, len(m), length)
		}
		return nil
	})
	if err != nil {
		_ = a.Close()
		return nil, err
	}
	return a, nil
}

func mapFile(file *os.File, writable bool) (*Arena, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < headerSize || info.Size() > MostBytes {
		return nil, fmt.Errorf("%s: %w", file.Name(), ErrNotArena)
	}
	protection := unix.PROT_READ
	if writable {
		protection |= unix.PROT_WRITE
	}
	mapped, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), protection, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", file.Name(), err)
	}
	return &Arena{memory: mapped}, nil
}

// Close unmaps the arena, after waiting for its readers. Values that were read stay valid.
func (a *Arena) Close() error {
	a.lock.Lock()
	defer a.lock.Unlock()
	mapped := a.memory
	a.memory = nil
	if mapped == nil {
		return nil
	}
	return unix.Munmap(mapped)
}

// Length returns the final length of the arena.
func (a *Arena) Length() int64 {
	a.lock.RLock()
	defer a.lock.RUnlock()
	return int64(len(a.memory))
}

// Epoch returns the number that distinguishes this arena from others of the same JVM. Like the methods below, it returns
// 0, or writes nothing, if the file was truncated or the arena is closed.
func (a *Arena) Epoch() (epoch uint32) {
	_ = a.use(func(m memory) { epoch = m.u32(headerEpoch) })
	return epoch
}

// Owner returns the processes that the arena belongs to.
func (a *Arena) Owner() (owner Owner, err error) {
	err = a.use(func(m memory) {
		length := min(m.u32(headerCommandLength), commandMost)
		owner = Owner{
			Target:      int(m.u32(headerTargetPid)),
			TargetStart: m.u64(headerTargetStart),
			Sonde:       int(m.u32(headerSondePid)),
			Command:     string(m[headerCommand : headerCommand+uint64(length)]),
			Opened:      time.Unix(0, int64(m.u64(headerOpenedWall))),
		}
	})
	return owner, err
}

// Room returns how much of the arena is used and how much is allocated.
func (a *Arena) Room() (used, limit int64) {
	_ = a.use(func(m memory) {
		allocated := m.allocated()
		used, limit = int64(min(m.u64(headerNext), allocated)), int64(allocated)
	})
	return used, limit
}

// Raise sets the limit up to which the file is allocated.
func (a *Arena) Raise(limit int64) {
	_ = a.use(func(m memory) { m.put64(headerLimit, uint64(limit)) })
}

// AskStop asks the agent in the target to remove all hooks. The arena must be mapped for writing.
func (a *Arena) AskStop() {
	_ = a.use(func(m memory) { m.put32(headerStop, 1) })
}

// StopAsked reports whether AskStop was called.
func (a *Arena) StopAsked() (asked bool) {
	_ = a.use(func(m memory) { asked = m.u32(headerStop) != 0 })
	return asked
}

// OpenedNanos returns the target's System.nanoTime when it opened the arena.
func (a *Arena) OpenedNanos() (nanos int64) {
	_ = a.use(func(m memory) { nanos = int64(m.u64(headerOpenedNanos)) })
	return nanos
}

// A Cost is the measured cost of the hooks for the target.
type Cost struct {
	Hook    float64       // nanoseconds of a pair of hooks; 0 if unknown
	Pause   time.Duration // how long it was stopped for installing hooks
	Compile time.Duration // processor time of its compilers during that
}

// SetHookCost records the cost of a pair of hooks, in nanoseconds.
func (a *Arena) SetHookCost(nanos float64) {
	_ = a.use(func(m memory) { m.put64(headerHookPicos, uint64(nanos*1000)) })
}

// AddBatchCost records the cost of installing hooks.
func (a *Arena) AddBatchCost(pause, compile time.Duration) {
	_ = a.use(func(m memory) {
		m.put64(headerPausedNanos, m.u64(headerPausedNanos)+uint64(pause))
		m.put64(headerCompileNanos, m.u64(headerCompileNanos)+uint64(compile))
	})
}

// Cost returns the recorded costs.
func (a *Arena) Cost() (cost Cost, err error) {
	err = a.use(func(m memory) {
		cost = Cost{
			Hook:    float64(m.u64(headerHookPicos)) / 1000,
			Pause:   time.Duration(m.u64(headerPausedNanos)),
			Compile: time.Duration(m.u64(headerCompileNanos)),
		}
	})
	return cost, err
}

// ErrDamaged reports that the content of the arena is impossible.
var ErrDamaged = errors.New("the arena is damaged")

// memory is the mapped file. The other side is not trusted: every ref is checked before it is followed, and a file that is
// truncated while it is mapped is an error, not the end of the process.
type memory []byte

// guard calls use with the memory, which use must not keep, and converts a fault of the mapping into an error. Close waits
// for it.
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
			_, isFault := fault.(interface{ Addr() uintptr })
			switch {
			case isFault:
				err = fmt.Errorf("%w: its file was cut short while it was mapped", ErrDamaged)
			case errors.Is(failure, ErrDamaged):
				err = failure
			default:
				panic(fault)
			}
		}
	}()
	return use(a.memory)
}

// use is guard for accesses that cannot fail otherwise.
func (a *Arena) use(access func(memory)) error {
	return a.guard(func(m memory) error {
		access(m)
		return nil
	})
}

// walk is use for accesses that follow refs.
func (a *Arena) walk(access func(*walk)) error {
	return a.use(func(m memory) { access(&walk{memory: m}) })
}

// reserve takes a piece to which a field of the header refers, unless there is one.
func (a *Arena) reserve(field, bytes uint64) error {
	return a.guard(func(m memory) error {
		if m.u32(field) != 0 {
			return nil
		}
		ref, _ := m.take(bytes)
		if ref == 0 {
			return ErrFull
		}
		m.put32(field, ref)
		return nil
	})
}

// allocated returns how much of the file may be accessed. It grows over time.
func (m memory) allocated() uint64 { return min(m.u64(headerLimit), uint64(len(m))) }

// check panics, for guard, if a piece is not inside the allocated part.
func (m memory) check(offset, size uint64) {
	end := m.allocated()
	if offset < headerSize || offset%layoutUnit != 0 || offset > end || size > end-offset {
		panic(fmt.Errorf("%w: a piece of %d bytes at %#x", ErrDamaged, size, offset))
	}
}

// piece returns the checked offset of a ref.
func (m memory) piece(ref uint32, size uint64) uint64 {
	offset := uint64(ref) * layoutUnit
	m.check(offset, size)
	return offset
}

// A walk goes through the arena from piece to piece. Pieces never overlap, so a walk that meets more bytes than there are
// goes in a circle.
type walk struct {
	memory
	met     uint64 // bytes
	climbed uint64 // steps from nodes to their parents

	countsOnly bool // no distributions of times are read
}

// mostClimbed bounds a walk through a tree that was built to take for ever. It takes a few seconds, and is far more than
// the deepest stacks need.
const mostClimbed = 1 << 30

// meet is piece for the first visit of a walk.
func (w *walk) meet(ref uint32, size uint64) uint64 {
	offset := w.piece(ref, size)
	if w.met += size; w.met > w.allocated() {
		panic(fmt.Errorf("%w: its pieces are linked in a circle", ErrDamaged))
	}
	return offset
}

// Every access is atomic, because the target writes concurrently. Offsets are inside a checked piece and aligned, by
// layout.table.

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

// take reserves a piece for Sonde, and returns its ref and offset; 0 if there is no room.
func (m memory) take(bytes uint64) (ref uint32, offset uint64) {
	bytes = (bytes + layoutUnit - 1) / layoutUnit * layoutUnit
	for {
		begin, end := m.u64(headerNext), m.allocated()
		if begin < headerSize || begin%layoutUnit != 0 || begin > end || bytes > end-begin {
			return 0, 0
		}
		if atomic.CompareAndSwapUint64(m.word64(headerNext), begin, begin+bytes) {
			return uint32(begin / layoutUnit), begin
		}
	}
}

// Monotonic returns the reading of the clock of System.nanoTime.
func Monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0
	}
	return now.Nano()
}

// Ahead returns how much a target's clock is ahead of ours, by its reading at a known time: 0 except in another time
// namespace. The wall clock may have been set since, so differences of up to a minute are ignored.
func Ahead(reading int64, at time.Time) int64 {
	ahead := reading - (Monotonic() - int64(time.Since(at)))
	if ahead > -int64(time.Minute) && ahead < int64(time.Minute) {
		return 0
	}
	return ahead
}

// AheadNow is Ahead for a reading taken just before ours: a later reading is of another clock.
func AheadNow(reading int64) int64 {
	ahead := reading - Monotonic()
	if ahead > -int64(time.Minute) && ahead <= 0 {
		return 0
	}
	return ahead
}
