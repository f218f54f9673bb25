package condition_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

// TestProofs looks at every method that a golden condition may run, by names of
// instructions and by offsets: none writes, makes, locks, throws or jumps back, and
// what it calls is among the others.
func TestProofs(t *testing.T) {
	f := anyFixture(t)
	looked := make(map[condition.Method]bool)
	for _, line := range strings.Split(strings.TrimRight(string(readFile(t, "testdata/expressions.txt")), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		c, _, err := f.checkLine(t, line)
		if err != nil {
			continue
		}
		for _, m := range c.Depends().Methods {
			if !looked[m] && !strings.HasPrefix(m.Class, "java/") {
				looked[m] = true
				lookAt(t, f, m, c.Depends().Methods)
			}
		}
	}
	if len(looked) < 12 {
		t.Errorf("only %d methods were looked at", len(looked))
	}
}

func lookAt(t *testing.T, f *fixture, m condition.Method, among []condition.Method) {
	t.Helper()
	file := f.classes[m.Class].File
	for i := range file.Methods {
		name, desc, err := file.MemberName(&file.Methods[i])
		if err != nil || string(name) != m.Name || string(desc) != m.Descriptor {
			continue
		}
		body, err := code.Lift(file, &file.Methods[i])
		if err != nil || body == nil {
			t.Fatalf("%v: %v", m, err)
		}
		for n := body.First(); n != nil; n = n.Next() {
			if n.Kind != code.Instruction {
				continue
			}
			op := n.Op().String()
			for _, bad := range []string{"put", "new", "monitor", "invokedynamic", "throw", "anewarray", "static", "jsr"} {
				if strings.Contains(op, bad) {
					t.Errorf("%v: %s", m, op)
				}
			}
			if strings.HasSuffix(op, "astore") && op != "astore" {
				t.Errorf("%v: %s", m, op)
			}
			targets := []*code.Node{n.Target()}
			if strings.HasSuffix(op, "switch") {
				targets = append(body.Switch(n).Targets, body.Switch(n).Default)
			}
			for _, target := range targets {
				if target != nil && target.Offset() <= n.Offset() {
					t.Errorf("%v jumps back", m)
				}
			}
			if strings.HasPrefix(op, "invoke") {
				_, name, desc, err := file.Pool.Member(n.Index())
				if err != nil || !slices.ContainsFunc(among, func(x condition.Method) bool { return x.Name == string(name) && x.Descriptor == string(desc) }) {
					t.Errorf("%v calls %s%s, which was not looked at: %v", m, name, desc, err)
				}
			}
		}
		return
	}
	t.Errorf("%v is not there", m)
}
