package dump_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/dump"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// TestDiffShowsInsertedLinesOnly puts a prolog, an epilog at each return and a
// handler around a method with a switch, branches, frames and variables, as weaving
// does: nothing that was there may show as changed but the sizes.
func TestDiffShowsInsertedLinesOnly(t *testing.T) {
	before, after := zoo(t, "17/Switches"), zoo(t, "17/Switches")
	wrap(t, after, "dense")
	var out bytes.Buffer
	changed, err := dump.Diff(&out, before, after, dump.Options{})
	if err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	golden(t, "diff-wrapped.txt", out.Bytes())
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "-   Code stack") {
			t.Errorf("a line that is still there shows as gone: %s", line)
		}
	}
}

func TestDiffOfMembers(t *testing.T) {
	before, after := zoo(t, "17/Constructors"), zoo(t, "17/Constructors")
	after.Access |= classfile.AccPublic
	after.Methods[0].Access |= classfile.AccSynthetic
	after.Methods = after.Methods[:len(after.Methods)-1]
	extra := classfile.Member{Name: after.Pool.AddUtf8("extra"), Descriptor: after.Pool.AddUtf8("I")}
	after.Fields = append(after.Fields, extra)
	var out bytes.Buffer
	if changed, err := dump.Diff(&out, before, after, dump.Options{}); err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	golden(t, "diff-members.txt", out.Bytes())
}

func TestDiffPicksMethods(t *testing.T) {
	before, after := zoo(t, "17/Switches"), zoo(t, "17/Switches")
	wrap(t, after, "dense")
	opts := dump.Options{Method: func(name, _ string) bool { return name == "sparse" }}
	var out bytes.Buffer
	if changed, err := dump.Diff(&out, before, after, opts); err != nil || changed || out.Len() > 0 {
		t.Errorf("changed %v, %v:\n%s", changed, err, out.Bytes())
	}
}

// wrap edits a static method whose frames all have one int as locals: a local keeps
// what enter gave for exit, which is called wherever the method is left.
func wrap(t *testing.T, c *classfile.Class, method string) {
	t.Helper()
	m := methodNamed(t, c, method)
	b, err := code.Lift(c, m)
	if err != nil {
		t.Fatal(err)
	}
	slot := b.MaxLocals
	b.MaxLocals, b.MaxStack = b.MaxLocals+2, b.MaxStack+2
	enter := c.Pool.AddMember(classfile.TagMethodref, "sonde/rt/Probe", "enter", "()J")
	exit := c.Pool.AddMember(classfile.TagMethodref, "sonde/rt/Probe", "exit", "(J)V")
	locals := []code.Type{{Item: code.Integer}, {Item: code.Top}, {Item: code.Long}}
	leave := func(at *code.Node) {
		b.InsertBefore(at, b.NewIndexed(opcode.Lload, slot))
		b.InsertBefore(at, b.NewIndexed(opcode.Invokestatic, exit))
	}
	for n := b.First(); n != nil; n = n.Next() {
		switch {
		case n.Kind == code.FrameMark:
			f := b.Frame(n)
			f.Form, f.Locals = code.Absolute, locals
		case n.Kind == code.Instruction && n.Op().IsReturn():
			leave(n)
		}
	}
	start, end := b.NewLabel(), b.NewLabel()
	first := b.First()
	b.InsertBefore(first, b.NewIndexed(opcode.Invokestatic, enter))
	b.InsertBefore(first, b.NewIndexed(opcode.Lstore, slot))
	b.InsertBefore(first, start)
	b.InsertBefore(nil, end)
	b.InsertBefore(nil, b.NewFrame(code.Frame{Form: code.Absolute, Locals: locals,
		Stack: []code.Type{{Item: code.Object, Class: c.Pool.AddClass("java/lang/Throwable")}}}))
	leave(nil)
	b.InsertBefore(nil, b.NewOp(opcode.Athrow))
	b.Handlers = append(b.Handlers, code.Handler{Start: start, End: end, Entry: end})
	c.Find(m.Attributes, classfile.KindCode).Data, err = b.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
}

func methodNamed(t *testing.T, c *classfile.Class, name string) *classfile.Member {
	t.Helper()
	for i := range c.Methods {
		if text, _, err := c.MemberName(&c.Methods[i]); err == nil && string(text) == name {
			return &c.Methods[i]
		}
	}
	t.Fatalf("no method %s", name)
	return nil
}
