package main

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/cct"
	"github.com/sonde-jvm/sonde/internal/profile"
	"github.com/sonde-jvm/sonde/internal/session"
)

// A profileView shows a run to the user while it goes on. The run tells it how far
// it is and must not wait for a slow terminal: what there is to show is put down,
// and another goroutine shows it.
type profileView struct {
	*profiling
	screen  *screen
	last    profile.Progress // as told by the run
	began   time.Time
	stage   profile.Stage
	drawnAt time.Time
	tree    *cct.Profile
	leaving func()

	lock  sync.Mutex
	notes []string
	frame []string // nil where nothing new is to be drawn
	fresh chan struct{}
	ended chan struct{}
}

const (
	// treeEvery is how often the tree is built anew: that takes the run's own time.
	treeEvery = 500 * time.Millisecond
	// sayEvery is how often a line tells of a run that is not drawn.
	sayEvery = 5 * time.Second
)

func newProfileView(c *profiling) *profileView {
	v := &profileView{
		profiling: c, screen: newScreen(c.streams), began: time.Now(), leaving: func() {},
		fresh: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	// A program that is started writes to the terminal as well.
	v.screen.silent = v.screen.silent || c.start || c.json
	go v.show(v.fresh)
	return v
}

// show draws and says what was put down, until the view is closed.
func (v *profileView) show(fresh <-chan struct{}) {
	defer close(v.ended)
	for range fresh {
		v.lock.Lock()
		notes, frame := v.notes, v.frame
		v.notes, v.frame = nil, nil
		v.lock.Unlock()
		for _, note := range notes {
			v.screen.say("%s", note)
		}
		if frame != nil {
			v.screen.draw(frame)
		}
	}
	v.screen.clear()
}

// close shows what is still to be shown, and takes away what was drawn.
func (v *profileView) close() {
	v.leaving()
	v.lock.Lock()
	close(v.fresh)
	v.fresh = nil
	v.lock.Unlock()
	<-v.ended
}

// put has something shown.
func (v *profileView) put(change func()) {
	v.lock.Lock()
	defer v.lock.Unlock()
	change()
	select {
	case v.fresh <- struct{}{}:
	default: // it will look anyway, or not any more
	}
}

func (v *profileView) say(format string, args ...any) {
	v.put(func() { v.notes = append(v.notes, fmt.Sprintf(format, args...)) })
}

// sayAside says what a terminal shows anyway.
func (v *profileView) sayAside(format string, args ...any) {
	if v.screen.silent {
		v.say(format, args...)
	}
}

// remark shows what the user should read. It may be called at any time, from
// anywhere.
func (v *profileView) remark(text string) { v.say("note: %s", printable(text)) }

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
		v.leaving() // one at a time
		v.leaving = tellWaiting(v.PID, v.say)
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
		frame := profileLines(p, v.tree, strings.Join(v.Roots, ", "), width, height)
		v.put(func() { v.frame = frame })
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
		v.say("hooks in %s of %s, %s%s%s", count(p.Hooks, "method", "methods"), count(p.Classes, "class", "classes"),
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
