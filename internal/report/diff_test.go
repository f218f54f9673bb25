package report

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/diff"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/html"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

// compare compares one run with another.
func compare(before, after *cct.Profile) *diff.Difference {
	return diff.Compare([]*cct.Profile{before}, []*cct.Profile{after})
}

func TestDiffText(t *testing.T) {
	after := reporttest.Shop(1.5)
	after.Target.JDK = "25.0.3"
	pay := after.Merged.Children[0]
	pay.Children = pay.Children[1:] // socketRead0 was hottest
	reporttest.SumUp(after.Merged)
	after.Threads = nil // they have it still
	for i, width := range []int{0, 80} {
		var out bytes.Buffer
		if err := text.WriteDiff(&out, compare(reporttest.Shop(1), after), 2, width); err != nil {
			t.Fatal(err)
		}
		reporttest.Golden(t, []string{"diff.txt", "diff80.txt"}[i], out.Bytes())
	}
}

func TestDiffIsPerRootCall(t *testing.T) {
	long := reporttest.Shop(1)
	long.Merged = reporttest.ShopTree(1, 15)
	if d := compare(reporttest.Shop(1), long); slicesAnySure(d.Methods) || d.Total.Low > 0 || d.Total.High < 0 {
		t.Errorf("a run ten times as long differs: %+v", d)
	}
}

func TestDiffJSON(t *testing.T) {
	var out bytes.Buffer
	if err := document.Write(&out, document.NewDiff(compare(reporttest.Shop(1), reporttest.Shop(1.5)), 3)); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Before struct {
			RootCalls int `json:"rootCalls"`
		}
		Methods []struct {
			Path    []string
			Verdict string
			Change  []float64
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Before.RootCalls != 3000 || len(got.Methods) != 3 || got.Methods[0].Path[0] != "com.example.shop.Cart.total" || got.Methods[0].Verdict != "slower" || got.Methods[0].Change[0] != 62500 {
		t.Errorf("%s", out.Bytes())
	}
}

// steady is a profile of a program that never changes: handle calls place and render,
// place calls store twice in one of four calls, store calls query.
func steady(roots uint64) *cct.Profile {
	timed := func(method int, part, each float64, children ...*cct.Node) *cct.Node {
		calls := uint64(part * float64(roots))
		nanos := each * float64(calls)
		return &cct.Node{Method: method, Calls: calls, Timed: calls, Self: cct.Time{Nanos: nanos, Low: nanos * 0.99, High: nanos * 1.01}, Spread: each / 2, Children: children}
	}
	query := timed(4, 0.5, 900e3)
	store := timed(3, 0.5, 60e3, query)
	p := &cct.Profile{
		Timing: cct.Auto, Took: 10 * time.Second,
		Merged: &cct.Node{Method: -1, Children: []*cct.Node{timed(0, 1, 10e3, timed(1, 1, 100e3, store), timed(2, 1, 30e3))}},
	}
	for _, name := range []string{"handle", "place", "render", "store", "query"} {
		p.Methods = append(p.Methods, cct.Method{Class: "a/B", Name: name, Descriptor: "()V"})
	}
	reporttest.SumUp(p.Merged)
	return p
}

// unhooked is the same run with no hook in a method: what it took is its callers', and
// what it called is called by these.
func unhooked(p *cct.Profile, name string) *cct.Profile {
	var lift func(n *cct.Node)
	lift = func(n *cct.Node) {
		var kept []*cct.Node
		for _, c := range n.Children {
			lift(c)
			if p.Methods[c.Method].Name != name {
				kept = append(kept, c)
				continue
			}
			n.Self = n.Self.Plus(c.Self)
			kept = append(kept, c.Children...)
		}
		n.Children = kept
	}
	lift(p.Merged)
	return p
}

// quieted is such a run of which the profile says that the hook was off.
func quieted(p *cct.Profile, name string) *cct.Profile {
	for i, m := range p.Methods {
		if m.Name == name {
			p.Quiet = append(p.Quiet, cct.Quiet{Method: i, Reason: "dear"})
		}
	}
	return unhooked(p, name)
}

// unlisted is such a run that never had the hook.
func unlisted(p *cct.Profile, name string) *cct.Profile {
	unhooked(p, name)
	p.Methods[len(p.Methods)-1], p.Methods = cct.Method{}, p.Methods[:len(p.Methods)-1]
	return p
}

// TestHooksThatWereOffAreNoChange compares runs of an unchanged program that differ
// in what was measured.
func TestHooksThatWereOffAreNoChange(t *testing.T) {
	counted := steady(1000)
	query := counted.Merged.Children[0].Children[0].Children[0].Children[0]
	store := counted.Merged.Children[0].Children[0].Children[0]
	store.Self, query.Self, query.Timed = store.Self.Plus(query.Self), cct.Time{}, 0

	late := steady(1000)
	place := late.Merged.Children[0].Children[0]
	for _, n := range []*cct.Node{place.Children[0], place.Children[0].Children[0]} {
		n.Calls, n.Timed = n.Calls/4, n.Timed/4
		missed := cct.Time{Nanos: n.Self.Nanos * 0.75, Low: n.Self.Low * 0.75, High: n.Self.High * 0.75}
		n.Self = cct.Time{Nanos: n.Self.Nanos - missed.Nanos, Low: n.Self.Low - missed.Low, High: n.Self.High - missed.High}
		place.Self = place.Self.Plus(missed)
		late.Quiet = append(late.Quiet, cct.Quiet{Method: n.Method, On: late.Took / 4, Reason: "chosen late"})
	}
	for name, tt := range map[string]struct {
		before, after *cct.Profile
		said          string
	}{
		"off after":          {steady(1000), quieted(steady(4000), "store"), "a.B.store: after off"},
		"off before":         {quieted(steady(1000), "place"), steady(1000), "a.B.place: before off"},
		"no hook before":     {unlisted(steady(1000), "query"), steady(1000), "a.B.query: before no hook"},
		"others on each":     {quieted(steady(1000), "place"), quieted(steady(1000), "query"), "a.B.query: after off\n  a.B.place: before off"},
		"counted after":      {steady(1000), counted, "a.B.query: after only counted"},
		"on for a part":      {steady(1000), late, "a.B.query: after on for 2.50 s only\n  a.B.store: after on for 2.50 s only"},
		"a leaf off on both": {quieted(steady(1000), "render"), quieted(steady(3000), "render"), ""},
	} {
		d := compare(tt.before, tt.after)
		if slicesAnySure(d.Methods) || slicesAnySure(d.Contexts) || d.Total.Low > 0 || d.Total.High < 0 {
			t.Errorf("%s: a change is invented: %+v", name, d)
		}
		var out bytes.Buffer
		if err := text.WriteDiff(&out, d, 0, 0); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), tt.said) || tt.said == "" && strings.Contains(out.String(), "not compared") {
			t.Errorf("%s: %q is not said:\n%s", name, tt.said, out.String())
		}
	}
}

// TestChangeBelowFoldedMethodIsFound checks that the caller gets the change of a method whose
// hook was off.
func TestChangeBelowFoldedMethodIsFound(t *testing.T) {
	slow := steady(1000)
	store := slow.Merged.Children[0].Children[0].Children[0]
	store.Self = cct.Time{Nanos: store.Self.Nanos * 6, Low: store.Self.Low * 6, High: store.Self.High * 6}
	reporttest.SumUp(slow.Merged)
	d := compare(quieted(steady(1000), "store"), slow)
	if first := d.Methods[0]; first.Path[0] != "a.B.place" || first.Verdict != diff.Slower || first.Delta.Nanos != 150e3 {
		t.Errorf("%+v", first)
	}
}

// TestExactRunFindsNewMethods relies on a hook in every method that can be called.
func TestExactRunFindsNewMethods(t *testing.T) {
	before, after := unlisted(steady(1000), "query"), steady(1000)
	before.Timing, after.Timing = cct.Exact, cct.Exact
	if d := compare(before, after); d.Methods[0].Path[0] != "a.B.query" || d.Methods[0].Verdict != diff.New || len(d.Uncompared) > 0 {
		t.Errorf("%+v", d)
	}
	before.LeftAlone = []cct.LeftAlone{{Class: "a/B", Method: "query()V", Reason: "odd"}}
	if d := compare(before, after); slicesAnySure(d.Methods) || len(d.Uncompared) != 1 {
		t.Errorf("a method that was left alone before: %+v", d)
	}
}

// TestChanceIsNoChange varies requests between runs.
func TestChanceIsNoChange(t *testing.T) {
	vary := func(roots uint64, part float64) *cct.Profile {
		p := steady(roots)
		var vary func(n *cct.Node)
		vary = func(n *cct.Node) {
			n.Calls, n.Timed = uint64(part*float64(n.Calls)), uint64(part*float64(n.Timed))
			n.Self = cct.Time{Nanos: n.Self.Nanos * part, Low: n.Self.Low * part, High: n.Self.High * part}
			for _, c := range n.Children {
				vary(c)
			}
		}
		vary(p.Merged.Children[0].Children[0].Children[0])
		reporttest.SumUp(p.Merged)
		return p
	}
	for _, tt := range []struct {
		roots   uint64
		part    float64
		changed bool
	}{{100, 1.2, false}, {100, 0.04, true}, {100_000, 1.2, true}, {10, 0, false}, {1000, 0, true}} {
		if d := compare(steady(tt.roots), vary(tt.roots, tt.part)); slicesAnySure(d.Methods) != tt.changed || slicesAnySure(d.Contexts) != tt.changed {
			t.Errorf("%d calls of the root, %g times as many of store: %+v", tt.roots, tt.part, d.Methods)
		}
	}
}

// TestThreadsShowTheEffectOfChance: in one thread a loop went round more often than in the
// other, so the same in the next run means nothing. One thread alone cannot show that.
func TestThreadsShowTheEffectOfChance(t *testing.T) {
	looping := func(rounds ...uint64) *cct.Profile {
		p := steady(100 * uint64(len(rounds)))
		p.Merged.Children[0].Children[1].Calls = 0
		for i, n := range rounds {
			top := steady(100).Merged
			top.Children[0].Children[1].Calls = 100 * n
			p.Merged.Children[0].Children[1].Calls += 100 * n
			if len(rounds) > 1 {
				p.Threads = append(p.Threads, cct.Thread{ID: uint64(i), Top: top})
			}
		}
		return p
	}
	if d := compare(looping(1, 9), looping(6, 6)); slicesAnySure(d.Methods) {
		t.Errorf("%+v", d.Methods[0])
	}
	for _, d := range []*diff.Difference{compare(looping(5, 5), looping(6, 6)), compare(looping(5), looping(6))} {
		if d.Methods[0].Verdict != diff.Calls || d.Methods[0].Path[0] != "a.B.render" {
			t.Errorf("%+v", d.Methods[0])
		}
	}
}

// TestUnfinishedCallsAreNoChange has roots that have not made all their calls yet.
func TestUnfinishedCallsAreNoChange(t *testing.T) {
	cut := steady(10)
	root := cut.Merged.Children[0]
	root.Running, root.Children[1].Calls, root.Children[1].Timed = 2, 8, 8
	if d := compare(steady(1000), cut); slicesAnySure(d.Methods) {
		t.Errorf("%+v", d.Methods[0])
	}
}

// TestPProfRecordsHooksThatWereOff reads them back from a comment.
func TestPProfRecordsHooksThatWereOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pb.gz")
	off := quieted(steady(1000), "store")
	off.Quiet = append(off.Quiet, cct.Quiet{Method: 2, On: 2500 * time.Millisecond})
	if err := Profiles.WriteFile(path, off); err != nil {
		t.Fatal(err)
	}
	got, err := ReadProfile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := compare(steady(1000), got)
	if slicesAnySure(d.Methods) || len(d.Uncompared) != 2 || d.Uncompared[0].After.State != diff.Partly && d.Uncompared[1].After.On != 2500*time.Millisecond {
		t.Errorf("%+v", d)
	}
}

// FuzzProfile reads any bytes as a profile in each format, compares it with itself and shows it. One that is written
// as JSON is read again equal.
func FuzzProfile(f *testing.F) {
	small := reporttest.Handed()
	for i, format := range []string{".json", ".html", ".pb.gz"} {
		var out bytes.Buffer
		write, err := formats[func(io.Writer, *cct.Profile) error](Profiles).of("a" + format)
		if err != nil {
			f.Fatal(err)
		}
		if err := write(&out, small); err != nil {
			f.Fatal(err)
		}
		data := out.Bytes()
		switch format {
		case ".html": // without its scripts
			embedded, err := html.Embedded(data)
			if err != nil {
				f.Fatal(err)
			}
			at := bytes.Index(data, embedded)
			data = slices.Concat(data[bytes.LastIndexByte(data[:at], '<'):at+len(embedded)], []byte("</script>"))
		case ".pb.gz":
			unpacked, err := gzip.NewReader(&out)
			if err != nil {
				f.Fatal(err)
			}
			if data, err = io.ReadAll(unpacked); err != nil {
				f.Fatal(err)
			}
		}
		if _, err := readers[i].use(data); err != nil {
			f.Fatalf("%s: %v", format, err)
		}
		f.Add(uint8(i), data)
	}
	var out bytes.Buffer
	hot := reporttest.HotSpots()
	if err := document.Write(&out, document.NewHot(hot, hot.Methods).WithTree(hot)); err != nil {
		f.Fatal(err)
	}
	f.Add(uint8(0), out.Bytes())
	f.Fuzz(func(t *testing.T, format uint8, data []byte) {
		f, err := readers[int(format)%(len(readers)-1)].use(data) // the last reads recordings
		if err != nil {
			return
		}
		if f.HotSpots != nil {
			for _, writer := range HotSpots {
				if err := writer.use(io.Discard, f.HotSpots); err != nil {
					t.Errorf("%s: %v", writer.suffix, err)
				}
			}
			return
		}
		p := f.Profile
		var out bytes.Buffer
		if err := text.WriteDiff(&out, compare(p, p), 10, 80); err != nil {
			t.Error(err)
		}
		if err := document.Write(&out, document.NewDiff(compare(p, p), 10)); err != nil {
			t.Error(err)
		}
		out.Reset()
		if err := document.Write(&out, document.NewProfile(p)); err != nil {
			t.Fatal(err)
		}
		written := bytes.Clone(out.Bytes())
		again, err := readJSON(written)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		out.Reset()
		if err := document.Write(&out, document.NewProfile(again.Profile)); err != nil || !bytes.Equal(out.Bytes(), written) {
			t.Errorf("%v:\n%s\nwas written again as\n%s", err, written, out.Bytes())
		}
	})
}

// TestRunsVary compares runs that differ from each other: a change within their variation is none.
func TestRunsVary(t *testing.T) {
	scaled := func(factors ...float64) (runs []*cct.Profile) {
		for _, factor := range factors {
			runs = append(runs, reporttest.Shop(factor))
		}
		return runs
	}
	for _, tt := range []struct {
		name          string
		before, after []*cct.Profile
		changed       bool
	}{
		{"one run each", scaled(1), scaled(1.3), true},
		{"alike, then slower", scaled(1, 1, 1), scaled(1.3, 1.3, 1.3), true},
		{"as different as the sides", scaled(0.8, 1, 1.2), scaled(1, 1.2, 1.5), false},
		{"different, and much slower", scaled(0.95, 1, 1.05), scaled(2.9, 3, 3.1), true},
	} {
		d := diff.Compare(tt.before, tt.after)
		if got := slicesAnySure(d.Methods); got != tt.changed {
			t.Errorf("%s: changed %v, want %v: %+v", tt.name, got, tt.changed, d.Methods[0])
		}
		if d.Before.Runs != len(tt.before) || d.Before.Calls != uint64(len(tt.before))*compare(reporttest.Shop(1), reporttest.Shop(1)).Before.Calls {
			t.Errorf("%s: %+v", tt.name, d.Before)
		}
	}
}
