package unwind

import "errors"

// A frame computes values by rules.
type frame struct {
	regs   *Registers
	memory Memory
	cfa    uint64
}

func (f *frame) value(r rule) (uint64, error) {
	switch r.kind {
	case savedAtOffset:
		return f.load(f.cfa + uint64(r.offset))
	case offsetFromCFA:
		return f.cfa + uint64(r.offset), nil
	case offsetFromRegister:
		value, err := f.register(r.register)
		return value + uint64(r.offset), err
	case savedAtExpression:
		address, err := f.evaluate(r.expression)
		if err != nil {
			return 0, err
		}
		return f.load(address)
	case byExpression:
		return f.evaluate(r.expression)
	}
	return 0, ErrIncomplete
}

func (f *frame) load(address uint64) (uint64, error) {
	word, ok := f.memory(address)
	if !ok {
		return 0, ErrIncomplete
	}
	return word, nil
}

func (f *frame) register(number int) (uint64, error) {
	value, ok := f.regs.Get(number)
	if !ok {
		return 0, ErrIncomplete
	}
	return value, nil
}

var (
	errExpression     = errors.New("an expression is damaged or not supported")
	errExpressionLong = errors.New("an expression takes too long")
)

// operands are the stack of an expression. It is bad once it had too few or too many of them.
type operands struct {
	values [64]uint64
	count  int
	bad    bool
}

func (o *operands) push(value uint64) {
	if o.count == len(o.values) {
		o.bad = true
		return
	}
	o.values[o.count] = value
	o.count++
}

func (o *operands) pop() uint64 {
	value := o.pick(0)
	o.count = max(o.count-1, 0)
	return value
}

// pick returns the operand at a depth, 0 for the last one.
func (o *operands) pick(depth uint64) uint64 {
	if depth >= uint64(o.count) {
		o.bad = true
		return 0
	}
	return o.values[o.count-1-int(depth)]
}

// evaluate executes an expression. The CFA is its first operand; an expression that computes the
// CFA itself does not use it.
func (f *frame) evaluate(expression []byte) (uint64, error) {
	const mostSteps = 1000
	c, o := cursor{data: expression}, operands{}
	o.push(f.cfa)
	for range mostSteps {
		if c.at == len(c.data) {
			result := o.pop()
			if o.bad {
				return 0, errExpression
			}
			return result, nil
		}
		if err := f.execute(byte(c.fixed(1)), &c, &o); err != nil {
			return 0, err
		}
		if c.bad || o.bad {
			return 0, errExpression
		}
	}
	return 0, errExpressionLong
}

// execute executes an instruction of an expression. It returns an error only for a value that is
// not known: everything else makes the cursor or the operands bad.
func (f *frame) execute(code byte, c *cursor, o *operands) error {
	switch {
	case code >= 0x30 && code <= 0x4f: // lit0 to lit31
		o.push(uint64(code - 0x30))
	case code >= 0x70 && code <= 0x8f: // breg0 to breg31
		return f.pushRegister(int(code-0x70), c, o)
	case code == 0x92: // bregx
		return f.pushRegister(c.register(), c, o)
	case code == 0x06: // deref
		return f.pushLoaded(8, o)
	case code == 0x94: // deref_size
		return f.pushLoaded(c.fixed(1), o)
	case code >= 0x08 && code <= 0x0f: // const1u, const1s, const2u and so on to const8s
		size := uint64(1) << ((code - 0x08) / 2)
		if code%2 == 0 {
			o.push(c.fixed(size))
		} else {
			o.push(c.signed(size))
		}
	case code >= 0x19 && code <= 0x2e && code != 0x28:
		o.calculate(code, c)
	default:
		o.arrange(code, c)
	}
	return nil
}

func (f *frame) pushRegister(number int, c *cursor, o *operands) error {
	value, err := f.register(number)
	o.push(value + uint64(c.sleb()))
	return err
}

// pushLoaded replaces an address by the number of some bytes in memory there.
func (f *frame) pushLoaded(size uint64, o *operands) error {
	word, err := f.load(o.pop())
	o.bad = o.bad || size == 0 || size > 8
	o.push(word & (^uint64(0) >> (64 - 8*size)))
	return err
}

// arrange executes the instructions that move operands, push constants of any length, or jump.
func (o *operands) arrange(code byte, c *cursor) {
	switch code {
	case 0x10: // constu
		o.push(c.uleb())
	case 0x11: // consts
		o.push(uint64(c.sleb()))
	case 0x12: // dup
		o.push(o.pick(0))
	case 0x13: // drop
		o.pop()
	case 0x14: // over
		o.push(o.pick(1))
	case 0x15: // pick
		o.push(o.pick(c.fixed(1)))
	case 0x16: // swap
		b, a := o.pop(), o.pop()
		o.push(b)
		o.push(a)
	case 0x17: // rot
		third, second, first := o.pop(), o.pop(), o.pop()
		o.push(third)
		o.push(first)
		o.push(second)
	case 0x28, 0x2f: // bra, skip
		distance := int(int64(c.signed(2)))
		if code == 0x2f || o.pop() != 0 {
			c.at += distance
			c.bad = c.bad || c.at < 0 || c.at > len(c.data)
		}
	case 0x96: // nop
	default:
		o.bad = true
	}
}

// calculate executes the instructions that compute a value from one operand or two.
func (o *operands) calculate(code byte, c *cursor) {
	b := o.pop()
	switch code {
	case 0x19: // abs
		o.push(uint64(max(int64(b), -int64(b))))
	case 0x1f: // neg
		o.push(-b)
	case 0x20: // not
		o.push(^b)
	case 0x23: // plus_uconst
		o.push(b + c.uleb())
	default:
		o.bad = o.bad || b == 0 && (code == 0x1b || code == 0x1d)
		if a := o.pop(); !o.bad {
			o.push(operators[code](a, b))
		}
	}
}

var operators = map[byte]func(a, b uint64) uint64{
	0x1a: func(a, b uint64) uint64 { return a & b },                       // and
	0x1b: func(a, b uint64) uint64 { return uint64(int64(a) / int64(b)) }, // div
	0x1c: func(a, b uint64) uint64 { return a - b },                       // minus
	0x1d: func(a, b uint64) uint64 { return a % b },                       // mod
	0x1e: func(a, b uint64) uint64 { return a * b },                       // mul
	0x21: func(a, b uint64) uint64 { return a | b },                       // or
	0x22: func(a, b uint64) uint64 { return a + b },                       // plus
	0x24: func(a, b uint64) uint64 { return a << b },                      // shl
	0x25: func(a, b uint64) uint64 { return a >> b },                      // shr
	0x26: func(a, b uint64) uint64 { return uint64(int64(a) >> b) },       // shra
	0x27: func(a, b uint64) uint64 { return a ^ b },                       // xor
	0x29: func(a, b uint64) uint64 { return truth(a == b) },               // eq
	0x2a: func(a, b uint64) uint64 { return truth(int64(a) >= int64(b)) }, // ge
	0x2b: func(a, b uint64) uint64 { return truth(int64(a) > int64(b)) },  // gt
	0x2c: func(a, b uint64) uint64 { return truth(int64(a) <= int64(b)) }, // le
	0x2d: func(a, b uint64) uint64 { return truth(int64(a) < int64(b)) },  // lt
	0x2e: func(a, b uint64) uint64 { return truth(a != b) },               // ne
}

func truth(condition bool) uint64 {
	if condition {
		return 1
	}
	return 0
}
