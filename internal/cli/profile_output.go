package cli

import (
	"bufio"
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/profile"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/json"
	"github.com/sonde-jvm/sonde/internal/report/text"
	"github.com/sonde-jvm/sonde/internal/session"
)

// A profileView shows the progress of a profile.
type profileView struct {
	*profiling
	*bulletin
	last    profile.Progress // the last progress
	began   time.Time
	stage   profile.Stage
	drawnAt time.Time
	tree    *cct.Profile
}

const (
	// treeEvery is how often the tree is built, on the goroutine of the run.
	treeEvery = 500 * time.Millisecond
	// sayEvery is how often a line reports the progress if no terminal is there.
	sayEvery = 5 * time.Second
)

func newProfileView(c *profiling) *profileView {
	// A program that is started writes to the terminal as well.
	return &profileView{profiling: c, bulletin: newBulletin(c.streams, c.start || c.json), began: time.Now()}
}

// unmatched says why there is no root yet. In a program that is starting there can be none.
func (v *profileView) unmatched(lost []session.Unmatched) {
	if v.start {
		return
	}
	for _, one := range lost {
		v.remark(lostText(one, "; a class that loads later gets its hooks then"))
	}
	if len(lost) == 0 {
		v.remark(fmt.Sprintf("%s matches loaded classes, but none of their methods that have code%s",
			strings.Join(v.Roots, ", "), advice(v.roots.Includes())))
	}
}

// progress is called by the run, on its own goroutine.
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
				v.say("%s: %s", format.Duration(p.Elapsed.Round(time.Second)), strings.Join(standing(p), ", "))
			}
			v.drawnAt = now
		}
	case changed || now.Sub(v.drawnAt) >= treeEvery:
		if p.Tree != nil {
			if tree, err := p.Tree(); err == nil {
				v.tree = tree // the end reports errors
			}
		}
		v.drawnAt = now
		width, height := v.screen.size()
		v.draw(profileLines(p, v.tree, strings.Join(v.Roots, ", "), width, height))
	}
}

// sayStage reports the stage of the run.
func (v *profileView) sayStage(p profile.Progress) {
	switch p.Stage {
	case profile.Reading:
		v.say("attached to %d in %s, reading its classes", v.PID, format.Duration(time.Since(v.began)))
	case profile.Weaving:
		v.sayAside("read %s, putting hooks in", format.Count(p.Mirrored, "class", "classes"))
	case profile.Waiting:
		v.say("waiting for classes to load%s", v.howToEnd())
	case profile.Running:
		v.say("hooks in %s of %s%s, %s%s%s", format.Count(p.Hooks, "method", "methods"), format.Count(p.Classes, "class", "classes"), wovenText(p.Woven, p.Cached, v.Cache != nil),
			format.Count(p.Rounds, "round", "rounds"), pauseText(p.Pause), v.howToEnd())
	case profile.Leaving:
		v.sayAside("removing the hooks")
	}
}

// howToEnd says how to end a run without a limit.
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
	return ", pause " + format.Duration(pause)
}

// standing sums up a run in a few words each.
func standing(p profile.Progress) []string {
	words := []string{
		format.Count(int(p.RootCalls), "root call", "root calls"),
		fmt.Sprintf("hooks in %s of %s", format.Count(p.Hooks, "method", "methods"), format.Count(p.Classes, "class", "classes")),
		format.Count(p.Rounds, "round", "rounds"),
	}
	if p.Steady >= 0 && !math.IsNaN(p.Steady) {
		text := "cost " + format.Percent(p.Steady)
		if p.Budget > 0 {
			text += fmt.Sprintf(" of %s allowed", format.Percent(p.Budget))
		}
		words = append(words, text)
	}
	if p.Waited > 0 {
		words = append(words, "waited "+format.Duration(p.Waited))
	}
	return words
}

var profileColumns = format.Columns(">TOTAL", ">", ">SELF", ">CALLS", "METHOD")

// profileLines returns what fits a terminal: the progress, and the nodes of the tree that
// took longest.
func profileLines(p profile.Progress, tree *cct.Profile, roots string, width, height int) []string {
	const around = 5 // head, standing, blank, titles, the line of the cursor
	head := string(p.Stage)
	if p.Elapsed > 0 {
		head += " for " + format.ShortDuration(p.Elapsed)
	}
	if p.Stage == profile.Leaving {
		head = string(p.Stage)
	}
	head += ", below " + format.Printable(roots)
	lines := []string{format.Cut(head, width), format.Cut(strings.Join(standing(p), ", "), width), ""}
	if tree != nil && len(tree.Merged.Children) > 0 {
		for _, line := range treeLines(tree, width, max(1, height-around)) {
			lines = append(lines, format.Cut(line, width))
		}
	}
	return lines[:max(0, min(len(lines), height-1))]
}

// treeLines returns the longest nodes of a tree as a table.
func treeLines(p *cct.Profile, width, most int) []string {
	shown, partly := longest(p.Merged, most), p.Partly()
	var rows [][]string
	var branches []string
	var walk func(n *cct.Node, branch string)
	walk = func(n *cct.Node, branch string) {
		var children []*cct.Node
		for _, c := range n.Children {
			if shown[c] {
				children = append(children, c)
			}
		}
		for i, c := range children {
			own, below := "├ ", "│ "
			if i == len(children)-1 {
				own, below = "└ ", "  "
			}
			if n == p.Merged { // roots stand at the margin
				own, below = "", ""
			}
			texts := nodeTexts(p, c)
			if _, is := partly[c.Method]; is {
				texts[len(texts)-1] += " [partly]" // its hook was on for a part of the time
			}
			rows = append(rows, texts)
			branches = append(branches, branch+own)
			walk(c, branch+below)
		}
	}
	walk(p.Merged, "")
	used := format.SpaceBefore(profileColumns, rows)
	for i, row := range rows {
		last := len(row) - 1
		row[last] = branches[i] + format.KeepEnd(row[last], width, used+utf8.RuneCountInString(branches[i]))
	}
	return format.TableLines(profileColumns, rows, 0)
}

// nodeTexts returns the cells of a node.
func nodeTexts(p *cct.Profile, n *cct.Node) []string {
	total, share, self := "-", "", "-"
	if n.Total.Nanos > 0 {
		total = format.Nanos(n.Total.Nanos)
		share = fmt.Sprintf("%.0f %%", 100*n.Total.Nanos/p.Merged.Total.Nanos)
	}
	if n.Known() {
		self = format.Nanos(n.Self.Nanos)
	}
	return []string{total, share, self, format.Grouped(int(n.Calls)), format.Printable(p.Methods[n.Method].String())}
}

// longest returns the nodes that took longest, with their ancestors.
func longest(top *cct.Node, most int) map[*cct.Node]bool {
	shown := make(map[*cct.Node]bool)
	open := nodeHeap(append([]*cct.Node(nil), top.Children...))
	heap.Init(&open)
	for len(open) > 0 && len(shown) < most {
		n := heap.Pop(&open).(*cct.Node)
		shown[n] = true
		for _, c := range n.Children {
			heap.Push(&open, c)
		}
	}
	return shown
}

// A nodeHeap pops the node that took longest; of nodes without a time, the one with most
// calls.
type nodeHeap []*cct.Node

func (h nodeHeap) Len() int { return len(h) }

func (h nodeHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[j].Total.Nanos, h[i].Total.Nanos), cmp.Compare(h[j].Calls, h[i].Calls)) < 0
}

func (h nodeHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *nodeHeap) Push(n any) { *h = append(*h, n.(*cct.Node)) }

func (h *nodeHeap) Pop() any {
	last := len(*h) - 1
	n := (*h)[last]
	*h = (*h)[:last]
	return n
}

// write writes the result to the files and streams of the command line.
func (c *profiling) write(p *cct.Profile) error {
	tell, failed := c.writeOutputs(c.outputs, func(path string) error { return report.WriteProfileFile(path, p) })
	defer tell()
	to, width := c.out, c.outWidth()
	if c.start {
		to, width = c.err, c.width // standard output is the program's
	}
	out := bufio.NewWriter(to) // keeps the first error until Flush
	if c.json {
		failed = errors.Join(failed, json.WriteProfile(out, p))
	} else {
		failed = errors.Join(failed, text.WriteProfile(out, p, width, c.top))
	}
	return errors.Join(failed, out.Flush())
}
