package liveprobes

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

var update = flag.Bool("update", false, "write testdata/errors.txt")

// TestErrors compares what is said of sets that cannot be applied with testdata/errors.txt.
func TestErrors(t *testing.T) {
	f := newFake(t)
	var told strings.Builder
	tell := func(what string, set *probeset.Set) {
		w := f.watch(t, nil)
		_, err := w.Apply(t.Context(), set)
		if err == nil {
			t.Errorf("%s: no error", what)
			return
		}
		if len(f.requests) > 0 || len(f.spots) > 0 {
			t.Errorf("%s: something was done", what)
		}
		told.WriteString("# " + what + "\n" + err.Error() + "\n")
		var bad *condition.Error
		if errors.As(err, &bad) {
			told.WriteString(bad.Render() + "\n")
		}
		told.WriteString("\n")
	}
	when := func(method, text string) *probeset.Set {
		p := probeOf("p", method)
		p.When = text
		return &probeset.Set{Probes: []probeset.Probe{p}}
	}
	tell("an unknown member", when("shop.Pay.charge", `$cents > 3 && $1.tierr == "gold"`))
	tell("a member of the wrong type", when("shop.Pay.charge", `$1.tier > 3`))
	tell("a getter that writes", when("shop.Pay.charge", `$1.count() > 3`))
	tell("a part of it at the exit", when("shop.Pay.charge", `$1.tier == "gold" && $return > 3`))
	tell("several methods", when("shop.Audit.*", `$1.tier == "gold"`))
	tell("a tag that nobody sets", when("shop.Pay.charge", `tx.tier == "gold"`))
	tell("a hook in what it reads", &probeset.Set{Probes: []probeset.Probe{when("shop.Pay.charge", `$1.getTier() == "gold"`).Probes[0], probeOf("q", "shop.Customer.getTier")}})
	tag := when("shop.Pay.charge", `tx.tier == "gold"`)
	tag.Tags = []probeset.Tag{{Name: "tier", Value: "$1", At: "shop.Web.handle"}}
	tell("a tag that is no text", tag)
	tell("a native method", when("shop.Pay.settle", `$2 > 1`))
	capture := when("shop.Pay.charge", "")
	capture.Probes[0].Captures, capture.Probes[0].Level = []string{"$1.name"}, probeset.Capture
	tell("a capture", capture)
	within := when("shop.Pay.charge", "")
	within.Probes[0].Within = []string{strings.Repeat("shop.Web.handle >> ", 20) + "shop.Order.place", strings.Repeat("shop.Order.place >> ", 20) + "shop.Web.handle"}
	tell("too many elements", within)
	const golden = "testdata/errors.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(told.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if told.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", told.String(), want)
	}
}

// TestFitsSome: methods that a condition does not fit are left out and named.
func TestFitsSome(t *testing.T) {
	f := newFake(t)
	p := probeOf("p", "shop.*.*")
	p.When = `$1.tier == "gold"`
	report := apply(t, f.watch(t, nil), &probeset.Set{Probes: []probeset.Probe{p}})
	got := report.Probes[0]
	if strings.Join(f.with("probe"), " ") != "shop/Order.place shop/Pay.charge shop/Pay.check shop/Web.handle" {
		t.Errorf("%q", f.with("probe"))
	}
	var native, untyped bool
	for _, left := range got.LeftOut {
		native = native || left.Method == "shop.Pay.settle(Lshop/Customer;I)V" && errors.Is(left.Err, errNative)
		var bad *condition.Error
		untyped = untyped || left.Method == "shop.Pay.log(I)V" && errors.As(left.Err, &bad)
	}
	if !native || !untyped {
		t.Errorf("%+v", got.LeftOut)
	}
}

// TestLoading: a class that loads gets its hooks, and may take those away whose
// conditions it makes wrong.
func TestLoading(t *testing.T) {
	f := newFake(t)
	var notices []string
	w := f.watch(t, &notices)
	p := probeOf("p", "shop.*.charge")
	p.When = `$1.getTier() == "gold"`
	p.Within = []string{"shop.Web.handle >>"}
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	if len(f.excludes) == 0 {
		t.Error("the JDK's classes are shown as they load")
	}
	if got := f.load("shop/Mock"); len(got) != 1 || !strings.HasPrefix(got[0], "shop/Mock.charge(Lshop/Customer;I)Z#probe|p|") {
		t.Errorf("%q", got)
	}
	if len(notices) != 0 {
		t.Errorf("%q", notices)
	}
	if got := f.load("shop/Vip"); len(got) != 0 {
		t.Errorf("%q", got)
	}
	for _, member := range []string{"shop/Pay.charge", "shop/Mock.charge"} {
		if s := f.spot(t, member, "probe"); s.Flags != 0 {
			t.Errorf("%s goes on: %v", member, s.Flags)
		}
	}
	if len(notices) != 2 || !strings.Contains(strings.Join(notices, "\n"), "shop.Pay.charge(Lshop/Customer;I)Z is watched no more by probe p: class shop.Vip has loaded, and condition, column") {
		t.Errorf("%q", notices)
	}
	results, err := w.Results()
	if err != nil || len(results.Rows) != 2 || !results.Rows[0].Off || !results.Rows[1].Off {
		t.Errorf("%v, %+v", err, results)
	}
	// Then it fits none any more.
	if _, err := w.Apply(t.Context(), w.Set()); err == nil {
		t.Error("it was applied again")
	}
}

// TestLoadingMeanwhile: classes that load while a set is compiled wait for nobody; what
// they may make wrong is off until somebody has looked at them.
func TestLoadingMeanwhile(t *testing.T) {
	f := newFake(t)
	var notices []string
	w := f.watch(t, &notices)
	p := probeOf("p", "shop.*.charge")
	p.When = `$1.getTier() == "gold"`
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	w.queue.open()
	w.lock.Lock() // as a compiler has it
	if mock, vip := f.load("shop/Mock"), f.load("shop/Vip"); len(mock) != 0 || len(vip) != 0 {
		t.Errorf("%q, %q", mock, vip)
	}
	if s := f.spot(t, "shop/Pay.charge", "probe"); s.Flags != 0 {
		t.Errorf("it goes on: %v", s.Flags)
	}
	w.catchUp(w.compiler(w.plan))
	w.lock.Unlock()
	if len(notices) != 2 || w.queue.isOpen {
		t.Errorf("%q", notices)
	}
	p.When = `$1.tier == "gold"` // a field is what it is
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	if got := strings.Join(f.with("probe"), " "); got != "shop/Mock.charge shop/Pay.charge" {
		t.Error(got)
	}
}
