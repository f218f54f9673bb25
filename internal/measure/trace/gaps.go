package trace

// Gaps between calls that follow each other inside one other hold all that hooks take
// around the clock, and whatever the caller does in between. So the shortest ones say
// how much hooks take at most. Writing a record takes longer than what calibration
// measures, which is hooks that only time: where the shortest gaps are not much longer
// than that, they are believed.
type gaps struct {
	counts [mostGap]uint32 // by nanoseconds
	all    uint64
}

const (
	mostGap = 1024
	// leastGaps is how many there must be, and gapPart the part of all that are shorter:
	// what hooks take varies, by a third and more.
	leastGaps = 500
	gapPart   = 0.2
	// plausible is how many times longer than what was calibrated a gap may be to be
	// the hooks' own.
	plausible = 4
)

// learn takes the gaps of a tree.
func (g *gaps) learn(c *Call) {
	for i, child := range c.Children {
		g.learn(child)
		if i == 0 {
			continue
		}
		if before := c.Children[i-1]; child.start >= before.end() {
			g.all++
			if gap := child.start - before.end(); gap < mostGap {
				g.counts[gap]++
			}
		}
	}
}

// shortest is a gap as the shorter ones are; 0 where there are too few of all, or
// they are long.
func (g *gaps) shortest() float64 {
	if g.all < leastGaps {
		return 0
	}
	rank := uint64(gapPart * float64(g.all))
	var below uint64
	for gap, count := range g.counts {
		if below += uint64(count); below > rank {
			return float64(gap)
		}
	}
	return 0
}

// refine is a cost with what gaps tell.
func (g *gaps) refine(calibrated Cost) Cost {
	if shortest := g.shortest(); shortest > calibrated.Outer && shortest <= plausible*calibrated.Outer {
		calibrated.Outer = shortest
	}
	return calibrated
}
