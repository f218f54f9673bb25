package ledger

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// ErrOtherNames says that names are not those of what an arena's hooks are in.
var ErrOtherNames = errors.New("its names are not those of this arena")

// A Name says what an id stands for.
type Name struct {
	ID uint32
	// Class has dots; Method and Descriptor are as class files have them.
	Class, Method, Descriptor string
	Probe, Sequence           string   // empty where an arena is all there is to go by
	Groups                    []string // names of the tags by which results are told apart
}

// String is the method as arenas name it.
func (n *Name) String() string { return n.Class + "." + n.Method + n.Descriptor }

// A Ledger is an arena, read by somebody who need not have made it. It is safe for use
// by several goroutines.
type Ledger struct {
	arena *arena.Arena
	owner arena.Owner
	ahead int64 // what the target's clock is ahead of ours

	lock    sync.Mutex
	ended   bool // the JVM has, so that nothing in it goes on
	names   map[uint32]Name
	tags    []string // names, by number
	labels  Labels
	numbers Numbers
}

// Open reads an arena that is open as a file. The file may be closed then.
func Open(file *os.File) (*Ledger, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w: it is no plain file", file.Name(), arena.ErrNotArena)
	}
	mapped, err := arena.Open(file, false)
	if err != nil {
		return nil, err
	}
	l := &Ledger{arena: mapped, names: make(map[uint32]Name), numbers: make(Numbers)}
	if err := l.begin(); err != nil {
		_ = mapped.Close()
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return l, nil
}

func (l *Ledger) begin() (err error) {
	if l.owner, err = l.arena.Owner(); err != nil {
		return err
	}
	l.ahead = Ahead(l.arena.OpenedNanos(), l.owner.Opened)
	methods, err := l.arena.Methods()
	if err != nil {
		return err
	}
	for _, m := range methods {
		l.names[m.ID] = readName(m)
	}
	return nil
}

// readName takes class.name(descriptor) apart.
func readName(m arena.Method) Name {
	head, tail, found := strings.Cut(m.Name, "(")
	at := strings.LastIndexByte(head, '.')
	if !found || at < 0 {
		return Name{ID: m.ID, Method: m.Name}
	}
	return Name{ID: m.ID, Class: head[:at], Method: head[at+1:], Descriptor: "(" + tail}
}

// Close lets go of the arena.
func (l *Ledger) Close() { _ = l.arena.Close() }

// Owner is whom the arena belongs to.
func (l *Ledger) Owner() arena.Owner { return l.owner }

// Account is what became of the classes of a pack; false where the arena is of none.
func (l *Ledger) Account() (arena.Account, bool, error) { return l.arena.Account() }

// Room is how much of the arena is used and how much is allocated.
func (l *Ledger) Room() (used, limit int64) { return l.arena.Room() }

// IsStopped tells whether somebody wanted the hooks out.
func (l *Ledger) IsStopped() bool { return l.arena.StopAsked() }

// SetEnded says that the JVM has ended: calls that are under way never come to an end,
// and how long they took is not known.
func (l *Ledger) SetEnded() {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.ended = true
}

// Identify adds what is known of the spots beside their methods, and the names of tags, by
// number. Where that is not about this arena nothing is added.
func (l *Ledger) Identify(names []Name, tags []string) error {
	l.lock.Lock()
	defer l.lock.Unlock()
	for i := range names {
		if own, is := l.names[names[i].ID]; !is || own.String() != names[i].String() {
			return fmt.Errorf("%w: it has none of %s by this number", ErrOtherNames, names[i].String())
		}
	}
	for _, n := range names {
		l.names[n.ID] = n
	}
	l.tags = tags
	return nil
}

// Now is what the target's clock reads; 0 where the target has ended.
func (l *Ledger) Now() int64 {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.now()
}

func (l *Ledger) now() int64 {
	if l.ended {
		return 0
	}
	return Monotonic() + l.ahead
}

// spots are the ids that have names, in order. The lock is held.
func (l *Ledger) spots() []uint32 { return slices.Sorted(maps.Keys(l.names)) }
