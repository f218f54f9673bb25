package condition_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
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
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
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
		var e *condition.Error
		if errors.As(err, &e) && e.Kind == condition.Inaccessible && f.major != 0 && strings.Contains(x.text, "$this.inner") {
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
