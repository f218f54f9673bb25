package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/suggest"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// An observeView shows the progress of an observation.
type observeView struct {
	*observing
	*bulletin
	began time.Time
}

func newObserveView(c *observing) *observeView {
	return &observeView{observing: c, bulletin: newBulletin(c.streams, c.json), began: time.Now()}
}

// progress is called by the observation, on its own goroutine.
func (v *observeView) progress(p suggest.Progress) {
	line := fmt.Sprintf("%s: %s", format.ShortDuration(time.Since(v.began)), p.Stage)
	switch p.Stage {
	case suggest.Sampling:
		line += " for " + format.Duration(v.part(0))
	case suggest.Counting:
		line += fmt.Sprintf(" of %s for %s", format.Count(p.Methods, "method", "methods"), format.Duration(v.part(1)))
	case suggest.Reading:
		line += fmt.Sprintf(" of %s, by %s", format.Count(p.Methods, "method", "methods"), format.Count(p.Samples, "sample", "samples"))
	case suggest.Measuring:
		line += " for " + format.Duration(v.For)
	}
	v.say("%s", line)
}

// part returns how long a part of the observation takes.
func (v *observeView) part(i int) time.Duration {
	sampling, counting := v.Parts()
	if i == 0 {
		return sampling
	}
	return counting
}

var (
	observeColumns = format.Columns(">SAMPLES", ">CALLS/S", ">MEAN", ">COST", "WHY", "NATURE", "METHOD")
	// observeExpendable are the columns that a narrow terminal drops, in this order.
	observeExpendable = []string{"NATURE", "WHY", "MEAN"}
	codeColumns       = format.Columns(">METHODS", "WHY", "NATURE", "CLASS")
)

// writeProposal writes the proposed methods as a table, with notes.
func writeProposal(w io.Writer, p *suggest.Proposal, width int) {
	if p.PID == 0 {
		format.WriteTable(w, codeColumns, codeTexts(p), width)
	} else {
		columns, texts := observeColumns, observeTexts(p)
		if width > 0 {
			columns, texts = format.FitTable(columns, texts, observeExpendable, width)
		}
		format.WriteTable(w, columns, texts, width)
	}
	_, _ = fmt.Fprintln(w)
	for _, line := range proposalLines(p) {
		_, _ = fmt.Fprintln(w, line)
	}
}

// observeTexts returns the cells of a proposal for a running program.
func observeTexts(p *suggest.Proposal) (texts [][]string) {
	for i := range p.Choices {
		c := &p.Choices[i]
		mean := "-"
		if c.Mean > 0 {
			mean = format.Call(float64(c.Mean))
		}
		texts = append(texts, []string{
			format.Percent(c.Share + c.Leaf), format.Rate(c.PerSecond), mean, format.Percent(c.Takes()), string(c.Why), format.OrDash(natureText(c.Candidate)), format.Printable(c.Method.String()),
		})
	}
	return texts
}

// codeTexts returns the cells of a proposal for archives.
func codeTexts(p *suggest.Proposal) (texts [][]string) {
	for _, line := range p.Lines() {
		first := line.Choices[0]
		class, _, _ := strings.Cut(strings.ReplaceAll(first.Class, "/", "."), "(")
		texts = append(texts, []string{format.Grouped(len(line.Patterns)), string(first.Why), format.OrDash(natureText(first.Candidate)), format.Printable(class)})
	}
	return texts
}

// natureText says what a method works with.
func natureText(c *suggest.Candidate) string {
	var kinds []string
	if c.Entry != "" {
		kinds = append(kinds, string(suggest.Request))
	}
	for _, use := range c.Uses {
		kinds = append(kinds, string(use.Kind))
	}
	return strings.Join(kinds, ", ")
}

// proposalLines returns notes to the table.
func proposalLines(p *suggest.Proposal) []string {
	if p.PID == 0 {
		lines := []string{fmt.Sprintf("%s of %s in %s read", format.Count(len(p.Choices), "method", "methods"), format.Count(p.Read, "class", "classes"), strings.Join(p.Inputs, ", "))}
		if p.More > 0 {
			lines = append(lines, fmt.Sprintf("%s more qualify: --most raises the number of lines", format.Count(p.More, "method", "methods")))
		}
		return append(lines, "nothing ran, so the number of calls is unknown and no budget can be kept; sonde observe PID counts calls")
	}
	lines := []string{
		fmt.Sprintf("covers %s of the time above the leaf, according to %s in %s", format.Percent(p.Coverage), format.Count(p.Samples, "sample", "samples"), format.Duration(p.Sampled)),
		fmt.Sprintf("expected to cost %s of the program's processor time, at %.0f ns per call; the budget is %s", format.Percent(p.Cost), p.Nanos, format.Percent(p.Budget)),
	}
	for i := range p.Choices {
		if c := &p.Choices[i]; c.Thins {
			lines = append(lines, fmt.Sprintf("one call in %d is timed, and all are counted: %s (all timed: %s)", overhead.ThinPeriod, format.Printable(c.Method.String()), format.Percent(c.Cost)))
		}
	}
	lines = append(lines, bareLines(p.Bare)...)
	for _, left := range p.Left {
		lines = append(lines, fmt.Sprintf("left out: %s (%s): %s", format.Printable(left.Method.String()), format.Percent(left.Share), left.Why))
	}
	if p.Bias != "" {
		lines = append(lines, "biased: samples are taken "+p.Bias)
	}
	return lines
}

func bareLines(bare []suggest.Bare) (lines []string) {
	for _, b := range bare {
		lines = append(lines, fmt.Sprintf("not covered: %s below %s", format.Percent(b.Share), format.Printable(b.Method.String())))
	}
	return lines
}

// trialLines says what the probes cost and covered.
func trialLines(p *suggest.Proposal, t *suggest.Trial) []string {
	budget := "within the budget of " + format.Percent(p.Budget)
	if t.Cost > p.Budget {
		budget = "over the budget of " + format.Percent(p.Budget)
	}
	lines := []string{
		fmt.Sprintf("applied for %s: hooks in %s, %s", format.Duration(t.Took), format.Count(t.Methods, "method", "methods"), format.Count(int(t.Calls), "call", "calls")),
		fmt.Sprintf("cost %s of the program's processor time, %s", format.Percent(t.Cost), budget),
		fmt.Sprintf("covered %s of the time above the leaf, according to %s", format.Percent(t.Coverage), format.Count(t.Samples, "sample", "samples")),
	}
	lines = append(lines, bareLines(t.Bare)...)
	for _, left := range t.Left {
		lines = append(lines, "left alone: "+format.Printable(left))
	}
	return lines
}
