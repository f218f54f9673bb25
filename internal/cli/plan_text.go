package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/pack/build"
)

// How much is named without --all.
const (
	mostFates = 20 // classes of one fate and reason
	mostLeft  = 5  // methods of a class
)

func (f *forecast) writePlan(p *build.Planned) error {
	out := bufio.NewWriter(f.out) // keeps the first error until Flush
	if f.json {
		return errors.Join(writeJSON(out, f.describePlan(p)), out.Flush())
	}
	for _, g := range groupFates(p.Classes) {
		g.write(out, f.all, repeated(p.Classes))
	}
	writeApplied(out, "probe", p.Probes)
	writeApplied(out, "tag", p.Tags)
	for _, note := range planNotes(p) {
		_, _ = fmt.Fprintf(out, "note: %s\n", printable(note))
	}
	if why := refusal(p); why != "" {
		_, _ = fmt.Fprintf(out, "note: sonde pack refuses this: %s\n", why)
	}
	_, _ = fmt.Fprintln(out, planSummary(p))
	return out.Flush()
}

// fateName is how a fate is called.
func fateName(when probeset.When) string {
	if when == probeset.Unstated {
		return "left"
	}
	return when.String()
}

// A fateGroup is classes with the same fate for the same reason.
type fateGroup struct {
	when    probeset.When
	why     string
	classes []*build.Fate
	methods int
}

// fateOrder is that in which fates are told.
var fateOrder = []probeset.When{probeset.Static, probeset.Load, probeset.Dynamic, probeset.Never, probeset.Unstated}

// groupFates puts together what has the same fate for the same reason.
func groupFates(classes []build.Fate) []*fateGroup {
	type key struct {
		when probeset.When
		why  string
	}
	known := map[key]*fateGroup{}
	var groups []*fateGroup
	for i := range classes {
		c := &classes[i]
		at := key{c.When, c.Why}
		if known[at] == nil {
			known[at] = &fateGroup{when: c.When, why: c.Why}
			groups = append(groups, known[at])
		}
		known[at].classes = append(known[at].classes, c)
		known[at].methods += c.Methods
	}
	slices.SortStableFunc(groups, func(a, b *fateGroup) int {
		return cmp.Or(cmp.Compare(slices.Index(fateOrder, a.when), slices.Index(fateOrder, b.when)), strings.Compare(a.why, b.why))
	})
	return groups
}

// repeated are the names of which there are several classes.
func repeated(classes []build.Fate) map[string]bool {
	names := map[string]int{}
	for i := range classes {
		names[classes[i].Class]++
	}
	several := map[string]bool{}
	for name, n := range names {
		several[name] = n > 1
	}
	return several
}

func (g *fateGroup) write(out io.Writer, all bool, several map[string]bool) {
	_, _ = fmt.Fprintf(out, "%s: %s (%s)\n", fateName(g.when), classesText(len(g.classes), g.methods), printable(g.why))
	for i, c := range g.classes {
		if i == mostFates && !all {
			_, _ = fmt.Fprintf(out, "  … and %s more (--all names them)\n", count(len(g.classes)-i, "class", "classes"))
			break
		}
		line := "  " + descriptor.ExternalName(c.Class)
		if several[c.Class] {
			line += " in " + c.In
		}
		if c.Methods > 0 {
			line += ", " + count(c.Methods, "method", "methods")
		}
		if len(c.Left) > 0 {
			line += fmt.Sprintf(", %s left alone", grouped(len(c.Left)))
		}
		_, _ = fmt.Fprintln(out, printable(line))
		for n, left := range c.Left {
			if n == mostLeft && !all && len(c.Left) > mostLeft {
				_, _ = fmt.Fprintf(out, "    … and %s more (--all names them)\n", grouped(len(c.Left)-n))
				break
			}
			_, _ = fmt.Fprintf(out, "    %s\n", printable(strings.TrimPrefix(left.Method+": "+left.Reason, ": ")))
		}
	}
}

func classesText(classes, methods int) string {
	return count(classes, "class", "classes") + ", " + count(methods, "method", "methods")
}

// writeApplied tells what each probe or tag has found.
func writeApplied(out io.Writer, kind string, applied []liveprobes.Applied) {
	for i := range applied {
		a := &applied[i]
		line := fmt.Sprintf("%s %s: %s", kind, a.Name, count(len(a.Methods), "method", "methods"))
		if a.Anchors > 0 {
			line += fmt.Sprintf(", %s of its sequences", count(a.Anchors, "method", "methods"))
		}
		if n := len(a.LeftOut); n > 0 {
			line += fmt.Sprintf(", does not act in %s", grouped(n))
		}
		_, _ = fmt.Fprintln(out, printable(line))
	}
}

// planNotes are what a user should read of a plan.
func planNotes(p *build.Planned) (notes []string) {
	for _, u := range p.Unmatched {
		if u.InJDK {
			notes = append(notes, fmt.Sprintf("%s: %s names methods of the JDK alone, which no pack has: sonde apply weaves them", u.What, u.Pattern))
		} else {
			notes = append(notes, fmt.Sprintf("%s: no method of these classes matches %s", u.What, u.Pattern))
		}
	}
	for _, broken := range p.Broken {
		notes = append(notes, broken.Reason)
	}
	return append(notes, p.Notes...)
}

// planSummary is all of it in one line.
func planSummary(p *build.Planned) string {
	classes, methods := map[probeset.When]int{}, map[probeset.When]int{}
	concerned := 0
	for i := range p.Classes {
		c := &p.Classes[i]
		classes[c.When]++
		methods[c.When] += c.Methods
		if !c.IsJDK() {
			concerned++
		}
	}
	var words []string
	for _, when := range fateOrder {
		if classes[when] > 0 {
			words = append(words, fmt.Sprintf("%s %s", fateName(when), classesText(classes[when], methods[when])))
		}
	}
	line := fmt.Sprintf("%s read, %s concerned", count(p.Read, "class", "classes"), grouped(concerned))
	if len(words) > 0 {
		line += ": " + strings.Join(words, "; ")
	}
	return line
}
