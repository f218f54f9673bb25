package cli

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report/reporttest"
)

func TestPeriod(t *testing.T) {
	const any = math.MaxUint64
	for _, tt := range []struct {
		texts []string
		want  period
	}{
		{[]string{"1000 calls"}, period{1000, callsLimit}},
		{[]string{"1call"}, period{1, callsLimit}},
		{[]string{"5s"}, period{any, 5 * time.Second}},
		{[]string{"200 calls", "2s"}, period{200, 2 * time.Second}},
		{[]string{"2s|200 calls"}, period{200, 2 * time.Second}},
		{[]string{"200 calls, 500ms"}, period{200, 500 * time.Millisecond}},
	} {
		got := period{calls: 7, time: time.Hour}
		flag := lasting(&got)
		for _, text := range tt.texts {
			if err := flag.Set(text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		if got != tt.want {
			t.Errorf("%q is %+v, want %+v", tt.texts, got, tt.want)
		}
	}
	for _, text := range []string{"", "|", "1000", "0 calls", "-1s", "x calls", "calls", "5 s calls"} {
		if p := lasting(new(period)); p.Set(text) == nil {
			t.Errorf("%q was taken for %v", text, p)
		}
	}
	if p := lasting(&period{calls: 1000, time: 5 * time.Second}); p.String() != "1000 calls, 5s" {
		t.Errorf("%s", p.String())
	}
}

func TestWalkLines(t *testing.T) {
	so := reporttest.RootCause()
	so.List[1].State = rootcause.Watched
	p := rootcause.Progress{Stage: rootcause.Climbing, Elapsed: 65 * time.Second, Samples: 2310, Live: 1, Level: 2, Climb: func() *rootcause.Climb { return so }}
	want := []string{
		"1m05s: climbing, level 2",
		"2,310 samples, 4 hot spots, 1 of at most 8 hooks switched on, 4 batches, cost 0.61 % of 2.00 % allowed",
		"live: Cart.total",
	}
	if got := walkFrame(7, p, 120).Lines; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", got)
	}
}

// walkHere runs `sonde walk` with a walk that is not one.
func walkHere(ctx context.Context, found func(context.Context, rootcause.Options) (*rootcause.Climb, error), args ...string) (string, string, error) {
	var out, stderr strings.Builder
	c := &walkCommand{streams: streams{out: &out, err: &stderr}, Options: rootcause.Defaults(), climb: found}
	c.PID, c.outputs = 7, args
	err := c.run(ctx)
	return out.String(), stderr.String(), err
}

// TestWalkKeepsWhatWasFound ends a walk by Ctrl-C, and has its result in all forms.
func TestWalkKeepsWhatWasFound(t *testing.T) {
	ctx, interrupt := context.WithCancel(context.Background())
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "a.html"), filepath.Join(dir, "a.json"), filepath.Join(dir, "a.txt"), filepath.Join(dir, "a.pb.gz")}
	out, stderr, err := walkHere(ctx, func(ctx context.Context, o rootcause.Options) (*rootcause.Climb, error) {
		so := reporttest.RootCause()
		for level, stage := range []rootcause.Stage{rootcause.Sampling, rootcause.Weaving, rootcause.Climbing, rootcause.Climbing, rootcause.Leaving} {
			o.Progress(rootcause.Progress{Stage: stage, Elapsed: 6 * time.Second, Samples: 500, Level: level, Climb: func() *rootcause.Climb { return so }})
		}
		o.Notice("left\x1b alone")
		interrupt()
		return so, nil
	}, files...)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "Cause: com.shop.cart.Cart.total spends 70 %") {
		t.Errorf("%s", out)
	}
	for _, want := range []string{"6s: sampling to find hot spots, 500 samples", "6s: climbing, level 2, ", "6s: climbing, level 3, ", "removing the hooks", "note: left? alone", "wrote "} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is missing:\n%s", want, stderr)
		}
	}
	if strings.Contains(stderr, "\x1b") {
		t.Errorf("what is no terminal was drawn on: %q", stderr)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
	if page, err := os.ReadFile(files[0]); err != nil || bytes.Count(page, []byte(`<section class="spot"`)) != 4 {
		t.Errorf("the page does not show four hot spots: %v", err)
	}
}

// TestWalkOfNothing has one line for each reason why there is nothing to show.
func TestWalkOfNothing(t *testing.T) {
	interrupted, interrupt := context.WithCancel(context.Background())
	interrupt()
	failed := errors.New("no such JVM")
	for _, tt := range []struct {
		ctx    context.Context
		result *rootcause.Climb
		err    error
		want   string
	}{
		{context.Background(), nil, failed, "no such JVM"},
		{interrupted, nil, context.Canceled, "interrupted before the hooks were in"},
		{interrupted, &rootcause.Climb{}, nil, "interrupted before a hot spot was found"},
		{context.Background(), &rootcause.Climb{}, nil, "no thread of process 7 ran in the sampled 5.00 s"},
		{context.Background(), &rootcause.Climb{Sampled: rootcause.Sampled{Samples: 12}}, nil, "no method was a hot spot in 12 samples"},
	} {
		out, _, err := walkHere(tt.ctx, func(context.Context, rootcause.Options) (*rootcause.Climb, error) { return tt.result, tt.err })
		if err == nil || !strings.Contains(err.Error(), tt.want) || out != "" {
			t.Errorf("%v, want %q; wrote %q", err, tt.want, out)
		}
	}
}
