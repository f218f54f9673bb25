package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/suggest"
)

var (
	observeColumns = []column{
		{"SAMPLES", true}, {"CALLS/S", true}, {"MEAN", true}, {"COST", true}, {"WHY", false}, {"NATURE", false}, {"METHOD", false},
	}
	// observeExpendable are the columns a narrow terminal goes without, the first to go
	// first.
	observeExpendable = []string{"NATURE", "WHY", "MEAN"}
	codeColumns       = []column{{"METHODS", true}, {"WHY", false}, {"NATURE", false}, {"CLASS", false}}
)

// writeProposal writes the table of what is proposed, and what is to be known of it.
func writeProposal(w io.Writer, p *suggest.Proposal, width int) {
	if p.PID == 0 {
		writeTable(w, codeColumns, codeTexts(p), width)
	} else {
		columns, texts := observeColumns, observeTexts(p)
		if width > 0 {
			columns, texts = fit(columns, texts, observeExpendable, width)
		}
		writeTable(w, columns, texts, width)
	}
	_, _ = fmt.Fprintln(w)
	for _, line := range proposalLines(p) {
		_, _ = fmt.Fprintln(w, line)
	}
}

// observeTexts are the cells of what is proposed for a program that runs.
func observeTexts(p *suggest.Proposal) (texts [][]string) {
	for i := range p.Choices {
		c := &p.Choices[i]
		mean := "-"
		if c.Mean > 0 {
			mean = callText(float64(c.Mean))
		}
		texts = append(texts, []string{
			percentText(c.Share + c.Leaf), rateText(c.PerSecond), mean, percentText(c.Takes()), string(c.Why), orDash(natureText(c.Candidate)), printable(c.Method.String()),
		})
	}
	return texts
}

// codeTexts are the cells of what is proposed for archives.
func codeTexts(p *suggest.Proposal) (texts [][]string) {
	for _, line := range p.Lines() {
		first := line.Choices[0]
		class, _, _ := strings.Cut(strings.ReplaceAll(first.Class, "/", "."), "(")
		texts = append(texts, []string{grouped(len(line.Patterns)), string(first.Why), orDash(natureText(first.Candidate)), printable(class)})
	}
	return texts
}

// natureText is what a method has to do with.
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

// proposalLines say what the table does not.
func proposalLines(p *suggest.Proposal) []string {
	if p.PID == 0 {
		lines := []string{fmt.Sprintf("%s of %s in %s read", count(len(p.Choices), "method", "methods"), count(p.Read, "class", "classes"), strings.Join(p.Inputs, ", "))}
		if p.More > 0 {
			lines = append(lines, fmt.Sprintf("%s more would do: --most raises how many lines there are", count(p.More, "method", "methods")))
		}
		return append(lines, "nothing ran: how often they are called is not known, and no budget can be kept; sonde observe PID counts")
	}
	lines := []string{
		fmt.Sprintf("covers %s of the time above the leaf, by %s in %s", percentText(p.Coverage), count(p.Samples, "sample", "samples"), durationText(p.Sampled)),
		fmt.Sprintf("expected to cost %s of the program's processor time, at %.0f ns a call; the budget is %s", percentText(p.Cost), p.Nanos, percentText(p.Budget)),
	}
	for i := range p.Choices {
		if c := &p.Choices[i]; c.Thins {
			lines = append(lines, fmt.Sprintf("one call in %d is timed, and all are counted: %s (all timed: %s)", suggest.Thinned, printable(c.Method.String()), percentText(c.Cost)))
		}
	}
	lines = append(lines, bareLines(p.Bare)...)
	for _, left := range p.Left {
		lines = append(lines, fmt.Sprintf("left out: %s (%s): %s", printable(left.Method.String()), percentText(left.Share), left.Why))
	}
	if p.Bias != "" {
		lines = append(lines, "biased: samples are taken "+p.Bias)
	}
	return lines
}

func bareLines(bare []suggest.Bare) (lines []string) {
	for _, b := range bare {
		lines = append(lines, fmt.Sprintf("not covered: %s below %s", percentText(b.Share), printable(b.Method.String())))
	}
	return lines
}

// trialLines say what probes cost and covered.
func trialLines(p *suggest.Proposal, t *suggest.Trial) []string {
	budget := "inside the budget of " + percentText(p.Budget)
	if t.Cost > p.Budget {
		budget = "beyond the budget of " + percentText(p.Budget)
	}
	lines := []string{
		fmt.Sprintf("applied for %s: hooks in %s, %s", durationText(t.Took), count(t.Methods, "method", "methods"), count(int(t.Calls), "call", "calls")),
		fmt.Sprintf("cost %s of the program's processor time, %s", percentText(t.Cost), budget),
		fmt.Sprintf("covered %s of the time above the leaf, by %s", percentText(t.Coverage), count(t.Samples, "sample", "samples")),
	}
	lines = append(lines, bareLines(t.Bare)...)
	for _, left := range t.Left {
		lines = append(lines, "left alone: "+printable(left))
	}
	return lines
}
