package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report"
)

// A walkView shows a walk to the user while it goes on.
type walkView struct {
	*walking
	*bulletin
	stage   rootcause.Stage
	level   int
	drawnAt time.Time
}

func newWalkView(c *walking) *walkView {
	return &walkView{walking: c, bulletin: newBulletin(c.streams, c.json), level: -1}
}

// progress is told by the walk how far it is, on the walk's own goroutine.
func (v *walkView) progress(p rootcause.Progress) {
	changed := p.Stage != v.stage
	risen := p.Stage == rootcause.Climbing && p.Level != v.level
	v.stage, v.level = p.Stage, p.Level
	now := time.Now()
	switch {
	case v.screen.silent:
		if changed || risen || now.Sub(v.drawnAt) >= sayEvery {
			v.drawnAt = now
			v.say("%s", strings.Join(append([]string{walkHead(p)}, walkStanding(p)...), ", "))
		}
	case changed || risen || now.Sub(v.drawnAt) >= treeEvery:
		v.drawnAt = now
		width, height := v.screen.size()
		v.draw(walkLines(p, width, height))
	}
}

// walkHead is what a walk is doing.
func walkHead(p rootcause.Progress) string {
	head := fmt.Sprintf("%s: %s", shortDuration(p.Elapsed), p.Stage)
	if p.Stage == rootcause.Climbing {
		head += fmt.Sprintf(", level %d", p.Level)
	}
	return head
}

// walkStanding is how a walk stands, in a few words each.
func walkStanding(p rootcause.Progress) (words []string) {
	so := p.Climb()
	if p.Samples > 0 {
		words = append(words, count(p.Samples, "sample", "samples"))
	}
	if len(so.Spots) > 0 {
		words = append(words, count(len(so.Spots), "hot spot", "hot spots"))
	}
	if so.Cost.Hooked > 0 {
		words = append(words,
			fmt.Sprintf("%d of %d hooks live", p.Live, so.Cost.LiveLimit),
			count(len(so.Batches), "batch", "batches"),
			fmt.Sprintf("cost %s of %s allowed", percentText(so.Cost.Steady), percentText(so.Cost.Budget)))
	}
	return words
}

// walkLines are what fits a terminal of a walk: how it stands, which hooks are on,
// and the ways up that were found.
func walkLines(p rootcause.Progress, width, height int) []string {
	const around = 6 // head, standing, live, blank, titles, the line of the cursor
	so := p.Climb()
	lines := []string{cut(walkHead(p), width), cut(strings.Join(walkStanding(p), ", "), width)}
	if live := liveNames(so); len(live) > 0 {
		lines = append(lines, cut("live: "+strings.Join(live, ", "), width))
	} else {
		lines = append(lines, "")
	}
	if len(so.Spots) > 0 {
		lines = append(lines, "")
		lines = append(lines, report.ClimbLines(so, width, max(1, height-around+1))...)
	}
	return lines[:max(0, min(len(lines), height-1))]
}

// liveNames are the methods whose hooks are on, without their packages.
func liveNames(so *climb.Climb) []string {
	var names []string
	for _, e := range so.List {
		if e.State == climb.Watched {
			m := so.Methods[e.Method]
			names = append(names, printable(m.Class[strings.LastIndexByte(m.Class, '/')+1:]+"."+m.Name))
		}
	}
	return names
}
