package live

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Trust says how far a program can tell by itself what a method did.
type Trust string

// What the programs' own counts are worth.
const (
	Exact   Trust = "exact"   // both numbers are exact
	Entries Trust = "entries" // a constructor: entries are exact, exceptions only those behind super(...)
	About   Trust = "about"   // the stack may overflow before or after the method counts itself
	Hidden  Trust = "hidden"  // exact, in a hidden class, which cannot be woven
)

// A Count is what a program says about one of its methods.
type Count struct {
	Entered, Threw int64
	Trust          Trust
}

// Counts has a Count for each counted method, by names like
// calls/Plain.addInts(II)I.
type Counts map[string]Count

// Counts returns the program's own counts so far. They are exact if no load
// runs.
func (p *Program) Counts() Counts {
	p.t.Helper()
	return p.counts("counts")
}

// Expected returns what the counts should be by the number of rounds alone,
// without Block, Say, and what is counted only About.
func (p *Program) Expected() Counts {
	p.t.Helper()
	return p.counts("expected")
}

func (p *Program) counts(command string) Counts {
	p.t.Helper()
	p.send(command)
	counts := make(Counts)
	for {
		line := p.Await(p.t, "")
		if line == "end" {
			return counts
		}
		words := strings.Fields(line)
		if len(words) != 5 || words[0] != "count" {
			p.t.Fatalf("the program answered %q to %q\nstderr: %s", line, command, p.Stderr())
		}
		var count Count
		p.scan(strings.Join(words[2:], " "), &count.Entered, &count.Threw, &count.Trust)
		counts[words[1]] = count
	}
}

// Minus returns what was counted since an earlier state; methods that did
// nothing since are in it with zeros.
func (c Counts) Minus(earlier Counts) Counts {
	since := make(Counts)
	for method, count := range c {
		count.Entered -= earlier[method].Entered
		count.Threw -= earlier[method].Threw
		since[method] = count
	}
	return since
}

// Diff compares with what somebody else counted, as far as the program's counts
// can be trusted, and returns a line for each method that differs. What the
// other counted and the program does not know is no difference.
func (c Counts) Diff(other Counts) []string {
	var lines []string
	for _, method := range slices.Sorted(maps.Keys(c)) {
		own, theirs := c[method], other[method]
		switch {
		case own.Trust == About:
		case own.Trust == Hidden && theirs.Entered == 0 && theirs.Threw == 0:
		case own.Entered != theirs.Entered, own.Trust == Exact && own.Threw != theirs.Threw:
			lines = append(lines, fmt.Sprintf("%s: the program counted %d entries, %d exceptions (%s); the other %d, %d",
				method, own.Entered, own.Threw, own.Trust, theirs.Entered, theirs.Threw))
		}
	}
	return lines
}
