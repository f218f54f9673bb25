package condition_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

// TestBinding binds what does not fit.
func TestBinding(t *testing.T) {
	f := anyFixture(t)
	entry, err := check("$1 > 3", f.scope(t, "Subject", "half", condition.Entry))
	if err != nil {
		t.Fatal(err)
	}
	exit, err := check("$elapsed > 3ms", f.scope(t, "Subject", "half", condition.Exit))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		template string
		with     []weave.Lowered
		want     string
	}{
		{"entry", []weave.Lowered{entry}, ""},
		{"entry", []weave.Lowered{nil}, ""},
		{"entry", nil, "only 0 are given"},
		{"entry", []weave.Lowered{exit}, "or the reverse"},
		{"exit", []weave.Lowered{entry}, "or the reverse"},
		{"exit", []weave.Lowered{exit}, ""},
		{"exit", []weave.Lowered{nil}, ""},
		{"value", []weave.Lowered{entry}, "a value was given for a condition"},
		{"value", []weave.Lowered{nil}, ""},
		{"plain", nil, ""},
	} {
		_, err := f.template(t, x.template).Bind(x.with...)
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.template, err, x.want)
		}
	}
}

// TestUnbound leaves methods alone rather than weave a template that lacks its
// condition, or a condition into the wrong method.
func TestUnbound(t *testing.T) {
	f := anyFixture(t)
	c, err := check("$1 > 3", f.scope(t, "Subject", "half", condition.Entry))
	if err != nil {
		t.Fatal(err)
	}
	bound, err := f.template(t, "entry").Bind(c)
	if err != nil {
		t.Fatal(err)
	}
	for method, template := range map[string]*weave.Template{"half": f.template(t, "entry"), "noArguments": bound, "name": bound, "isGood": bound} {
		result, err := weave.NewWeaver().Weave(readFile(t, filepath.Join(f.dir, "app/Subject.class")), func(m weave.MethodInfo) []*weave.Template {
			if m.Name == method {
				return []*weave.Template{template}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var reason *weave.Reason
		if len(result.Methods) != 1 || !errors.As(result.Methods[0].Reason, &reason) || reason.Kind != weave.DoesNotFit {
			t.Errorf("%s: %+v", method, result.Methods)
		}
	}
}

// Methods whose ends are asked for; M is replaced by a name.
const (
	half = `    static int M(int n) {
        if (n < 0) {
            throw new IllegalArgumentException("negative");
        }
        int was = n;
        n /= 2;
        return was - was + n;
    }
`
	name = `    static String M(String s) {
        if ("bad".equals(s)) {
            throw new IllegalStateException(s);
        }
        return s == null ? null : s + "!";
    }
`
	wide = `    long M(long a, double b) {
        for (int i = 0; i < 3; i++) {
            a += i;
            if (a == 100) {
                throw new ArithmeticException();
            }
        }
        return a;
    }
`
	nothing = `    static void M(int[] a) {
        a[0] = 1;
    }
`
)

// ends are conditions at a method's exit, and their answers for calls. The clock is
// read once at entry and once at exit, and goes by 1 ms each time.
var ends = []struct{ method, text, calls, want string }{
	{half, "$return > 3", "0 9 -1", "0 1 0"},
	{half, "!($return > 3)", "0 9 -1", "1 0 1"},
	{half, "$return > 3 || $1 == -1", "0 9 -1", "0 1 1"},
	{half, "$n > 3 && $return == 4", "9 8 7", "1 1 0"}, // as they were when it began
	{half, "$exception != null", "4 -1", "0 1"},
	{half, "$exception == null", "4 -1", "1 0"},
	{half, "$exception is IllegalArgumentException", "4 -1", "0 1"},
	{half, "$exception is java.lang.IllegalStateException || $return == 2", "4 -1", "1 0"},
	{half, "$elapsed == 1ms", "4 -1", "1 1"},
	{half, "$elapsed > 999us && $elapsed < 0.002s && $return == 2", "4 -1", "1 0"},
	{half, "$elapsed > 1s", "4 -1", "0 0"},
	{half, "true", "4 -1", "1 1"},
	{half, "$return in (1, 2) || $exception != null && $1 in (-1, -2)", "2 4 6 -1 -3", "1 1 0 1 0"},
	{name, `$return == "a!"`, `"a" "b" null "bad"`, "1 0 0 0"},
	{name, "$return == null", `"a" null "bad"`, "0 1 0"},
	{name, "$return != null", `"a" null "bad"`, "1 0 0"},
	{name, `$return.length() > 3 || $s matches "b*"`, `"a" "abcd" "bad" null`, "0 1 1 0"},
	{name, `$return matches "*!" && $exception == null`, `"a" "bad"`, "1 0"},
	{wide, "$return == 4 && $a == 1 && $b > 0.5", "1,1 1,0", "1 0"},
	{wide, "$return == $1", "0,1 -3,1", "0 0"},
	{wide, "$this.own == 3 && ($return > 50 || $exception is ArithmeticException)", "99,0 98,0 0,0", "1 1 0"},
	{nothing, "$exception == null", "new,int[]{0} new,int[0] null", "1 0 0"},
	{nothing, "$1[0] == 1", "new,int[]{0} new,int[0] null", "1 0 0"},
	{nothing, "$1.length == 0 && $exception is ArrayIndexOutOfBoundsException", "new,int[]{0} new,int[0] null", "0 1 0"},
}

// TestExits asks at exits, of methods that return and throw.
func TestExits(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		dir := t.TempDir()
		f := compileFixture(t, jdk, writeGenerated(t, dir)...)
		template := f.template(t, "exit")
		bound := make(map[string]*weave.Template)
		for i, e := range ends {
			method := fmt.Sprintf("m%d", i)
			c, err := check(e.text, f.scope(t, "Ends", method, condition.Exit))
			if err != nil {
				t.Fatalf("%s: %v", e.text, err)
			}
			if bound[method], err = template.Bind(c); err != nil {
				t.Fatal(err)
			}
		}
		f.weave(t, "Ends", dir, bound)
		_, want := endsSource()
		compareLines(t, f.run(t, dir, "app.Ends"), want)
	})
}

// endsSource is a class with a method for each of ends, and a program that prints what
// it answers, which should be what is returned.
func endsSource() (source string, want []string) {
	var methods, calls strings.Builder
	for i, e := range ends {
		methods.WriteString(strings.Replace(e.method, " M(", fmt.Sprintf(" m%d(", i), 1))
		for j, call := range strings.Fields(e.calls) {
			if e.method == nothing {
				call = strings.Replace(call, ",", " ", 1)
			}
			fmt.Fprintf(&calls, "        Recorder.answer = -9;\n        try { one.m%d(%s); } catch (Throwable t) { }\n", i, call)
			fmt.Fprintf(&calls, "        System.out.println(%q + Recorder.answer);\n", fmt.Sprintf("%s for %s: ", e.text, call))
			want = append(want, fmt.Sprintf("%s for %s: %s", e.text, call, strings.Fields(e.want)[j]))
		}
	}
	return "package app;\n\npublic class Ends {\n    private int own = 3;\n\n" + methods.String() +
		"    public static void main(String[] args) {\n        Ends one = new Ends();\n" + calls.String() + "    }\n}\n", want
}

// writeGenerated writes the sources that are made here. They are compiled together, so
// once for all tests.
func writeGenerated(t *testing.T, dir string) []string {
	t.Helper()
	source, _ := endsSource()
	return []string{writeSource(t, dir, "Ends", source), writeSource(t, dir, "Made", made), writeSource(t, dir, "Valued", valuedSource())}
}

func compareLines(t *testing.T, out string, want []string) {
	t.Helper()
	got := strings.Split(strings.TrimSpace(out), "\n")
	for i, w := range want {
		if i >= len(got) || got[i] != w {
			t.Errorf("got  %s\nwant %s", got[min(i, len(got)-1)], w)
		}
	}
}

const made = `package app;

public class Made extends shop.Base {
    private int own;

    public Made(int own, String label) {
        super(own > 5 ? 1 : 2, label.length());
        this.own = own;
        if (own == 13) {
            throw new IllegalStateException();
        }
        own = 0;
    }

    static void make(int own, String label) {
        Recorder.answer = -9;
        try {
            new Made(own, label);
        } catch (Throwable t) {
            System.out.print(t.getClass().getSimpleName() + " ");
        }
        System.out.println(own + " " + label + ": " + Recorder.answer);
    }

    public static void main(String[] args) {
        make(3, "a");
        make(13, "b");
        make(3, null);
    }
}
`

// TestConstructors asks before and behind super(...). What throws before an object is
// there passes the exit by.
func TestConstructors(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		for _, x := range []struct {
			template, text string
			moment         condition.Moment
			want           []string
		}{
			{"entry", `$1 > 5 || $2 == "a"`, condition.Entry, []string{"3 a: 1", "IllegalStateException 13 b: 1", "NullPointerException 3 null: 0"}},
			{"odd", `$1 > 5 || $2.length == 1 && $own < 4`, condition.Entry, []string{"3 a: 1", "IllegalStateException 13 b: 1", "NullPointerException 3 null: 0"}},
			{"exit", `$this.own == $1 && $this.level == 2`, condition.Exit, []string{"3 a: 1", "IllegalStateException 13 b: 0", "NullPointerException 3 null: -9"}},
		} {
			dir := t.TempDir()
			f := compileFixture(t, jdk, writeGenerated(t, dir)...)
			c, err := check(x.text, f.scope(t, "Made", "<init>", x.moment))
			if err != nil {
				t.Fatal(err)
			}
			bound, err := f.template(t, x.template).Bind(c)
			if err != nil {
				t.Fatal(err)
			}
			f.weave(t, "Made", dir, map[string]*weave.Template{"<init>": bound})
			compareLines(t, f.run(t, dir, "app.Made"), x.want)
		}
	})
}

// values of class Valued's methods, in the order of calls.
var values = []struct{ text, want string }{
	{"$1", "gold"}, {"$2", "5"}, {"$3", "-7"}, {"$4", "1.5"}, {"$5", "true"}, {"$6", "x"}, {"$7", "PAID"},
	{"$1.length()", "4"}, {"$8[0]", "one"}, {"$8[9]", "null"}, {"$9[\"k\"]", "null"}, {"$10", "77"}, {"$11", "null"},
	{"$12", strings.Repeat("z", condition.LongestValue)}, {"tx.tier", "gold"}, {"tx.tenant", "null"}, {"$13", "2.5"}, {"$14", "-1"},
	{"$11 || $1", "gold"}, {"$1 || $11", "gold"}, {"$8[9] || $11 || $2", "5"}, {"$11 || $8[9]", "null"},
	{"$11 || $12", strings.Repeat("z", condition.LongestValue)},
}

// valuedSource is a class with a method for each of values.
func valuedSource() string {
	var methods, calls strings.Builder
	for i := range values {
		fmt.Fprintf(&methods, "    static void m%d(String a, int b, long c, double d, boolean e, char f, shop.Status g, java.util.List<String> h,"+
			" java.util.Map<String, String> i, Integer j, String k, String l, float m, byte n) { }\n", i)
		fmt.Fprintf(&calls, "        m%d(\"gold\", 5, -7L, 1.5, true, 'x', shop.Status.PAID, java.util.List.of(\"one\"), new java.util.LinkedHashMap<>(),"+
			" 77, null, \"z\".repeat(1000), 2.5f, (byte) -1);\n        System.out.println(Recorder.text);\n", i)
	}
	return "package app;\n\npublic class Valued {\n" + methods.String() + "\n    public static void main(String[] args) {\n" + calls.String() + "    }\n}\n"
}

// TestValues has texts of values made.
func TestValues(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		dir := t.TempDir()
		f := compileFixture(t, jdk, writeGenerated(t, dir)...)
		template := f.template(t, "value")
		bound := make(map[string]*weave.Template)
		var want []string
		for i, v := range values {
			method := fmt.Sprintf("m%d", i)
			expr, err := expr.Parse(v.text)
			if err != nil {
				t.Fatal(err)
			}
			c, err := condition.CheckValue(expr, f.scope(t, "Valued", method, condition.Entry))
			if err != nil {
				t.Fatal(err)
			}
			if bound[method], err = template.Bind(c); err != nil {
				t.Fatal(err)
			}
			want = append(want, v.want)
		}
		f.weave(t, "Valued", dir, bound)
		compareLines(t, f.run(t, dir, "app.Valued"), want)
	})
}
