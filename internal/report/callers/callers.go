// Package callers derives from the result of a root-cause search what every report of it
// shows: the main call path to a hot spot, the method of the program that causes it, and
// where several callers matter.
package callers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// A Cause is the method of the program that causes a hot spot.
type Cause struct {
	// By is the lowest method of the program itself on the main call path; nil where
	// there is none.
	By *rootcause.Caller
	// Path is the methods from the hot spot up to By, both included; without By, those of
	// the whole main call path.
	Path []int
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

// CauseOf follows the main call path up from a hot spot, which goes to the caller with the
// largest share at each step. A hot spot is not its own cause, not even by recursion.
func CauseOf(c *rootcause.Climb, s *rootcause.Spot) Cause {
	cause := Cause{Path: []int{s.Method}}
	callee, share := s.Method, 1.0
	for callers := s.Callers; len(callers) > 0; callers = callers[0].Above {
		main := callers[0]
		if several := matter(callers, share); len(several) > 1 && cause.Split == nil {
			cause.Split = &Split{Callee: callee, Callers: several}
		}
		if cause.By == nil {
			cause.Path = append(cause.Path, main.Method)
			if main.Method != s.Method && OfProgram(c.Methods[main.Method].Class) {
				cause.By = main
			}
		}
		cause.End = main
		callee, share = main.Method, main.Share.Part
	}
	return cause
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
