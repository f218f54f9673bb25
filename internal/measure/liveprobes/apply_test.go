package liveprobes

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	ownpackages "github.com/sonde-jvm/sonde/internal/classes/own"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/spec/spectest"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

func probeOf(name string, methods ...string) probeset.Probe {
	return probeset.Probe{Name: name, Methods: spectest.Patterns(methods...), Level: probeset.Time}
}

func apply(t *testing.T, w *Probes, set *probeset.Set) *Report {
	t.Helper()
	report, err := w.Apply(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestSequences(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	p := probeOf("pay", "shop.Pay.charge", "shop.Pay.apply")
	p.Within = spectest.Sequences("shop.Web.handle >> shop.Order.*", "shop.Order.place >")
	report := apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}, HandOff: true})
	below, direct := f.spot(t, "shop/Pay.charge", "probe|pay|within shop.Web.handle"), f.spot(t, "shop/Pay.charge", "probe|pay|within shop.Order.place")
	if below.Below != 1<<1 || below.Direct != 0 || direct.Direct != 1<<2 || direct.Below != 0 {
		t.Errorf("%+v, %+v", below, direct)
	}
	web, place, note := f.spot(t, "shop/Web.handle", "anchor"), f.spot(t, "shop/Order.place", "anchor"), f.spot(t, "shop/Order.note", "anchor")
	if web.First != 1 || place.Below != 1<<1 || place.First != 1<<2 || note.Below != 1<<1 || note.First != 0 || web.Kind != instrument.Anchors {
		t.Errorf("%+v, %+v, %+v", web, place, note)
	}
	request := f.requests[0]
	if !request.HandOff || !slices.Contains(request.Bridges, "shop/Pay.apply(Ljava/lang/Object;)Ljava/lang/Object;") {
		t.Errorf("%+v", request.Bridges)
	}
	if got := report.Probes[0]; !slices.Equal(got.Methods, []string{"shop.Pay.apply(Ljava/lang/Integer;)Ljava/lang/String;", "shop.Pay.charge(Lshop/Customer;I)Z"}) || len(got.Unmatched) != 0 || got.Anchors != 4 {
		t.Errorf("%+v", got)
	}
	if below.Flags != arena.On|arena.Flat|arena.Timed {
		t.Errorf("%v", below.Flags)
	}
}

// TestApplyAgain: what does not change is not touched; levels are switched, not woven.
func TestApplyAgain(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	one, two := probeOf("pay", "shop.Pay.charge"), probeOf("place", "shop.Order.place")
	one.Within = spectest.Sequences("shop.Web.handle")
	one.When = spectest.Expr("$elapsed > 1ms")
	set := &probeset.Set{Probes: []probeset.Probe{one, two}}
	if got := apply(t, w, set); got.Woven != 3 || got.Removed != 0 || got.Switched != 0 || len(got.Changes) != 2 {
		t.Errorf("%+v", got)
	}
	if got := apply(t, w, set); got.Woven+got.Removed+got.Switched+len(got.Changes) != 0 || len(f.requests) != 1 {
		t.Errorf("%+v, %d requests", got, len(f.requests))
	}
	if err := w.SetLevel(t.Context(), "pay", probeset.Count); err != nil {
		t.Fatal(err)
	}
	pay := f.spot(t, "shop/Pay.charge", "probe")
	if len(f.requests) != 1 || len(f.switched) != 1 || pay.Flags != arena.On|arena.Flat|arena.Late || pay.Form != instrument.Late {
		t.Errorf("%d requests, %d switched, %v", len(f.requests), len(f.switched), pay.Flags)
	}
	pays := []End{{Probe: "pay", Why: EndedByTime}}
	if ended, err := w.end(t.Context(), pays); err != nil || !slices.Equal(ended, pays) {
		t.Fatal(ended, err)
	}
	if len(f.spots) != 1 || len(f.requests[1].Remove.Spots) != 2 || len(w.Set().Probes) != 1 {
		t.Errorf("%v", f.spots)
	}
	if ended, err := w.end(t.Context(), pays); err != nil || len(ended) > 0 || len(f.requests) != 2 {
		t.Errorf("ended twice: %v, %v, %d requests", ended, err, len(f.requests))
	}
	if err := w.SetLevel(t.Context(), "pay", probeset.Count); err == nil || !strings.Contains(err.Error(), "there is no probe pay; the probes are place") {
		t.Error(err)
	}
	// A position that meant something else before resets paths.
	three := probeOf("idle", "shop.Web.idle")
	three.Within = spectest.Sequences(strings.Repeat("shop.Order.place >> ", 27) + "shop.Order.place")
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{three}})
	if last := f.requests[len(f.requests)-1]; !last.ResetPaths {
		t.Error("paths go on")
	}
}

func TestForms(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	p := probeOf("pay", "shop.Pay.check")
	p.When = spectest.Expr(`$who.tier == "gold" && $return == true`)
	p.Captures = spectest.Exprs("$2", "$1.getPassword()", "$password", "$return")
	p.Level = probeset.Capture
	p.SlowerThan = time.Millisecond
	p.Levels = 2
	report := apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	s := f.spot(t, "shop/Pay.check", "probe")
	if s.Form != instrument.Capturing || s.Flags != arena.On|arena.Flat|arena.Root|arena.Traced|arena.Late {
		t.Errorf("%v %v", s.Form, s.Flags)
	}
	given := make([]bool, len(s.Code))
	for i, code := range s.Code {
		given[i] = code != nil && fmt.Sprintf("%T", code) != "probes.withheld"
	}
	if want := []bool{true, true, true, false, false, false, true}; !slices.Equal(given, want) {
		t.Errorf("%v", given)
	}
	if got := report.Probes[0].Redacted; !slices.Equal(got, []string{"$1.getPassword()", "$password"}) {
		t.Errorf("%q", got)
	}
	name := w.Names().Spots[f.SpotID(s)]
	want := []probes.CaptureName{{Index: 0, Text: "$2"}, {Index: 1, Text: "$1.getPassword()", Redacted: true}, {Index: 2, Text: "$password", Redacted: true}, {Index: probes.ExitCapture, Text: "$return"}}
	if !slices.Equal(name.Captures, want) || !name.Conditional || name.Probe != "pay" {
		t.Errorf("%+v", name)
	}
	if err := w.SetLevel(t.Context(), "pay", probeset.Trace); err != nil {
		t.Fatal(err)
	}
	if s := f.spot(t, "shop/Pay.check", "probe"); s.Flags&arena.Here == 0 || len(f.requests) != 1 {
		t.Errorf("%v", s.Flags)
	}
	p.Allow = []string{"password"}
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	if s := f.spot(t, "shop/Pay.check", "probe"); s.Code[3] == nil || s.Code[4] == nil {
		t.Error("what is allowed is not read")
	}
}

// TestSecretParameter: a number stands for a parameter whose name is on the list.
func TestSecretParameter(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	p := probeOf("pay", "shop.Pay.check")
	p.Captures, p.Level = spectest.Exprs("$3", "$3.length()"), probeset.Capture
	report := apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	if got := report.Probes[0].Redacted; !slices.Equal(got, []string{"$3", "$3.length()"}) {
		t.Errorf("%q", got)
	}
}

// TestWideCalls checks that calls of types such as Iterator are followed into the program's own classes,
// and elsewhere only where they were seen.
func TestWideCalls(t *testing.T) {
	list := classfile.MethodRef{Class: "pages/Pages", Name: "list", Descriptor: "(Ljava/util/Iterator;)I"}
	hasNext := classfile.MethodRef{Class: "far/Cursor", Name: "hasNext", Descriptor: "()Z"}
	own, seen := []string{"pages/Own.hasNext", "pages/Own.next"}, []string{"far/Cursor.hasNext", "far/Cursor.step"}
	for _, test := range []struct {
		name    string
		options Options
		want    []string
	}{
		{"own", Options{}, own},
		{"seen", Options{Seen: map[Call]bool{{list, hasNext}: true}}, append(slices.Clone(seen), own...)},
		{"given", Options{Own: ownpackages.Given([]string{"far"})}, append([]string{"far/Cursor.hasNext", "far/Cursor.next", "far/Cursor.step"}, own...)},
	} {
		f := newFake(t)
		w := newProbes(f, theLibrary(f.image), newShared(), test.options)
		p := probeOf("pages", "pages.Pages.list")
		p.Level, p.Levels = probeset.Trace, 3
		apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
		if got := f.with(insideKey); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		// The same holds for classes that load later.
		late := f.load("far/Late")
		if want := test.name == "given"; (len(late) > 0) != want {
			t.Errorf("%s: a class that loads later gets %q", test.name, late)
		}
	}
}

// TestInsideLibraries checks that methods of libraries are traced where the program calls them, and the program's
// own methods wherever libraries call them back.
func TestInsideLibraries(t *testing.T) {
	outer, inner := []string{"far/Engine.run", "pages/Job.work"}, []string{"far/Engine.inner", "far/Engine.run", "pages/Job.work"}
	for own, want := range map[string][]string{"pages": outer, "far": inner} {
		f := newFake(t)
		w := newProbes(f, theLibrary(f.image), newShared(), Options{Own: ownpackages.Given([]string{own})})
		p := probeOf("job", "pages.Job.submit")
		p.Level, p.Levels = probeset.Trace, 3
		apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
		if got := f.with(insideKey); !slices.Equal(got, want) {
			t.Errorf("own %s: %q, want %q", own, got, want)
		}
	}
}

// TestConstructorsOfLibraries checks that they are not traced; those of the program are.
func TestConstructorsOfLibraries(t *testing.T) {
	for own, want := range map[string]bool{"shop": true, "pages": false} {
		f := newFake(t)
		w := newProbes(f, theLibrary(f.image), newShared(), Options{Own: ownpackages.Given([]string{own})})
		p := probeOf("web", "shop.Web.handle")
		p.Level = probeset.Trace
		apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
		if got := f.with(insideKey); slices.Contains(got, "shop/Order.<init>") != want || !slices.Contains(got, "shop/Order.place") {
			t.Errorf("own %s: %q", own, got)
		}
	}
}

// TestExplore checks that only what was called is followed, level by level.
func TestExplore(t *testing.T) {
	f := newFake(t)
	w := newProbes(f, theLibrary(f.image), newShared(), Options{Lazy: true})
	p := probeOf("web", "shop.Web.handle")
	p.Level, p.Levels = probeset.Trace, 3
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	first := []string{"shop/Order.<init>", "shop/Order.place", "shop/Pay.apply"}
	if got := f.with(insideKey); !slices.Equal(got, first) {
		t.Errorf("at first %q, want %q", got, first)
	}
	called := func(member string) {
		f.sum.Methods[f.SpotID(f.spot(t, member, insideKey))] = &arena.Totals{Calls: 1}
	}
	called("shop/Order.place")
	traced, err := w.Explore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"shop/Order.<init>", "shop/Order.note", "shop/Order.place", "shop/Pay.apply", "shop/Pay.charge"}
	if got := f.with(insideKey); !slices.Equal(got, want) || *traced != (Traced{Methods: len(want), Classes: 2}) {
		t.Errorf("%+v, %q, want %q", traced, got, want)
	}
	if n := w.Unexplored(); n != 0 {
		t.Errorf("%d methods are unexplored", n)
	}
	called("shop/Pay.charge")
	if n := w.Unexplored(); n != 1 {
		t.Errorf("%d methods are unexplored, want 1", n)
	}
}

func TestTraces(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	p := probeOf("web", "shop.Web.handle")
	p.Level, p.Levels = probeset.Trace, 3
	report := apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	want := []string{"shop/Audit.write", "shop/Order.<init>", "shop/Order.note", "shop/Order.place", "shop/Pay.apply", "shop/Pay.charge", "shop/Pay.check", "shop/Pay.log"}
	if got := f.with(insideKey); !slices.Equal(got, want) || report.Probes[0].Traced != len(want) {
		t.Errorf("%q, %+v", got, report.Probes[0])
	}
	if s := f.spot(t, "shop/Order.place", insideKey); s.Flags != arena.On|arena.Flat|arena.Inside|arena.Traced || f.levels != 3 {
		t.Errorf("%v", s.Flags)
	}
	// What loads later and may be called belongs to it as well, and so does what that calls.
	if got := f.load("shop/Mock"); !slices.Equal(got, []string{"shop/Mock.charge(Lshop/Customer;I)Z#inside"}) {
		t.Errorf("%q", got)
	}
	// A lower level leaves the hooks in, switched off; nothing is woven to raise it again.
	for _, level := range []probeset.Level{probeset.Time, probeset.Trace} {
		requests := len(f.requests)
		if err := w.SetLevel(t.Context(), "web", level); err != nil {
			t.Fatal(err)
		}
		if s := f.spot(t, "shop/Order.place", insideKey); len(f.requests) != requests || (s.Flags != 0) != (level == probeset.Trace) {
			t.Errorf("%v: %v, %d requests", level, s.Flags, len(f.requests)-requests)
		}
	}
}

// TestATagShowsNoSecret: what is redacted where it is captured is no tag either.
func TestATagShowsNoSecret(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	p := probeOf("pay", "shop.Pay.check")
	set := &probeset.Set{Probes: []probeset.Probe{p}, Tags: []probeset.Tag{{Name: "pw", Value: spectest.Expr("$password"), At: spectest.Pattern("shop.Pay.check")}}}
	if _, err := w.Apply(t.Context(), set); err == nil || !strings.Contains(err.Error(), "allow that name") {
		t.Errorf("%v", err)
	}
	set.Probes[0].Allow = []string{"password"}
	apply(t, w, set)
}

// TestATemplateIsAtLeastWhatIsAskedFor: a richer hook than a probe needs, and none that
// is too lean for it.
func TestATemplateIsAtLeastWhatIsAskedFor(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	p := probeOf("pay", "shop.Pay.check")
	p.Template = probeset.CaptureTemplate
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	if s := f.spot(t, "shop/Pay.check", "probe"); s.Form != instrument.Capturing {
		t.Errorf("%v", s.Form)
	}
	p.Template, p.When = probeset.PlainTemplate, spectest.Expr("$return == true")
	if _, err := w.Apply(t.Context(), &probeset.Set{Probes: []probeset.Probe{p}}); err == nil || !strings.Contains(err.Error(), `write "template: late"`) {
		t.Errorf("%v", err)
	}
}

var update = flag.Bool("update", false, "write testdata/errors.txt")

// TestErrors compares what is said of sets that cannot be applied with testdata/errors.txt.
func TestErrors(t *testing.T) {
	f := newFake(t)
	var shown strings.Builder
	check := func(what string, set *probeset.Set) {
		w := f.watch(t, nil)
		_, err := w.Apply(t.Context(), set)
		if err == nil {
			t.Errorf("%s: no error", what)
			return
		}
		if len(f.requests) > 0 || len(f.spots) > 0 {
			t.Errorf("%s: something was done", what)
		}
		shown.WriteString("# " + what + "\n" + err.Error() + "\n")
		var bad *expr.Error
		if errors.As(err, &bad) {
			shown.WriteString(bad.Caret() + "\n" + strings.TrimSuffix(bad.Detail+"\n"+bad.Remedy, "\n") + "\n")
		}
		shown.WriteString("\n")
	}
	when := func(method, text string) *probeset.Set {
		p := probeOf("p", method)
		if text != "" {
			p.When = spectest.Expr(text)
		}
		return &probeset.Set{Probes: []probeset.Probe{p}}
	}
	check("an unknown member", when("shop.Pay.charge", `$cents > 3 && $1.tierr == "gold"`))
	check("a member of the wrong type", when("shop.Pay.charge", `$1.tier > 3`))
	check("a getter that writes", when("shop.Pay.charge", `$1.count() > 3`))
	check("a part of it at the exit", when("shop.Pay.charge", `$1.tier == "gold" && $return > 3`))
	check("several methods", when("shop.Audit.*", `$1.tier == "gold"`))
	check("a tag that nobody sets", when("shop.Pay.charge", `tx.tier == "gold"`))
	check("a hook in what it reads", &probeset.Set{Probes: []probeset.Probe{when("shop.Pay.charge", `$1.getTier() == "gold"`).Probes[0], probeOf("q", "shop.Customer.getTier")}})
	tag := when("shop.Pay.charge", `tx.tier == "gold"`)
	tag.Tags = []probeset.Tag{{Name: "tier", Value: spectest.Expr("$1"), At: spectest.Pattern("shop.Web.handle")}}
	check("a tag that is no text", tag)
	check("a native method", when("shop.Pay.settle", `$2 > 1`))
	capture := when("shop.Pay.charge", "")
	capture.Probes[0].Captures, capture.Probes[0].Level = spectest.Exprs("$1.name"), probeset.Capture
	check("a capture", capture)
	within := when("shop.Pay.charge", "")
	within.Probes[0].Within = spectest.Sequences(strings.Repeat("shop.Web.handle >> ", 20)+"shop.Order.place", strings.Repeat("shop.Order.place >> ", 20)+"shop.Web.handle")
	check("too many elements", within)
	const golden = "testdata/errors.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(shown.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if shown.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", shown.String(), want)
	}
}

// TestFitsSome: methods that a condition does not fit are left out and named.
func TestFitsSome(t *testing.T) {
	f := newFake(t)
	p := probeOf("p", "shop.*.*")
	p.When = spectest.Expr(`$1.tier == "gold"`)
	report := apply(t, f.watch(t, nil), &probeset.Set{Probes: []probeset.Probe{p}})
	got := report.Probes[0]
	if strings.Join(f.with("probe"), " ") != "shop/Order.place shop/Pay.charge shop/Pay.check shop/Web.handle" {
		t.Errorf("%q", f.with("probe"))
	}
	var native, untyped bool
	for _, left := range got.LeftOut {
		native = native || left.Method == "shop.Pay.settle(Lshop/Customer;I)V" && strings.HasPrefix(left.Err.Error(), "it is native")
		var bad *expr.Error
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
	p.When = spectest.Expr(`$1.getTier() == "gold"`)
	p.Within = spectest.Sequences("shop.Web.handle >>")
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	if len(f.follower.Excludes) == 0 {
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
	if len(notices) != 2 || !strings.Contains(strings.Join(notices, "\n"), "probe p was switched off in shop.Pay.charge(Lshop/Customer;I)Z, because class shop.Vip was loaded: condition, column") {
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
	p.When = spectest.Expr(`$1.getTier() == "gold"`)
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	w.queue.open()
	w.lock.Lock() // as during compilation
	if mock, vip := f.load("shop/Mock"), f.load("shop/Vip"); len(mock) != 0 || len(vip) != 0 {
		t.Errorf("%q, %q", mock, vip)
	}
	if s := f.spot(t, "shop/Pay.charge", "probe"); s.Flags != 0 {
		t.Errorf("it goes on: %v", s.Flags)
	}
	w.catchUp(w.plan)
	w.lock.Unlock()
	if len(notices) != 2 || w.queue.isOpen {
		t.Errorf("%q", notices)
	}
	p.When = spectest.Expr(`$1.tier == "gold"`) // a field is what it is
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	if got := strings.Join(f.with("probe"), " "); got != "shop/Mock.charge shop/Pay.charge" {
		t.Error(got)
	}
}
