package condition

import "github.com/sonde-jvm/sonde/classfile/opcode"

// valueKind is how a value is obtained.
type valueKind uint8

const (
	fromArgument valueKind = iota // n, from 0
	fromThis
	fromReturn
	fromThrown
	fromElapsed
	fromTag     // n
	fromField   // ref, of base
	fromCall    // ref, on base, with text as its argument if asked
	fromStatic  // ref
	fromLength  // of the array base
	fromElement // n, of the array base
	fromUse     // of the collection base: an element, size or isEmpty
	fromUnboxed // base
	fromNarrow  // base as another class; hard decides what happens if it is of none
)

// value is the typed meaning of a path in the method.
type value struct {
	kind  valueKind
	typ   typ
	base  *value
	n     int32
	text  string
	ref   ref
	use   *use // of a collection; n or text is what is asked for
	named bool // the name of a constant of an enum
	asked bool // the call has text as its argument
	open  bool // the static method is one of an interface
	hard  bool // a value of another class makes the condition undecided; else it counts as null

	hands  bool   // the call has the name of the running traced call as its second argument, and is not made if there is none
	unless *value // keeps such a call from being made if it is true; may be nil
}

// ref is the operand of a getfield or an invocation. The class is always the static type of
// the object, so that the verifier need not load classes to find supertypes.
type ref struct {
	op                opcode.Op
	class, name, desc string
}

// nullable reports whether there may be no value: because it, or an object on the path to
// it, may be null.
func (v *value) nullable() bool {
	switch v.kind {
	case fromThis, fromElapsed:
		return false
	case fromArgument, fromReturn, fromThrown, fromTag:
		return v.typ.isRef()
	case fromElement, fromNarrow, fromUnboxed:
		return true
	}
	return v.typ.isRef() || v.base != nil && v.base.nullable()
}

// reads reports whether the path of a value begins with a root.
func (v *value) reads(root valueKind) bool {
	return v != nil && (v.kind == root || v.base.reads(root))
}

type cond interface{ reads(root valueKind) bool }

type (
	// always is a condition with a known result.
	always bool

	// logic is l && r, or l || r.
	logic struct {
		or   bool
		l, r cond
	}

	not struct{ x cond }

	// isNull holds if there is no value, or, with present, if there is one.
	isNull struct {
		x       *value
		present bool
	}

	// compared compares two values, or a value and a constant, as one kind: one of
	// "IJFD" by number, 'S' by content, 'A' by identity. It is false if either is
	// missing.
	compared struct {
		op   string
		kind byte
		l    *value
		r    *value
		c    *constant
	}

	// among holds if a value equals one of several constants.
	among struct {
		x    *value
		list []kindConstant
	}

	// like holds if a string matches a pattern.
	like struct {
		x *value
		g glob
	}

	// instanceOf holds if a value is an instance of a class.
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

// fold replaces comparisons whose result is known at a moment, and simplifies, so that the
// result is constant or contains no constant: code after a jump that is always taken would be
// unreachable, and need a frame that nothing leads to.
//
// Comparisons of $return are false if the method threw. Comparisons of $exception are false if
// it returned, except for $exception == null.
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

// thrown is whether and how a method has ended.
type thrown uint8

const (
	hasNotEnded thrown = iota
	hasReturned
	hasThrown
)
