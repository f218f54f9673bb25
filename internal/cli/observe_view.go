package cli

import (
	"fmt"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/suggest"
)

// An observeView shows an observation to the user while it goes on.
type observeView struct {
	*observing
	*bulletin
	began time.Time
}

func newObserveView(c *observing) *observeView {
	return &observeView{observing: c, bulletin: newBulletin(c.streams, c.json), began: time.Now()}
}

// progress is told by the observation how far it is, on its own goroutine.
func (v *observeView) progress(p suggest.Progress) {
	line := fmt.Sprintf("%s: %s", shortDuration(time.Since(v.began)), p.Stage)
	switch p.Stage {
	case suggest.Sampling:
		line += " for " + durationText(v.part(0))
	case suggest.Counting:
		line += fmt.Sprintf(" of %s for %s", count(p.Methods, "method", "methods"), durationText(v.part(1)))
	case suggest.Reading:
		line += fmt.Sprintf(" of %s, by %s", count(p.Methods, "method", "methods"), count(p.Samples, "sample", "samples"))
	case suggest.Measuring:
		line += " for " + durationText(v.For)
	}
	v.say("%s", line)
}

// part is how long a part of the observation takes.
func (v *observeView) part(i int) time.Duration {
	sampling, counting := v.Parts()
	if i == 0 {
		return sampling
	}
	return counting
}
