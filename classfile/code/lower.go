package code

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// MaxCode is the longest code a method may have.
const MaxCode = math.MaxUint16

// TooLargeError reports a body that exceeds the size limit of a method.
type TooLargeError struct{ Size int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the code would take %d bytes, the limit is %d", e.Size, MaxCode)
}

// lowering is the scratch memory of Append.
type lowering struct {
	patches []patch
	far     []*Node
	marks   []*Node // frame marks in order
	lines   []*Node
	runs    []Shift

	unplaced bool // something points at a label that is not in the list
}

// errUnplaced reports a body whose jumps, handlers or frames refer to a label that was
// never inserted into the list.
var errUnplaced = errors.New("the body points at a label that is not in its list")

// patch is a jump whose operand is written when all positions are known.
type patch struct {
	target *Node
	node   *Node
	at     int32 // of the operand
	from   int32 // what the operand counts from
	wide   bool
}

// linesOrder describes the line tables of the class file.
type linesOrder struct {
	tables   int
	shuffled bool // not in order of the code
}

// Append lowers the body and appends the contents of its Code attribute to dst. The body
// stays usable; widened jumps stay wide, and tables that edits made necessary are added
// to it and named in the class's pool.
func (b *Body) Append(dst []byte) ([]byte, error) {
	start := len(dst)
	for {
		dst = append(dst[:start], byte(b.MaxStack>>8), byte(b.MaxStack), byte(b.MaxLocals>>8), byte(b.MaxLocals), 0, 0, 0, 0)
		var err error
		if dst, err = b.emit(dst); err != nil {
			return dst[:start], err
		}
		size := len(dst) - start - 8
		if size > MaxCode {
			return dst[:start], &TooLargeError{size}
		}
		if len(b.lowered.far) == 0 {
			binary.BigEndian.PutUint32(dst[start+4:], uint32(size))
			break
		}
		if err := b.widen(); err != nil {
			return dst[:start], err
		}
	}
	return b.appendTables(dst)
}

// endRun ends the last run of original instructions.
func (w *lowering) endRun(end int32) {
	if k := len(w.runs); k > 0 {
		w.runs[k-1].Size = uint16(end) - w.runs[k-1].New
	}
}

// beginRun begins a run of instructions that moved from old to now.
func (w *lowering) beginRun(old, now int32) {
	w.runs = append(w.runs, Shift{Old: uint16(old), New: uint16(now)})
}

// emit writes the instructions. Jumps that do not reach their target in 16 bits are
// left in lowered.far; where there are some the bytes are of no use.
func (b *Body) emit(dst []byte) ([]byte, error) {
	w := &b.lowered
	w.far, w.unplaced = w.far[:0], false
	w.patches, w.marks, w.lines, w.runs = w.patches[:0], w.marks[:0], w.lines[:0], w.runs[:0]
	dst = slices.Grow(dst, 4*b.count)
	base := len(dst)
	var (
		pos      int32                 // of what comes next
		from, to int32 = -1, -1        // instructions that stand as they were, not written yet
		shift    int32 = math.MinInt32 // how far instructions have moved
		end      int32                 // of the last original instruction
	)
	text, root, lines := b.text, &b.root, w.lines
	for n := root.next; n != root; n = n.next {
		n.pos = pos
		if n.size != 0 {
			if n.off != to {
				if from >= 0 {
					dst = append(dst, text[from:to]...)
				}
				from, to = n.off, n.off
				if pos-n.off != shift || pos != end {
					shift = pos - n.off
					w.endRun(end)
					w.beginRun(n.off, pos)
				}
			}
			end = pos + int32(n.size)
			to += int32(n.size)
			pos = end
			continue
		}
		switch n.Kind {
		case Label:
			continue
		case Line:
			lines = append(lines, n)
			continue
		case FrameMark:
			// Of two frames for one position the later is the inner, stricter one.
			if k := len(w.marks); k > 0 && w.marks[k-1].pos == pos {
				w.marks[k-1] = n
			} else {
				w.marks = append(w.marks, n)
			}
			continue
		}
		if from >= 0 {
			dst = append(dst, text[from:to]...)
			from, to = -1, -1
		}
		if n.off >= 0 && (pos-n.off != shift || pos != end) {
			shift = pos - n.off
			w.endRun(end)
			w.beginRun(n.off, pos)
		}
		op := n.op
		switch spellings[op].shape {
		case opcode.None:
			dst = append(dst, byte(op))
		case opcode.S1:
			dst = append(dst, byte(op), byte(n.value))
		case opcode.S2:
			dst = append(dst, byte(op), byte(n.value>>8), byte(n.value))
		case opcode.CP1:
			if n.index <= math.MaxUint8 && n.form != wide {
				dst = append(dst, byte(op), byte(n.index))
			} else {
				dst = append(dst, byte(opcode.LdcW), byte(n.index>>8), byte(n.index))
			}
		case opcode.CP2:
			dst = append(dst, byte(op), byte(n.index>>8), byte(n.index))
		case opcode.Local:
			dst = appendLocal(dst, n)
		case opcode.IncLocal:
			if n.form == wide || n.index > math.MaxUint8 || n.value != int32(int8(n.value)) {
				dst = append(dst, byte(opcode.Wide), byte(op), byte(n.index>>8), byte(n.index), byte(n.value>>8), byte(n.value))
			} else {
				dst = append(dst, byte(op), byte(n.index), byte(n.value))
			}
		case opcode.Jump2:
			if n.form == wide {
				dst = append(dst, byte(op-opcode.Goto+opcode.GotoW), 0, 0, 0, 0)
			} else {
				dst = append(dst, byte(op), 0, 0)
			}
			w.patches = append(w.patches, patch{n.target, n, pos + 1, pos, n.form == wide})
		case opcode.Interface:
			dst = append(dst, byte(op), byte(n.index>>8), byte(n.index), byte(n.value), 0)
		case opcode.Dynamic:
			dst = append(dst, byte(op), byte(n.index>>8), byte(n.index), 0, 0)
		case opcode.ArrayType:
			dst = append(dst, byte(op), byte(n.value))
		case opcode.MultiArray:
			dst = append(dst, byte(op), byte(n.index>>8), byte(n.index), byte(n.value))
		case opcode.Table, opcode.Lookup:
			dst = b.appendSwitch(dst, n, base)
		default:
			return dst, malformed("instruction", int(pos), "no such instruction to write: "+op.String())
		}
		pos = int32(len(dst) - base)
		if n.off >= 0 {
			end = pos
		}
	}
	w.lines = lines
	w.endRun(end)
	if from >= 0 {
		dst = append(dst, text[from:to]...)
	}
	code := dst[base:]
	for i := range w.patches {
		p := &w.patches[i]
		delta := p.target.pos - p.from
		switch {
		case p.target.pos < 0:
			return dst, errUnplaced
		case p.wide:
			binary.BigEndian.PutUint32(code[p.at:], uint32(delta))
		case delta > math.MaxInt16 || delta < math.MinInt16:
			w.far = append(w.far, p.node)
		default:
			binary.BigEndian.PutUint16(code[p.at:], uint16(delta))
		}
	}
	return dst, nil
}

func appendLocal(dst []byte, n *Node) []byte {
	op, slot := n.op, n.index
	if n.form == short || n.form == shortest {
		if s, ok := op.Short(slot); ok {
			return append(dst, byte(s))
		}
	}
	if slot > math.MaxUint8 || n.form == wide {
		return append(dst, byte(opcode.Wide), byte(op), byte(slot>>8), byte(slot))
	}
	return append(dst, byte(op), byte(slot))
}

func (b *Body) appendSwitch(dst []byte, n *Node, base int) []byte {
	s := b.Switch(n)
	pos := int32(len(dst) - base)
	later := func(target *Node) {
		b.lowered.patches = append(b.lowered.patches, patch{target, n, int32(len(dst) - base), pos, true})
		dst = append(dst, 0, 0, 0, 0)
	}
	dst = append(dst, byte(n.op))
	dst = append(dst, s.padding[:3-pos&3]...)
	later(s.Default)
	if n.op == opcode.Tableswitch {
		low := s.low
		if len(s.Keys) > 0 {
			low = s.Keys[0]
		}
		dst = binary.BigEndian.AppendUint32(dst, uint32(low))
		dst = binary.BigEndian.AppendUint32(dst, uint32(low+int32(len(s.Targets))-1))
	} else {
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(s.Targets)))
	}
	for i, t := range s.Targets {
		if n.op == opcode.Lookupswitch {
			dst = binary.BigEndian.AppendUint32(dst, uint32(s.Keys[i]))
		}
		later(t)
	}
	return dst
}

// firstWithFrames is the first class-file version whose verifier reads stack maps.
const firstWithFrames = 50

// NeedsFrames reports whether the class's verifier reads stack maps.
func (b *Body) NeedsFrames() bool { return b.Class.Major >= firstWithFrames }

// widen gives every jump in lowered.far a form that reaches its target: goto_w,
// jsr_w, and for a conditional branch its inverse over a goto_w.
//
//	ifeq far             ifne near
//	                     goto_w far
//	             near:   (frame)
func (b *Body) widen() error {
	for _, n := range b.lowered.far {
		if !n.op.IsConditional() {
			n.form = wide
			continue
		}
		near := b.NewLabel()
		var mark *Node
		if b.NeedsFrames() && !b.framed(n.next) {
			if b.FrameAfter == nil {
				return malformed(n.op.String(), int(n.pos), "jumps too far, and no frame is known for what a longer jump needs")
			}
			f, err := b.FrameAfter(n)
			if err != nil {
				return fmt.Errorf("a frame after a far jump: %w", err)
			}
			mark = b.NewFrame(f)
		}
		jump := b.NewJump(opcode.Goto, n.target)
		jump.form = wide
		b.InsertAfter(n, jump)
		b.InsertAfter(jump, near)
		if mark != nil {
			b.InsertAfter(near, mark)
		}
		n.op, n.target = n.op.Inverse(), near
	}
	return nil
}

// framed reports whether the next instruction from n on has a frame.
func (b *Body) framed(n *Node) bool {
	for ; n != &b.root && n.Kind != Instruction; n = n.next {
		if n.Kind == FrameMark {
			return true
		}
	}
	return false
}

// Shift records that the instructions in the Size bytes from Old moved to New.
type Shift struct{ Old, New, Size uint16 }

// OffsetMap maps offsets of the lifted code to offsets of the lowered code. There is an
// entry for each run of instructions that moved together; instructions outside all
// entries were inserted or removed.
type OffsetMap []Shift

// Offsets returns the map the last lowering made. It lives until the next one.
func (b *Body) Offsets() OffsetMap { return b.lowered.runs }

// Old returns the old offset of the instruction at a new offset; for an inserted
// instruction, the offset of the original one before it, and false.
func (m OffsetMap) Old(now int) (int, bool) {
	// Templates are inserted between instructions, but never change their order.
	i := sort.Search(len(m), func(i int) bool { return int(m[i].New) > now })
	if i == 0 {
		return 0, false
	}
	s := m[i-1]
	if in := now - int(s.New); in < int(s.Size) {
		return int(s.Old) + in, true
	}
	return int(s.Old) + int(s.Size) - 1, false
}
