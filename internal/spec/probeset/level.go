package probeset

import "fmt"

// Level is how much a probe does of each call. They are raised and lowered without
// weaving again.
type Level uint8

// The levels, each doing what those before it do and more.
const (
	Count   Level = iota // calls are counted
	Time                 // and timed
	Trace                // and written down as transactions
	Capture              // with values
)

var levelNames = [...]string{"count", "time", "trace", "capture"}

func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// ParseLevel reads a level's name.
func ParseLevel(name string) (Level, bool) {
	for l, known := range levelNames {
		if name == known {
			return Level(l), true
		}
	}
	return 0, false
}

// Template is which hook a probe's methods get. A richer one can do more, and is more
// code in the program's methods.
type Template uint8

// The templates, each able to do what those before it can and more.
const (
	ByNeed          Template = iota // the leanest that does what the probe states
	PlainTemplate                   // a condition at the entry
	LateTemplate                    // one at the exit as well
	CaptureTemplate                 // and values
)

var templateNames = [...]string{"", "plain", "late", "capture"}

func (t Template) String() string {
	if int(t) < len(templateNames) {
		return templateNames[t]
	}
	return fmt.Sprintf("Template(%d)", uint8(t))
}

// ParseTemplate reads a template's name.
func ParseTemplate(name string) (Template, bool) {
	for t, known := range templateNames {
		if t > 0 && name == known {
			return Template(t), true
		}
	}
	return 0, false
}
