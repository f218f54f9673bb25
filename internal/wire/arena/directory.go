package arena

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Method is a method with a hook, by its ID in woven code and its name, class.name(descriptor).
type Method struct {
	ID         uint32
	Name       string
	LowerBound bool      // the JVM may run it without its hook
	Hooked     time.Time // when it got its hook; zero if that is not known
}

// isLowerBound ends the line of such a method. No descriptor ends like that.
const isLowerBound = "\tintrinsic"

// Describe adds the names of methods to the arena, so that others can read it.
func (a *Arena) Describe(methods []Method) error {
	if len(methods) == 0 {
		return nil
	}
	var text strings.Builder
	for _, method := range methods {
		mark := ""
		if method.LowerBound {
			mark = isLowerBound
		}
		if !method.Hooked.IsZero() {
			mark += fmt.Sprintf("\t%d", method.Hooked.UnixNano())
		}
		// The JVM allows a line feed in a name.
		fmt.Fprintf(&text, "%d\t%s%s\n", method.ID, strings.ReplaceAll(method.Name, "\n", " "), mark)
	}
	return a.guard(func(m memory) error {
		ref, head := m.take(directorySize + uint64(text.Len()))
		if ref == 0 {
			return ErrFull
		}
		m.put32(head+directoryOlder, m.u32(headerDirectory))
		m.put32(head+directoryBytes, uint32(text.Len()))
		copy(m[head+directorySize:], text.String())
		m.put32(headerDirectory, ref)
		return nil
	})
}

// Methods returns the described methods, in no particular order.
func (a *Arena) Methods() (methods []Method, err error) {
	err = a.guard(func(m memory) error {
		return m.directory(m.u32(headerDirectory), 0, func(method Method) { methods = append(methods, method) })
	})
	return methods, err
}

// directory reads the pieces of the directory from one piece to an older one.
func (m memory) directory(ref, until uint32, each func(Method)) error {
	w := &walk{memory: m}
	for ref != 0 && ref != until {
		head := m.piece(ref, directorySize)
		length := uint64(m.u32(head + directoryBytes))
		w.meet(ref, directorySize+length)
		for line := range strings.Lines(string(m[head+directorySize : head+directorySize+length])) {
			id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			number, err := strconv.ParseUint(id, 10, 32)
			if err != nil {
				return fmt.Errorf("%w: its directory has %q", ErrDamaged, line)
			}
			method := Method{ID: uint32(number)}
			if at := strings.LastIndexByte(name, '\t'); at >= 0 {
				if nanos, err := strconv.ParseInt(name[at+1:], 10, 64); err == nil {
					method.Hooked, name = time.Unix(0, nanos), name[:at]
				}
			}
			method.Name, method.LowerBound = strings.CutSuffix(name, isLowerBound)
			each(method)
		}
		ref = m.u32(head + directoryOlder)
	}
	return nil
}

// lowerBounds are the methods whose counts are lower bounds. Entries of the directory never change, so each piece is read
// once.
type lowerBounds struct {
	lock sync.Mutex
	read uint32 // the newest piece that was read
	ids  []uint32
}

// each reads new pieces and yields all IDs.
func (l *lowerBounds) each(m memory, yield func(id uint32)) error {
	l.lock.Lock()
	defer l.lock.Unlock()
	newest := m.u32(headerDirectory)
	err := m.directory(newest, l.read, func(method Method) {
		if method.LowerBound {
			l.ids = append(l.ids, method.ID)
		}
	})
	if err != nil {
		return err
	}
	l.read = newest
	for _, id := range l.ids {
		yield(id)
	}
	return nil
}
