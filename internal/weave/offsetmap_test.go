package weave_test

import (
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// checkMap holds the offset maps of a woven class against its code: at the new place
// of each original instruction stands the same instruction, unless it was a return or
// a branch, which may have become something else.
func checkMap(t *testing.T, original []byte, result *weave.Result) {
	t.Helper()
	before, after := parse(t, original), parse(t, result.Bytes)
	for _, r := range result.Methods {
		if !r.Woven {
			continue
		}
		old, now := instructions(t, before, r.Name, r.Descriptor), instructions(t, after, r.Name, r.Descriptor)
		for at, n := range old {
			if n.Op().IsReturn() {
				continue
			}
			place, ok := r.Offsets.New(at)
			if !ok {
				t.Errorf("%s%s: nothing is known of offset %d", r.Name, r.Descriptor, at)
				return
			}
			there := now[place]
			if there == nil || there.Op() != n.Op() && !(n.Op().IsConditional() && there.Op() == n.Op().Inverse()) {
				t.Errorf("%s%s: %s at %d should stand at %d, where %v stands", r.Name, r.Descriptor, n.Op(), at, place, opcodeOf(there))
				return
			}
			if back, ok := r.Offsets.Old(place); !ok || back != at {
				t.Errorf("%s%s: what stands at %d stood at %d; the map says %d, %v", r.Name, r.Descriptor, place, at, back, ok)
				return
			}
		}
	}
}

func opcodeOf(n *code.Node) any {
	if n == nil {
		return "nothing"
	}
	return n.Op()
}

func parse(t testing.TB, data []byte) *classfile.Class {
	t.Helper()
	class, err := classfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return class
}

// instructions lists the instructions of a method by offset.
func instructions(t testing.TB, class *classfile.Class, name, descriptor string) map[int]*code.Node {
	t.Helper()
	for i := range class.Methods {
		n, d, err := class.MemberName(&class.Methods[i])
		if err != nil || string(n) != name || string(d) != descriptor {
			continue
		}
		body, err := code.Lift(class, &class.Methods[i])
		if err != nil {
			t.Fatal(err)
		}
		list := map[int]*code.Node{}
		for n := body.First(); n != nil; n = n.Next() {
			if n.Kind == code.Instruction {
				list[n.Offset()] = n
			}
		}
		return list
	}
	t.Fatalf("no method %s%s", name, descriptor)
	return nil
}

// TestMapOfReturns: a return that became a jump or a store is found where the jump
// or the store stands.
func TestMapOfReturns(t *testing.T) {
	j := compileJava(t, anyJDK(t), "17")
	data := readFile(t, j.dir+"/Shapes.class")
	result, err := weave.NewWeaver().Weave(data, j.pick(t, "rich"))
	if err != nil {
		t.Fatal(err)
	}
	before, after := parse(t, data), parse(t, result.Bytes)
	for _, r := range result.Methods {
		now := instructions(t, after, r.Name, r.Descriptor)
		for at, n := range instructions(t, before, r.Name, r.Descriptor) {
			if !n.Op().IsReturn() || n.Op() == opcode.Return {
				continue
			}
			place, _ := r.Offsets.New(at)
			if there := now[place]; there == nil || there.Op() != n.Op()-opcode.Ireturn+opcode.Istore {
				t.Errorf("%s%s: %s at %d should be a store at %d, where %v stands", r.Name, r.Descriptor, n.Op(), at, place, opcodeOf(there))
			}
		}
	}
}
