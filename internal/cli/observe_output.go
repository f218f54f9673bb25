package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/measure/suggest"
)

// An observeView shows an observation to the user while it goes on.
type observeView struct {
	*observing
	*bulletin
	began time.Time
}

func newObserveView(c *observing) *observeView {
	return &observeView{observing: c, bulletin: newBulletin(c.streams, c.json), began: time.Now()}
}

// progress is told by the observation how far it is, on its own goroutine.
func (v *observeView) progress(p suggest.Progress) {
	line := fmt.Sprintf("%s: %s", shortDuration(time.Since(v.began)), p.Stage)
	switch p.Stage {
	case suggest.Sampling:
		line += " for " + durationText(v.part(0))
	case suggest.Counting:
		line += fmt.Sprintf(" of %s for %s", count(p.Methods, "method", "methods"), durationText(v.part(1)))
	case suggest.Reading:
		line += fmt.Sprintf(" of %s, by %s", count(p.Methods, "method", "methods"), count(p.Samples, "sample", "samples"))
	case suggest.Measuring:
		line += " for " + durationText(v.For)
	}
	v.say("%s", line)
}

// part is how long a part of the observation takes.
func (v *observeView) part(i int) time.Duration {
	sampling, counting := v.Parts()
	if i == 0 {
		return sampling
	}
	return counting
}

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
			lines = append(lines, fmt.Sprintf("one call in %d is timed, and all are counted: %s (all timed: %s)", overhead.ThinPeriod, printable(c.Method.String()), percentText(c.Cost)))
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

// proposalJSON is what `sonde observe --json` writes. Shares, budget and costs are parts
// of a whole.
type proposalJSON struct {
	PID        int              `json:"pid,omitempty"` // none of archives
	JDK        string           `json:"jdk,omitempty"`
	Main       string           `json:"main,omitempty"`
	Files      []string         `json:"files,omitempty"`
	Classes    int              `json:"classesRead"`
	Budget     float64          `json:"budget,omitempty"`
	Cost       float64          `json:"expectedCost"`
	Coverage   float64          `json:"coverage"`
	CallNanos  float64          `json:"callNanos,omitempty"`
	Processors float64          `json:"processors,omitempty"` // that the program used
	Samples    int              `json:"samples"`
	Seconds    float64          `json:"sampledSeconds,omitempty"`
	Counted    int              `json:"methodsCounted"`
	Bias       string           `json:"bias,omitempty"`
	Probes     []proposedJSON   `json:"probes"`
	NotCovered []bareJSON       `json:"notCovered,omitempty"`
	LeftOut    []unproposedJSON `json:"leftOut,omitempty"`
	More       int              `json:"methodsBeyondBound,omitempty"`
	YAML       string           `json:"yaml"`
	Applied    *trialJSON       `json:"applied,omitempty"`
}

type proposedJSON struct {
	Name    string             `json:"name"`
	Reason  string             `json:"reason"`
	Why     string             `json:"why"`
	Methods []proposedCallJSON `json:"methods"`
}

type proposedCallJSON struct {
	Pattern   string    `json:"pattern"`
	Share     float64   `json:"share"`               // of samples above whose leaf it stands
	Leaf      float64   `json:"leafShare,omitempty"` // of samples in which it is only the leaf
	PerSecond float64   `json:"callsPerSecond"`
	MeanNanos int64     `json:"meanNanos,omitempty"`
	Cost      float64   `json:"cost"`
	Timed     uint32    `json:"timedOneIn,omitempty"` // none where all are
	Entry     string    `json:"takesRequestsBy,omitempty"`
	Uses      []useJSON `json:"uses,omitempty"`
	Blocked   float64   `json:"threadsBlocked,omitempty"`
	Network   float64   `json:"threadsWaitingForNetwork,omitempty"`
	Files     float64   `json:"threadsWaitingForFiles,omitempty"`
}

type useJSON struct {
	Kind string `json:"kind"`
	Call string `json:"call"`
}

type bareJSON struct {
	Below string  `json:"below"`
	Share float64 `json:"share"`
}

type unproposedJSON struct {
	Method string  `json:"method"`
	Share  float64 `json:"share"`
	Why    string  `json:"why"`
}

type trialJSON struct {
	Seconds    float64    `json:"seconds"`
	Methods    int        `json:"methods"`
	Calls      uint64     `json:"calls"`
	Cost       float64    `json:"cost"`
	InBudget   bool       `json:"inBudget"`
	Coverage   float64    `json:"coverage"`
	Samples    int        `json:"samples"`
	NotCovered []bareJSON `json:"notCovered,omitempty"`
	LeftAlone  []string   `json:"leftAlone,omitempty"`
}

func describeProposal(p *suggest.Proposal, t *suggest.Trial) proposalJSON {
	d := proposalJSON{
		PID: p.PID, JDK: p.JDK, Main: p.Main, Files: p.Inputs, Classes: p.Read, Budget: p.Budget, Cost: p.Cost, Coverage: p.Coverage, CallNanos: p.Nanos,
		Processors: p.Use, Samples: p.Samples, Seconds: p.Sampled.Seconds(), Counted: p.Counted, Bias: p.Bias, More: p.More, YAML: string(p.YAML()),
		NotCovered: describeBare(p.Bare),
	}
	for _, line := range p.Lines() {
		one := proposedJSON{Name: line.Name, Reason: line.Reason, Why: string(line.Choices[0].Why)}
		for i, c := range line.Choices {
			method := proposedCallJSON{
				Pattern: line.Patterns[i], Share: c.Share, Leaf: c.Leaf, PerSecond: c.PerSecond, MeanNanos: int64(c.Mean), Cost: c.Takes(), Timed: c.Sample(), Entry: c.Entry,
				Blocked: c.Blocked, Network: c.Network, Files: c.Files,
			}
			for _, use := range c.Uses {
				method.Uses = append(method.Uses, useJSON{string(use.Kind), use.Call})
			}
			one.Methods = append(one.Methods, method)
		}
		d.Probes = append(d.Probes, one)
	}
	for _, left := range p.Left {
		d.LeftOut = append(d.LeftOut, unproposedJSON{left.Method.String(), left.Share, left.Why})
	}
	if t != nil {
		d.Applied = &trialJSON{
			Seconds: t.Took.Seconds(), Methods: t.Methods, Calls: t.Calls, Cost: t.Cost, InBudget: t.Cost <= p.Budget, Coverage: t.Coverage,
			Samples: t.Samples, NotCovered: describeBare(t.Bare), LeftAlone: t.Left,
		}
	}
	return d
}

func describeBare(bare []suggest.Bare) (all []bareJSON) {
	for _, b := range bare {
		all = append(all, bareJSON{b.Method.String(), b.Share})
	}
	return all
}
