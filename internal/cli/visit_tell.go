package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// tellInstallation says what putting hooks in took, and where they are not.
func (v *visit) tellInstallation() {
	i := v.installation
	methods := v.session.Methods()
	if len(methods) > 0 {
		v.screen.say("hooks in %s of %s%s%s", count(len(methods), "method", "methods"),
			count(v.session.Classes(), "class", "classes"), sessionWovenText(v.session), costOf(batchCosts(i.Batches)))
	}
	for _, lost := range i.Unmatched {
		v.screen.say("note: %s", lostText(lost, ": hooks go in when one loads"))
	}
	left := v.session.LeftAlone()
	v.tellLeft(left)
	for _, p := range v.choice.set.Includes() {
		lost := slices.ContainsFunc(i.Unmatched, func(u session.Unmatched) bool { return u.Pattern == p.String() })
		if !lost && !hasMethod(p, methods, left) {
			v.screen.say("note: %s matches loaded classes, but no method of theirs that has code%s", p, v.methodAdvice(p))
		}
	}
}

// hasMethod tells whether a pattern matches something that has a hook or was
// left alone.
func hasMethod(p *pattern.Pattern, methods []session.Method, left []session.LeftAlone) bool {
	return slices.ContainsFunc(methods, func(m session.Method) bool { return p.Match(m.Class, m.Name, m.Descriptor) }) ||
		slices.ContainsFunc(left, func(l session.LeftAlone) bool { return p.MatchClass(l.Class) })
}

// methodAdvice says what may be wrong with a pattern that found classes alone.
func (v *visit) methodAdvice(p *pattern.Pattern) string {
	switch {
	case slices.ContainsFunc(v.choice.patterns, func(text string) bool { return strings.HasPrefix(text, "!") }):
		return " and that no ! takes out"
	case strings.Contains(p.String(), "("):
		return " (types are written in full: java.lang.String; (..) is any parameters)"
	}
	return advice([]*pattern.Pattern{p})
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

func batchCosts(batches []session.Batch) (all cost.Cost) {
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
func costOf(cost cost.Cost) string {
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

func (v *visit) tellLeft(left []session.LeftAlone) {
	if len(left) == 0 {
		return
	}
	how := " (--left lists them)"
	if v.choice.listLeft {
		how = ""
	}
	v.screen.say("%s left alone%s:", count(len(left), "class or method", "classes or methods"), how)
	for _, line := range leftLines(groupLeft(left), v.choice.listLeft) {
		v.screen.say("%s", printable(line))
	}
	v.toldLeft = len(left)
}
