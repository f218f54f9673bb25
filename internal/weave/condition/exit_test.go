package condition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

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
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
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
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
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
