package frames_test

import (
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/frames"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// expand expands the frames of a body.
func expand(t *testing.T, where string, m *classfile.Member, b *code.Body) {
	t.Helper()
	initial, err := frames.Initial(nil, b.Class, m)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	if err := frames.Expand(b, initial); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
}

// TestWalkArrivesAsFramesSay: by falling through to a frame, the walk arrives with
// the stack of the frame, and with each local of the frame.
func TestWalkArrivesAsFramesSay(t *testing.T) {
	compared := 0
	eachClass(t, func(t *testing.T, name string, data []byte) {
		eachBody(t, name, data, func(where string, m *classfile.Member, b *code.Body) {
			if !b.NeedsFrames() {
				return
			}
			expand(t, where, m, b)
			depth, slots := map[*code.Node]int{}, map[*code.Node]int{}
			_, err := frames.Walk(b, m, false, func(n *code.Node, s *frames.State) {
				depth[n], slots[n] = len(s.Stack), code.Slots(s.Stack)
				if slots[n] > int(b.MaxStack) {
					t.Errorf("%s: the stack is %d deep at %d, which is past its limit %d", where, slots[n], n.Offset(), b.MaxStack)
				}
			})
			if err != nil {
				t.Errorf("%s: %v", where, err)
				return
			}
			for n := b.First(); n != nil; n = n.Next() {
				before := fallsInto(n)
				if before == nil {
					continue
				}
				at, reached := depth[before]
				if !reached {
					continue
				}
				delta := before.Op().Info().Delta
				if delta == opcode.UnknownDelta {
					continue
				}
				compared++
				have := slots[before] + int(delta)
				if want := code.Slots(b.Frame(n).Stack); have != want {
					t.Errorf("%s: %s at %d, with %d values, leads to a frame of %d slots with %d", where, before.Op(), before.Offset(), at, want, have)
				}
			}
		})
	})
	t.Logf("%d frames are fallen into", compared)
	if compared < 200 {
		t.Errorf("only %d frames were compared", compared)
	}
}

// fallsInto returns the instruction from which control falls through to the frame n;
// nil where n is no frame, or nothing does.
func fallsInto(n *code.Node) *code.Node {
	if n.Kind != code.FrameMark {
		return nil
	}
	for n = n.Prev(); n != nil && n.Kind != code.Instruction; n = n.Prev() {
	}
	if n == nil || n.Op().EndsBlock() {
		return nil
	}
	return n
}

// TestWalkFindsTheSuperCall: each constructor a compiler wrote initialises its object
// by one call, of its own class or the one above; nothing else does.
func TestWalkFindsTheSuperCall(t *testing.T) {
	constructors := 0
	eachClass(t, func(t *testing.T, name string, data []byte) {
		eachBody(t, name, data, func(where string, m *classfile.Member, b *code.Body) {
			if !b.NeedsFrames() {
				return
			}
			expand(t, where, m, b)
			inits, err := frames.Walk(b, m, false, nil)
			if err != nil {
				t.Errorf("%s: %v", where, err)
				return
			}
			method, _, _ := b.Class.MemberName(m)
			if string(method) != "<init>" || b.Class.Super == 0 {
				if len(inits) != 0 {
					t.Errorf("%s: initialises this %d times", where, len(inits))
				}
				return
			}
			constructors++
			if len(inits) != 1 || !inits[0].Is(opcode.Invokespecial) {
				t.Errorf("%s: %d calls initialise this", where, len(inits))
				return
			}
			owner, called, _, err := b.Class.Pool.Member(inits[0].Index())
			if err != nil || string(called) != "<init>" || string(owner) != b.Class.Name() && string(owner) != b.Class.SuperName() {
				t.Errorf("%s: this is initialised by %s.%s, %v", where, owner, called, err)
			}
		})
	})
	if constructors < 100 {
		t.Errorf("only %d constructors were looked at", constructors)
	}
}

// TestWalkWithClasses: resolved, each object that is returned is of a class.
func TestWalkWithClasses(t *testing.T) {
	checked := 0
	eachClass(t, func(t *testing.T, name string, data []byte) {
		eachBody(t, name, data, func(where string, m *classfile.Member, b *code.Body) {
			if !b.NeedsFrames() {
				return
			}
			expand(t, where, m, b)
			_, err := frames.Walk(b, m, true, func(n *code.Node, s *frames.State) {
				if !n.Is(opcode.Areturn) || len(s.Stack) == 0 {
					return
				}
				checked++
				top := s.Stack[len(s.Stack)-1]
				if top.Item != code.Null && (top.Item != code.Object || top.Class == 0) {
					t.Errorf("%s: areturn at %d returns a value of item %d, class %d", where, n.Offset(), top.Item, top.Class)
				}
			})
			if err != nil {
				t.Errorf("%s: %v", where, err)
			}
		})
	})
	if checked < 100 {
		t.Errorf("only %d returns were looked at", checked)
	}
}

// TestFramesAfterBranches: after a branch holds what the instructions before it left, or the
// frame that stands there.
func TestFramesAfterBranches(t *testing.T) {
	b := classtest.NewBuilder(52, "After")
	body := classtest.NewAssembler().Op("lload_0").Op("aload_2").Jump("ifnull", "end").
		Op("new", b.Class("java/lang/Object")).Op("iconst_1").Jump("ifeq", "end2").
		Label("end2").Ops("pop", "pop2", "lconst_0").Label("end").Ops("lreturn")
	end2 := body.At("end2")
	b.AddMethod(0x0009, "m", "(JLjava/lang/String;)J", body.Code(b, 4, 3, b.Attribute("StackMapTable", uint16(2),
		classtest.Cat(uint8(255), end2, uint16(2), uint8(4), uint8(7), b.Class("java/lang/String"),
			uint16(2), uint8(4), uint8(8), uint16(5)),
		classtest.Cat(uint8(255), body.At("end")-end2-1, uint16(2), uint8(4), uint8(7), b.Class("java/lang/String"), uint16(1), uint8(4)))))
	eachBody(t, "After", b.Bytes(), func(where string, m *classfile.Member, body *code.Body) {
		expand(t, where, m, body)
		var branches []*code.Node
		for n := body.First(); n != nil; n = n.Next() {
			if n.Kind == code.Instruction && n.Op().IsConditional() {
				branches = append(branches, n)
			}
		}
		after, err := frames.AfterBranches(body, m)
		if err != nil {
			t.Fatal(err)
		}
		first, second := after[branches[0]], after[branches[1]]
		if len(first.Stack) != 1 || first.Stack[0].Item != code.Long || len(first.Locals) != 2 ||
			first.Locals[0].Item != code.Long || first.Locals[1].Item != code.Object {
			t.Errorf("after ifnull: %+v", first)
		}
		if len(second.Stack) != 2 || second.Stack[1].Item != code.Uninitialized || second.Stack[1].New == nil ||
			second.Stack[1].New.Offset() != 5 {
			t.Errorf("after ifeq: %+v", second)
		}
	})
}

// TestMalformed walks bodies whose constants or flow make no sense. Each walk gives a
// result or an error; none panics.
func TestMalformed(t *testing.T) {
	asm := classtest.NewAssembler
	for name, body := range map[string]func(b *classtest.Builder) *classtest.Assembler{
		"array of nameless class": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("iconst_0").Op("anewarray", b.Class(""))
		},
		"element of half an array": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("aconst_null").Op("checkcast", b.Class("[L")).Ops("iconst_0", "aaload")
		},
		"element of bare brackets": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("aconst_null").Op("checkcast", b.Class("[")).Ops("iconst_0", "aaload")
		},
		"field of half a type": func(b *classtest.Builder) *classtest.Assembler { return asm().Op("getstatic", b.Field("X", "f", "L")) },
		"field of no type":     func(b *classtest.Builder) *classtest.Assembler { return asm().Op("getstatic", b.Field("X", "f", "")) },
		"call giving half a type": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("invokestatic", b.Method("X", "m", "()L"))
		},
		"call giving nothing": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("invokestatic", b.Method("X", "m", "()"))
		},
		"call of a field": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("invokestatic", b.Field("X", "f", "I"))
		},
		"call of a class":         func(b *classtest.Builder) *classtest.Assembler { return asm().Op("invokestatic", b.Class("X")) },
		"call of entry 0":         func(*classtest.Builder) *classtest.Assembler { return asm().Op("invokestatic", uint16(0)) },
		"constant 0":              func(*classtest.Builder) *classtest.Assembler { return asm().Op("ldc_w", uint16(0)) },
		"constant of half a type": func(b *classtest.Builder) *classtest.Assembler { return asm().Op("ldc_w", b.Dynamic(0, "x", "L")) },
		"empty stack":             func(*classtest.Builder) *classtest.Assembler { return asm().Op("pop2") },
		"empty stack duplicated":  func(*classtest.Builder) *classtest.Assembler { return asm().Op("dup2_x2") },
		"local past the last":     func(*classtest.Builder) *classtest.Assembler { return asm().Op("aload", uint8(200)) },
		"long in the last local":  func(*classtest.Builder) *classtest.Assembler { return asm().Ops("lconst_0", "lstore_3") },
		"array of 300 dimensions": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("multianewarray", b.Class("[I"), uint8(255))
		},
		"constructor on nothing": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("invokespecial", b.Method("X", "<init>", "()V"))
		},
		"object made and made over": func(b *classtest.Builder) *classtest.Assembler {
			return asm().Op("new", b.Class("")).Op("invokespecial", b.Method("", "<init>", "()V"))
		},
	} {
		for _, major := range []uint16{49, 52} {
			b := classtest.NewBuilder(major, "Malformed")
			b.AddMethod(0x0009, "m", "()V", body(b).Op("return").Code(b, 10, 4))
			t.Run(name, func(t *testing.T) { walkAll(t, b.Bytes()) })
		}
	}
}

// walkAll walks each body with and without classes.
func walkAll(t *testing.T, data []byte) {
	t.Helper()
	eachBody(t, t.Name(), data, func(where string, m *classfile.Member, b *code.Body) {
		for _, resolve := range []bool{false, true} {
			if panicked := walkPanics(b, m, resolve); panicked != nil {
				t.Errorf("%s: with classes %v the walk panics: %v", where, resolve, panicked)
			}
		}
	})
}

// walkPanics returns what a walk panicked with, so that one case does not hide the next.
func walkPanics(b *code.Body, m *classfile.Member, resolve bool) (panicked any) {
	defer func() { panicked = recover() }()
	_, _ = frames.Walk(b, m, resolve, nil) // an error is as good as a result here
	return nil
}

func TestExpandRefusesToDropWhatIsNotThere(t *testing.T) {
	b := classtest.NewBuilder(52, "Chopped")
	b.AddMethod(0x0009, "m", "(I)V", classtest.NewAssembler().Op("return").
		Code(b, 0, 1, b.Attribute("StackMapTable", uint16(1), uint8(249), uint16(0))))
	eachBody(t, "Chopped", b.Bytes(), func(_ string, m *classfile.Member, b *code.Body) {
		initial, err := frames.Initial(nil, b.Class, m)
		if err != nil {
			t.Fatal(err)
		}
		if err := frames.Expand(b, initial); err == nil {
			t.Error("two locals were dropped of one")
		}
	})
}
