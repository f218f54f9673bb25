package wanted

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
