package ascent

import (
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
)

// A Cause is what is to be said first of a hot spot: who of the program has it run.
type Cause struct {
	// By is the lowest method of the program itself on the main way up; nil where
	// there is none.
	By *climb.Caller
	// Way are the methods from the hot spot up to By, both included; where there is
	// no By, those of the whole main way.
	Way []int
	// End is the last method of the main way; nil where the hot spot has no caller.
	End *climb.Caller
	// Divides is where the main way first divides; nil where it does not.
	Divides *Division
}

// A Division is a method that is called in several ways, each of which matters.
type Division struct {
	Above int // the method that is called
	Ways  []*climb.Caller
}

// platform are the packages that are of the JDK.
var platform = []string{"java/", "javax/", "jdk/", "sun/", "com/sun/"}

// OfProgram tells whether a method is of the program itself, not of the JDK.
func OfProgram(m climb.Method) bool {
	for _, prefix := range platform {
		if strings.HasPrefix(m.Class, prefix) {
			return false
		}
	}
	return true
}

// CauseOf reads the main way up from a hot spot, on which each step goes to the
// caller with the largest share. The hot spot is not its own cause, nor is it by
// recursion.
func CauseOf(c *climb.Climb, s *climb.Spot) Cause {
	cause := Cause{Way: []int{s.Method}}
	below, share := s.Method, 1.0
	for callers := s.Callers; len(callers) > 0; callers = callers[0].Above {
		main := callers[0]
		if ways := matter(callers, share); len(ways) > 1 && cause.Divides == nil {
			cause.Divides = &Division{Above: below, Ways: ways}
		}
		if cause.By == nil {
			cause.Way = append(cause.Way, main.Method)
			if main.Method != s.Method && OfProgram(c.Methods[main.Method]) {
				cause.By = main
			}
		}
		cause.End = main
		below, share = main.Method, main.Share.Part
	}
	return cause
}

// leastWay is the part of what comes through a method that a caller must have to be
// a way of its own.
const leastWay = 0.02

// matter are the callers that a way divides into. Recursion is no way of its own.
func matter(callers []*climb.Caller, share float64) []*climb.Caller {
	var ways []*climb.Caller
	for _, caller := range callers {
		if caller.Share.Part >= leastWay*share {
			ways = append(ways, caller)
		}
	}
	return ways
}
