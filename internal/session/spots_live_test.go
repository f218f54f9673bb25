package session

import (
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// TestSpotsCountExactly watches one method three ways, beside its own hook: each
// counts the calls it is to, and no others; switched, changed and taken out as well.
func TestSpotsCountExactly(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := openPaths(t, jdk)
		all, within, chosen := methodOf("pay", Watches, "all"), methodOf("pay", Watches, "within"), methodOf("pay", Watches, "chosen")
		within.Below, chosen.Below = 2, 2
		chosen.Code = []weave.Lowered{p.conditionIn("Paths", "pay", condition.Entry, `$1.tier == "gold" && $2 > 100`)}
		spots := append(anchorsOf(), all, within, chosen)
		put(t, p.Session, arena.On|arena.Flat, "Paths.pay")
		if installed := p.watch(WatchRequest{Spots: spots}); len(installed.Batches) != 1 || len(p.LeftAlone()) != 0 {
			t.Fatalf("%d batches; left alone: %v", len(installed.Batches), p.LeftAlone())
		}
		want := tally{}
		check := func(when string, more tally) {
			t.Helper()
			want = tally{want.all + more.all, want.inOrder + more.inOrder, want.chosen + more.chosen}
			if have := (tally{p.calls(all), p.calls(within), p.calls(chosen)}); have != want {
				t.Errorf("%s: %+v, want %+v", when, have, want)
			}
		}
		done := p.order("run")
		check("on", done)
		p.isDescribed(chosen, "Paths.pay"+payment)
		if err := p.SwitchSpots(t.Context(), map[uint32]arena.Probe{p.SpotID(all): {}, p.SpotID(within): {}}); err != nil {
			t.Fatal(err)
		}
		check("two are off", tally{chosen: p.order("run").chosen})
		installed := p.watch(WatchRequest{Without: []Spot{chosen}, Spots: []Spot{within}})
		if len(installed.Batches) != 1 || installed.Batches[0].Classes != 1 {
			t.Errorf("taking one spot out of one class took %+v", installed.Batches)
		}
		check("one is out", tally{inOrder: p.order("run").inOrder})
		if live := told(t, p.Session, "Paths.pay").Calls; live != 3*done.all {
			t.Errorf("the hook of pay itself has counted %d calls of %d", live, 3*done.all)
		}
		if err := p.Unwatch(t.Context(), spots); err != nil {
			t.Fatal(err)
		}
		p.order("run")
		check("all are out", tally{})
		if live := told(t, p.Session, "Paths.pay").Calls; live != 4*done.all || len(p.Spots()) != 0 {
			t.Errorf("the hook of pay itself has counted %d calls of %d; left are %v", live, 4*done.all, p.Spots())
		}
	})
}

// TestSpotsOfAllForms has the JVM verify and run each template with code: a tag that is
// set further out, conditions at exits, values, and a constructor.
func TestSpotsOfAllForms(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := openPaths(t, jdk)
		tag := methodOf("web", Tags, "tier")
		tag.Tag, tag.Code = 1, []weave.Lowered{p.valueIn("Paths", "web", condition.Entry, "$1.tier")}
		tagged := methodOf("pay", Watches, "tagged")
		tagged.Code = []weave.Lowered{p.conditionIn("Paths", "pay", condition.Entry, `tx.tier == "gold"`)}
		late := methodOf("pay", Watches, "late")
		late.Form, late.Flags = Late, late.Flags|arena.Late
		late.Code = []weave.Lowered{nil, p.conditionIn("Paths", "pay", condition.Exit, "$return >= 500")}
		capturing := methodOf("pay", Watches, "capturing")
		capturing.Form, capturing.Code = Capturing, make([]weave.Lowered, 7)
		capturing.Code[2] = p.valueIn("Paths", "pay", condition.Entry, "$1.tier")
		capturing.Code[6] = p.valueIn("Paths", "pay", condition.Exit, "$return")
		made := Spot{Class: "Paths$Order", Name: "<init>", Descriptor: "(Ljava/lang/String;)V", Key: "made", Flags: arena.On | arena.Flat}
		made.Code = []weave.Lowered{p.conditionIn("Paths$Order", "<init>", condition.Entry, `$1 == "gold"`)}
		p.watch(WatchRequest{Spots: []Spot{tag, tagged, late, capturing, made}})
		if left := p.LeftAlone(); len(left) != 0 {
			t.Fatalf("left alone: %v", left)
		}
		done := p.order("run")
		var golden, great, orders uint64
		for amount := range int(done.all) {
			isGold, length := amount%3 == 0, len("silver")
			if isGold {
				length = len("gold")
				orders++
			}
			if isGold && amount%2 == 0 {
				golden++ // web
				orders++ // and once more to count it, where it is more than 100 or not
			}
			if amount%50 != 49 && length+amount >= 500 {
				great++
			}
		}
		for _, test := range []struct {
			spot Spot
			want uint64
		}{{tagged, golden}, {late, great}, {capturing, done.all}, {made, orders}} {
			if have := p.calls(test.spot); have != test.want || have == 0 {
				t.Errorf("%s: %d calls, want %d", test.spot.Key, have, test.want)
			}
		}
	})
}

// TestSpotsGoInAsClassesLoad has a class watched from its first call, and everything
// undone at the end.
func TestSpotsGoInAsClassesLoad(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := openPaths(t, jdk)
		late := Spot{Class: "Late", Name: "pay", Descriptor: payment, Key: "late", Below: 1, Flags: arena.On | arena.Flat}
		err := p.OnLoading(t.Context(), []string{"java/", "jdk/"}, func(class string, _ []byte) []Spot {
			if class == "Late" {
				return []Spot{late}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		p.watch(WatchRequest{Spots: anchorsOf()})
		if done := p.order("late"); p.calls(late) != done.all || done.all == 0 {
			t.Errorf("%d calls of %d in a class that has loaded", p.calls(late), done.all)
		}
		farewell, err := p.Close(t.Context())
		if err != nil || farewell.Restored.Classes != 2 || !farewell.Restored.Unmapped || len(farewell.Remarks) != 0 {
			t.Errorf("leaving: %+v, %v", farewell, err)
		}
		p.order("late") // goes on without hooks
	})
}

// TestContextGoesAlongWithTasks has orders paid in other threads, which carry the
// context of the one that handed them over.
func TestContextGoesAlongWithTasks(t *testing.T) {
	onJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		p := openPaths(t, jdk)
		within := methodOf("pay", Watches, "within")
		within.Below = 2
		spots := append(anchorsOf(), within)
		p.watch(WatchRequest{Spots: spots})
		if p.order("hand"); p.calls(within) != 0 {
			t.Errorf("%d calls have a context that nobody carries", p.calls(within))
		}
		p.watch(WatchRequest{HandOff: true})
		if len(p.notices) != 0 {
			t.Errorf("not followed: %q", p.notices)
		}
		for _, way := range []string{"hand", "stages"} {
			before := p.calls(within)
			if done := p.order(way); p.calls(within)-before != done.inOrder || done.inOrder == 0 {
				t.Errorf("%s: %d calls of %d have the context they were handed", way, p.calls(within)-before, done.inOrder)
			}
		}
		if err := p.Unwatch(t.Context(), spots); err != nil {
			t.Fatal(err)
		}
		farewell, err := p.Close(t.Context())
		if err != nil || farewell.Restored.Classes != 0 || len(farewell.Remarks) != 0 {
			t.Errorf("classes are still to be put back: %+v, %v", farewell, err)
		}
		p.order("hand")
	})
}
