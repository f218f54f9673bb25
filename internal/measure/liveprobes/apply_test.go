package liveprobes

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

func probeOf(name string, methods ...string) probeset.Probe {
	return probeset.Probe{Name: name, Methods: methods, Level: probeset.Time}
}

func apply(t *testing.T, w *Watch, set *probeset.Set) *Report {
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
	p.Within = []string{"shop.Web.handle >> shop.Order.*", "shop.Order.place >"}
	report := apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}, HandOff: true})
	below, direct := f.spot(t, "shop/Pay.charge", "probe|pay|within shop.Web.handle"), f.spot(t, "shop/Pay.charge", "probe|pay|within shop.Order.place")
	if below.Below != 1<<1 || below.Direct != 0 || direct.Direct != 1<<2 || direct.Below != 0 {
		t.Errorf("%+v, %+v", below, direct)
	}
	web, place, note := f.spot(t, "shop/Web.handle", anchorKey), f.spot(t, "shop/Order.place", anchorKey), f.spot(t, "shop/Order.note", anchorKey)
	if web.First != 1 || place.Below != 1<<1 || place.First != 1<<2 || note.Below != 1<<1 || note.First != 0 || web.Kind != session.Anchors {
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
	one.Within = []string{"shop.Web.handle"}
	one.When = "$elapsed > 1ms"
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
	if len(f.requests) != 1 || len(f.switched) != 1 || pay.Flags != arena.On|arena.Flat|arena.Late || pay.Form != session.Late {
		t.Errorf("%d requests, %d switched, %v", len(f.requests), len(f.switched), pay.Flags)
	}
	if err := w.End(t.Context(), "pay"); err != nil {
		t.Fatal(err)
	}
	if len(f.spots) != 1 || len(f.requests[1].Without) != 2 || len(w.Set().Probes) != 1 {
		t.Errorf("%v", f.spots)
	}
	if err := w.End(t.Context(), "pay"); err == nil || !strings.Contains(err.Error(), "there is no probe pay; there is place") {
		t.Error(err)
	}
	// A position that meant something else before has paths begin anew.
	three := probeOf("idle", "shop.Web.idle")
	three.Within = []string{strings.Repeat("shop.Order.place >> ", 27) + "shop.Order.place"}
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{three}})
	if last := f.requests[len(f.requests)-1]; !last.Fresh {
		t.Error("paths go on")
	}
}

func TestForms(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	p := probeOf("pay", "shop.Pay.check")
	p.When = `$who.tier == "gold" && $return == true`
	p.Captures = []string{"$2", "$1.getPassword()", "$password", "$return"}
	p.Level = probeset.Capture
	p.SlowerThan = time.Millisecond
	p.Levels = 2
	report := apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	s := f.spot(t, "shop/Pay.check", "probe")
	if s.Form != session.Capturing || s.Flags != arena.On|arena.Flat|arena.Root|arena.Traced|arena.Late {
		t.Errorf("%v %v", s.Form, s.Flags)
	}
	given := make([]bool, len(s.Code))
	for i, code := range s.Code {
		_, isWithheld := code.(withheld)
		given[i] = code != nil && !isWithheld
	}
	if want := []bool{true, true, true, false, false, false, true}; !slices.Equal(given, want) {
		t.Errorf("%v", given)
	}
	if got := report.Probes[0].Redacted; !slices.Equal(got, []string{"$1.getPassword()", "$password"}) {
		t.Errorf("%q", got)
	}
	name, _ := w.Names().Spot(f.SpotID(s))
	want := []CaptureName{{Index: 0, Text: "$2"}, {Index: 1, Text: "$1.getPassword()", Redacted: true}, {Index: 2, Text: "$password", Redacted: true}, {Index: ExitCapture, Text: "$return"}}
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
	p.Captures, p.Level = []string{"$3", "$3.length()"}, probeset.Capture
	report := apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	if got := report.Probes[0].Redacted; !slices.Equal(got, []string{"$3", "$3.length()"}) {
		t.Errorf("%q", got)
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
	set := &probeset.Set{Probes: []probeset.Probe{p}, Tags: []probeset.Tag{{Name: "pw", Value: "$password", At: "shop.Pay.check"}}}
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
	if s := f.spot(t, "shop/Pay.check", "probe"); s.Form != session.Capturing {
		t.Errorf("%v", s.Form)
	}
	p.Template, p.When = probeset.PlainTemplate, "$return == true"
	if _, err := w.Apply(t.Context(), &probeset.Set{Probes: []probeset.Probe{p}}); !errors.Is(err, errPlain) {
		t.Errorf("%v", err)
	}
}
