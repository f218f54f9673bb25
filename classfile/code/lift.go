package code

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// Lifter lifts one body after another into the same memory.
type Lifter struct {
	memory memory
	body   Body
}

// Lift lifts the body of method m of class c; nil when it has none (abstract,
// native). The body lives until the program lets go of it.
func Lift(c *classfile.Class, m *classfile.Member) (*Body, error) {
	return new(Lifter).Lift(c, m)
}

// Lift lifts the body of method m of class c; nil when it has none. The body lives
// until the next call of Lift.
func (l *Lifter) Lift(c *classfile.Class, m *classfile.Member) (*Body, error) {
	a := c.Find(m.Attributes, classfile.KindCode)
	if a == nil {
		return nil, nil
	}
	return l.LiftCode(c, a.Data)
}

// LiftCode is Lift for the contents of a Code attribute.
func (l *Lifter) LiftCode(c *classfile.Class, data []byte) (*Body, error) {
	b := &l.body
	b.reset(c, &l.memory)
	if len(data) < 12 {
		return nil, malformed("Code attribute", len(data), "truncated")
	}
	b.MaxStack = binary.BigEndian.Uint16(data)
	b.MaxLocals = binary.BigEndian.Uint16(data[2:])
	size := binary.BigEndian.Uint32(data[4:])
	if size == 0 || size > math.MaxUint16 {
		return nil, malformed("Code attribute", 4, fmt.Sprintf("code length is %d, must be 1 to 65535", size))
	}
	if int(size)+12 > len(data) {
		return nil, malformed("Code attribute", 4, fmt.Sprintf("code length is %d, %d bytes are there", size, len(data)-12))
	}
	in := lift{Body: b, memory: &l.memory, text: data[8 : 8+size : 8+size]}
	if err := in.instructions(); err != nil {
		return nil, err
	}
	if err := in.jumpTargets(); err != nil {
		return nil, err
	}
	if err := in.tables(data, 8+int(size)); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *Body) reset(c *classfile.Class, m *memory) {
	m.reset()
	b.Class, b.memory = c, m
	b.Handlers, b.Vars, b.TypeAnnotations = b.Handlers[:0], b.Vars[:0], b.TypeAnnotations[:0]
	b.switches, b.frames, b.attributes = b.switches[:0], b.frames[:0], b.attributes[:0]
	b.FrameAfter = nil
	b.root = Node{Kind: rootKind, off: -1, prev: &b.root, next: &b.root}
	b.count = 0
	b.lines = linesOrder{}
}

func malformed(structure string, offset int, detail string) error {
	return &classfile.FormatError{Structure: structure, Offset: offset, Detail: detail}
}

// lift is the work of lifting one body.
type lift struct {
	*Body
	memory *memory
	text   []byte // the code
	nodes  []Node // the instructions, in order
}

// spelling is the part of opcode.Info that decoding needs, in four bytes.
type spelling struct {
	base   opcode.Op
	shape  opcode.Shape
	length uint8
	slot   int8
}

var spellings = func() (s [256]spelling) {
	for op := range s {
		i := opcode.Op(op).Info()
		s[op] = spelling{i.Base, i.Shape, i.Length, i.Slot}
	}
	return s
}()

// instructions decodes the code into the list, jumps still without targets.
func (l *lift) instructions() error {
	m, text := l.memory, l.text
	if cap(m.at) <= len(text) {
		m.at = make([]int32, len(text)+1, 2*len(text)+1024)
	}
	m.at = m.at[:len(text)+1]
	clear(m.at)
	m.labels, m.jumps, m.returns = m.labels[:0], m.jumps[:0], m.returns[:0]
	l.Body.text = text
	nodes, at := m.reserve(len(text)), m.at
	prev := &l.root
	k := 0
	for pc := 0; pc < len(text); {
		s := spellings[text[pc]]
		if s.shape == opcode.Undefined {
			return malformed("instruction", pc, fmt.Sprintf("no such opcode: %#02x", text[pc]))
		}
		next := pc + int(s.length)
		if next > len(text) {
			return l.truncated(pc)
		}
		n := &nodes[k]
		*n = Node{prev: prev, off: int32(pc), op: s.base, size: s.length}
		prev.next = n
		prev = n
		at[pc] = int32(k + 1)
		switch s.shape {
		case opcode.None:
			if s.slot >= 0 {
				n.index, n.form = uint16(s.slot), short
			} else if s.base.IsReturn() {
				m.returns = append(m.returns, n)
			}
		case opcode.S1:
			n.value = int32(int8(text[pc+1]))
		case opcode.S2:
			n.value = int32(int16(binary.BigEndian.Uint16(text[pc+1:])))
		case opcode.CP1:
			n.index, n.form = uint16(text[pc+1]), short
		case opcode.CP2:
			n.index, n.form = binary.BigEndian.Uint16(text[pc+1:]), wide
		case opcode.Local:
			n.index, n.form = uint16(text[pc+1]), plain
		case opcode.IncLocal:
			n.index, n.value, n.form = uint16(text[pc+1]), int32(int8(text[pc+2])), plain
		case opcode.Jump2:
			n.ref, n.form, n.size = int32(pc)+int32(int16(binary.BigEndian.Uint16(text[pc+1:]))), plain, 0
			m.jumps = append(m.jumps, int32(k))
		case opcode.Jump4:
			n.ref, n.form, n.size = int32(pc)+int32(binary.BigEndian.Uint32(text[pc+1:])), wide, 0
			m.jumps = append(m.jumps, int32(k))
		case opcode.Interface:
			n.index, n.value = binary.BigEndian.Uint16(text[pc+1:]), int32(text[pc+3])
			if text[pc+4] != 0 {
				return malformed("invokeinterface", pc, "its last byte is not zero")
			}
		case opcode.Dynamic:
			n.index = binary.BigEndian.Uint16(text[pc+1:])
			if text[pc+3] != 0 || text[pc+4] != 0 {
				return malformed("invokedynamic", pc, "its last bytes are not zero")
			}
		case opcode.ArrayType:
			n.value = int32(text[pc+1])
		case opcode.MultiArray:
			n.index, n.value = binary.BigEndian.Uint16(text[pc+1:]), int32(text[pc+3])
		case opcode.WidePrefix:
			size, err := l.wide(n, pc)
			if err != nil {
				return err
			}
			next, n.size = pc+size, uint8(size)
		case opcode.Table, opcode.Lookup:
			size, err := l.switchSize(n, pc)
			if err != nil {
				return err
			}
			next = pc + size
			m.jumps = append(m.jumps, int32(k))
		}
		pc = next
		k++
	}
	prev.next, l.root.prev = &l.root, prev
	m.free = nodes[k:]
	l.nodes, l.count = nodes[:k], k
	return nil
}

func (l *lift) truncated(pc int) error {
	return malformed("instruction", pc, opcode.Op(l.text[pc]).String()+" reaches past the end of the code")
}

func (l *lift) wide(n *Node, pc int) (size int, err error) {
	text := l.text[pc:]
	if len(text) < 4 {
		return 0, l.truncated(pc)
	}
	n.op, n.form, n.index = opcode.Op(text[1]), wide, binary.BigEndian.Uint16(text[2:])
	switch n.op.Info().Shape {
	case opcode.Local:
		return 4, nil
	case opcode.IncLocal:
		if len(text) < 6 {
			return 0, l.truncated(pc)
		}
		n.value = int32(int16(binary.BigEndian.Uint16(text[4:])))
		return 6, nil
	}
	return 0, malformed("instruction", pc, "wide stands before "+n.op.String()+", which has no wide form")
}

// switchSize checks a switch and returns its length. Its contents are read when the
// labels they need can be made.
func (l *lift) switchSize(n *Node, pc int) (int, error) {
	start := pc&^3 + 4
	if start+8 > len(l.text) {
		return 0, l.truncated(pc)
	}
	var cases, width int64
	if n.op == opcode.Tableswitch {
		if start+12 > len(l.text) {
			return 0, l.truncated(pc)
		}
		low := int32(binary.BigEndian.Uint32(l.text[start+4:]))
		high := int32(binary.BigEndian.Uint32(l.text[start+8:]))
		cases, width, start = int64(high)-int64(low)+1, 4, start+12
	} else {
		cases, width, start = int64(int32(binary.BigEndian.Uint32(l.text[start+4:]))), 8, start+8
	}
	if cases < 0 || int64(start)+cases*width > int64(len(l.text)) {
		return 0, malformed(n.op.String(), pc, fmt.Sprintf("%d cases do not fit in the code", cases))
	}
	n.ref = int32(cases)
	return start + int(cases*width) - pc, nil
}

func (l *lift) jumpTargets() error {
	for _, k := range l.memory.jumps {
		n := &l.nodes[k]
		if n.op == opcode.Tableswitch || n.op == opcode.Lookupswitch {
			if err := l.switchTargets(n); err != nil {
				return err
			}
			continue
		}
		var err error
		if n.target, err = l.target(n, n.ref); err != nil {
			return err
		}
		n.ref = 0
	}
	return nil
}

func (l *lift) target(n *Node, pc int32) (*Node, error) {
	if pc == int32(len(l.text)) {
		return nil, malformed(n.op.String(), int(n.off), "jumps past the end of the code")
	}
	t := l.label(int(pc))
	if t == nil {
		return nil, malformed(n.op.String(), int(n.off), fmt.Sprintf("jumps to offset %d, where no instruction begins", pc))
	}
	return t, nil
}

func (l *lift) switchTargets(n *Node) error {
	pc := int(n.off)
	start := pc&^3 + 4
	var s Switch
	copy(s.padding[:], l.text[pc+1:start])
	word := func(at int) int32 { return int32(binary.BigEndian.Uint32(l.text[at:])) }
	var err error
	if s.Default, err = l.target(n, n.off+word(start)); err != nil {
		return err
	}
	s.Keys, s.Targets = l.memory.newSwitch(int(n.ref))
	low, at := word(start+4), start+8
	if n.op == opcode.Tableswitch {
		at += 4
	}
	for i := range s.Targets {
		if n.op == opcode.Tableswitch {
			s.Keys[i] = low + int32(i)
		} else {
			s.Keys[i] = word(at)
			at += 4
		}
		if s.Targets[i], err = l.target(n, n.off+word(at)); err != nil {
			return err
		}
		at += 4
	}
	n.ref = int32(len(l.switches))
	s.low = low
	l.switches = append(l.switches, s)
	return nil
}

// label returns the label at an offset where an instruction begins, or at the end of the
// code; nil for other offsets.
func (l *lift) label(pc int) *Node {
	m := l.memory
	if pc < 0 || pc >= len(m.at) {
		return nil
	}
	k := m.at[pc]
	if k < 0 {
		return m.labels[-k-1]
	}
	if k == 0 && pc != len(l.text) {
		return nil
	}
	n := m.node()
	*n = Node{Kind: Label, off: int32(pc), ref: k - 1}
	if k == 0 {
		l.InsertBefore(nil, n)
	} else {
		l.InsertBefore(&l.nodes[k-1], n)
	}
	m.labels = append(m.labels, n)
	m.at[pc] = -int32(len(m.labels))
	return n
}

// instructionAt returns the instruction that begins at an offset, nil where none does.
func (l *lift) instructionAt(pc int) *Node {
	if pc < 0 || pc >= len(l.text) {
		return nil
	}
	k := l.memory.at[pc]
	if k < 0 {
		k = l.memory.labels[-k-1].ref + 1
	}
	if k == 0 {
		return nil
	}
	return &l.nodes[k-1]
}
