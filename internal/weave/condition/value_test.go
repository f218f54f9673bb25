package condition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

// values of class Valued's methods, in the order of calls.
var values = []struct{ text, want string }{
	{"$1", "gold"}, {"$2", "5"}, {"$3", "-7"}, {"$4", "1.5"}, {"$5", "true"}, {"$6", "x"}, {"$7", "PAID"},
	{"$1.length()", "4"}, {"$8[0]", "one"}, {"$8[9]", "null"}, {"$9[\"k\"]", "null"}, {"$10", "77"}, {"$11", "null"},
	{"$12", strings.Repeat("z", condition.LongestValue)}, {"tx.tier", "gold"}, {"tx.tenant", "null"}, {"$13", "2.5"}, {"$14", "-1"},
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
	onEachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		dir := t.TempDir()
		f := compileFixture(t, jdk, writeGenerated(t, dir)...)
		template := f.template(t, "value")
		bound := make(map[string]*weave.Template)
		var want []string
		for i, v := range values {
			method := fmt.Sprintf("m%d", i)
			expr, err := condition.Parse(v.text)
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
