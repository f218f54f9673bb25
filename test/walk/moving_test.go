package walk_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
)

// places are where the hot spot of the fixture moves, in order.
var places = []string{"moving/Main.load(I)J", "moving/Main.sell(I)J", "moving/Main.close(I)J"}

// TestAMovingSpotIsFollowed has the hot spot move each time its ways have been
// climbed: the next joins, and those before cool down.
func TestAMovingSpotIsFollowed(t *testing.T) {
	together(t, []string{"moving"}, func(t *testing.T, jdk jvmtest.JDK, _ int) {
		p := start(t, jdk, fixture{name: "moving", threads: 1, options: slices.Concat(cheapClock, apart)})
		before := p.look()
		c := p.take(func() (*climb.Climb, []string) {
			c := p.follow()
			return c, p.notFollowed(c)
		})
		p.untouched(before)
		p.tell(c)
	})
}

// follow walks the program, and has it move on each time its hot spot has been climbed.
func (p *program) follow() *climb.Climb {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	place := 0
	p.move(place)
	o := options(3 * time.Second)
	o.Duration = walkLimit
	o.Progress = func(now rootcause.Progress) {
		switch c := now.Climb(); {
		case now.Stage != rootcause.Watching || !isClimbed(c, places[place]):
		case place < len(places)-1:
			place++
			p.move(place)
		case hasCooled(c, places[place-1]):
			cancel()
		}
	}
	return p.walk(ctx, o)
}

func spotAt(c *climb.Climb, name string) *climb.Spot {
	i := slices.IndexFunc(c.Spots, func(s climb.Spot) bool { return nameOf(c.Methods[s.Method]) == name })
	if i < 0 {
		return nil
	}
	return &c.Spots[i]
}

// isClimbed reports whether a method is a hot spot with a hook that was on.
func isClimbed(c *climb.Climb, name string) bool {
	spot := spotAt(c, name)
	return spot != nil && slices.ContainsFunc(c.Hooks, func(l climb.Live) bool { return l.Method == spot.Method && l.Until > 0 })
}

func hasCooled(c *climb.Climb, name string) bool {
	spot := spotAt(c, name)
	return spot != nil && spot.Until > 0
}

// notFollowed has a line for each place that was not found in order and with its way, and
// for what was found beside.
func (p *program) notFollowed(c *climb.Climb) (lines []string) {
	var last time.Duration
	for i, name := range places {
		spot := spotAt(c, name)
		if spot == nil {
			lines = append(lines, name+" was never found")
			continue
		}
		right := &tree{}
		for _, s := range p.stacks {
			if s.frames[0] == name {
				right.put(s.frames[1:], 1)
			}
		}
		right.scale(1 / right.share)
		lines = append(lines, compare(right, waysOf(c, *spot), p.samples/float64(len(places)), short(name), false)...)
		if spot.From < last || i < len(places)-1 && spot.Until <= spot.From || i == len(places)-1 && spot.Until != 0 {
			lines = append(lines, fmt.Sprintf("%s is said to have been hot from %v until %v, the one before from %v", name, spot.From, spot.Until, last))
		}
		last = spot.From
	}
	for _, spot := range c.Spots {
		name := nameOf(c.Methods[spot.Method])
		if !slices.Contains(places, name) && spot.Share.Part > stray {
			lines = append(lines, fmt.Sprintf("%s is said to be hot, with %.1f %%", name, 100*spot.Share.Part))
		}
	}
	return lines
}
