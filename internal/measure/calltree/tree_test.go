package calltree

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
)

func TestTree(t *testing.T) {
	w := NewWorld(universe.Of(nil, loaded(t, "shop/Desk$Never", "shop/Bulk")))
	tree := w.Tree(roots(t, w, "shop.Desk.serve"), DefaultLimits())
	if got := outline(tree.Roots); got != served {
		t.Errorf("%s", got)
	}
	if tree.Cut != 0 || tree.Roots[0].Bytes == 0 || !slices.Equal(tree.Roots[0].Loaders, []uint32{1}) {
		t.Errorf("%+v", tree.Roots[0])
	}
	met := make(map[classfile.MethodRef]bool)
	nodes := 0
	tree.Each(func(n *Node) { met[n.MethodRef] = true; nodes++ })
	if tree.Methods != len(met) || tree.Nodes != nodes {
		t.Errorf("%d methods at %d places, told are %d at %d", len(met), nodes, tree.Methods, tree.Nodes)
	}
}

// TestOnlyLoadedClassesCount has a further override when a class loads, and a class that
// is not loaded named as such.
func TestOnlyLoadedClassesCount(t *testing.T) {
	limits := DefaultLimits()
	limits.Levels = 1
	w := NewWorld(universe.Of(nil, loaded(t, "shop/Desk$Square", "shop/Desk$Tall", "shop/Bulk")))
	got := outline(w.Tree(roots(t, w, "shop.Desk.serve"), limits).Roots)
	for _, want := range []string{"interface Desk$Never.area\n", "constructor Desk$Square.<init>: its class is not loaded\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
	if strings.Contains(got, "Tall") {
		t.Errorf("%s", got)
	}
}

// TestBounds has each bound told with what it cuts; nothing is lost without a word.
func TestBounds(t *testing.T) {
	w := NewWorld(universe.Of(nil, loaded(t, "shop/Desk$Never")))
	all := roots(t, w, "shop.Bulk.all")
	limits := Limits{Levels: 2, Overrides: 10, Breadth: 60, Nodes: 1000}
	for _, tt := range []struct {
		change func(*Limits)
		shown  int
		by     Bound
	}{
		{func(*Limits) {}, 60, ByBreadth},
		{func(l *Limits) { l.Breadth, l.Nodes = 10_000, 101 }, 100, ByNodes},
	} {
		limits := limits
		tt.change(&limits)
		tree := w.Tree(all, limits)
		root := tree.Roots[0]
		if len(root.Callees) != tt.shown || tree.Cut != bulkMethods-tt.shown || len(root.Cuts) != 1 ||
			root.Cuts[0].By != tt.by || root.Cuts[0].Methods != tree.Cut {
			t.Errorf("%v: %d shown, %d cut: %+v", tt.by, len(root.Callees), tree.Cut, root.Cuts)
		}
	}
	limits.Breadth, limits.Nodes = bulkMethods, bulkMethods+1
	if tree := w.Tree(all, limits); tree.Cut != 0 || tree.Methods != bulkMethods+1 {
		t.Errorf("%d methods, %d cut", tree.Methods, tree.Cut)
	}
	limits.Overrides = 1
	root := w.Tree(roots(t, w, "shop.Desk.serve"), limits).Roots[0]
	if len(root.Cuts) != 2 || root.Cuts[0].By != ByOverrides || root.Cuts[0].Methods != 2 || root.Cuts[0].Via.Declared.Name != "area" {
		t.Errorf("%+v", root.Cuts)
	}
	limits.Nodes = 10
	if tree := w.Tree(roots(t, w, "shop.Bulk.*"), limits); len(tree.Roots) != 10 || tree.RootsCut != bulkMethods+2-10 {
		t.Errorf("%d roots, %d cut", len(tree.Roots), tree.RootsCut)
	}
}

// TestClassesOfOneName unites what several loaders have.
func TestClassesOfOneName(t *testing.T) {
	classes := loaded(t, "shop/Bulk")
	again := classes[0]
	again.Loader = 2
	w := NewWorld(universe.Of(nil, append(classes, again, universe.Loaded{Name: "made/Up", Loader: 2}, universe.Loaded{Name: "shop/Desk$$Lambda/0x1", Reason: "hidden"})))
	if got := w.classes[again.Name].loaders; !slices.Equal(got, []uint32{1, 2}) {
		t.Errorf("%v", got)
	}
	if l := w.Loaders(); len(l) != 2 || l[1] != (Loader{Number: 2, Classes: 2, Example: "made/Up"}) || w.fileless != 1 {
		t.Errorf("%+v, %d without file", l, w.fileless)
	}
}

func TestStates(t *testing.T) {
	w := NewWorld(universe.Of(nil, loaded(t, "shop/Bulk")))
	serve := roots(t, w, "shop.Desk.serve")[0]
	get, mapped, parse := roots(t, w, "shop.Desk.get")[0], roots(t, w, "shop.Desk.map")[0], roots(t, w, "shop.Desk.parse")[0]
	tree := w.Tree([]classfile.MethodRef{serve}, DefaultLimits())
	few, more := tree.Watchable(3, false)
	all, none := tree.Watchable(1000, false)
	if len(few) != 3 || few[0] != serve || more != len(all)-3 || none != 0 {
		t.Errorf("%v and %d more, of %d", few, more, len(all))
	}
	if slices.ContainsFunc(all, func(m classfile.MethodRef) bool { return m.Name == "chip" || m.Name == "cry" }) {
		t.Errorf("%v", all)
	}
	tree.Mark(map[classfile.MethodRef]Hooked{serve: {Calls: 7}, get: {}, mapped: {Holder: "other"}})
	tree.Refuse(map[classfile.MethodRef]string{parse: "odd", {Class: "shop/Desk$Circle"}: "frozen"})
	want := map[string]State{"serve": Called, "get": NeverCalled, "map": Instrumented, "parse": Cannot, "helper": NotWatched}
	tree.Each(func(n *Node) {
		if state, is := want[n.Name]; is && n.State != state {
			t.Errorf("%s is %v", n.Name, n.State)
		}
		if n.Class == "shop/Desk$Circle" && (n.State != Cannot || n.Reason != "frozen") {
			t.Errorf("%+v", n)
		}
	})
}

func TestNoMethod(t *testing.T) {
	w := NewWorld(universe.Of(nil, loaded(t, "shop/Bulk")))
	for pattern, want := range map[string]string{
		"shop.Desk.serv":          "shop.Desk.serv matches shop.Desk, but no method of it; it has serve",
		"shop.Desk":               "shop.Desk is a class, not a method: shop.Desk.* matches all its methods",
		"desk.serve":              "no loaded class matches desk.serve; similar loaded classes are shop.Desk",
		"a.B.c":                   "no loaded class matches a.B.c: it may not have been used yet",
		"shop.Desk.chip":          "shop.Desk.chip is native and has no bytecode",
		"@shop.None":              "no method or class that is loaded carries @shop.None",
		"shop.Desk$Lonely.cry":    "shop.Desk$Lonely.cry has no bytecode, and no loaded class implements it",
		"shop.Desk.helper(short)": "shop.Desk.helper(short) matches shop.Desk, but no method of it; it has helper",
	} {
		_, err := w.Find(parsed(t, pattern))
		var missed *NoMethodError
		if !errors.As(err, &missed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

func TestFindImplementations(t *testing.T) {
	w := NewWorld(universe.Of(nil, loaded(t, "shop/Bulk")))
	found, err := w.Find(parsed(t, "shop.Desk$Shape.area"))
	var names []string
	for _, m := range found {
		names = append(names, strings.TrimPrefix(m.Class, "shop/Desk$")+"."+m.Name)
	}
	if got, want := strings.Join(names, " "), "Circle.area Never.area Square.area Tall.area"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestSnapshot(t *testing.T) {
	var file bytes.Buffer
	classes := []universe.Loaded{{Name: "a/B", Loader: 3, File: []byte{1, 2}}, {Name: "java/lang/Object", Reason: "never"}}
	if err := writeSnapshot(&file, classes); err != nil {
		t.Fatal(err)
	}
	data := file.Bytes()
	got := readSnapshot(bytes.NewReader(data))
	if len(got) != 2 || got[0].Name != "a/B" || got[0].Loader != 3 || !bytes.Equal(got[0].File, classes[0].File) || got[1].Reason != "never" || got[1].File != nil {
		t.Errorf("%+v", got)
	}
	if readSnapshot(bytes.NewReader(data[:len(data)/2])) != nil {
		t.Error("half of a snapshot was taken for one")
	}
}

// FuzzSnapshot reads any bytes as a snapshot of classes that was unpacked.
func FuzzSnapshot(f *testing.F) {
	encode := func(classes []universe.Loaded) *bytes.Buffer {
		var file bytes.Buffer
		if err := gob.NewEncoder(&file).Encode(snapshot{snapshotFormat, classes}); err != nil {
			f.Error(err)
		}
		return &file
	}
	f.Add(encode([]universe.Loaded{{Name: "a/A", Loader: 2, File: []byte{1}, Reason: "b", Supers: []string{"c"}}}).Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		classes := decodeSnapshot(bytes.NewReader(data))
		if len(classes) > len(data) {
			t.Errorf("%d classes in %d bytes", len(classes), len(data))
		}
		if len(classes) == 0 {
			return
		}
		want := fmt.Sprintf("%+v", classes) // gob does not tell an empty slice from none
		if got := fmt.Sprintf("%+v", decodeSnapshot(encode(classes))); got != want {
			t.Errorf("%s came back as %s", want, got)
		}
	})
}
