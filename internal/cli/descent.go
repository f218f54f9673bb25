package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/measure/found"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

// seenMethods are the methods whose calls are seen, by hooks or by the JVM's flight recorder.
type seenMethods interface {
	Roots() []classfile.MethodRef
	MethodOf(spot uint32) (m classfile.MethodRef, is bool)
	MethodsOf(spots []uint32) []classfile.MethodRef
	// IsOpen reports whether the callees of a method are seen, too.
	IsOpen(m classfile.MethodRef) bool
}

// A descent is how far a search has come from the method to the cause: one of sonde drill, or one below a missed goal.
type descent struct {
	seen     seenMethods
	slow     time.Duration          // calls that take longer are slow
	trees    map[uint32]*drill.Tree // by root
	calls    map[uint32]*rootCalls
	tree     *drill.Tree         // of the root that is searched; nil before it is chosen
	root     *rootCalls          // likewise
	chosen   classfile.MethodRef // likewise
	level    time.Time           // when collecting began
	opened   map[classfile.MethodRef]bool
	reopened map[classfile.MethodRef]bool // because samples have shown more
	focus    []classfile.MethodRef        // methods whose callees have hooks now
	frequent map[classfile.MethodRef]bool // methods that are called so often that their callees get no hooks
	path     []uint32                     // hooks of the methods that were chosen, and whose callees have hooks
	onPath   []uint32                     // those and the methods below that were chosen last
	levels   []drill.Level
	cause    *drill.Cause
	isWait   bool         // the search has followed a wait to another thread
	recalled *found.Cause // what an earlier search has found below the method; nil if nothing is known
	isBegun  bool         // the way there has got hooks
}

func newDescent(seen seenMethods, slow time.Duration) descent {
	return descent{
		seen: seen, slow: slow, trees: make(map[uint32]*drill.Tree), calls: make(map[uint32]*rootCalls), opened: make(map[classfile.MethodRef]bool),
		reopened: make(map[classfile.MethodRef]bool), frequent: make(map[classfile.MethodRef]bool),
	}
}

// takeWay returns the methods on the way to what an earlier search has found, without the first, once: what they call gets hooks in
// the first step, and fresh figures decide whether the search follows them. It also returns how many levels of callees get hooks in
// a step.
func (d *descent) takeWay() (way []classfile.MethodRef, ahead int) {
	if d.recalled == nil || d.isBegun {
		return nil, drillAhead
	}
	d.isBegun = true
	return d.recalled.Methods()[1:], 1
}

// wayText names the way to what an earlier search has found.
func (d *descent) wayText() string { return "the path to the cause found on " + dayOf(d.recalled) }

// isAsBefore reports whether the search has ended where an earlier one did.
func (d *descent) isAsBefore() bool {
	return d.recalled != nil && slices.Equal(d.seen.MethodsOf(d.onPath), d.recalled.Methods())
}

// compared says whether the search has ended where an earlier one did; "" if no earlier one is known.
func (d *descent) compared() string {
	switch {
	case d.recalled == nil:
		return ""
	case d.isAsBefore():
		return "the same method as on " + dayOf(d.recalled)
	}
	return fmt.Sprintf("it is not where it was on %s: %s", dayOf(d.recalled), d.recalled.Text)
}

// choose follows the excess as far as hooks show it, and keeps the figures of the path.
func (d *descent) choose() drill.Choice {
	choice := d.tree.Choose(d.path, d.isOpen, d.isWait)
	d.keepLevels(choice)
	return choice
}

// follow makes the search go on in what the last method of a choice calls, and returns that method.
func (d *descent) follow(choice drill.Choice) classfile.MethodRef {
	last, _ := d.seen.MethodOf(choice.Open.Spot)
	d.opened[last], d.path = true, choice.Spots()
	return last
}

// again forgets the calls that began before hooks were changed.
func (d *descent) again() {
	d.level = time.Now()
	if d.root == nil {
		clear(d.trees)
		clear(d.calls)
		return
	}
	d.tree = d.tree.Again()
}

// add takes in a call of a root. It reports whether it is slow, and whether it belongs to the search.
func (d *descent) add(tx *trace.Transaction) (isSlow, is bool) {
	tree, calls := d.treeOf(tx.Root.Spot)
	if tree == nil {
		return false, false
	}
	tree.Add(tx)
	if isSlow = tree.IsSlow(tx); isSlow {
		calls.slow.Add(tx.Duration)
		calls.excess += tx.Duration - d.slow
	} else {
		calls.normal.Add(tx.Duration)
	}
	return isSlow, true
}

// rootCalls sums up the calls of one root.
type rootCalls struct {
	slow, normal drill.Calls
	excess       time.Duration // of slow calls over the goal
}

// compare orders roots by whether they have slow calls and normal ones, then by the excess.
func (c *rootCalls) compare(other *rootCalls) int {
	isMixed := func(c *rootCalls) int { return min(1, c.slow.Calls) * min(1, c.normal.Calls) }
	return cmp.Or(cmp.Compare(isMixed(c), isMixed(other)), cmp.Compare(c.excess, other.excess))
}

func (d *descent) isEnough() bool { return d.tree.IsEnough(time.Since(d.level)) }

// isEnoughToBegin reports whether a root has enough slow calls. Several roots are compared for a while.
func (d *descent) isEnoughToBegin() bool {
	waited := time.Since(d.level)
	if len(d.trees) > 1 && waited < drill.Patience/2 {
		return false
	}
	for _, tree := range d.trees {
		if tree.IsEnough(waited) {
			return true
		}
	}
	return false
}

// slowestRoot chooses the root whose slow calls took most time, and returns it if it is known. One that has normal calls, too, comes before
// others: a method that is always slow may be meant to be, such as one that waits for work.
func (d *descent) slowestRoot() (root classfile.MethodRef, is bool) {
	var chosen uint32
	for spot, calls := range d.calls {
		if d.root == nil || calls.compare(d.root) > 0 {
			chosen, d.root = spot, calls
		}
	}
	d.tree = d.trees[chosen]
	d.levels = d.tree.Levels(drill.Choice{Path: []*drill.Node{d.tree.Root}, Open: d.tree.Root})
	d.chosen, is = d.seen.MethodOf(chosen)
	return d.chosen, is
}

// isOpen reports whether the callees of a method have hooks.
func (d *descent) isOpen(n *drill.Node) bool {
	m, is := d.seen.MethodOf(n.Spot)
	return !is || d.opened[m] || d.frequent[m] || d.seen.IsOpen(m)
}

// treeOf returns where calls of a root count; nil if another root was chosen.
func (d *descent) treeOf(spot uint32) (*drill.Tree, *rootCalls) {
	if d.root == nil {
		if d.trees[spot] == nil {
			d.trees[spot], d.calls[spot] = drill.NewTree(d.slow), &rootCalls{}
		}
		return d.trees[spot], d.calls[spot]
	}
	if m, is := d.seen.MethodOf(spot); is && m != d.chosen && d.chosen != (classfile.MethodRef{}) {
		return nil, nil
	}
	return d.tree, d.root
}

func (d *descent) hasSlow() bool {
	for _, c := range d.calls {
		if c.slow.Calls > 0 {
			return true
		}
	}
	return false
}

// keepLevels keeps the figures of a path. The other callees of a method had hooks only when it was chosen.
func (d *descent) keepLevels(choice drill.Choice) {
	levels := d.tree.Levels(choice)
	for i := range levels {
		if i < len(d.levels) && len(levels[i].Others) == 0 && levels[i].Name() == d.levels[i].Name() {
			isBelow := func(s drill.Sibling) bool { // methods in between had no hooks then
				return slices.ContainsFunc(levels[i+1:], func(l drill.Level) bool { return l.Name() == s.Class+"."+s.Method })
			}
			levels[i].Others = slices.DeleteFunc(slices.Clone(d.levels[i].Others), isBelow)
		}
	}
	if choice.Stop != drill.Changed {
		d.levels, d.onPath = levels, choice.Spots()
	}
}
