package condition_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

const (
	manyConditions = 600
	manyCalls      = 25
	longestWay     = 4
)

// TestRandomConditions weaves random conditions, each into a method of its own, and
// calls every method with random objects: each answer must be the reference
// interpreter's, which knows nothing of types, code or the parser.
func TestRandomConditions(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		w := &writer{maker{rand.New(rand.NewPCG(20, uint64(jdk.Major)))}, ways(longestWay)}
		var tests []test
		for len(tests) < manyConditions {
			tests = append(tests, w.condition(w.IntN(4)))
		}
		var calls [][]any
		for range manyCalls {
			calls = append(calls, w.environment())
		}
		dir := t.TempDir()
		f := compileFixture(t, jdk, writeMany(t, dir, manyConditions), writeCalls(t, dir, calls))
		f.weave(t, "Many", dir, bindAll(t, f, tests))
		compareAnswers(t, f.run(t, dir, "app.RunMany"), tests, calls)

		// Again as a class that knows no nests, nor has any verifier but by frames.
		f.age(t, 51)
		f.weave(t, "Many", dir, bindAll(t, f, tests))
		compareAnswers(t, f.run(t, dir, "app.RunMany"), tests, calls)
	})
}

// bindAll compiles the conditions and binds each to a template, every fifth to the
// odd one. The machine runs them too.
func bindAll(t *testing.T, f *fixture, tests []test) map[string]*weave.Template {
	t.Helper()
	entry, odd := f.template(t, "entry"), f.template(t, "odd")
	bound := make(map[string]*weave.Template)
	for i, x := range tests {
		method := fmt.Sprintf("m%d", i)
		c, err := check(x.text, f.scope(t, "Many", method, condition.Entry))
		var e *expr.Error
		if errors.As(err, &e) && e.Kind == expr.Inaccessible && f.major != 0 && strings.Contains(x.text, "$this.inner") {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", x.text, err)
			continue
		}
		fragment, err := c.Lower(weave.AtEntry)
		if err == nil {
			err = verifyIn(f, "Many", method, c, fragment)
		}
		if err != nil {
			t.Errorf("%s: %v", x.text, err)
			continue
		}
		template := entry
		if i%5 == 0 {
			template = odd
		}
		if bound[method], err = template.Bind(c); err != nil {
			t.Errorf("%s: %v", x.text, err)
		}
	}
	return bound
}

// writeMany writes class Many: Subject, with many of its one method.
func writeMany(t *testing.T, dir string, count int) string {
	t.Helper()
	source := strings.ReplaceAll(string(readFile(t, "testdata/java/app/Subject.java")), "Subject", "Many")
	head, rest, _ := strings.Cut(source, "    // one method:\n")
	method, end, _ := strings.Cut(rest, "    // that was it\n")
	var b strings.Builder
	b.WriteString(head)
	for i := range count {
		b.WriteString(strings.Replace(method, " call(", fmt.Sprintf(" m%d(", i), 1))
	}
	b.WriteString(end)
	return writeSource(t, dir, "Many", b.String())
}

// writeCalls writes a program that makes every call and prints what conditions
// answered.
func writeCalls(t *testing.T, dir string, calls [][]any) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("package app;\n\n@SuppressWarnings(\"all\")\npublic class RunMany {\n")
	for i, env := range calls {
		fmt.Fprintf(&b, "    static Object[] call%d() {\n        return new Object[] {", i)
		for _, v := range env {
			fmt.Fprintf(&b, "%s,\n            ", javaFor("numbers", v))
		}
		b.WriteString("};\n    }\n")
	}
	fmt.Fprintf(&b, `
    public static void main(String[] args) throws Exception {
        java.lang.reflect.Method[] methods = new java.lang.reflect.Method[%d];
        for (java.lang.reflect.Method m : Many.class.getDeclaredMethods()) {
            if (m.getName().matches("m[0-9]+")) {
                methods[Integer.parseInt(m.getName().substring(1))] = m;
            }
        }
        for (int i = 0; i < %d; i++) {
            Object[] all = (Object[]) RunMany.class.getDeclaredMethod("call" + i).invoke(null);
            Object[] rest = java.util.Arrays.copyOfRange(all, 1, all.length);
            StringBuilder line = new StringBuilder();
            for (java.lang.reflect.Method m : methods) {
                Recorder.answer = -9;
                m.invoke(all[0], rest);
                line.append("-u01x".charAt(Math.max(0, Recorder.answer + 2)));
            }
            System.out.println(line);
        }
    }
}
`, manyConditions, len(calls))
	return writeSource(t, dir, "RunMany", b.String())
}

func writeSource(t *testing.T, dir, name, source string) string {
	t.Helper()
	file := filepath.Join(dir, name+".java")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// answer is what the reference says: 0, 1, u for undecided, x for an exception.
func answer(x test, env []any) (a byte) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case undecided:
			a = 'u'
		case failed:
			a = 'x'
		default:
			panic(r)
		}
	}()
	if x.eval(env) {
		return '1'
	}
	return '0'
}

func compareAnswers(t *testing.T, out string, tests []test, calls [][]any) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != len(calls) {
		t.Fatalf("%d lines for %d calls: %s", len(lines), len(calls), tail(out))
	}
	count := make(map[byte]int)
	for i, env := range calls {
		for j, x := range tests {
			want, got := answer(x, env), lines[i][j]
			if got == '-' { // left out
				continue
			}
			if want != got {
				t.Errorf("call %d, m%d: %s\n answers %c, the reference %c", i, j, x.text, got, want)
			}
			count[want]++
		}
	}
	for _, a := range []byte("01ux") {
		if count[a] < 20 {
			t.Errorf("only %d answers %c", count[a], a)
		}
	}
	t.Logf("%d answers: %d no, %d yes, %d undecided, %d exceptions", len(tests)*len(calls), count['0'], count['1'], count['u'], count['x'])
}

// chars is how many chars Java counts.
func chars(s string) int { return len(utf16.Encode([]rune(s))) }

// test is a random condition: its text, and what it answers.
type test struct {
	text string
	eval func(env []any) bool
}

// writer writes random conditions.
type writer struct {
	maker
	ways map[string][]way
}

var (
	numeric = []string{"int", "long", "float", "double", "char", "byte", "short", "Integer", "Long"}
	logical = []string{"boolean", "Boolean"}
	others  = []string{"Customer", "Order", "Line", "Priced", "Inner", "Local", "Object", "List<Line>", "Map<String>", "int[]"}
)

func (w *writer) way(types ...string) way {
	for {
		if list := w.ways[pick(&w.maker, types...)]; len(list) > 0 {
			return pick(&w.maker, list...)
		}
	}
}

// condition writes one with logic up to a depth.
func (w *writer) condition(depth int) test {
	if depth == 0 || w.IntN(4) == 0 {
		return w.leaf()
	}
	l := w.condition(depth - 1)
	if w.IntN(4) == 0 {
		return test{"!(" + l.text + ")", func(env []any) bool { return !l.eval(env) }}
	}
	r := w.condition(depth - 1)
	if w.IntN(2) == 0 {
		return test{"(" + l.text + " && " + r.text + ")", func(env []any) bool { return l.eval(env) && r.eval(env) }}
	}
	return test{"(" + l.text + " || " + r.text + ")", func(env []any) bool { return l.eval(env) || r.eval(env) }}
}

func (w *writer) leaf() test {
	switch w.IntN(10) {
	case 0, 1, 2:
		return w.number()
	case 3, 4:
		return w.words()
	case 5:
		return w.logic()
	case 6:
		return w.null()
	case 7:
		return w.enums()
	case 8:
		return w.pattern()
	}
	return w.class()
}

var mirror = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func holds(op string, order int, ordered bool) bool {
	switch op {
	case "==":
		return ordered && order == 0
	case "!=":
		return !ordered || order != 0
	case "<":
		return ordered && order < 0
	case "<=":
		return ordered && order <= 0
	case ">":
		return ordered && order > 0
	}
	return ordered && order >= 0
}

func (w *writer) operator() string { return pick(&w.maker, "==", "!=", "<", "<=", ">", ">=") }

// written puts a constant on either side.
func (w *writer) written(l, op, constant string) string {
	if w.IntN(4) == 0 {
		return constant + " " + mirror[op] + " " + l
	}
	return l + " " + op + " " + constant
}

// number compares numbers.
func (w *writer) number() test {
	l, op := w.way(numeric...), w.operator()
	if w.IntN(3) == 0 {
		r := w.way(numeric...)
		return test{l.text + " " + op + " " + r.text, func(env []any) bool {
			a := l.read(env)
			if a == nil {
				return false
			}
			b := r.read(env)
			return b != nil && compareNumbers(op, a, b)
		}}
	}
	if w.IntN(4) == 0 {
		var texts []string
		var values []any
		for range 1 + w.IntN(4) {
			text, v := w.literal(l.typ)
			texts, values = append(texts, text), append(values, v)
		}
		return test{l.text + " in (" + strings.Join(texts, ", ") + ")", func(env []any) bool {
			a := l.read(env)
			return a != nil && slices.ContainsFunc(values, func(b any) bool { return compareNumbers("==", a, b) })
		}}
	}
	text, v := w.literal(l.typ)
	return test{w.written(l.text, op, text), func(env []any) bool {
		a := l.read(env)
		return a != nil && compareNumbers(op, a, v)
	}}
}

// literal writes a number that is compared with values of a type.
func (w *writer) literal(typ string) (string, any) {
	switch w.IntN(4) {
	case 0:
		f := pick(&w.maker, someFloats...)
		text := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		if typ == "float" {
			return text, float32(f)
		}
		return text, f
	case 1:
		n := pick(&w.maker, someLongs...)
		return strconv.FormatInt(n, 10) + pick(&w.maker, "", "L"), n
	case 2:
		if typ == "char" {
			return "'a'", uint16('a')
		}
	}
	n := pick(&w.maker, someInts...)
	return strconv.Itoa(int(n)), n
}

func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int8:
		return int64(v), true
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case uint16:
		return int64(v), true
	}
	return 0, false
}

func compareNumbers(op string, a, b any) bool {
	m, one := whole(a)
	n, two := whole(b)
	if one && two {
		return holds(op, cmp.Compare(m, n), true)
	}
	x, y := double(a), double(b)
	return holds(op, cmp.Compare(x, y), !math.IsNaN(x) && !math.IsNaN(y))
}

func double(v any) float64 {
	switch v := v.(type) {
	case float32:
		return float64(v)
	case float64:
		return v
	}
	n, _ := whole(v)
	return float64(n)
}

func compareTexts(op, a, b string) bool {
	return holds(op, slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))), true)
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// words compares strings, or objects that may be some.
func (w *writer) words() test {
	l, op := w.way("String", "String", "Object"), w.operator()
	text := func(v any) (string, bool) { s, ok := v.(string); return s, ok }
	if w.IntN(3) == 0 {
		r := w.way("String")
		return test{l.text + " " + op + " " + r.text, func(env []any) bool {
			a, ok := text(l.read(env))
			if !ok {
				return false
			}
			b, ok := text(r.read(env))
			return ok && compareTexts(op, a, b)
		}}
	}
	c := pick(&w.maker, someTexts...)
	if w.IntN(4) == 0 {
		d := pick(&w.maker, someTexts...)
		return test{l.text + " in (" + quoted(c) + ", " + quoted(d) + ")", func(env []any) bool {
			a, ok := text(l.read(env))
			return ok && (a == c || a == d)
		}}
	}
	return test{w.written(l.text, op, quoted(c)), func(env []any) bool {
		a, ok := text(l.read(env))
		return ok && compareTexts(op, a, c)
	}}
}

func (w *writer) logic() test {
	l := w.way(logical...)
	want := w.IntN(2) == 0
	switch w.IntN(3) {
	case 0:
		return test{l.text, func(env []any) bool { return l.read(env) == true }}
	case 1:
		return test{w.written(l.text, "==", fmt.Sprint(want)), func(env []any) bool { return l.read(env) == want }}
	}
	r := w.way(logical...)
	return test{l.text + " != " + r.text, func(env []any) bool {
		a := l.read(env)
		if a == nil {
			return false
		}
		b := r.read(env)
		return b != nil && a != b
	}}
}

// null asks for null what may be it: at least one step beyond the roots, or an object.
func (w *writer) null() test {
	for {
		l := w.way(append(append([]string{"String", "Status", "Boolean", "int", "long"}, others...), numeric...)...)
		if !strings.HasPrefix(l.text, "$1.") {
			continue
		}
		if w.IntN(2) == 0 {
			return test{l.text + " == null", func(env []any) bool { return l.read(env) == nil }}
		}
		return test{w.written(l.text, "!=", "null"), func(env []any) bool { return l.read(env) != nil }}
	}
}

func (w *writer) enums() test {
	l := w.way("Status")
	c := pick(&w.maker, "OPEN", "PAID", "SENT")
	text := pick(&w.maker, c, quoted(c))
	switch w.IntN(3) {
	case 0:
		return test{l.text + " in (" + text + ", OPEN)", func(env []any) bool {
			v := l.read(env)
			return v == enum(c) || v == enum("OPEN")
		}}
	case 1:
		r := w.way("Status")
		return test{l.text + " == " + r.text, func(env []any) bool {
			a := l.read(env)
			if a == nil {
				return false
			}
			return a == r.read(env)
		}}
	}
	return test{w.written(l.text, "!=", text), func(env []any) bool {
		v := l.read(env)
		return v != nil && v != enum(c)
	}}
}

// pattern matches strings; the reference is a regular expression over chars.
func (w *writer) pattern() test {
	l := w.way("String", "String", "Status", "Object")
	var glob, expr strings.Builder
	star := 0
	for range w.IntN(6) {
		switch part := pick(&w.maker, "*", "*", "?", "a", "b", "c", "gold", "é", `\`); part {
		case "*":
			star++
			glob.WriteString("*")
			expr.WriteString(".*")
		case "?":
			if star > 0 {
				continue // not between stars
			}
			glob.WriteString("?")
			expr.WriteString(".")
		case `\`:
			glob.WriteString(`\*`)
			expr.WriteString(`\*`)
		default:
			glob.WriteString(part)
			expr.WriteString(regexp.QuoteMeta(units(part)))
		}
	}
	re := regexp.MustCompile("(?s)^" + expr.String() + "$")
	return test{l.text + " matches " + quoted(glob.String()), func(env []any) bool {
		switch v := l.read(env).(type) {
		case string:
			return re.MatchString(units(v))
		case enum:
			return re.MatchString(string(v))
		}
		return false
	}}
}

// units writes every char of a text as one rune.
func units(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		if utf16.IsSurrogate(rune(u)) {
			b.WriteRune(0xF0000 + rune(u))
		} else {
			b.WriteRune(rune(u))
		}
	}
	return b.String()
}

// class asks what something is, or whether two things are the same.
func (w *writer) class() test {
	l := w.way("Object", "Priced", "Customer")
	switch w.IntN(3) {
	case 0:
		return test{l.text + " is shop.Line", func(env []any) bool {
			o, ok := l.read(env).(*object)
			return ok && o.class == "shop.Line"
		}}
	case 1:
		return test{l.text + " is shop.Gold", func(env []any) bool {
			o, ok := l.read(env).(*object)
			return ok && o.class == "shop.Gold"
		}}
	}
	l = w.way("Customer")
	r := w.way("Customer")
	return test{l.text + " == " + r.text, func(env []any) bool {
		a, ok := l.read(env).(*object)
		if !ok {
			return false
		}
		b, ok := r.read(env).(*object)
		return ok && a == b
	}}
}
