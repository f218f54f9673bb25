package condition_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

var update = flag.Bool("update", false, "write the goldens anew")

// TestGoldens checks each of testdata/expressions.txt, and writes down what became of
// it: its code at each moment and what it relies on, or the error with its caret. All
// code passes the machine.
func TestGoldens(t *testing.T) {
	f := anyFixture(t)
	var b strings.Builder
	good, bad := 0, 0
	for _, line := range strings.Split(strings.TrimRight(string(readFile(t, "testdata/expressions.txt")), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		c, moment, err := f.checkLine(t, line)
		fmt.Fprintf(&b, "%s\n", line)
		if err != nil {
			bad++
			writeError(t, &b, err)
			continue
		}
		good++
		for at := moment; at <= weave.AtThrow && (moment != weave.AtEntry || at == weave.AtEntry); at++ {
			writeCode(t, &b, f, line, c, at)
		}
		writeDepends(&b, c.Depends())
	}
	if good < 100 || bad < 100 {
		t.Errorf("%d good expressions and %d bad ones, should be 100 each at least", good, bad)
	}
	if *update {
		if err := os.WriteFile("testdata/goldens.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := string(readFile(t, "testdata/goldens.txt")); b.String() != want {
		t.Errorf("goldens differ; look at what go test -update changes\n%s", firstDifference(b.String(), want))
	}
}

// checkLine checks "method> condition".
func (f *fixture) checkLine(t testing.TB, line string) (*condition.Checked, weave.Moment, error) {
	t.Helper()
	method, rest := cutMethod(line)
	moment, at := condition.Entry, weave.AtEntry
	if rest[0] == '<' {
		moment, at = condition.Exit, weave.AtReturn
	}
	expr, err := condition.Parse(strings.TrimPrefix(rest[1:], " "))
	if err != nil {
		return nil, at, err
	}
	scope := f.scope(t, "Subject", method, moment)
	var c *condition.Checked
	if rest[0] == '=' {
		c, err = condition.CheckValue(expr, scope)
	} else {
		c, err = condition.Check(expr, scope)
	}
	return c, at, err
}

func writeError(t *testing.T, b *strings.Builder, err error) {
	t.Helper()
	var e *condition.Error
	if !errors.As(err, &e) {
		t.Fatalf("an error of another type: %v", err)
	}
	fmt.Fprintf(b, "    error (%s):\n", e.Kind)
	for _, l := range strings.Split(e.Render(), "\n") {
		fmt.Fprintf(b, "    | %s\n", l)
	}
	if strings.Contains(e.Error(), "\n") {
		t.Errorf("more than one line: %s", e.Error())
	}
}

// writeCode writes the code of a condition, and has the machine run it.
func writeCode(t *testing.T, b *strings.Builder, f *fixture, line string, c *condition.Checked, at weave.Moment) {
	t.Helper()
	fragment, err := c.Lower(at)
	if err != nil {
		t.Errorf("%s: %v", line, err)
		return
	}
	fmt.Fprintf(b, "    code %s:", [...]string{"at entry", "at return", "at throw"}[at])
	for i := range fragment.Steps {
		fmt.Fprintf(b, " %s;", stepText(&fragment.Steps[i]))
	}
	b.WriteString("\n")
	if err := verify(f, line, c, fragment); err != nil {
		t.Errorf("%s: %v", line, err)
	}
}

func verify(f *fixture, line string, c *condition.Checked, fragment *weave.Fragment) error {
	method, _ := cutMethod(line)
	return verifyIn(f, "Subject", method, c, fragment)
}

// cutMethod splits "method> condition" before the sign.
func cutMethod(line string) (method, rest string) {
	from := len(line) - len(strings.TrimPrefix(line, "<init>"))
	end := from + strings.IndexAny(line[from:], "><=")
	return line[:end], line[end:]
}

// verifyIn has the machine run a fragment as part of a method.
func verifyIn(f *fixture, class, method string, c *condition.Checked, fragment *weave.Fragment) error {
	file := f.classes["app/"+class].File
	for i := range file.Methods {
		name, desc, err := file.MemberName(&file.Methods[i])
		if err != nil || string(name) != method {
			continue
		}
		d, err := descriptor.ParseMethod(string(desc))
		if err != nil {
			return err
		}
		var params []string
		for _, p := range d.Params() {
			params = append(params, string(p))
		}
		m := &machine{f: fragment, c: c, self: "Lapp/" + class + ";", result: string(d.Return()), arg: func(i int32) string { return params[i] }}
		return m.run()
	}
	return fmt.Errorf("no method %s", method)
}

func stepText(s *weave.Step) string {
	switch s.Do {
	case weave.DoLabel:
		return fmt.Sprintf("L%d:", s.Value)
	case weave.DoJump:
		return fmt.Sprintf("%s L%d", s.Op, s.Value)
	case weave.DoLocal:
		return fmt.Sprintf("%s v%d", s.Op, s.Value)
	case weave.DoArgument:
		return fmt.Sprintf("argument %d", s.Value)
	case weave.DoSelf:
		return "this"
	case weave.DoResult:
		return "result"
	case weave.DoThrown:
		return "thrown"
	case weave.DoConstant:
		switch {
		case s.Const.Name != "":
			return fmt.Sprintf("%s %s.%s%s", s.Op, s.Const.Text, s.Const.Name, s.Const.Descr)
		case s.Const.Raw != nil:
			return fmt.Sprintf("%s %s %x", s.Op, s.Const.Tag, s.Const.Raw[1:])
		}
		return fmt.Sprintf("%s %q", s.Op, s.Const.Text)
	}
	if s.Value != 0 {
		return fmt.Sprintf("%s %d", s.Op, s.Value)
	}
	return s.Op.String()
}

func writeDepends(b *strings.Builder, d condition.Depends) {
	for _, m := range d.Methods {
		fmt.Fprintf(b, "    runs %s.%s%s\n", m.Class, m.Name, m.Descriptor)
	}
	if len(d.Open) > 0 {
		fmt.Fprintf(b, "    all below %s\n", strings.Join(d.Open, ", "))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d\n got  %s\n want %s", i+1, g[i], w[i])
		}
	}
	return "one is longer"
}
