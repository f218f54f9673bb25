package suggest

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/internal/report/format"
)

// Reason is why a method is proposed, in one line without a full stop.
func (c *Choice) Reason() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if c.Entry != "" {
		add("%s", c.Entry)
	}
	if c.Measured {
		switch share := percent(c.Share); {
		case c.Why == ToCover && c.Adds < c.Share-leastCover:
			add("above %s of samples, %s of them covered by no line before", share, percent(c.Adds))
		case c.Share > 0:
			add("above %s of samples", share)
		}
		if c.Leaf >= leastTold {
			add("on top of %s", percent(c.Leaf))
		}
	}
	for _, wait := range []struct {
		threads float64
		what    string
	}{{c.Blocked, "a lock"}, {c.Waits.Network, "the network"}, {c.Waits.Files, "files"}} {
		if wait.threads >= leastWait {
			add("%.2g threads wait in it for %s", wait.threads, wait.what)
		}
	}
	for _, use := range c.Uses {
		add("%s", use.text())
	}
	if c.Measured {
		calls := rate(c.PerSecond) + " calls/s"
		if c.Mean > 0 {
			calls += " of " + format.Duration(c.Mean)
		}
		add("%s", calls)
		if c.Thins {
			add("one in %d timed, as all would cost %s", Thinned, percent(c.Cost))
		}
		add("costs %s", percent(c.Takes()))
	}
	return string(c.Why) + ": " + strings.Join(parts, "; ")
}

func (u Use) text() string {
	if u.Kind == Lock && strings.HasPrefix(u.Call, "synchronized") {
		return u.Call
	}
	return fmt.Sprintf("%s: calls %s", u.Kind, u.Call)
}

// percent is a part with two digits that count.
func percent(part float64) string {
	switch p := part * 100; {
	case p == 0:
		return "0 %"
	case p < 0.001:
		return "under 0.001 %"
	case p < 0.1:
		return fmt.Sprintf("%.3f %%", p)
	case p < 10:
		return fmt.Sprintf("%.1f %%", p)
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

// rate writes how often something happens a second.
func rate(perSecond float64) string {
	if perSecond < 10 {
		return strconv.FormatFloat(math.Round(perSecond*10)/10, 'f', -1, 64)
	}
	return format.Grouped(int(math.Round(perSecond)))
}
