package walk_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
)

// waysOf are the ways a climb found to one of its spots, in the same form as the
// program tells them: as if each way were a stack. Of a spot in a library, what is
// in the library below the program's own method is left out.
func waysOf(c *climb.Climb, spot climb.Spot) *tree {
	found := &tree{share: 1}
	library := isLibrary(nameOf(c.Methods[spot.Method]))
	var put func(caller *climb.Caller, below []string)
	put = func(caller *climb.Caller, below []string) {
		frames := append(slices.Clone(below), nameOf(c.Methods[caller.Method]))
		// What has no caller on record is a way of its own; it is whatever its callers
		// do not account for.
		rest := caller.Share.Part
		for _, above := range caller.Above {
			rest -= above.Share.Part
			put(above, frames)
		}
		frames = straight(frames)
		if library {
			own := slices.IndexFunc(frames, func(name string) bool { return !isLibrary(name) })
			frames = frames[max(own, 0):]
		}
		found.put(frames, max(rest, 0))
		if caller.Top {
			found.end(frames, caller.Reason)
		}
		if caller.By == climb.Reckoned {
			found.reckoned(frames)
		}
	}
	for _, caller := range spot.Callers {
		put(caller, nil)
	}
	found.share = 1
	return found
}

func (t *tree) end(frames []string, why string) {
	t = t.last(frames)
	t.ends, t.why = true, why
}

func (t *tree) reckoned(frames []string) { t.last(frames).isReckoned = true }

// last is where some frames lead to.
func (t *tree) last(frames []string) *tree {
	for _, name := range frames {
		t = t.at(name)
	}
	return t
}

const (
	// points is how far a share may be off.
	points = 0.05
	// sure is how many standard errors a share of few samples may be off. On a busy
	// machine samples that follow each other see the same turn of a thread, so they are
	// worth less than independent ones.
	sure = 6
	// must is the part of a hot method's time whose way has to be found, and expected
	// how many samples of it there must have been to say so.
	must, expected = 0.03, 10
)

// allowance is how far a share may be off that was found by so many samples. Of few,
// also a share of nothing may be off: two more are thought of on either side.
func allowance(share, samples float64) float64 {
	samples = max(samples, 1)
	thought := (share*samples + 2) / (samples + 4)
	return max(points, sure*math.Sqrt(thought*(1-thought)/samples))
}

// compare has a line for each way on which the truth and what was found differ.
// Where stacks were cut off, a way may end early that says so.
func compare(truth, found *tree, samples float64, below string, cutOff bool) []string {
	names := maps.Clone(truth.above)
	if names == nil {
		names = make(map[string]*tree)
	}
	maps.Copy(names, found.above)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := below + " < " + short(name)
		right, there := truth.above[name], found.above[name]
		switch {
		case right == nil && there.share <= allowance(0, samples):
		case right == nil && len(truth.above) == 0 && isLibrary(name): // how threads begin is the JDK's affair
		case right == nil:
			lines = append(lines, fmt.Sprintf("%s: found with %.1f %%, and is no way", at, 100*there.share))
		case there == nil && right.share >= must && right.share*samples >= expected:
			lines = append(lines, fmt.Sprintf("%s: not found, and has %.1f %%", at, 100*right.share))
		case there == nil:
		case cutOff && (there.isReckoned || len(there.above) == 0): // from calls near the top of a recursion: it is said to be hardly known
		case math.Abs(right.share-there.share) > allowance(right.share, samples):
			lines = append(lines, fmt.Sprintf("%s: found with %.1f %%, and has %.1f %% (%.0f samples)", at, 100*there.share, 100*right.share, samples))
		case there.ends && there.why != "" && len(there.above) == 0 && cutOff: // it says why it knows no more
		case len(right.above) == 0 && !there.anyEnd():
			lines = append(lines, at+": the way ends here, and is not said to")
		default:
			lines = append(lines, compare(right, there, samples, at, cutOff)...)
		}
	}
	return lines
}

func (t *tree) anyEnd() bool {
	if t.ends {
		return true
	}
	for _, next := range t.above {
		if next.anyEnd() {
			return true
		}
	}
	return false
}

// text is a climb for failure messages.
func text(c *climb.Climb) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d samples over %v; took %v\n", c.Sampled.Samples, c.Sampled.Over, c.Took)
	for _, spot := range c.Spots {
		fmt.Fprintf(&out, "%5.1f%% %s %s from %v until %v above %q\n", 100*spot.Share.Part, short(nameOf(c.Methods[spot.Method])), spot.Kind, spot.From, spot.Until, spot.Above)
		var tell func(callers []*climb.Caller, indent string)
		tell = func(callers []*climb.Caller, indent string) {
			for _, one := range callers {
				fmt.Fprintf(&out, "%s%5.1f%% %s by %s, %d calls, %s %s top %v\n", indent, 100*one.Share.Part, short(nameOf(c.Methods[one.Method])), one.By, one.Calls, one.State, one.Reason, one.Top)
				tell(one.Above, indent+"  ")
			}
		}
		tell(spot.Callers, "    ")
	}
	for _, live := range c.Hooks {
		fmt.Fprintf(&out, "hook of %s, level %d, spot %d, %v to %v, %d calls, %d drawn\n", short(nameOf(c.Methods[live.Method])), live.Level, live.Spot, live.From, live.Until, live.Calls, live.Drawn)
	}
	for _, batch := range c.Batches {
		fmt.Fprintf(&out, "batch at %v: %s, in %v, %d classes, pause %v\n", batch.At, batch.Why, batch.In, batch.Classes, batch.Pause)
	}
	fmt.Fprintf(&out, "cost %+v\nnotes %q\n", c.Cost, c.Notes)
	return out.String()
}
