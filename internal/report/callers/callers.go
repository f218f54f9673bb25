// Package callers prepares the result of a root-cause search for all its reports: it computes
// the main call path to a hot spot, the method of the program that causes the hot spot, and the first method on
// that path with several callers that matter, because each accounts for at least 2 % of its time.
package callers

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// A Cause is the method of the program that causes a hot spot.
type Cause struct {
	// By is the method of the program's own packages that is nearest to the hot spot among
	// those through which at least half of its time came, or the one with the largest share.
	// It is where that method has the largest share; nil where there is none.
	By *rootcause.Caller
	// Share is the part of the hot spot's time that came through the method, on all paths.
	Share rootcause.Share
	// Path is the methods from the hot spot up to By, both included; without By, those of
	// the whole main call path.
	Path []int
	// Above is the own methods on the main call path from By on, without By.
	Above []*rootcause.Caller
	// End is the last method of the main call path; nil where the hot spot has no caller.
	End *rootcause.Caller
	// Split is the first place on the main call path where several callers matter; nil
	// where there is none.
	Split *Split
}

// A Split is a method with several callers that matter.
type Split struct {
	Callee  int
	Callers []*rootcause.Caller
}

// platform lists prefixes of the classes of the JDK.
var platform = []string{"java/", "javax/", "jdk/", "sun/", "com/sun/"}

// OfProgram reports whether a class belongs to the program itself, not to the JDK.
func OfProgram(class string) bool {
	return !slices.ContainsFunc(platform, func(prefix string) bool { return strings.HasPrefix(class, prefix) })
}

// CauseOf searches the callers of a hot spot for its cause, and follows the main call path,
// which goes to the caller with the largest share at each step. A hot spot is not its own
// cause, not even by recursion.
func CauseOf(c *rootcause.Climb, s *rootcause.Spot) Cause {
	cause := Cause{Path: []int{s.Method}}
	callee, share := s.Method, 1.0
	for callers := s.Callers; len(callers) > 0; callers = callers[0].Above {
		main := callers[0]
		if several := matter(callers, share); len(several) > 1 && cause.Split == nil {
			cause.Split = &Split{Callee: callee, Callers: several}
		}
		cause.End, cause.Path = main, append(cause.Path, main.Method)
		callee, share = main.Method, main.Share.Part
	}
	if by := nearest(ownOn(c, s)); by != nil {
		cause.By, cause.Share, cause.Path = by.at, by.share(), by.path
		for callers := by.at.Above; len(callers) > 0; callers = callers[0].Above {
			if c.Own.Has(c.Methods[callers[0].Method].Class) {
				cause.Above = append(cause.Above, callers[0])
			}
		}
	}
	return cause
}

// A candidate is a method of the program's own on the paths to a hot spot.
type candidate struct {
	at        *rootcause.Caller // where it has the largest share
	path      []int             // from the hot spot up to there
	part      float64           // of the hot spot's time, on all paths
	low, high float64           // squares of how far the parts may be off
}

// share adds up what the paths have, with their uncertainty: they are off independently.
func (o *candidate) share() rootcause.Share {
	if o.at.Share.Part == o.part {
		return o.at.Share
	}
	part := min(1, o.part)
	return rootcause.Share{Part: part, Low: max(0, part-math.Sqrt(o.low)), High: min(1, part+math.Sqrt(o.high))}
}

// ownOn returns the own methods on the paths to a hot spot.
func ownOn(c *rootcause.Climb, s *rootcause.Spot) map[int]*candidate {
	found := make(map[int]*candidate)
	var visit func(callers []*rootcause.Caller, path []int)
	visit = func(callers []*rootcause.Caller, path []int) {
		for _, caller := range callers {
			way := append(slices.Clip(path), caller.Method)
			if !slices.Contains(path, caller.Method) && c.Own.Has(c.Methods[caller.Method].Class) {
				one := found[caller.Method]
				if one == nil {
					one = &candidate{at: caller, path: way}
					found[caller.Method] = one
				}
				if caller.Share.Part > one.at.Share.Part {
					one.at, one.path = caller, way
				}
				one.part += caller.Share.Part
				one.low += math.Pow(caller.Share.Part-caller.Share.Low, 2)
				one.high += math.Pow(caller.Share.High-caller.Share.Part, 2)
			}
			visit(caller.Above, way)
		}
	}
	visit(s.Callers, []int{s.Method})
	return found
}

// nearest returns the candidate that is nearest to the hot spot, of those with at least half of
// its time, or the one with the largest share.
func nearest(found map[int]*candidate) *candidate {
	const half = 0.5
	all := slices.SortedFunc(maps.Values(found), func(a, b *candidate) int {
		if a.part >= half && b.part >= half {
			return cmp.Or(cmp.Compare(len(a.path), len(b.path)), cmp.Compare(b.part, a.part), cmp.Compare(a.at.Method, b.at.Method))
		}
		return cmp.Or(cmp.Compare(b.part, a.part), cmp.Compare(len(a.path), len(b.path)), cmp.Compare(a.at.Method, b.at.Method))
	})
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// matter returns the callers that account for enough of the share of their callee.
func matter(callers []*rootcause.Caller, share float64) []*rootcause.Caller {
	const least = 0.02
	var several []*rootcause.Caller
	for _, caller := range callers {
		if caller.Share.Part >= least*share {
			several = append(several, caller)
		}
	}
	return several
}

// A Path is a call path from a hot spot up to where it was followed.
type Path struct {
	Methods []int // the hot spot first
	Part    float64
}

// Paths returns all call paths up from a hot spot, each with the part of the hot spot's
// time that it alone accounts for. What no caller accounts for ends at the callee. The
// parts add up to 1, apart from errors of estimated shares.
func Paths(s *rootcause.Spot) []Path {
	var paths []Path
	var follow func(callers []*rootcause.Caller, path []int, part float64)
	follow = func(callers []*rootcause.Caller, path []int, part float64) {
		rest := part
		for _, caller := range callers {
			rest -= caller.Share.Part
		}
		if rest > 0 {
			paths = append(paths, Path{Methods: slices.Clone(path), Part: rest})
		}
		for _, caller := range callers {
			follow(caller.Above, append(path, caller.Method), caller.Share.Part)
		}
	}
	follow(s.Callers, []int{s.Method}, 1)
	return paths
}

// A Row is a caller in the order in which a tree of callers is shown: after its callee,
// the largest share first.
type Row struct {
	*rootcause.Caller
	Below int  // index of the callee's row; -1 for the hot spot
	Again bool // recursion: the method is on the path below already
	Last  bool // the last caller of its callee
}

// RowsOf returns the callers of a hot spot that have at least a share of it, and how many
// others it left out. It does not count callers of the latter.
func RowsOf(s *rootcause.Spot, least float64) (rows []Row, left int) {
	on := map[int]int{s.Method: 1}
	var add func(callers []*rootcause.Caller, below int)
	add = func(callers []*rootcause.Caller, below int) {
		last := -1
		for _, caller := range callers {
			if caller.Share.Part < least {
				left++
				continue
			}
			last = len(rows)
			rows = append(rows, Row{Caller: caller, Below: below, Again: on[caller.Method] > 0})
			on[caller.Method]++
			add(caller.Above, last)
			on[caller.Method]--
		}
		if last >= 0 {
			rows[last].Last = true
		}
	}
	add(s.Callers, -1)
	return rows, left
}

// Marks returns what qualifies the numbers of a caller.
func (r Row) Marks(c *rootcause.Climb) (marks []string) {
	if r.Again {
		marks = append(marks, "recursion")
	}
	if c.Methods[r.Method].Native {
		marks = append(marks, "native")
	}
	switch {
	case r.State == rootcause.Watched:
		marks = append(marks, "live")
	case r.State == rootcause.Left:
		marks = append(marks, "no hook")
	case r.Own == nil && r.State != rootcause.Done && r.State != "":
		marks = append(marks, string(r.State))
	}
	return marks
}

// Facts describes a hot spot.
func Facts(s *rootcause.Spot) (facts []string) {
	if s.Libraries {
		facts = append(facts, "with the libraries that it calls")
	}
	if s.Kind != "" {
		facts = append(facts, format.Printable(s.Kind))
	}
	if s.Line > 0 {
		facts = append(facts, fmt.Sprintf("line %d", s.Line))
	}
	if s.From > 0 {
		facts = append(facts, "hot since "+format.Duration(s.From))
	}
	if s.Until > 0 {
		facts = append(facts, "cooled at "+format.Duration(s.Until))
	}
	return facts
}
