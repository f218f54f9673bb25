package profile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
	"github.com/sonde-jvm/sonde/test/live"
)

// TestDurationIsOfTheFigures profiles a program that rests, until the figures leave out
// the time in which its compilers were busy: then the profile's beginning and duration
// are those of the rest.
func TestDurationIsOfTheFigures(t *testing.T) {
	const beginning = "figures are of the last "
	lastOf := func(p *cct.Profile) string {
		for _, note := range p.Notes {
			if rest, is := strings.CutPrefix(note, beginning); is {
				last, _, _ := strings.Cut(rest, ",")
				return last
			}
		}
		return ""
	}
	p := start(t, jvmtest.JDKs(t)[0], live.Attach, "wide")
	narrowed := make(chan struct{})
	var told bool
	options := profile.Options{Roots: []string{"wide.Main.root"}, Timing: cct.Exact, Progress: func(progress profile.Progress) {
		if told || progress.Tree == nil {
			return
		}
		if tree, err := progress.Tree(); err == nil && lastOf(tree) != "" {
			told = true
			close(narrowed)
		}
	}}
	var on time.Time
	result := p.profiled(options, func() {
		on = time.Now()
		p.turn("wide", 1, 1) // no hook comes after it
		select {
		case <-narrowed:
		case <-time.After(jvmtest.RunLimit / 6):
			t.Fatal("the figures never left anything out")
		}
		p.turn("wide", 1, 1)
	})
	if last, took := lastOf(result), fmt.Sprint(result.Took.Round(100*time.Millisecond)); last != took {
		t.Errorf("the figures are of the last %q, the profile says %q", last, took)
	}
	if !result.Began.After(on) {
		t.Errorf("the figures begin at %v, hooks were on before %v", result.Began, on)
	}
}
