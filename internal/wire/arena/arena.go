package arena

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

var (
	// ErrNotArena says that a file is no arena, or one of another version.
	ErrNotArena = errors.New("not an arena of this version of sonde")
	// ErrFull says that what is allocated of an arena is used up.
	ErrFull = errors.New("the arena is full")
	// ErrClosed says that an arena is mapped no more.
	ErrClosed = errors.New("the arena was closed")
)

// An Arena is one mapped into this process. It is safe for use by many
// goroutines.
type Arena struct {
	lock   sync.RWMutex // held while the mapping is used; for writing, to end it
	memory memory       // nil once it is closed

	lowerBounds lowerBounds
}

// Owner is what an arena says of whom it belongs to.
type Owner struct {
	Target      int    // process
	TargetStart uint64 // its start time, in clock ticks since boot: tells it from a later one of its number
	Sonde       int    // process
	Command     string // for a human
	Opened      time.Time
}

// Create makes an arena of a file that is empty, but as long as the arena may
// ever be, and whose first bytes, up to limit, are allocated.
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

// commandMost is how many bytes of a command are kept.
const commandMost = 512

// begin writes the header, the magic last.
func (a *Arena) begin(limit int64, epoch uint32, owner Owner) error {
	return a.guard(func(m memory) error {
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
		return nil
	})
}

// Open maps an arena that another made.
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
			return fmt.Errorf("%s: %w: it has version %d, and this one reads %d", file.Name(), ErrNotArena, version, layoutVersion)
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
	if info.Size() < headerSize || int64(int(info.Size())) != info.Size() {
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

// Close unmaps the arena; what was read of it stays. Who is reading it is waited
// for.
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

// Length is how long the arena may become.
func (a *Arena) Length() int64 {
	a.lock.RLock()
	defer a.lock.RUnlock()
	return int64(len(a.memory))
}

// Epoch tells this arena from others a JVM has had. Like all that follows it
// reads 0, and writes nothing, where the file was cut short or the arena is closed.
func (a *Arena) Epoch() (epoch uint32) {
	_ = a.guard(func(m memory) error {
		epoch = m.u32(headerEpoch)
		return nil
	})
	return epoch
}

// Owner tells whom the arena belongs to.
func (a *Arena) Owner() (owner Owner, err error) {
	err = a.guard(func(m memory) error {
		length := min(m.u32(headerCommandLength), commandMost)
		owner = Owner{
			Target:      int(m.u32(headerTargetPid)),
			TargetStart: m.u64(headerTargetStart),
			Sonde:       int(m.u32(headerSondePid)),
			Command:     string(m[headerCommand : headerCommand+uint64(length)]),
			Opened:      time.Unix(0, int64(m.u64(headerOpenedWall))),
		}
		return nil
	})
	return owner, err
}

// Room is how much of the arena is used and how much is allocated.
func (a *Arena) Room() (used, limit int64) {
	_ = a.guard(func(m memory) error {
		allocated := m.allocated()
		used, limit = int64(min(m.u64(headerNext), allocated)), int64(allocated)
		return nil
	})
	return used, limit
}

// Raise tells the target that the file is allocated up to a new limit.
func (a *Arena) Raise(limit int64) {
	_ = a.guard(func(m memory) error {
		m.put64(headerLimit, uint64(limit))
		return nil
	})
}

// AskStop has whoever is in the target take everything out. The arena must be
// mapped for writing.
func (a *Arena) AskStop() {
	_ = a.guard(func(m memory) error {
		m.put32(headerStop, 1)
		return nil
	})
}

// StopAsked tells whether someone called AskStop.
func (a *Arena) StopAsked() (asked bool) {
	_ = a.guard(func(m memory) error {
		asked = m.u32(headerStop) != 0
		return nil
	})
	return asked
}

// OpenedNanos is the target's System.nanoTime when it opened the arena.
func (a *Arena) OpenedNanos() (nanos int64) {
	_ = a.guard(func(m memory) error {
		nanos = int64(m.u64(headerOpenedNanos))
		return nil
	})
	return nanos
}

// A Cost is what the hooks cost the target, as far as Sonde has measured it.
type Cost struct {
	Hook    float64       // nanoseconds of a pair of hooks; 0 where not known
	Pause   time.Duration // for how long it was stopped to put hooks in
	Compile time.Duration // processor time of its compilers meanwhile
}

// SetHookCost notes what a pair of hooks costs, in nanoseconds.
func (a *Arena) SetHookCost(nanos float64) {
	_ = a.guard(func(m memory) error {
		m.put64(headerHookPicos, uint64(nanos*1000))
		return nil
	})
}

// AddBatchCost notes what putting hooks in has cost.
func (a *Arena) AddBatchCost(pause, compile time.Duration) {
	_ = a.guard(func(m memory) error {
		m.put64(headerPausedNanos, m.u64(headerPausedNanos)+uint64(pause))
		m.put64(headerCompileNanos, m.u64(headerCompileNanos)+uint64(compile))
		return nil
	})
}

// Cost is what was noted.
func (a *Arena) Cost() (cost Cost, err error) {
	err = a.guard(func(m memory) error {
		cost = Cost{
			Hook:    float64(m.u64(headerHookPicos)) / 1000,
			Pause:   time.Duration(m.u64(headerPausedNanos)),
			Compile: time.Duration(m.u64(headerCompileNanos)),
		}
		return nil
	})
	return cost, err
}
