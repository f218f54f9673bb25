package live

import (
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func TestOracleSeesTheSameTwice(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := Start(t, jdk, Attach, Calls, Shapes, Loading)
		p.Run(1)
		oracle := NewOracle(t, p)
		before := oracle.Methods("calls.", "shapes.")
		p.Run(20)
		for _, line := range before.Diff(oracle.Methods("calls.", "shapes.")) {
			t.Error(line)
		}
		named := func(m Method) bool { return m.Class == "calls.Plain" && m.Name == "addInts" && m.Descriptor == "(II)I" }
		if i := slices.IndexFunc(before, named); i < 0 || before[i].Code == before[i].Meaning {
			t.Errorf("calls.Plain.addInts is not among %d methods, or has no meaning of its own", len(before))
		}
		if slices.ContainsFunc(before, func(m Method) bool { return strings.HasPrefix(m.Class, "loading.") }) {
			t.Error("the oracle returned classes that were not requested")
		}
		if all := oracle.Methods(); len(all) < 1000 {
			t.Errorf("the oracle knows only %d methods", len(all))
		}
	})
}

func TestOracleSeesAnotherAgentsChange(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := Start(t, jdk, Attach, Neighbour)
		p.Run(1)
		oracle := NewOracle(t, p)
		before := oracle.Methods("neighbour.")
		agent := OtherAgent(t, jdk)
		p.Order(agent, "change neighbour.Spoken original-word changed;change neighbour.Spoken 1000003 7000007")
		for _, line := range before.Diff(oracle.Methods("neighbour.")) {
			t.Error("without a retransformation " + line)
		}
		p.Order(agent, "retransform neighbour.Spoken")
		changed := before.DiffMeaning(oracle.Methods("neighbour."))
		for _, method := range []string{" word ", " number "} {
			if !slices.ContainsFunc(changed, func(line string) bool { return strings.Contains(line, method) }) {
				t.Errorf("no change of%sin %q", method, changed)
			}
		}
		if len(changed) != 4 {
			t.Errorf("changed is %q, want two methods", changed)
		}
		if word, number := p.Say(); word != "changed" || number != 7000007 {
			t.Errorf("it says %s %d", word, number)
		}
		p.Order(agent, "forget;retransform neighbour.Spoken")
		for _, line := range before.Diff(oracle.Methods("neighbour.")) {
			t.Error(line)
		}
		if word, number := p.Say(); word != "original-word" || number != 1000003 {
			t.Errorf("it says %s %d", word, number)
		}
	})
}

func TestOracleSeesWhatIsAlive(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := Start(t, jdk, Attach, Loading, Blocking)
		p.Run(3)
		oracle := NewOracle(t, p)
		p.Block(1)
		alive := oracle.Live("loading.Isolating", "loading.Confining", "loading.Delegating", "loading.fresh.", "blocking.Main$Gate")
		if !slices.Contains(alive.Threads, "blocked-0") {
			t.Errorf("the blocked thread is not among %q", alive.Threads)
		}
		want := []LoadedClass{
			{"blocking.Main$Gate", "jdk.internal.loader.ClassLoaders$AppClassLoader", 1},
			{"loading.Confining", "jdk.internal.loader.ClassLoaders$AppClassLoader", 0},
			{"loading.Delegating", "jdk.internal.loader.ClassLoaders$AppClassLoader", 0},
			{"loading.Isolating", "jdk.internal.loader.ClassLoaders$AppClassLoader", 0},
		}
		if !slices.Equal(alive.Classes, want) || alive.Instances() != 1 {
			t.Errorf("alive is %v, want %v", alive.Classes, want)
		}
		if !slices.ContainsFunc(alive.Held, func(line string) bool { return strings.HasPrefix(line, "blocking.Main$Gate by ") }) {
			t.Errorf("nothing leads to the gate: %q", alive.Held)
		}
		p.Unblock()
		if after := oracle.Live("blocking.Main$Gate"); after.Instances() != 0 || slices.Contains(after.Threads, "blocked-0") {
			t.Errorf("alive after the end: %v", after)
		}
	})
}

func TestOracleSeesLoadersThatAreHeld(t *testing.T) {
	loaders := []string{"loading.Isolating", "loading.Confining", "loading.Delegating"}
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := Start(t, jdk, Attach, Loading)
		p.Keep()
		p.Again()
		oracle := NewOracle(t, p)
		alive := oracle.Live(append(loaders, "loading.fresh.")...)
		if len(alive.Classes) != 6 || alive.Instances() != 6 {
			t.Errorf("alive is %v, want three loaders and three objects", alive.Classes)
		}
		for _, held := range []string{
			"loading.fresh.Isolated by element of [Ljava.lang.Object;",
			"loading.Isolating by loader of loading.fresh.Isolated",
		} {
			if !slices.Contains(alive.Held, held) {
				t.Errorf("%q is not among %q", held, alive.Held)
			}
		}
		p.Drop()
		if after := oracle.Live(append(loaders, "loading.fresh.")...); len(after.Classes) != 3 || after.Instances() != 0 {
			t.Errorf("alive after the end: %v", after)
		}
	})
}
