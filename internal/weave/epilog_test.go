package weave_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// TestFailingEpilog: blocks nest, the target's inside the template's. What an epilog
// throws goes to the caller, and never to a handler of the target, though that covers
// the target's return.
func TestFailingEpilog(t *testing.T) {
	jdk := anyJDK(t)
	j := compileJava(t, jdk, "8")
	for _, major := range oldAndNew {
		for _, templates := range [][]string{{"failing"}, {"probe", "failing"}, {"rich", "failing"}, {"failing", "probe"}, {"failing", "rich"}} {
			b := classtest.NewBuilder(major, "Covered")
			a := asm().Label("top").Ops("iload_0", "ireturn").
				Label("handler").Op("pop").Op("bipush", int8(9)).Op("ireturn").Catch("top", "handler", "handler", 0)
			run(b, a, 2, 1, at{"handler", types(intType), types(object(b, "java/lang/Throwable"))})
			result, err := weaveCalmly(b.Bytes(), j.pick(t, templates...))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "Covered.class"), result.Bytes)
			outcome := jvmtest.Run(t, jdk, "-Xverify:all", "-cp", j.dir, "RunAll", dir)
			const thrown = " java.lang.IllegalStateException: the epilog failed"
			own, told := split(outcome.Stdout)
			if want := "Covered.class:" + strings.Repeat(thrown, 5) + " depth 0"; !strings.HasSuffix(strings.TrimSpace(own), want) {
				t.Errorf("version %d, %v\n gives %s want  …%s\n%s", major, templates, own, want, outcome.Stderr)
			}
			if n := strings.Count(told, "failing"); n != 5 {
				t.Errorf("version %d, %v: five calls, and %d epilogs ran", major, templates, n)
			}
		}
	}
}
