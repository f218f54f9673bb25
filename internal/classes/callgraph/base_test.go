package callgraph

import (
	"sync"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A whole java.base, not skipped: the largest program at hand. How long it takes is
// printed, not judged.
func TestBaseIsMirrored(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(jdk.Version, func(t *testing.T) {
			files := base(t, jdk)
			g := New(Settings{})
			begin := time.Now()
			for _, file := range files {
				add(t, g, file)
			}
			t.Logf("%d classes mirrored in %v", len(files), time.Since(begin))
			if missing := g.Missing(); len(missing) > 0 {
				t.Errorf("missing: %v", missing)
			}
			skipping := New(Settings{Skip: skipJDK})
			begin = time.Now()
			for _, file := range files {
				add(t, skipping, file)
			}
			t.Logf("skipped, in %v", time.Since(begin))

			root := oneMethod(t, g, "java/util/concurrent/ForkJoinTask", "join")
			begin = time.Now()
			e := g.Expand(root)
			t.Logf("%s: one step: %d methods, %v", root, len(e.Methods), time.Since(begin))
			begin = time.Now()
			ahead := g.Ahead([]classfile.MethodRef{root}, Limits{Depth: 8, Methods: 1000, Fan: 4})
			t.Logf("ahead: %d methods, %v", len(ahead), time.Since(begin))
			begin = time.Now()
			size := g.Closure([]classfile.MethodRef{root})
			t.Logf("closure: %+v, %v", size, time.Since(begin))
			if all := g.ExpandAll([]classfile.MethodRef{root}); size.Methods < len(all.Methods) {
				t.Errorf("closure of %d methods, but %d follow", size.Methods, len(all.Methods))
			}
		})
	}
}

// One goroutine adds what another expands.
func TestGoroutinesShareAGraph(t *testing.T) {
	jdk := jvmtest.Need(t, 17)
	_, files := compiled(t, jdk, "Calls.java", "Trace.java")
	g := New(Settings{Skip: skipJDK})
	roots := []classfile.MethodRef{{Class: "Calls", Name: "main", Descriptor: "([Ljava/lang/String;)V"}}
	var all sync.WaitGroup
	for _, work := range []func(){
		func() {
			for _, file := range files {
				if _, err := g.Add(file); err != nil {
					t.Error(err)
				}
			}
		},
		func() {
			for range files {
				g.ExpandAll(roots)
				g.Closure(roots)
				g.Ahead(roots, Limits{3, 100, 3})
			}
		},
		func() {
			for range files {
				g.Missing()
				g.Unknown()
				g.Has("Calls")
				g.Reflected(classfile.MethodRef{Class: "Animal", Name: "speak", Descriptor: "()V"})
				g.Find(func(m classfile.MethodRef) bool { return m.Class == "Calls" })
			}
		},
	} {
		all.Go(work)
	}
	all.Wait()
}
