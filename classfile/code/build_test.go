package code_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// asm begins a body.
func asm() *classtest.Assembler { return classtest.NewAssembler() }

// single is a class with one static method, m(I)I, whose Code attribute make returns.
func single(major uint16, make func(b *classtest.Builder) []byte) []byte {
	b := classtest.NewBuilder(major, "Single")
	b.AddMethod(0x0009, "m", "(I)I", make(b))
	return b.Bytes()
}

// liftSingle lifts the only method of a class.
func liftSingle(t testing.TB, data []byte) *code.Body {
	t.Helper()
	class, err := classfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	body, err := code.Lift(class, &class.Methods[0])
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// lower puts the body into its class and returns what the reference parser reads
// there: the whole class as lines.
func lower(t testing.TB, body *code.Body) []string {
	t.Helper()
	data, err := body.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	class := *body.Class
	class.Methods = append([]classfile.Member(nil), class.Methods...)
	m := &class.Methods[0]
	m.Attributes = append([]classfile.Attribute(nil), m.Attributes...)
	class.Find(m.Attributes, classfile.KindCode).Data = data
	whole, err := class.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := classtest.Describe(whole)
	if err != nil {
		t.Fatalf("the reference parser refuses the lowered class: %v", err)
	}
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// wantLines demands that each line is among those described, in this order.
func wantLines(t testing.TB, have []string, want ...string) {
	t.Helper()
	at := 0
	for _, line := range have {
		if at < len(want) && line == want[at] {
			at++
		}
	}
	if at < len(want) {
		t.Errorf("no line %q in\n%s", want[at], strings.Join(shorten(have), "\n"))
	}
}

// shorten leaves out the middle of a long description.
func shorten(lines []string) []string {
	const most = 120
	if len(lines) <= most {
		return lines
	}
	return append(append(append([]string(nil), lines[:most/2]...), "…"), lines[len(lines)-most/2:]...)
}

// find returns the nth instruction with an opcode, from 0.
func find(t testing.TB, body *code.Body, op opcode.Op, nth int) *code.Node {
	t.Helper()
	for n := body.First(); n != nil; n = n.Next() {
		if n.Is(op) {
			if nth == 0 {
				return n
			}
			nth--
		}
	}
	t.Fatalf("the body has no such %s", op)
	return nil
}

// fill inserts n one-byte instructions before mark.
func fill(body *code.Body, mark *code.Node, n int) {
	for range n {
		body.InsertBefore(mark, body.NewOp(opcode.Nop))
	}
}

// codeLength lowers the body and returns the length of its code.
func codeLength(t testing.TB, body *code.Body) int {
	t.Helper()
	data, err := body.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return int(data[4])<<24 | int(data[5])<<16 | int(data[6])<<8 | int(data[7])
}

// eachBody visits every method body of every class below a folder.
func eachBody(t *testing.T, root string, visit func(t *testing.T, c *classfile.Class, m *classfile.Member, data []byte)) {
	t.Helper()
	bodies := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".class") {
			return err
		}
		file, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		class, err := classfile.Parse(file)
		if err != nil {
			return err
		}
		t.Run(strings.TrimPrefix(filepath.ToSlash(path), root+"/"), func(t *testing.T) {
			for i := range class.Methods {
				m := &class.Methods[i]
				if a := class.Find(m.Attributes, classfile.KindCode); a != nil {
					bodies++
					visit(t, class, m, a.Data)
				}
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if bodies == 0 {
		t.Fatalf("no body below %s", root)
	}
}
