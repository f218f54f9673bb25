package cli

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
	"github.com/sonde-jvm/sonde/internal/session"
)

// A profileView shows a run to the user while it goes on.
type profileView struct {
	*profiling
	*bulletin
	last    profile.Progress // as told by the run
	began   time.Time
	stage   profile.Stage
	drawnAt time.Time
	tree    *cct.Profile
}

const (
	// treeEvery is how often the tree is built anew: that takes the run's own time.
	treeEvery = 500 * time.Millisecond
	// sayEvery is how often a line tells of a run that is not drawn.
	sayEvery = 5 * time.Second
)

func newProfileView(c *profiling) *profileView {
	// A program that is started writes to the terminal as well.
	return &profileView{profiling: c, bulletin: newBulletin(c.streams, c.start || c.json), began: time.Now()}
}

// unmatched shows why no root is there yet. Of a program that is starting none can be.
func (v *profileView) unmatched(lost []session.Unmatched) {
	if v.start {
		return
	}
	for _, one := range lost {
		v.remark(lostText(one, ": hooks go in when one loads"))
	}
	if len(lost) == 0 {
		v.remark(fmt.Sprintf("%s matches loaded classes, but no method of theirs that has code%s",
			strings.Join(v.Roots, ", "), advice(v.roots.Includes())))
	}
}

// progress is told by the run how far it is, on the run's own goroutine.
func (v *profileView) progress(p profile.Progress) {
	if p.Stage == profile.Leaving {
		p.RootCalls, p.Waited, p.Steady = v.last.RootCalls, v.last.Waited, v.last.Steady
	}
	changed := p.Stage != v.stage
	v.last, v.stage = p, p.Stage
	if changed {
		v.sayStage(p)
	}
	now := time.Now()
	switch {
	case v.screen.silent:
		if (p.Stage == profile.Running || p.Stage == profile.Waiting) && now.Sub(v.drawnAt) >= sayEvery {
			if !v.drawnAt.IsZero() {
				v.say("%s: %s", durationText(p.Elapsed.Round(time.Second)), strings.Join(standing(p), ", "))
			}
			v.drawnAt = now
		}
	case changed || now.Sub(v.drawnAt) >= treeEvery:
		if p.Tree != nil {
			if tree, err := p.Tree(); err == nil {
				v.tree = tree // else the end will say it
			}
		}
		v.drawnAt = now
		width, height := v.screen.size()
		v.draw(profileLines(p, v.tree, strings.Join(v.Roots, ", "), width, height))
	}
}

// sayStage says what is done now.
func (v *profileView) sayStage(p profile.Progress) {
	switch p.Stage {
	case profile.Reading:
		v.say("entered process %d in %s, reading its classes", v.PID, durationText(time.Since(v.began)))
	case profile.Weaving:
		v.sayAside("read %s, putting hooks in", count(p.Mirrored, "class", "classes"))
	case profile.Waiting:
		v.say("watching for classes that load%s", v.howToEnd())
	case profile.Running:
		v.say("hooks in %s of %s%s, %s%s%s", count(p.Hooks, "method", "methods"), count(p.Classes, "class", "classes"), wovenText(p.Woven, p.Cached, v.Cache != nil),
			count(p.Rounds, "round", "rounds"), pauseText(p.Pause), v.howToEnd())
	case profile.Leaving:
		v.sayAside("taking the hooks out")
	}
}

// howToEnd says what ends a run that nothing else will.
func (v *profileView) howToEnd() string {
	if v.Duration > 0 || v.Calls > 0 || v.start {
		return ""
	}
	return "; Ctrl-C ends it and shows the result"
}

func pauseText(pause time.Duration) string {
	if pause == 0 {
		return ""
	}
	return ", pause " + durationText(pause)
}

// standing is how a run stands, in a few words each.
func standing(p profile.Progress) []string {
	words := []string{
		count(int(p.RootCalls), "root call", "root calls"),
		fmt.Sprintf("hooks in %s of %s", count(p.Hooks, "method", "methods"), count(p.Classes, "class", "classes")),
		count(p.Rounds, "round", "rounds"),
	}
	if p.Steady >= 0 && !math.IsNaN(p.Steady) {
		text := "cost " + percentText(p.Steady)
		if p.Budget > 0 {
			text += fmt.Sprintf(" of %s allowed", percentText(p.Budget))
		}
		words = append(words, text)
	}
	if p.Waited > 0 {
		words = append(words, "waited "+durationText(p.Waited))
	}
	return words
}
