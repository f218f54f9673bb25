package callgraph

import (
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A program says who called whom. Each such call must follow from expanding the
// caller alone; only targets of reflection and handles may need Reflected.
func TestCallsOfARunningProgramAreFound(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(jdk.Version, func(t *testing.T) {
			compareWithRun(t, jdk, "Calls", "Calls.java", "Trace.java")
			if jdk.Major >= 21 {
				compareWithRun(t, jdk, "Newer", "Newer.java", "Trace.java")
			}
		})
	}
}

func compareWithRun(t *testing.T, jdk jvmtest.JDK, mainClass string, sources ...string) {
	t.Helper()
	dir, files := compiled(t, jdk, sources...)
	out := jvmtest.Run(t, jdk, "-cp", dir, mainClass)
	if out.Exit != 0 {
		t.Fatalf("exit %d: %s", out.Exit, out.Stderr)
	}
	callees := make(map[classfile.MethodRef][]classfile.MethodRef)
	for line := range strings.Lines(out.Stdout) {
		words := strings.Fields(line)
		if len(words) != 3 || words[0] != "call" {
			t.Fatalf("line %q", line)
		}
		caller, ok := classfile.ParseMethodRef(words[1])
		callee, both := classfile.ParseMethodRef(words[2])
		if !ok || !both {
			t.Fatalf("no methods: %q", words)
		}
		if caller != callee && !slices.Contains(callees[caller], callee) {
			callees[caller] = append(callees[caller], callee)
		}
	}
	pairs := 0
	for caller, expected := range callees {
		g := mirror(t, base(t, jdk), files)
		e := g.Expand(caller)
		var missed []classfile.MethodRef
		for _, callee := range expected {
			pairs++
			if !slices.Contains(e.Methods, callee) {
				missed = append(missed, callee)
			}
		}
		if e.Reflects || e.Handles {
			// A static initialiser must follow from the reflected methods, without Reflected.
			var reflected []classfile.MethodRef
			for _, m := range missed {
				if m.Name != "<clinit>" {
					reflected = append(reflected, g.Reflected(m)...)
				}
			}
			missed = slices.DeleteFunc(missed, func(m classfile.MethodRef) bool { return slices.Contains(reflected, m) })
		}
		if len(missed) > 0 {
			t.Errorf("%s: not found: %v\nof %v", caller, missed, e.Methods)
		}
	}
	t.Logf("%s: %d calls by %d methods", mainClass, pairs, len(callees))
}
