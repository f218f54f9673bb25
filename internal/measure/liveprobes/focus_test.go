package liveprobes

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

var (
	handle = classfile.MethodRef{Class: "shop/Web", Name: "handle", Descriptor: "(Lshop/Customer;I)Z"}
	place  = classfile.MethodRef{Class: "shop/Order", Name: "place", Descriptor: "(Lshop/Customer;I)Z"}
)

// TestNarrow checks that only methods in focus have hooks that are on, and that nothing is removed.
func TestNarrow(t *testing.T) {
	f := newFake(t)
	w := newProbes(f, theLibrary(f.image), newShared(), Options{Focus: true})
	p := probeOf("web", "shop.Web.handle")
	p.Level, p.Levels = probeset.Trace, 100
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	if got := f.with(insideKey); len(got) > 0 || w.IsOpen(handle) {
		t.Errorf("at first %q, open: %t", got, w.IsOpen(handle))
	}
	on := func() (members []string) {
		for _, s := range f.spots {
			if s.Key == insideKey && s.Flags != 0 {
				members = append(members, s.Class+"."+s.Name)
			}
		}
		slices.Sort(members)
		return members
	}
	for _, step := range []struct {
		path, open   []classfile.MethodRef
		depth, woven int
		on           []string
		isPlaceOpen  bool
	}{
		{[]classfile.MethodRef{handle}, []classfile.MethodRef{handle}, 1, 3, []string{"shop/Order.<init>", "shop/Order.place", "shop/Pay.apply"}, false},
		{[]classfile.MethodRef{handle, place}, []classfile.MethodRef{place}, 1, 2, []string{"shop/Order.note", "shop/Order.place", "shop/Pay.apply", "shop/Pay.charge"}, true},
		{[]classfile.MethodRef{handle, place}, []classfile.MethodRef{place}, 2, 3, []string{"shop/Audit.write", "shop/Order.note", "shop/Order.place", "shop/Pay.apply", "shop/Pay.charge", "shop/Pay.check", "shop/Pay.log"}, true},
		{[]classfile.MethodRef{handle}, []classfile.MethodRef{handle}, 1, 0, []string{"shop/Order.<init>", "shop/Order.place", "shop/Pay.apply"}, false},
	} {
		woven, n, err := w.Narrow(t.Context(), w.Set(), "web", step.path, step.open, step.depth)
		if err != nil {
			t.Fatal(err)
		}
		if got := on(); !slices.Equal(got, step.on) || woven != step.woven || n != len(step.on) || w.IsOpen(place) != step.isPlaceOpen || !w.IsOpen(handle) {
			t.Errorf("open %v: got %q, %d new, %d on, place open: %t, want %+v", step.open, got, woven, n, w.IsOpen(place), step)
		}
	}
	for _, request := range f.requests {
		if len(request.Remove.Spots) > 0 {
			t.Errorf("removed %v, want nothing: that changes classes", request.Remove.Spots)
		}
	}
	if m, is := w.MethodOf(f.SpotID(f.spot(t, "shop/Order.place", insideKey))); !is || m != place {
		t.Errorf("got %v, want %v", m, place)
	}
	if got := w.Roots(); !slices.Equal(got, []classfile.MethodRef{handle}) {
		t.Errorf("got %v, want %v", got, handle)
	}
}

// TestNarrowByOtherWays checks that an own method in focus gets hooks, and what it calls, even if no method in focus calls it, and
// that excluded methods have none.
func TestNarrowByOtherWays(t *testing.T) {
	f := newFake(t)
	w := newProbes(f, theLibrary(f.image), newShared(), Options{Focus: true})
	p := probeOf("web", "shop.Web.handle")
	p.Level, p.Levels = probeset.Trace, 100
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	charge := classfile.MethodRef{Class: "shop/Pay", Name: "charge", Descriptor: "(Lshop/Customer;I)Z"}
	narrow := func() (on []string) {
		if _, _, err := w.Narrow(t.Context(), w.Set(), "web", []classfile.MethodRef{handle}, []classfile.MethodRef{handle, charge}, 1); err != nil {
			t.Fatal(err)
		}
		for _, s := range f.spots {
			if s.Key == insideKey && s.Flags != 0 {
				on = append(on, s.Class+"."+s.Name)
			}
		}
		slices.Sort(on)
		return on
	}
	if got, want := narrow(), []string{"shop/Order.<init>", "shop/Order.place", "shop/Pay.apply", "shop/Pay.charge", "shop/Pay.check", "shop/Pay.log"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	w.Exclude([]classfile.MethodRef{place})
	if got := narrow(); slices.Contains(got, "shop/Order.place") || !slices.Contains(got, "shop/Pay.charge") {
		t.Errorf("got %q, want no hook in place", got)
	}
}

// TestRead checks that the files of other classes than those of the probes are known after they were read, if they are loaded.
func TestRead(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{probeOf("web", "shop.Web.handle")}})
	if got := w.Digest("shop/Pay"); got != "" {
		t.Fatalf("before: got %s, want nothing", got)
	}
	if err := w.Read(t.Context(), map[string]bool{"shop/Pay": true, late[0]: true, "java/lang/String": true}); err != nil {
		t.Fatal(err)
	}
	if got, want := w.Digest("shop/Pay"), fmt.Sprintf("%x", sha256.Sum256(f.files["shop/Pay"])); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, class := range []string{late[0], "shop/Order"} {
		if got := w.Digest(class); got != "" {
			t.Errorf("%s: got %s, want nothing", class, got)
		}
	}
}

// TestValues checks that what can be read without side effects is found, and no secret.
func TestValues(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	p := probeOf("web", "shop.Web.handle")
	p.Level = probeset.Trace
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{p}})
	var got []string
	for _, v := range w.Values(handle) {
		got = append(got, v.Name+" "+v.Expr.Text())
	}
	if want := []string{"customer.tier $1.tier", "customer.orders $1.orders", "cents $2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRaise checks that what a method with a goal calls has hooks only while the goal is raised, and that other traces stay as
// they are.
func TestRaise(t *testing.T) {
	f := newFake(t)
	w := f.watch(t, nil)
	goal, other := probeOf("goal", "shop.Web.handle"), probeOf("note", "shop.Order.note")
	goal.Goal, goal.Levels = true, 100
	other.Level = probeset.Trace
	apply(t, w, &probeset.Set{Probes: []probeset.Probe{goal, other}})
	root := func() arena.Flags { return f.spot(t, "shop/Web.handle", "probe").Flags }
	before, flags, called := f.with(insideKey), root(), []classfile.MethodRef{handle}
	for range 2 {
		woven, _, err := w.Raise(t.Context(), "goal", called, called, 1)
		if got, want := f.with(insideKey), []string{"shop/Order.<init>", "shop/Order.place", "shop/Pay.apply"}; err != nil || woven != 3 || !slices.Equal(without(got, before), want) {
			t.Errorf("got %q, %d new, %v, want %q more than %q", got, woven, err, want, before)
		}
		if got, want := root(), arena.On|arena.Flat|arena.Root|arena.Traced|arena.Here|arena.Timed; got != want {
			t.Errorf("got flags %v, want %v", got, want)
		}
		if err := w.SetLevel(t.Context(), "goal", probeset.Time); err != nil {
			t.Fatal(err)
		}
		if got := f.with(insideKey); !slices.Equal(got, before) || root() != flags {
			t.Errorf("got %q, %v, want %q, %v", got, root(), before, flags)
		}
	}
	if _, _, err := w.Raise(t.Context(), "gone", called, called, 1); err == nil {
		t.Error("a probe that does not exist was raised")
	}
}

func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(others, s) })
}
