package arena

import (
	"fmt"
	"strconv"
	"strings"
)

// A Method is one that has a hook, by the id woven code has for it and the name
// people have: class.name(descriptor).
type Method struct {
	ID   uint32
	Name string
}

// Describe adds names to the arena, so that it can be understood without the
// Sonde that made it.
func (a *Arena) Describe(methods []Method) error {
	if len(methods) == 0 {
		return nil
	}
	var text strings.Builder
	for _, method := range methods {
		// A name may have a line feed in it, as the JVM allows.
		fmt.Fprintf(&text, "%d\t%s\n", method.ID, strings.ReplaceAll(method.Name, "\n", " "))
	}
	return a.guard(func(m memory) error {
		ref := m.take(directorySize + uint64(text.Len()))
		if ref == 0 {
			return ErrFull
		}
		head := uint64(ref) * layoutUnit
		m.put32(head+directoryOlder, m.u32(headerDirectory))
		m.put32(head+directoryBytes, uint32(text.Len()))
		copy(m[head+directorySize:], text.String())
		m.put32(headerDirectory, ref)
		return nil
	})
}

// Methods lists the methods that were described, in no order.
func (a *Arena) Methods() (methods []Method, err error) {
	err = a.guard(func(m memory) error {
		w := &walk{memory: m}
		for ref := m.u32(headerDirectory); ref != 0; {
			head := m.piece(ref, directorySize)
			length := uint64(m.u32(head + directoryBytes))
			w.meet(ref, directorySize+length)
			for line := range strings.Lines(string(m[head+directorySize : head+directorySize+length])) {
				id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				number, err := strconv.ParseUint(id, 10, 32)
				if err != nil {
					return fmt.Errorf("%w: its directory has %q", ErrDamaged, line)
				}
				methods = append(methods, Method{uint32(number), name})
			}
			ref = m.u32(head + directoryOlder)
		}
		return nil
	})
	return methods, err
}
