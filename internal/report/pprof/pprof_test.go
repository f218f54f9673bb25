package pprof

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

// TestRootCause reads the call paths back: hot spots are innermost, and their values add up
// to their shares.
func TestRootCause(t *testing.T) {
	c := reporttest.RootCause()
	var out bytes.Buffer
	if err := WriteRootCause(&out, c); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	hits, nanos := map[string]int64{}, map[string]int64{}
	for _, s := range p.Sample {
		leaf := s.Location[0].Line[0].Function.Name
		if s.Label["hot spot"][0] != leaf {
			t.Errorf("%s is innermost of a way up from %v", leaf, s.Label)
		}
		hits[leaf] += s.Value[0]
		nanos[leaf] += s.Value[1]
	}
	for i := range c.Spots {
		s := &c.Spots[i]
		m := c.Methods[s.Method]
		name := strings.ReplaceAll(m.Class, "/", ".") + "." + m.Name
		if want := s.Share.Part * float64(c.Sampled.Samples); math.Abs(float64(hits[name])-want) > 3 {
			t.Errorf("%s: %d hits, want %g", name, hits[name], want)
		}
		if want := s.Share.Part * float64(c.Sampled.Over); math.Abs(float64(nanos[name])-want) > 10 {
			t.Errorf("%s: %d ns, want %g", name, nanos[name], want)
		}
	}
	main := p.Sample[0]
	for _, s := range p.Sample {
		if s.Value[1] > main.Value[1] {
			main = s
		}
	}
	if top := main.Location[len(main.Location)-1].Line[0].Function.Name; top != "java.lang.Thread.run" || len(main.Location) != 7 {
		t.Errorf("the main way has %d methods and ends in %s", len(main.Location), top)
	}
}

// TestHotSpots reads hot spots back: samples and times add up to those of the result.
func TestHotSpots(t *testing.T) {
	r := reporttest.HotSpots()
	for _, wall := range []bool{false, true} {
		r.Wall = wall
		var out bytes.Buffer
		if err := WriteHot(&out, r); err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(&out)
		if err != nil {
			t.Fatal(err)
		}
		kind, count, nanos := "cpu", int64(1000), int64(10e9)
		if wall {
			kind, count, nanos = "wall", 1120, 22e9
		}
		var gotCount, gotNanos int64
		leaves, lines := map[string]bool{}, map[int64]int64{}
		for _, s := range p.Sample {
			lines[s.Location[0].Line[0].Line] += s.Value[0]
			gotCount += s.Value[0]
			gotNanos += s.Value[1]
			leaves[s.Location[0].Line[0].Function.Name] = true
		}
		if p.DefaultSampleType != kind || gotCount != count || gotNanos != nanos {
			t.Errorf("%s: %d samples, %d ns; want %s, %d, %d", p.DefaultSampleType, gotCount, gotNanos, kind, count, nanos)
		}
		if want := map[int64]int64{0: count - 520, 88: 300, 91: 100, 99: 120}; !maps.Equal(lines, want) {
			t.Errorf("%s: samples by line %v, want %v", kind, lines, want)
		}
		if file := p.Function[0].Filename; file != "java/lang/Thread.java" || p.DurationNanos != 10e9 {
			t.Errorf("the first method is in %s, the duration is %d; want java/lang/Thread.java and 10 s", file, p.DurationNanos)
		}
		if !leaves["libc.so.6 memcpy"] || !leaves["com.example.shop.pricing.Tree.find(int)"] || leaves["waits: monitor"] != wall {
			t.Errorf("leaves %v", leaves)
		}
	}
}

// TestStacksAreToldApart reads a profile with sampled stacks back.
func TestStacksAreToldApart(t *testing.T) {
	want := reporttest.ShopStacks()
	want.Threads = nil // so that the merged tree is written
	var out bytes.Buffer
	if err := WriteProfile(&out, want); err != nil {
		t.Fatal(err)
	}
	got, err := Read(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	count := func(p *cct.Profile) (sampled, split int, nanos float64) {
		for n := range p.Merged.All() {
			nanos += n.Self.Nanos
			if n.Sampled {
				sampled++
			}
			if n.Split {
				split++
			}
		}
		return sampled, split, nanos
	}
	gotSampled, gotSplit, gotNanos := count(got)
	wantSampled, wantSplit, wantNanos := count(want)
	if gotSampled != wantSampled || gotSplit != wantSplit || wantSampled == 0 || math.Abs(gotNanos-wantNanos) > 100 {
		t.Errorf("%d nodes sampled, %d split, %g ns; want %d, %d and %g", gotSampled, gotSplit, gotNanos, wantSampled, wantSplit, wantNanos)
	}
}

// TestHandedWorkIsToldApart reads a profile back in which a call hands work to another thread.
func TestHandedWorkIsToldApart(t *testing.T) {
	for name, threads := range map[string]bool{"merged": false, "by thread": true} {
		want := reporttest.Handed()
		if !threads {
			want.Threads = nil
		}
		var out bytes.Buffer
		if err := WriteProfile(&out, want); err != nil {
			t.Fatal(err)
		}
		got, err := Read(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Methods) != len(want.Methods) || len(got.Merged.Children) != 1 {
			t.Fatalf("%s: %d methods and %d roots, want %d and 1", name, len(got.Methods), len(got.Merged.Children), len(want.Methods))
		}
		root, wanted := got.Merged.Children[0], want.Merged.Children[0]
		if len(root.Children) != 1 || root.Total.Nanos != wanted.Total.Nanos {
			t.Fatalf("%s: the root has %d children and %g ns, want 1 and %g", name, len(root.Children), root.Total.Nanos, wanted.Total.Nanos)
		}
		if run := root.Children[0]; !run.Handed || run.Calls != 3 || run.Total.Nanos != 9000 {
			t.Errorf("%s: the work is %+v, want 3 calls of 9 µs that were handed over", name, run)
		}
	}
}

// TestDeepStacks: a file of a few hundred bytes may have a stack of millions of calls.
func TestDeepStacks(t *testing.T) {
	called := &profile.Function{ID: 1, Name: "a.B.c", SystemName: "a.B.c"}
	location := &profile.Location{ID: 1, Line: []profile.Line{{Function: called}}}
	for depth, isRead := range map[int]bool{cct.MostDepth: true, cct.MostDepth + 1: false} {
		from := &profile.Profile{
			SampleType: []*profile.ValueType{{Type: "calls", Unit: "count"}, {Type: "self", Unit: "nanoseconds"}},
			Sample:     []*profile.Sample{{Value: []int64{1, 1}, Location: slices.Repeat([]*profile.Location{location}, depth)}},
			Location:   []*profile.Location{location}, Function: []*profile.Function{called},
		}
		var out bytes.Buffer
		if err := from.Write(&out); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(out.Bytes()); (err == nil) != isRead {
			t.Errorf("a stack of %d calls: %v, want it read: %v", depth, err, isRead)
		}
	}
}
