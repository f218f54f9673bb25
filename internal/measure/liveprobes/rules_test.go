package liveprobes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/spec/spectest"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
)

func ruleOf(when probeset.When, classes ...string) probeset.Rule {
	return probeset.Rule{Classes: spectest.Classes(classes...), When: when}
}

// leftBy are the classes that are left out with a reason, as class: reason.
func leftBy(all []probes.LeftOut) (texts []string) {
	for _, l := range all {
		texts = append(texts, l.Method+": "+l.Err.Error())
	}
	slices.Sort(texts)
	return texts
}

// TestRulesOfLoadedClasses: the column of the table for classes that are loaded already.
func TestRulesOfLoadedClasses(t *testing.T) {
	for _, test := range []struct {
		when probeset.When
		left string
	}{
		{probeset.Static, ""},
		{probeset.Dynamic, ""},
		{probeset.Load, "shop.Pay: rule shop.Pay says load, and the class was already loaded"},
		{probeset.Never, "shop.Pay: rule shop.Pay says never"},
	} {
		f := newFake(t)
		w := f.watch(t, nil)
		set := &probeset.Set{Probes: []probeset.Probe{probeOf("pay", "shop.Pay.charge", "shop.Order.place")}, Weave: []probeset.Rule{ruleOf(test.when, "shop.Pay")}}
		report := apply(t, w, set)
		want, left := []string{"shop/Order.place", "shop/Pay.charge"}, []string(nil)
		if test.left != "" {
			want, left = want[:1], []string{test.left}
		}
		if got := f.with("probe"); !slices.Equal(got, want) {
			t.Errorf("%v: hooks in %q, want %q", test.when, got, want)
		}
		if got := leftBy(report.Probes[0].LeftOut); !slices.Equal(got, left) || !slices.Equal(leftBy(w.LeftOut()), left) {
			t.Errorf("%v: left %q, want %q", test.when, got, left)
		}
		if len(report.Probes[0].Unmatched) != 0 {
			t.Errorf("%v: %q", test.when, report.Probes[0].Unmatched)
		}
	}
}

// TestRulesOfLoadingClasses: the column for those that are loading.
func TestRulesOfLoadingClasses(t *testing.T) {
	for _, test := range []struct {
		when probeset.When
		left string
	}{
		{probeset.Static, ""},
		{probeset.Load, ""},
		{probeset.Dynamic, "shop.Mock: rule shop.M* says dynamic, so the class gets hooks at the next sonde apply"},
		{probeset.Never, "shop.Mock: rule shop.M* says never"},
	} {
		f := newFake(t)
		w := f.watch(t, nil)
		set := &probeset.Set{Probes: []probeset.Probe{probeOf("pay", "**.charge")}, Weave: []probeset.Rule{ruleOf(test.when, "shop.Vip", "shop.M*")}}
		apply(t, w, set)
		if names := f.load("shop/Vip"); len(names) != 0 || w.Awaits() != 0 { // it has nothing that is named
			t.Errorf("%v: %q, %d classes await a set", test.when, names, w.Awaits())
		}
		got := f.load("shop/Mock")
		if isLeft := len(got) == 0; isLeft != (test.left != "") {
			t.Errorf("%v: hooks %q", test.when, got)
		}
		if left := leftBy(w.LeftOut()); strings.Join(left, "") != test.left {
			t.Errorf("%v: left %q, want %q", test.when, left, test.left)
		}
		if waits := w.Awaits(); (waits == 1) != (test.when == probeset.Dynamic) {
			t.Errorf("%v: %d classes await a set", test.when, waits)
		}
		// What has hooks keeps them, and what has none gets none, while nobody applies a set.
		before := f.with("probe")
		if err := w.SetLevel(t.Context(), "pay", probeset.Count); err != nil {
			t.Fatal(err)
		}
		if after := f.with("probe"); !slices.Equal(after, before) {
			t.Errorf("%v: hooks in %q, before in %q", test.when, after, before)
		}
		apply(t, w, set)
		want := []string{"shop/Mock.charge", "shop/Pay.charge"}
		if test.when == probeset.Never {
			want = want[1:]
		}
		if got := f.with("probe"); !slices.Equal(got, want) || w.Awaits() != 0 {
			t.Errorf("%v: applied again hooks are in %q", test.when, got)
		}
	}
}

// TestRulesChange: hooks go out of classes that may have none any more, and into those
// that may now.
func TestRulesChange(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	set := func(rules ...probeset.Rule) *probeset.Set {
		return &probeset.Set{Probes: []probeset.Probe{probeOf("all", "shop.Pay.**", "shop.Order.**")}, Weave: rules}
	}
	isIn := func(class string) bool {
		return slices.ContainsFunc(f.with("probe"), func(m string) bool { return strings.HasPrefix(m, class+".") })
	}
	apply(t, w, set(ruleOf(probeset.Never, "shop.Pay")))
	if isIn("shop/Pay") || !isIn("shop/Order") {
		t.Fatalf("%q", f.with("probe"))
	}
	report := apply(t, w, set(ruleOf(probeset.Never, "shop.Order")))
	if !isIn("shop/Pay") || isIn("shop/Order") || report.Woven == 0 || report.Removed == 0 || len(report.Changes) != 2 {
		t.Errorf("%q, %+v", f.with("probe"), report)
	}
	if got := w.Set().YAML(); !strings.Contains(string(got), "weave:\n  - classes: shop.Order\n    when: never\n") {
		t.Errorf("what is applied is written without its rules:\n%s", got)
	}
	apply(t, w, set())
	if !isIn("shop/Pay") || !isIn("shop/Order") {
		t.Errorf("%q", f.with("probe"))
	}
}

// TestRulesOfAnchorsAndTags: effects of rules are reported by name, once.
func TestRulesOfAnchorsAndTags(t *testing.T) {
	f := newFake(t)
	var notices []string
	w := f.watch(t, &notices)
	p := probeOf("pay", "shop.Pay.charge")
	p.Within = spectest.Sequences("shop.Web.handle >> shop.Order.*", "shop.Order.place")
	p.GroupBy = []string{"tier"}
	set := &probeset.Set{
		Probes: []probeset.Probe{p}, Tags: []probeset.Tag{{Name: "tier", Value: spectest.Expr("$1.tier"), At: spectest.Pattern("shop.Web.handle")}},
		HandOff: true, Weave: []probeset.Rule{ruleOf(probeset.Never, "shop.Web", "java.util.concurrent.**")},
	}
	report := apply(t, w, set)
	want := []string{
		"probe pay measures nothing within shop.Web.handle >> shop.Order.*, because shop.Web (matched by shop.Web.handle) gets no hooks: rule shop.Web says never",
		"tag tier has no value: shop.Web, where it is read, has no hooks: rule shop.Web says never",
		"context and tags do not follow tasks to other threads: rule java.util.concurrent.** says never",
	}
	if !slices.Equal(notices, want) || !slices.Equal(report.Warnings, want) {
		t.Errorf("have %q\nwant %q", notices, want)
	}
	if got := leftBy(report.Probes[0].LeftOut); !slices.Equal(got, []string{"shop.Web: rule shop.Web says never; so methods of this class do not count as elements of the sequence shop.Web.handle >> shop.Order.*"}) {
		t.Errorf("%q", got)
	}
	if got := leftBy(report.Tags[0].LeftOut); !slices.Equal(got, []string{"shop.Web: rule shop.Web says never"}) {
		t.Errorf("%q", got)
	}
	if got := f.with("anchor"); slices.Contains(got, "shop/Web.handle") || !slices.Contains(got, "shop/Order.place") || f.requests[0].HandOff {
		t.Errorf("anchors %q, hand-off %t", got, f.requests[0].HandOff)
	}
	if err := w.SetLevel(t.Context(), "pay", probeset.Count); err != nil || len(notices) != len(want) {
		t.Errorf("%v, reported again: %q", err, notices)
	}
}

// TestRulesOfTraces: methods of classes that are left alone belong to no trace.
func TestRulesOfTraces(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	p := probeOf("web", "shop.Web.handle")
	p.Level = probeset.Trace
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}, Weave: []probeset.Rule{ruleOf(probeset.Never, "shop.Order", "shop.Mock")}})
	got := f.with(insideKey)
	if !slices.Contains(got, "shop/Pay.charge") || slices.Contains(got, "shop/Order.place") {
		t.Errorf("%q", got)
	}
	if got := f.load("shop/Mock"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// shy is a JVM that records the classes whose files are read.
type shy struct {
	*fake
	touched []string
}

func (s *shy) Prefetch(ctx context.Context, wanted, named func(class string) bool) ([]universe.Loaded, error) {
	loaded, err := s.fake.Prefetch(ctx, wanted, named)
	for _, c := range loaded {
		s.touched = append(s.touched, c.Name)
	}
	return loaded, err
}

// TestRulesKeepHandsOff: an excluded class is not redefined to read its file, and a condition
// that fits no method of other classes is still an error.
func TestRulesKeepHandsOff(t *testing.T) {
	f := &shy{fake: newFake(t)}
	w := newProbes(f, theLibrary(f.image), newShared(), Options{})
	set := &probeset.Set{Probes: []probeset.Probe{probeOf("all", "shop.*.*")}, Weave: []probeset.Rule{ruleOf(probeset.Never, "shop.Pay"), ruleOf(probeset.Load, "shop.Order")}}
	apply(t, w, set)
	if slices.Contains(f.touched, "shop/Pay") || slices.Contains(f.touched, "shop/Order") || !slices.Contains(f.touched, "shop/Web") {
		t.Errorf("%q", f.touched)
	}
	set.Probes = []probeset.Probe{probeOf("pay", "**.charge", "shop.Web.handle")}
	set.Probes[0].When = spectest.Expr("$nobody == 3")
	var unfit *probes.UnfitError
	if _, err := w.Apply(t.Context(), set); !errors.As(err, &unfit) || !strings.HasPrefix(unfit.First.Method, "shop.Web.handle") {
		t.Errorf("%v", err)
	}
}

// TestTagNames: other looks at the JVM may have the first numbers.
func TestTagNames(t *testing.T) {
	w := &Probes{numbers: map[string]int32{"tier": 2, "kind": 1}}
	if names := w.tagNames(); !slices.Equal(names, []string{"", "kind", "tier"}) {
		t.Errorf("%q", names)
	}
}

// TestOutermostOfACategory: methods of a category are anchors, inside which its probes do not act.
func TestOutermostOfACategory(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	pay, order := probeOf("pay", "shop.Pay.charge"), probeOf("order", "shop.Order.place")
	pay.Category, pay.Direction = "db", probeset.Out
	order.Category, order.Direction = "db", probeset.Out
	set := &probeset.Set{Probes: []probeset.Probe{pay, order, probeOf("free", "shop.Pay.charge")}}
	apply(t, w, set)
	if got, want := f.with("anchor"), []string{"shop/Order.place", "shop/Pay.charge"}; !slices.Equal(got, want) {
		t.Errorf("anchors are %q, not %q", got, want)
	}
	a, b, free := f.spot(t, "shop/Pay.charge", "probe|pay"), f.spot(t, "shop/Order.place", "probe|order"), f.spot(t, "shop/Pay.charge", "probe|free")
	anchor := f.spot(t, "shop/Pay.charge", "anchor")
	if a.Outside == 0 || a.Outside != b.Outside || anchor.First != a.Outside || a.Below|a.Direct != 0 || free.Outside != 0 {
		t.Errorf("outside %b and %b, the anchor is %b, another probe %b", a.Outside, b.Outside, anchor.First, free.Outside)
	}
}

// TestOptionalRules: what does not fit a program is left out of Sonde's own rules, and an error in a file.
func TestOptionalRules(t *testing.T) {
	for _, isOptional := range []bool{false, true} {
		f := newFake(t)
		w := f.watch(t, nil)
		unfit := probeOf("unfit", "shop.Pay.charge")
		unfit.When = spectest.Expr("$this.noSuchField == 1")
		set := &probeset.Set{Probes: []probeset.Probe{unfit, probeOf("order", "shop.Order.place")}, Optional: isOptional}
		_, err := w.Apply(context.Background(), set)
		var wrong *probes.UnfitError
		if errors.As(err, &wrong) == isOptional || isOptional && err != nil {
			t.Errorf("optional %v: %v", isOptional, err)
		}
		if got := f.with("probe"); isOptional && !slices.Equal(got, []string{"shop/Order.place"}) {
			t.Errorf("hooks in %q", got)
		}
	}
}

// TestConditionsFitLater: a condition that needs a class which is not loaded yet is compiled when it has loaded.
func TestConditionsFitLater(t *testing.T) {
	f := newFake(t)
	f.absent = append(f.absent, "shop/Customer")
	w := f.watch(t, nil)
	gold := probeOf("gold", "shop.Pay.charge")
	gold.When = spectest.Expr(`$1.tier == "gold"`)
	report := apply(t, w, &probeset.Set{Probes: []probeset.Probe{gold}, Optional: true})
	if got := f.with("probe"); len(got) != 0 || len(report.Probes[0].LeftOut) != 1 {
		t.Fatalf("hooks in %q, left out %v", got, report.Probes[0].LeftOut)
	}
	if names := f.load("shop/Customer"); len(names) != 1 || !strings.HasPrefix(names[0], "shop/Pay.charge(") {
		t.Errorf("the class brings %q", names)
	}
	if left := w.LeftOut(); len(left) != 0 || report.Probes[0].LeftOut[0].Err == nil {
		t.Errorf("left out are %v, and before %v", left, report.Probes[0].LeftOut)
	}
}
