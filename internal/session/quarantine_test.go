package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestARefusedClassIsFoundAndNamed has a class in the batch whose initialiser has
// failed: a JVM refuses the whole batch for it.
func TestARefusedClassIsFoundAndNamed(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach.With("-XX:-ClassUnloading"), live.Construction, live.Calls)
		p.Run(1)
		s := open(t, p)
		installation := put(t, s, arena.On, "construction.**", "calls.**")
		if n := len(installation.Batches); n < 3 {
			t.Errorf("%d batches, want the first and its parts", n)
		}
		// The last part of what was halved again and again is the class alone.
		if alone := smallest(installation.Batches); alone != 1 {
			t.Errorf("the smallest batch has %d classes", alone)
		}
		if left := s.LeftAlone(); len(left) != 1 || left[0].Class != "construction/fresh/Failing" || left[0].Method != "" ||
			!strings.HasPrefix(left[0].Reason, "the JVM refused it: ") || strings.Contains(left[0].Reason, "\n") {
			t.Errorf("left alone: %q", left)
		}
		before := p.Counts()
		p.Run(2)
		have := make(live.Counts)
		for _, m := range s.Methods() {
			totals := told(t, s, m.String())
			have[m.Class+"."+m.Name+m.Descriptor] = live.Count{Entered: int64(totals.Calls), Threw: int64(totals.Threw)}
		}
		for _, line := range p.Counts().Minus(before).Diff(have) {
			t.Error(line)
		}
		if !hooked(s, "construction.fresh.Failing.<clinit>") {
			t.Error("a class of the name that was loaded later has no hooks")
		}
	})
}

func smallest(batches []Batch) int {
	least := batches[0].Classes
	for _, batch := range batches {
		least = min(least, batch.Classes)
	}
	return least
}

// TestWhatCannotHaveHooksIsNamed asks for classes of each kind that has none.
func TestWhatCannotHaveHooksIsNamed(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := live.Start(t, jdk, live.Attach.With("-XX:-ClassUnloading"), live.Dynamic, live.Loading)
		p.Run(1)
		s := open(t, p)
		put(t, s, arena.On, "dynamic.**", "loading.**", "java.lang.Thread.getName", "java.lang.Object.*", "jdk.internal.misc.Unsafe.putInt")
		for class, reason := range map[string]string{
			"dynamic/Secret/":           "the JVM does not let it be changed",
			"dynamic/Lambdas$$Lambda":   "the JVM does not let it be changed",
			"loading/fresh/Confined":    "its class loader does not see the hooks: it does not find java.lang.SondeHooks",
			"java/lang/Thread":          "hooks ask it which thread they run in",
			"java/lang/Object":          "every object begins with it",
			"jdk/internal/misc/Unsafe":  "hooks are made of it",
			"loading/fresh/Isolated":    "",
			"loading/fresh/Delegated":   "",
			"dynamic/Generated$Handler": "",
		} {
			if told := reasonFor(s, class); !strings.HasPrefix(told, reason) || reason == "" && told != "" {
				t.Errorf("%s was left alone: %q, want %q", class, told, reason)
			}
		}
		for _, m := range s.Methods() {
			whole := LeftAlone{Class: m.Class, Reason: reasonFor(s, m.Class)}
			if slices.Contains(s.LeftAlone(), whole) {
				t.Errorf("%s has a hook, and is said to be left alone: %s", m, whole.Reason)
			}
		}
		p.Check()
	})
}
