package report

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/pprof/profile"

	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
)

// shopClimb is the sample of package record: three ways, recursion, a hot spot of the
// JDK's without a hook, a native one, one that joined and cooled.
func shopClimb(t *testing.T) *rootcause.Climb {
	t.Helper()
	data, err := os.ReadFile("record/testdata/climb.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadClimb(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClimbText(t *testing.T) {
	for name, width := range map[string]int{"climb.txt": 0, "climb80.txt": 80} {
		var out bytes.Buffer
		if err := WriteClimbText(&out, shopClimb(t), width); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.Bytes())
	}
}

// TestClimbTextFitsTheTerminal writes deep ways and long names on any width.
func TestClimbTextFitsTheTerminal(t *testing.T) {
	c := shopClimb(t)
	for range 100 { // ways that divide at every level
		s := &c.Spots[0]
		s.Callers = []*rootcause.Caller{
			{Method: 19, Share: rootcause.Share{Part: 0.9, Low: 0.8, High: 1}, By: rootcause.Reckoned, Calls: 1_000_000, Above: s.Callers},
			{Method: 21, Share: rootcause.Share{Part: 0.1, Low: 0.05, High: 0.2}, By: rootcause.BySamples, State: rootcause.Left, Reason: "its bytes are not known"},
		}
	}
	for _, width := range []int{70, 80, 120, 200} {
		var out bytes.Buffer
		if err := WriteClimbText(&out, c, width); err != nil {
			t.Fatal(err)
		}
		for _, line := range append(strings.Split(out.String(), "\n"), ClimbLines(c, width, 40)...) {
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("%d columns on a terminal of %d: %s", n, width, line)
			}
		}
	}
}

func TestClimbTextOfNothing(t *testing.T) {
	var out bytes.Buffer
	if err := WriteClimbText(&out, &rootcause.Climb{}, 80); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no hot spot", "no hook was put in"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
}

// TestClimbLines keeps of a climb what weighs most, each with all below it.
func TestClimbLines(t *testing.T) {
	c := shopClimb(t)
	c.List[1].State = rootcause.Watched
	want := `SHARE  CALLS     MEAN      P99     HOT SPOTS, AND THEIR CALLERS
 41 %  1,000  38.0 µs   228 µs     com.shop.pricing.Rules.match
 70 %    700   212 µs  1.27 ms  ●    ├ com.shop.cart.Cart.total
 70 %  1,002  1.90 ms  11.4 ms       │ ↑ com.shop.order.Checkout.place
 62 %    886  4.00 ms  24.0 ms       │ ├ com.shop.web.CheckoutHandler.handle
 22 %      –        –        –     java.util.HashMap.getNode
 11 %      –        –        –     java.util.zip.Deflater.deflateBytesBytes
6.0 %  1,000  9.00 µs  54.0 µs     com.shop.report.Export.format`
	if got := strings.Join(ClimbLines(c, 0, 8), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := ClimbLines(c, 80, 1); len(got) != 1 {
		t.Errorf("%d lines where one fits", len(got))
	}
}

func TestClimbFormats(t *testing.T) {
	want := shopClimb(t)
	for _, name := range []string{"a.json", "a.html"} {
		path := filepath.Join(t.TempDir(), name)
		if err := WriteClimbFile(path, want); err != nil {
			t.Fatal(err)
		}
		got, err := ReadClimbFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: came back different", name)
		}
	}
	var unknown *FormatError
	if _, err := ClimbFormatOf("a.collapsed"); !errors.As(err, &unknown) || !strings.Contains(err.Error(), ".html, .pb.gz, .json or .txt") {
		t.Errorf("a format of profiles alone: %v", err)
	}
}

// TestClimbPProf reads the ways back: hot spots are innermost, and their values add
// up to their shares.
func TestClimbPProf(t *testing.T) {
	c := shopClimb(t)
	var out bytes.Buffer
	if err := WriteClimb(&out, PProf, c); err != nil {
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
		name := climbNames(c)[s.Method]
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
