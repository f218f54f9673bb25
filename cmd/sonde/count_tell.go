package main

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/probe"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/toll"
)

// tellInstallation says what putting hooks in took, and where they are not.
func (r *countRun) tellInstallation() {
	i := r.installation
	methods := r.session.Methods()
	if len(methods) > 0 {
		r.screen.say("hooks in %s of %s%s", count(len(methods), "method", "methods"),
			count(r.session.Classes(), "class", "classes"), costOf(batchCosts(i.Batches)))
	}
	for _, lost := range i.Unmatched {
		r.screen.say("note: %s", lostText(lost, ": hooks go in when one loads"))
	}
	left := r.session.LeftAlone()
	r.tellLeft(left)
	for _, p := range r.set.Includes() {
		lost := slices.ContainsFunc(i.Unmatched, func(u session.Unmatched) bool { return u.Pattern == p.String() })
		if !lost && !hasMethod(p, methods, left) {
			r.screen.say("note: %s matches loaded classes, but no method of theirs that has code%s", p, r.methodAdvice(p))
		}
	}
}

// hasMethod tells whether a pattern matches something that has a hook or was
// left alone.
func hasMethod(p *probe.Pattern, methods []session.Method, left []session.LeftAlone) bool {
	return slices.ContainsFunc(methods, func(m session.Method) bool { return p.Match(m.Class, m.Name, m.Descriptor) }) ||
		slices.ContainsFunc(left, func(l session.LeftAlone) bool { return p.MatchClass(l.Class) })
}

// methodAdvice says what may be wrong with a pattern that found classes alone.
func (r *countRun) methodAdvice(p *probe.Pattern) string {
	switch {
	case slices.ContainsFunc(r.patterns, func(text string) bool { return strings.HasPrefix(text, "!") }):
		return " and that no ! takes out"
	case strings.Contains(p.String(), "("):
		return " (types are written in full: java.lang.String; (..) is any parameters)"
	}
	return advice([]*probe.Pattern{p})
}

// lostText is about a pattern that no loaded class matches, and what follows.
func lostText(lost session.Unmatched, then string) string {
	if slices.Contains(lost.Near, lost.Pattern) {
		return fmt.Sprintf("%s is a class, and no method of it was named: %s.** is every method", lost.Pattern, lost.Pattern)
	}
	text := fmt.Sprintf("no loaded class matches %s%s", lost.Pattern, then)
	if len(lost.Near) > 0 {
		text += "; loaded is " + strings.Join(lost.Near, ", ")
	}
	return text
}

func batchCosts(batches []session.Batch) (all toll.Cost) {
	for i, batch := range batches {
		if i == 0 {
			all = batch.Cost
			continue
		}
		all = all.Then(batch.Cost)
	}
	return all
}

// costOf tells of a cost what is known.
func costOf(cost toll.Cost) string {
	text := ""
	if cost.Known.Pauses {
		text += ", pause " + durationText(cost.Pause)
	}
	if cost.Known.Compilers {
		text += ", compiler work so far " + durationText(cost.CompileCPU.Round(time.Millisecond))
	}
	return text
}

// A leftGroup is what was left alone for one reason.
type leftGroup struct {
	reason string
	left   []session.LeftAlone
}

// groupLeft puts together what has the same reason, but for its details; the
// most frequent comes first.
func groupLeft(left []session.LeftAlone) []leftGroup {
	at := map[string]int{}
	var groups []leftGroup
	for _, l := range left {
		reason, _, _ := strings.Cut(l.Reason, ": ")
		i, known := at[reason]
		if !known {
			i, at[reason] = len(groups), len(groups)
			groups = append(groups, leftGroup{reason: reason})
		}
		groups[i].left = append(groups[i].left, l)
	}
	slices.SortStableFunc(groups, func(a, b leftGroup) int { return len(b.left) - len(a.left) })
	return groups
}

// leftLines are groups in words, each with its members where all are wanted,
// else with one.
func leftLines(groups []leftGroup, all bool) []string {
	var lines []string
	for _, g := range groups {
		line := fmt.Sprintf("  %s: %s", grouped(len(g.left)), g.reason)
		if !all {
			lines = append(lines, line+", such as "+leftName(g.left[0]))
			continue
		}
		lines = append(lines, line)
		for _, l := range g.left {
			detail := strings.TrimPrefix(strings.TrimPrefix(l.Reason, g.reason), ": ")
			if detail != "" {
				detail = ": " + detail
			}
			lines = append(lines, "    "+leftName(l)+detail)
		}
	}
	return lines
}

func leftName(l session.LeftAlone) string {
	name := strings.ReplaceAll(l.Class, "/", ".")
	if l.Method != "" {
		name += "." + l.Method
	}
	return name
}

func (r *countRun) tellLeft(left []session.LeftAlone) {
	if len(left) == 0 {
		return
	}
	how := " (--left lists them)"
	if r.listLeft {
		how = ""
	}
	r.screen.say("%s left alone%s:", count(len(left), "class or method", "classes or methods"), how)
	for _, line := range leftLines(groupLeft(left), r.listLeft) {
		r.screen.say("%s", printable(line))
	}
	r.toldLeft = len(left)
}

// write writes the result, and then says what leaving took.
func (r *countRun) write(look *countLook) error {
	if left := r.session.LeftAlone(); len(left) > r.toldLeft {
		r.tellLeft(left) // some were met as they loaded
	}
	if full := r.session.Full(); full != nil {
		r.remark(full.Error())
	}
	look.overall()
	if r.json {
		if err := r.writeJSON(look); err != nil {
			return err
		}
	} else {
		out := bufio.NewWriter(r.out) // keeps the first error until Flush
		r.writeText(out, look, r.outWidth())
		if err := out.Flush(); err != nil {
			return err
		}
	}
	if f := look.farewell; f != nil {
		r.screen.say("left %d: %s put back in %s%s", r.pid, count(int(f.Restored.Classes), "class", "classes"), durationText(f.Took), costOf(f.Pause))
	}
	return nil
}
