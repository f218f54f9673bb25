package session

import (
	"errors"
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// bareSession is one without a JVM: it can choose and weave.
func bareSession(t testing.TB) *Session {
	t.Helper()
	s := &Session{}
	s.book.init()
	if err := s.compileTemplates(); err != nil {
		t.Fatal(err)
	}
	return s
}

// ownClass is a/B, with methods of several kinds.
func ownClass() []byte {
	b := classtest.NewBuilder(61, "a/B")
	b.Access |= uint16(classfile.AccAbstract)
	body := func() []byte { return classtest.NewAssembler().Op("return").Code(b, 0, 1) }
	b.AddMethod(1, "m", "()V", body())
	b.AddMethod(1, "other", "()V", body())
	b.AddMethod(uint16(classfile.AccBridge|classfile.AccPublic), "bridge", "()V", body())
	b.AddMethod(uint16(classfile.AccNative|classfile.AccPublic), "native", "()V")
	b.AddMethod(uint16(classfile.AccAbstract|classfile.AccPublic), "abstract", "()V")
	return b.Bytes()
}

// weaveOwn weaves a/B as it would be in a JVM.
func (s *Session) weaveOwn(t *testing.T) []byte {
	t.Helper()
	woven, _, err := s.weaveBytes(t.Context(), "a/B", ownClass())
	if err != nil {
		t.Fatal(err)
	}
	return woven
}

// spotOf is a spot in a method of a/B.
func spotOf(method string, kind SpotKind, key string, codes ...weave.Lowered) Spot {
	return Spot{Class: "a/B", Name: method, Descriptor: "()V", Key: key, Kind: kind, Code: codes}
}

// always is a condition that holds, or fails to be made.
type always struct {
	steps int    // that do nothing
	calls string // a class of which it calls a method, as far as can be seen
	fails bool
}

func (a always) Lower(weave.Moment) (*weave.Fragment, error) {
	if a.fails {
		return nil, errors.New("it cannot be")
	}
	f := &weave.Fragment{MaxStack: 1}
	if a.calls != "" {
		f.Steps = append(f.Steps, weave.Step{
			Do: weave.DoConstant, Op: opcode.Invokestatic,
			Const: weave.Constant{Tag: classfile.TagMethodref, Text: a.calls, Name: "call", Descr: "()V"},
		})
	}
	f.Steps = append(f.Steps, slices.Repeat([]weave.Step{{Op: opcode.Nop}}, a.steps)...)
	f.Steps = append(f.Steps, weave.Step{Op: opcode.Iconst1})
	return f, nil
}

// idsIn are the ids that a method's hooks have, in the order they are first used.
func idsIn(t *testing.T, class []byte, method string) (ids []uint32) {
	t.Helper()
	c, err := classfile.Parse(class)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Methods {
		name, _, err := c.MemberName(&c.Methods[i])
		if err != nil || string(name) != method {
			continue
		}
		body, err := code.Lift(c, &c.Methods[i])
		if err != nil {
			t.Fatal(err)
		}
		for n := body.First(); n != nil; n = n.Next() {
			if !n.Is(opcode.Ldc) || c.Pool.Tag(n.Index()) != classfile.TagInteger {
				continue
			}
			if id, err := c.Pool.Int(n.Index()); err == nil && !slices.Contains(ids, uint32(id)) {
				ids = append(ids, uint32(id))
			}
		}
	}
	return ids
}
