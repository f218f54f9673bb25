package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/report/ascent"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// WriteClimbText writes a climb for people. width is the terminal's, 0 where lines
// may be of any length.
func WriteClimbText(w io.Writer, c *climb.Climb, width int) error {
	out := bufio.NewWriter(w) // keeps the first error until Flush
	t := &climbReport{textReport{Writer: out, names: climbNames(c), width: width}, c}
	t.header()
	t.causes()
	for i := range c.Spots {
		t.spot(i)
	}
	t.hooked()
	t.batches()
	t.list()
	t.cost()
	return out.Flush()
}

// A climbReport is one being written.
type climbReport struct {
	textReport
	climb *climb.Climb
}

func climbNames(c *climb.Climb) []string {
	methods := make([]cct.Method, len(c.Methods))
	for i, m := range c.Methods {
		methods[i] = cct.Method(m)
	}
	return names(methods)
}

// brief is a method's name without its package.
func (t *climbReport) brief(method int) string { return briefName(t.names[method]) }

func briefName(name string) string {
	head, tail := name, ""
	if i := strings.IndexByte(name, '('); i >= 0 {
		head, tail = name[:i], name[i:]
	}
	parts := strings.Split(head, ".")
	return strings.Join(parts[max(0, len(parts)-2):], ".") + tail
}

func (t *climbReport) header() {
	c := t.climb
	t.say("%s", format.Printable(title(cct.Target(c.Target))))
	when := ""
	if !c.Began.IsZero() {
		when = ", from " + c.Began.Format("2006-01-02 15:04:05 MST")
	}
	t.say("walked for %s%s", format.Duration(c.Took), when)
	t.say("%s among %s in %s (%s)", format.Count(len(c.Spots), "hot spot", "hot spots"),
		format.Count(c.Sampled.Samples, "sample of running threads", "samples of running threads"), format.Duration(c.Sampled.Over), format.Printable(c.Sampled.By))
	if c.Sampled.Biased {
		t.say("biased: threads were asked where they may be stopped, so the hot method may be a neighbour of the one named")
	}
}

// causes says of each hot spot what matters first.
func (t *climbReport) causes() {
	if len(t.climb.Spots) == 0 {
		t.line("\nno hot spot")
		return
	}
	t.heading("Where the time goes, and who causes it")
	for i := range t.climb.Spots {
		s := &t.climb.Spots[i]
		t.say("#%d  %s  %s%s", i+1, rangedShare(s.Share), t.names[s.Method], spotMarks(s))
		for _, sentence := range t.causeOf(s) {
			t.say("  %s", sentence)
		}
	}
}

// spotMarks are what is known of a hot spot beside its share.
func spotMarks(s *climb.Spot) string {
	var marks []string
	if s.Kind != "" {
		marks = append(marks, format.Printable(s.Kind))
	}
	if s.Line > 0 {
		marks = append(marks, fmt.Sprintf("line %d", s.Line))
	}
	if s.From > 0 {
		marks = append(marks, "hot since "+format.Duration(s.From))
	}
	if s.Until > 0 {
		marks = append(marks, "cooled at "+format.Duration(s.Until))
	}
	if len(marks) == 0 {
		return ""
	}
	return " (" + strings.Join(marks, ", ") + ")"
}

// causeOf are the sentences on who causes a hot spot.
func (t *climbReport) causeOf(s *climb.Spot) []string {
	cause := ascent.CauseOf(t.climb, s)
	var said []string
	switch {
	case cause.By != nil:
		said = append(said, fmt.Sprintf("Cause: %s spends %s of it through %s", t.names[cause.By.Method], rangedShare(cause.By.Share), t.way(cause.Way)))
	case cause.End != nil:
		said = append(said, fmt.Sprintf("Cause: no method of the program was found on the way up, which is %s", t.way(cause.Way)))
	default:
		said = append(said, "Cause: not known, as no caller was found")
	}
	if d := cause.Divides; d != nil {
		ways := make([]string, 0, len(d.Ways))
		for i, way := range d.Ways {
			if i == mostWays {
				ways = append(ways, fmt.Sprintf("and %d more", len(d.Ways)-i))
				break
			}
			ways = append(ways, fmt.Sprintf("%s %s", t.names[way.Method], shareText(way.Share.Part, 1)))
		}
		said = append(said, fmt.Sprintf("The way divides above %s: %s", t.brief(d.Above), strings.Join(ways, ", ")))
	}
	if cause.End != nil && cause.End != cause.By {
		said = append(said, fmt.Sprintf("The main way ends in %s%s", t.names[cause.End.Method], ending(cause.End)))
	}
	if s.Above != "" {
		said = append(said, "The climb began one level up: "+format.Printable(s.Above))
	}
	return said
}

// mostWays is how many ways of a division are named.
const mostWays = 5

// ending says why a way ends, where that is known.
func ending(c *climb.Caller) string {
	if c.Reason == "" {
		return ""
	}
	return ": " + format.Printable(c.Reason)
}

// way is a way up in short names; of a long one the middle is left out.
func (t *climbReport) way(methods []int) string {
	const most, kept = 7, 3
	briefs := make([]string, 0, len(methods))
	for i, method := range methods {
		if len(methods) > most && i == kept {
			briefs = append(briefs, "…")
		}
		if len(methods) <= most || i < kept || i >= len(methods)-kept {
			briefs = append(briefs, t.brief(method))
		}
	}
	return strings.Join(briefs, " < ")
}

// wideShare is from which width on the interval of a share is written.
const wideShare = 0.03

// rangeText is the interval of a share, where it is wide.
func rangeText(s climb.Share) string {
	if s.High-s.Low < wideShare {
		return ""
	}
	return fmt.Sprintf("%.0f–%.0f %%", s.Low*100, s.High*100)
}

// rangedShare is a share with its interval where that is wide.
func rangedShare(s climb.Share) string {
	text := shareText(s.Part, 1)
	if between := rangeText(s); between != "" {
		text += " (" + between + ")"
	}
	return text
}
