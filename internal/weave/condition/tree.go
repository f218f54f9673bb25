package condition

import "github.com/sonde-jvm/sonde/classfile/opcode"

// valueKind is how a value is come by.
type valueKind uint8

const (
	fromArgument valueKind = iota // n, from 0
	fromThis
	fromReturn
	fromThrown
	fromElapsed
	fromTag     // n
	fromField   // ref, of base
	fromCall    // ref, on base
	fromLength  // of the array base
	fromElement // n, of the array base
	fromUse     // of the collection base: an element, size or isEmpty
	fromUnboxed // base
	fromNarrow  // base as another class; where it is none, hard says what follows
)

// value is a typed value: what a path means in the method at hand.
type value struct {
	kind  valueKind
	typ   typ
	base  *value
	n     int32
	text  string
	ref   ref
	use   *use // of a collection; n or text is what is asked for
	named bool // the name of an enum's constant, which stands for it
	hard  bool // a value of another class leaves the condition undecided; else it counts as null
}

// ref is what a getfield or an invocation names. The class is always the static type
// of what it is applied to, so that no verifier has to ask for supertypes.
type ref struct {
	op                opcode.Op
	class, name, desc string
}

// nullable reports whether there may be no value: because it is a null reference, or
// because something on the way to it is.
func (v *value) nullable() bool {
	switch v.kind {
	case fromThis, fromElapsed:
		return false
	case fromArgument, fromReturn, fromThrown, fromTag:
		return v.typ.isRef()
	case fromElement, fromNarrow, fromUnboxed:
		return true
	}
	return v.typ.isRef() || v.base.nullable()
}

// reads reports whether a value is read by way of a root.
func (v *value) reads(root valueKind) bool {
	return v != nil && (v.kind == root || v.base.reads(root))
}

// cond is a typed condition.
type cond interface{ reads(root valueKind) bool }

type (
	// always is a condition whose answer is known.
	always bool

	// logic is l && r, or l || r.
	logic struct {
		or   bool
		l, r cond
	}

	not struct{ x cond }

	// isNull asks whether there is no value, or whether there is one.
	isNull struct {
		x       *value
		present bool
	}

	// compared compares two values, or a value and a constant, as one kind: one of
	// "IJFD" by number, 'S' by content, 'A' by identity. It is false where either is
	// not there.
	compared struct {
		op   string
		kind byte
		l    *value
		r    *value
		c    *constant
	}

	// among asks whether a value equals one of several constants.
	among struct {
		x    *value
		list []kindConstant
	}

	// like asks whether a string is of a pattern.
	like struct {
		x *value
		g glob
	}

	// instanceOf asks whether a value is of a class.
	instanceOf struct {
		x     *value
		class string
	}
)

type kindConstant struct {
	kind byte
	c    *constant
}

// constant is a number or text to compare with.
type constant struct {
	number int64
	float  float64
	text   string
}

func (always) reads(valueKind) bool             { return false }
func (c *logic) reads(root valueKind) bool      { return c.l.reads(root) || c.r.reads(root) }
func (c *not) reads(root valueKind) bool        { return c.x.reads(root) }
func (c *isNull) reads(root valueKind) bool     { return c.x.reads(root) }
func (c *compared) reads(root valueKind) bool   { return c.l.reads(root) || c.r.reads(root) }
func (c *among) reads(root valueKind) bool      { return c.x.reads(root) }
func (c *like) reads(root valueKind) bool       { return c.x.reads(root) }
func (c *instanceOf) reads(root valueKind) bool { return c.x.reads(root) }

// fold replaces what is known at one moment and puts constants together, so that a
// condition is either all constant or has no constant in it: code behind a jump that
// is always taken would need frames that nothing leads to.
//
// What reads $return is false where the method threw, what reads $exception is false
// where it returned; but $exception == null is true there.
func fold(c cond, at thrown) cond {
	switch c := c.(type) {
	case *logic:
		l, r := fold(c.l, at), fold(c.r, at)
		decisive := always(c.or) // true decides ||, false decides &&
		switch {
		case l == decisive || r == !decisive:
			return l
		case l == !decisive || r == decisive:
			return r
		}
		return &logic{c.or, l, r}
	case *not:
		x := fold(c.x, at)
		if known, ok := x.(always); ok {
			return !known
		}
		return &not{x}
	case always:
		return c
	}
	if at == hasThrown && c.reads(fromReturn) {
		return always(false)
	}
	if at == hasReturned && c.reads(fromThrown) {
		n, asks := c.(*isNull)
		return always(asks && !n.present)
	}
	if n, ok := c.(*isNull); ok && at == hasThrown && n.x.kind == fromThrown {
		return always(n.present)
	}
	return c
}

// thrown is how a method ended, if it has.
type thrown uint8

const (
	hasNotEnded thrown = iota
	hasReturned
	hasThrown
)
