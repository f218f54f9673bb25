package code

import (
	"errors"
	"fmt"

	"github.com/sonde-jvm/sonde/classfile"
)

// Check looks at a whole class: at what [classfile.Class.Check] does, then at each
// method body, which must lift and pass [Body.Check]. The error is a
// *classfile.FormatError; inside a body, its offset is that in the code, or in the
// attribute it names.
func Check(c *classfile.Class) error { return new(Lifter).Check(c) }

// Check is the function Check, in the lifter's memory.
func (l *Lifter) Check(c *classfile.Class) error {
	if err := c.Check(); err != nil {
		return err
	}
	for i := range c.Methods {
		body, err := l.Lift(c, &c.Methods[i])
		if err == nil && body != nil {
			err = body.Check()
		}
		var e *classfile.FormatError
		if errors.As(err, &e) {
			return malformed(fmt.Sprintf("method %d, Code, %s", i, e.Structure), e.Offset, e.Detail)
		}
		if err != nil {
			return fmt.Errorf("method %d: %w", i, err)
		}
	}
	return nil
}

// Check looks at what lifting takes on trust: that instructions, exception handlers,
// frames and variables name constants of the right kind, and slots that exist. The
// constants themselves must have passed [classfile.Class.Check]. Types on the stack
// are for a verifier to follow.
//
// The error is a *classfile.FormatError. Its offset is that of the instruction in
// the code the body was lifted from; for what was inserted, of what stands before.
func (b *Body) Check() error {
	k := checker{Body: b, pool: &b.Class.Pool}
	for n := b.First(); n != nil; n = n.Next() {
		if n.off >= 0 {
			k.at = int(n.off)
		}
		var err error
		structure := "StackMapTable"
		switch n.Kind {
		case Instruction:
			structure = n.op.String()
			err = k.instruction(n)
		case FrameMark:
			err = k.frame(b.Frame(n))
		}
		if err != nil {
			return malformed(structure, k.at, err.Error())
		}
	}
	return k.tables()
}

// checker is a Check under way.
type checker struct {
	*Body
	pool *classfile.Pool
	at   int // offset of the last original node
}

// one demands an entry of a single kind.
func (k *checker) one(index uint16, want classfile.Tag) error {
	if got := k.pool.Tag(index); got != want {
		return &classfile.PoolError{Index: index, Want: want.String(), Got: got}
	}
	return nil
}

// slots demands that some slots from one on exist.
func (k *checker) slots(first uint16, n int) error {
	if int(first)+n > int(k.MaxLocals) {
		return fmt.Errorf("slot %d does not exist, the body has %d", int(first)+n-1, k.MaxLocals)
	}
	return nil
}

// frame checks the classes of a frame and, where it is told in full, that it fits.
func (k *checker) frame(f *Frame) error {
	for _, types := range [2][]Type{f.Locals, f.Stack} {
		for _, t := range types {
			if t.Item == Object {
				if err := k.one(t.Class, classfile.TagClass); err != nil {
					return err
				}
			}
		}
	}
	if f.Form != FullFrame && f.Form != Absolute {
		return nil
	}
	if n := width(f.Locals); n > int(k.MaxLocals) {
		return fmt.Errorf("a frame has %d slots, the body %d", n, k.MaxLocals)
	}
	if n := width(f.Stack); n > int(k.MaxStack) {
		return fmt.Errorf("a frame has a stack of %d slots, the body %d", n, k.MaxStack)
	}
	return nil
}

func width(types []Type) int {
	n := 0
	for _, t := range types {
		n += t.Slots()
	}
	return n
}

// tables checks what stands beside the instructions.
func (k *checker) tables() error {
	for i, h := range k.Handlers {
		if h.Catch == 0 {
			continue
		}
		if err := k.one(h.Catch, classfile.TagClass); err != nil {
			return malformed(fmt.Sprintf("exception handler %d", i), max(0, h.Entry.Offset()), err.Error())
		}
	}
	for i := range k.Vars {
		if err := k.variable(&k.Vars[i]); err != nil {
			return malformed(fmt.Sprintf("local variable %d", i), max(0, k.Vars[i].Start.Offset()), err.Error())
		}
	}
	return nil
}

func (k *checker) variable(v *Var) error {
	if err := k.one(v.Name, classfile.TagUtf8); err != nil {
		return err
	}
	if err := k.one(v.Descriptor, classfile.TagUtf8); err != nil {
		return err
	}
	return k.slots(v.Slot, 1)
}
