package build

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// ErrEmpty says that there is nothing to pack.
var ErrEmpty = errors.New("nothing to pack: no method of these classes gets a hook; sonde plan tells why")

// A LevelError says that probes do more than a pack can.
type LevelError struct {
	Probe string
	Level probeset.Level
	More  int // probes of which the same is true
}

func (e *LevelError) Error() string {
	more := ""
	if e.More > 0 {
		more = fmt.Sprintf(" (and %d more)", e.More)
	}
	return fmt.Sprintf("probe %s%s: level %v needs a Sonde that reads while the program runs, and a pack goes without: write level: time", e.Probe, more, e.Level)
}

// An ImageError says that an input is a JDK.
type ImageError struct{ Path string }

func (e *ImageError) Error() string {
	return e.Path + ": is a JDK's run-time image, whose classes are loaded before a pack could weave them: sonde apply does that in a running program"
}

// levelError is that of a set; nil where no probe asks for too much.
func levelError(set *probeset.Set) error {
	var first *LevelError
	for i := range set.Probes {
		switch p := &set.Probes[i]; {
		case p.Level <= probeset.Time:
		case first == nil:
			first = &LevelError{Probe: p.Name, Level: p.Level}
		default:
			first.More++
		}
	}
	if first == nil {
		return nil
	}
	return first
}

// timed is a set whose probes do no more than a pack can.
func timed(set *probeset.Set) *probeset.Set {
	lowered := *set
	lowered.Probes = make([]probeset.Probe, len(set.Probes))
	for i, p := range set.Probes {
		p.Level = min(p.Level, probeset.Time)
		lowered.Probes[i] = p
	}
	return &lowered
}

// toldApart are the probes that have results by tags, or by callers.
func toldApart(set *probeset.Set) (names []string) {
	for i := range set.Probes {
		if p := &set.Probes[i]; p.Context > 0 || len(p.GroupBy) > 0 {
			names = append(names, p.Name)
		}
	}
	return names
}

// unheeded are remarks on what a pack does not do of what a set asks for.
func unheeded(set *probeset.Set, draft *liveprobes.Draft) (notes []string) {
	var ending []string
	for i := range set.Probes {
		if p := &set.Probes[i]; p.For > 0 || p.Calls > 0 {
			ending = append(ending, p.Name)
		}
	}
	if len(ending) > 0 {
		notes = append(notes, fmt.Sprintf("for and calls of %s end nothing in a pack: its hooks stay while the program runs", strings.Join(ending, ", ")))
	}
	if apart := toldApart(set); len(apart) > 0 {
		notes = append(notes, fmt.Sprintf("results by tags or callers (%s) tell %d values apart in a pack, all probes together, and count the rest as (other): sonde apply tells more", strings.Join(apart, ", "), arena.MostUnanswered))
	}
	if len(draft.Wide) > 0 {
		notes = append(notes, fmt.Sprintf("%s may name methods of the JDK, too: no pack has those, sonde apply weaves them", strings.Join(draft.Wide, ", ")))
	}
	if draft.HandOff {
		notes = append(notes, "contexts and tags do not follow tasks to other threads in a pack: that takes sonde apply (hand-off: false says it is not wanted)")
	}
	return notes
}
