package suggest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// A Line is one probe that is proposed.
type Line struct {
	Name     string
	Patterns []string
	Reason   string
	Choices  []*Choice // one of a program that runs; of archives all of a class
}

// Lines are the probes that are proposed. Each method of a program that runs has its
// own, as it has its own figures.
func (p *Proposal) Lines() (lines []Line) {
	used := make(map[string]bool)
	at := make(map[string]int)
	for i := range p.Choices {
		c := &p.Choices[i]
		group := c.Class + " " + string(c.Why) + " " + string(c.lead())
		if known, is := at[group]; is && p.PID == 0 {
			lines[known].Patterns = append(lines[known].Patterns, c.Pattern)
			lines[known].Choices = append(lines[known].Choices, c)
			continue
		}
		at[group] = len(lines)
		name := nameOf(c.Class, c.Name, used)
		if p.PID == 0 {
			name = nameOf(c.Class, string(c.lead()), used)
		}
		lines = append(lines, Line{Name: name, Patterns: []string{c.Pattern}, Reason: c.Reason(), Choices: []*Choice{c}})
	}
	return lines
}

// Set is what is proposed as a set that can be applied. Nothing in it asks for contexts,
// so none are handed from thread to thread.
func (p *Proposal) Set() *probeset.Set {
	set := &probeset.Set{}
	for _, line := range p.Lines() {
		set.Probes = append(set.Probes, probeset.Probe{Name: line.Name, Methods: line.Patterns, Level: probeset.Time, Sample: line.Choices[0].Sample()})
	}
	return set
}

// mostName is how long a probe's name may be.
const mostName = 64

// nameOf is what a probe is called: the class without its package, and the method.
func nameOf(class, method string, used map[string]bool) string {
	class = class[strings.LastIndexByte(class, '/')+1:]
	if method == "<init>" {
		method = "new"
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-':
			return r
		case r == '$':
			return '.'
		}
		return '_'
	}, class+"."+method)
	const room = 4 // for a number
	name = strings.Trim(name[max(0, len(name)-mostName+room):], ".")
	for i, plain := 2, name; used[name]; i++ {
		name = fmt.Sprintf("%s-%d", plain, i)
	}
	used[name] = true
	return name
}

// YAML is the set as its file, with why each probe is in it.
func (p *Proposal) YAML() []byte {
	var out bytes.Buffer
	for _, line := range p.Head() {
		fmt.Fprintf(&out, "# %s\n", format.Line(line))
	}
	lines := p.Lines()
	for line := range strings.Lines(string(p.Set().YAML())) {
		if strings.HasPrefix(line, probeLine) && len(lines) > 0 {
			fmt.Fprintf(&out, "  # %s\n", format.Line(lines[0].Reason))
			lines = lines[1:]
		}
		out.WriteString(line)
	}
	return out.Bytes()
}

// probeLine is what a probe begins with in the canonical file.
const probeLine = "  - name: "

// Head says what the set is about, a line each.
func (p *Proposal) Head() []string {
	if p.PID == 0 {
		return []string{
			fmt.Sprintf("Proposed by the code of %s (%d classes): nothing ran, so how often methods are called is", strings.Join(p.Inputs, ", "), p.Read),
			"not known, and no budget can be kept: sonde observe PID counts. Edit as you like; sonde apply PID -f takes it.",
		}
	}
	return []string{
		fmt.Sprintf("Proposed for %s by %d samples in %s and %d methods counted. Edit as you like; sonde apply PID -f takes it.", p.of(), p.Samples, p.Sampled.Round(1e8), p.Counted),
		fmt.Sprintf("Budget: %s of the program's processor time. Expected cost: %s, at %.0f ns a call.", percent(p.Budget), percent(p.Cost), p.Nanos),
		fmt.Sprintf("Coverage: %s of the samples of running threads have a probed method above their leaf, one whose calls end.", percent(p.Coverage)),
	}
}

func (p *Proposal) of() string {
	if p.Main == "" {
		return fmt.Sprintf("process %d", p.PID)
	}
	return fmt.Sprintf("%s (JDK %s)", p.Main, p.JDK)
}
