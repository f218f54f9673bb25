package condition_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
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
	parsed, err := expr.Parse(strings.TrimPrefix(rest[1:], " "))
	if err != nil {
		return nil, at, err
	}
	scope := f.scope(t, "Subject", method, moment)
	var c *condition.Checked
	if rest[0] == '=' {
		c, err = condition.CheckValue(parsed, scope)
	} else {
		c, err = condition.Check(parsed, scope)
	}
	return c, at, err
}

func writeError(t *testing.T, b *strings.Builder, err error) {
	t.Helper()
	var e *expr.Error
	if !errors.As(err, &e) {
		t.Fatalf("an error of another type: %v", err)
	}
	fmt.Fprintf(b, "    error (%s):\n", e.Kind)
	for _, l := range strings.Split(strings.TrimSuffix(e.Caret()+"\n"+e.Detail+"\n"+e.Remedy, "\n"), "\n") {
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
		case s.Const.Raw != "":
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

// TestScopes checks the same conditions where more or less is known or allowed.
func TestScopes(t *testing.T) {
	without := func(names ...string) func(*fixture, *condition.Scope) {
		return func(f *fixture, s *condition.Scope) {
			lookup := f.lookup
			s.Lookup = func(name string) *condition.Class {
				if slices.Contains(names, name) {
					return nil
				}
				return lookup(name)
			}
		}
	}
	elsewhere := func(name string) func(*fixture, *condition.Scope) {
		return func(f *fixture, _ *condition.Scope) {
			f.classes[name] = &condition.Class{File: f.classes[name].File, Loader: 2}
		}
	}
	ownOnly := func(_ *fixture, s *condition.Scope) { s.OwnOnly, s.Subtypes = true, nil }
	nothing := func(*fixture, *condition.Scope) {}
	for _, x := range []struct {
		name, text string
		change     func(*fixture, *condition.Scope)
		want       expr.ErrorKind
	}{
		{"nestmates", "$this.inner.hidden > 0", nothing, ""},
		{"no nests before 11", "$this.inner.hidden > 0", func(f *fixture, s *condition.Scope) { s.Class.File.Major = 54 }, expr.Inaccessible},
		{"a host that is not known", "$this.inner.hidden > 0", without("app/Subject$Inner"), expr.Unproven},
		{"package", "$this.local.seen > 0", nothing, ""},
		{"a package of another loader", "$this.local.seen > 0", elsewhere("app/Local"), expr.Inaccessible},
		{"not exported", `$1.customer.city == "x"`, func(_ *fixture, s *condition.Scope) {
			s.Exported = func(c *condition.Class) bool { return c.Name() != "shop/Customer" }
		}, expr.Inaccessible},
		{"nothing known of subclasses", `$1.customer.tier == "x"`, func(_ *fixture, s *condition.Scope) { s.Subtypes = nil }, expr.Unproven},
		{"final needs nothing", `$1.customer.id == 3`, func(_ *fixture, s *condition.Scope) { s.Subtypes = nil }, ""},
		{"own only: a final getter of another class", `$1.customer.id == 3`, ownOnly, expr.Unproven},
		{"own only: a field of another class", `$1.customer.city == "x"`, ownOnly, ""},
		{"own only: a private getter", `$this.twice() == 2`, ownOnly, ""},
		{"own only: a getter that can be overridden", `$this.self() == 2`, ownOnly, expr.Unproven},
		{"own only: an inherited getter", `$this.getId() == 3`, ownOnly, expr.Unproven},
		{"own only: an inherited field", `$this.level == 3`, ownOnly, ""},
		{"own only: strings", `$3 matches "a*" && $3.length > 3`, ownOnly, ""},
		{"own only: an enum", `$1.status == "PAID" && $1.status.name() == "PAID" && $1.status.ordinal() > 0`, ownOnly, ""},
		{"hidden subclasses", `$1.customer.tier == "x"`, func(f *fixture, s *condition.Scope) {
			s.Subtypes = func(name string) ([]*condition.Class, bool) { list, _ := f.subtypes(name); return list, false }
		}, expr.Unproven},
		{"an impure override", "$1.lazy.size == 1", nothing, expr.Impure},
		{"before it loads", "$1.lazy.size == 1", func(f *fixture, _ *condition.Scope) {
			f.own = slices.DeleteFunc(f.own, func(n string) bool { return n == "shop/Lazy$Caching" })
		}, ""},
		{"a superclass that is not known", "$1.customer.vip", without("shop/Base"), ""},
		{"a member of it", "$1.customer.getId() == 1", without("shop/Base"), expr.Unproven},
		{"a class that is not known", `$1.customer.city == "x"`, without("shop/Customer"), expr.Unproven},
		{"a type argument that is not known", `$1.lines[0] == null`, without("shop/Line"), ""},
		{"its members", `$1.lines[0].cents > 0`, without("shop/Line"), expr.Unknown},
		{"an enum that is not known", `$1.status == "PAID"`, without("shop/Status"), expr.Mistyped},
		{"a probed getter", `$1.customer.tier == "x"`, func(_ *fixture, s *condition.Scope) {
			s.Probed = func(m classfile.MethodRef) bool { return m.Name == "getTier" }
		}, expr.Impure},
		{"no tags", `tx.tier == "x"`, func(_ *fixture, s *condition.Scope) { s.Tags = nil }, expr.Unknown},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := anyFixture(t)
			scope := f.scope(t, "Subject", "call", condition.Entry)
			x.change(f, &scope)
			_, err := check(x.text, scope)
			var e *expr.Error
			switch {
			case x.want == "" && err != nil:
				t.Errorf("%s: %v", x.text, err)
			case x.want != "" && (!errors.As(err, &e) || e.Kind != x.want):
				t.Errorf("%s: %v; want an error of kind %s", x.text, err, x.want)
			}
		})
	}
}

// TestDepends demands that a condition names what it relies on.
func TestDepends(t *testing.T) {
	f := anyFixture(t)
	c, err := check(`$1.customer.rank() > 3 && $1.priced.dear`, f.scope(t, "Subject", "call", condition.Entry))
	if err != nil {
		t.Fatal(err)
	}
	d := c.Depends()
	for _, m := range []classfile.MethodRef{
		{Class: "shop/Customer", Name: "rank", Descriptor: "()I"}, {Class: "shop/Customer", Name: "tierLength", Descriptor: "()I"},
		{Class: "java/lang/String", Name: "length", Descriptor: "()I"},
		{Class: "shop/Priced", Name: "isDear", Descriptor: "()Z"}, {Class: "shop/Line", Name: "getCents", Descriptor: "()J"},
	} {
		if !slices.Contains(d.Methods, m) {
			t.Errorf("%v is not among %v", m, d.Methods)
		}
	}
	if want := []string{"shop/Customer", "shop/Priced"}; !slices.Equal(d.Open, want) {
		t.Errorf("open: %v, want %v", d.Open, want)
	}
	for _, name := range []string{"shop/Order", "shop/Customer", "shop/Line", "shop/Gold"} {
		if !slices.Contains(d.Classes, name) {
			t.Errorf("%s is not among %v", name, d.Classes)
		}
	}
}

// TestProofs looks at every method that a golden condition may run, by names of
// instructions and by offsets: none writes, makes, locks, throws or jumps back, and
// what it calls is among the others.
func TestProofs(t *testing.T) {
	f := anyFixture(t)
	looked := make(map[classfile.MethodRef]bool)
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

func lookAt(t *testing.T, f *fixture, m classfile.MethodRef, among []classfile.MethodRef) {
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
				if err != nil || !slices.ContainsFunc(among, func(x classfile.MethodRef) bool { return x.Name == string(name) && x.Descriptor == string(desc) }) {
					t.Errorf("%v calls %s%s, which was not looked at: %v", m, name, desc, err)
				}
			}
		}
		return
	}
	t.Errorf("%v is not there", m)
}

func seeds(f *testing.F) {
	f.Helper()
	data, err := os.ReadFile("testdata/expressions.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if _, text, ok := strings.Cut(strings.TrimSpace(line), " "); ok && line[0] != '#' {
			f.Add(text)
		}
	}
	f.Add(`$1 == "` + "\xff" + `"`)
}

func located(t *testing.T, text string, err error) {
	t.Helper()
	var e *expr.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: an error of another type: %v", text, err)
	}
	if e.Offset < 0 || e.Offset > len(text) || e.Length < 0 || e.Detail == "" || e.Text != text {
		t.Fatalf("%s: %+v", text, e)
	}
	_ = e.Caret()
}

// FuzzCheck holds that whatever is accepted passes the machine: it neither writes nor
// jumps back nor calls what was not proven, and no verifier has to load a class for it.
func FuzzCheck(f *testing.F) {
	seeds(f)
	fix := anyFixture(f)
	entry, exit := fix.scope(f, "Subject", "call", condition.Entry), fix.scope(f, "Subject", "name", condition.Exit)
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := expr.Parse(text)
		if err != nil {
			return
		}
		for _, x := range []struct {
			scope   condition.Scope
			moments []weave.Moment
			method  string
		}{{entry, []weave.Moment{weave.AtEntry}, "call"}, {exit, []weave.Moment{weave.AtReturn, weave.AtThrow}, "name"}} {
			c, err := condition.Check(parsed, x.scope)
			if err != nil {
				located(t, text, err)
				continue
			}
			for _, at := range x.moments {
				fragment, err := c.Lower(at)
				if err == nil {
					err = verifyIn(fix, "Subject", x.method, c, fragment)
				}
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
			}
		}
	})
}

// TestMayCall: a rule may name methods that are called though they are not proven.
func TestMayCall(t *testing.T) {
	f := anyFixture(t)
	scope := f.scope(t, "Subject", "call", condition.Entry)
	for _, test := range []struct {
		may  string
		good bool
	}{{"", false}, {"loops", true}, {"other", false}} {
		scope.MayCall = func(m classfile.MethodRef) bool { return m.Name == test.may }
		_, err := check("$1.customer.loops() > 3", scope)
		if (err == nil) != test.good {
			t.Errorf("with %q: %v", test.may, err)
		}
	}
}

// TestOwnCalls: a rule may name methods with an argument, and static ones, also of interfaces.
func TestOwnCalls(t *testing.T) {
	f := anyFixture(t)
	scope := f.scope(t, "Subject", "call", condition.Entry)
	for _, test := range []struct {
		text, may string
		major     uint16 // of class files that can have the code; 0 if it is refused
	}{
		{`$3.concat("x")`, "concat", 50},
		{`$3.concat("x")`, "", 0},
		{`$3.missing("x")`, "missing", 0},
		{`$(java.lang.Thread).currentThread().getName()`, "currentThread getName", 50},
		{`$(java.lang.Thread).currentThread().getName()`, "getName", 0},
		{`$(java.lang.Thread).getName()`, "getName", 0},
		{`$(java.lang.Missing).currentThread().getName()`, "currentThread getName", 0},
		{`$(java.util.List).of().size()`, "of", 52},
	} {
		if _, err := expr.Parse(test.text); err == nil {
			t.Errorf("%s is accepted of a user", test.text)
		}
		parsed, err := expr.ParseOwn(test.text)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := expr.ParseOwn(parsed.String()); err != nil || parsed.String() != test.text || again.String() != test.text {
			t.Errorf("%s became %s: %v", test.text, parsed, err)
		}
		scope.MayCall = func(m classfile.MethodRef) bool { return slices.Contains(strings.Fields(test.may), m.Name) }
		checked, err := condition.CheckValue(parsed, scope)
		if (err == nil) != (test.major > 0) {
			t.Errorf("%s, which may call %q: %v", test.text, test.may, err)
		}
		if err != nil {
			continue
		}
		fragment, err := checked.Lower(weave.AtEntry)
		if err == nil {
			err = verifyIn(f, "Subject", "call", checked, fragment)
		}
		if err != nil || fragment.MinMajor != test.major {
			t.Errorf("%s: %v, for class files of version %d; want %d", test.text, err, fragment.MinMajor, test.major)
		}
	}
}
