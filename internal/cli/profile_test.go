package cli

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
)

func TestPart(t *testing.T) {
	for text, want := range map[string]float64{"2%": 0.02, "0.5 %": 0.005, "0.02": 0.02, "100%": 1, "1": 1} {
		var part float64
		if err := share(&part, 0.5).Set(text); err != nil || math.Abs(part-want) > 1e-9 {
			t.Errorf("%s: %v, %v", text, part, err)
		}
	}
	for _, text := range []string{"", "%", "0", "-1%", "101%", "2", "two", "NaN", "Inf%"} {
		if p := share(new(float64), 0.5); p.Set(text) == nil {
			t.Errorf("%q was taken for %v", text, p)
		}
	}
	if p := share(new(float64), 0.02); p.String() != "2%" {
		t.Errorf("%s", p.String())
	}
}

// sampleProfile is a tree with a hot path, a cold one, and a node without time.
func sampleProfile() *cct.Profile {
	node := func(method int, calls uint64, total, self float64, children ...*cct.Node) *cct.Node {
		return &cct.Node{Method: method, Calls: calls, Timed: calls, Total: cct.Time{Nanos: total}, Self: cct.Time{Nanos: self}, Children: children}
	}
	counted := &cct.Node{Method: 4, Calls: 12345}
	hot := node(2, 300, 60e6, 60e6, counted)
	root := node(0, 100, 100e6, 10e6, node(1, 100, 85e6, 25e6, hot), node(3, 7, 5e6, 5e6))
	p := &cct.Profile{Merged: &cct.Node{Method: -1, Total: root.Total, Children: []*cct.Node{root}}}
	for _, name := range []string{"checkout", "price", "tax", "log", "get"} {
		p.Methods = append(p.Methods, cct.Method{Class: "com/acme/shop/Shop", Name: name})
	}
	return p
}

// treeLines returns the lines of a tree with a title.
func treeLines(p *cct.Profile, width, most int) string {
	titles, rows := treeRows(p, width, most)
	for _, row := range rows {
		titles += "\n" + row.Text
	}
	return titles
}

func TestTreeLines(t *testing.T) {
	want := `  TOTAL            SELF   CALLS  METHOD
 100 ms  100 %  10.0 ms     100  com.acme.shop.Shop.checkout
85.0 ms   85 %  25.0 ms     100  ├ com.acme.shop.Shop.price
60.0 ms   60 %  60.0 ms     300  │ └ com.acme.shop.Shop.tax
      -               -  12,345  │   └ com.acme.shop.Shop.get
5.00 ms    5 %  5.00 ms       7  └ com.acme.shop.Shop.log`
	if got := treeLines(sampleProfile(), 0, 10); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Where there is room for less, the hottest path stays.
	want = `  TOTAL            SELF  CALLS  METHOD
 100 ms  100 %  10.0 ms    100  ….shop.Shop.checkout
85.0 ms   85 %  25.0 ms    100  └ …e.shop.Shop.price
60.0 ms   60 %  60.0 ms    300    └ …e.shop.Shop.tax`
	if got := treeLines(sampleProfile(), 52, 3); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestProfileViewOffTerminal says each stage once, and what is remarked, in order.
func TestProfileViewOffTerminal(t *testing.T) {
	var out, stderr strings.Builder
	c := &profileCommand{streams: streams{out: &out, err: &stderr}, Options: profile.Options{PID: 7}}
	v := &profileView{profileCommand: c, progressView: newBulletin(c.streams, false)}
	for _, stage := range []profile.Stage{profile.Entering, profile.Weaving, profile.Running, profile.Running, profile.Leaving} {
		v.progress(profile.Progress{Stage: stage, Mirrored: 1, Cost: cct.Cost{Hooks: 2, Classes: 1, Rounds: 1, Steady: -1}})
	}
	v.remark("left\x1b alone")
	v.close()
	v.say("%s", "too late")
	want := fmt.Sprintf("read 1 class, installing hooks\nhooks in 2 methods of 1 class, 1 round; Ctrl-C ends it and shows the result\n%s\nnote: left? alone\n", "removing the hooks")
	if out.String() != "" || stderr.String() != want {
		t.Errorf("%q, %q", out.String(), stderr.String())
	}
}
