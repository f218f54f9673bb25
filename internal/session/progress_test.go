package session

import (
	"testing"
	"time"
)

func TestProgressText(t *testing.T) {
	var p progress
	if got := p.text(time.Now()); got != "" {
		t.Errorf("a session that does nothing says %q", got)
	}
	end := p.begin("weaving classes", 4100)
	began := p.began
	for _, step := range []struct {
		done int
		took time.Duration
		want string
	}{
		{0, time.Second, "weaving classes, 0 of 4,100"},
		{812, 10 * time.Second, "weaving classes, 812 of 4,100, about 40s left"},
		{4090, 40 * time.Second, "weaving classes, 4,090 of 4,100"},
	} {
		p.set(step.done, 4100)
		if got := p.text(began.Add(step.took)); got != step.want {
			t.Errorf("after %v: %q, want %q", step.took, got, step.want)
		}
	}
	for range 20 {
		p.add()
	}
	if want := "weaving classes, 4,100 of 4,100"; p.text(began.Add(time.Minute)) != want {
		t.Errorf("at the end: %q, want %q", p.text(began.Add(time.Minute)), want)
	}
	end()
	if got := p.text(time.Now()); got != "" {
		t.Errorf("after the step: %q", got)
	}
	p.begin("restoring classes", 0)
	if want := "restoring classes"; p.text(time.Now()) != want {
		t.Errorf("a step of unknown length: %q, want %q", p.text(time.Now()), want)
	}
}
