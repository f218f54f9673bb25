package probeset

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// A Bound compares a figure of calls with a limit, such as p95 < 200ms.
type Bound struct {
	Text     string
	Quantity string  // p, mean, max, running, errors, calls, rate or stalled
	Quantile float64 // of p
	Less     bool    // the figure is less than the limit
	Equal    bool    // or equal to it
	Limit    float64 // times are in nanoseconds
	IsShare  bool    // errors are compared as a part of the calls
}

// WantsBound says how a bound is written, as an example of each quantity.
const WantsBound = "a condition such as 'p95 > 200ms', 'mean > 1ms', 'max > 5s', 'running > 30s', 'errors > 1%', 'errors > 0', 'calls < 1', 'rate < 10' or 'stalled > 0'"

var boundText = regexp.MustCompile(`^([a-z]+)([0-9]{1,2}(?:\.[0-9]+)?)?(<=|>=|<|>)([0-9.]+)([a-zµ%]*)$`)

// ParseBound reads a bound. It reports whether the text is one.
func ParseBound(text string) (b *Bound, ok bool) {
	parts := boundText.FindStringSubmatch(strings.Join(strings.Fields(text), ""))
	if parts == nil {
		return nil, false
	}
	b = &Bound{Text: strings.Join(strings.Fields(text), " "), Quantity: parts[1], Less: parts[3][0] == '<', Equal: len(parts[3]) == 2}
	limit, err := strconv.ParseFloat(parts[4], 64)
	if err != nil {
		return nil, false
	}
	b.Limit = limit
	unit := parts[5]
	if b.Quantity == "p" {
		percent, err := strconv.ParseFloat(parts[2], 64)
		b.Quantile = percent / 100
		if err != nil || percent <= 0 {
			return nil, false
		}
	} else if parts[2] != "" {
		return nil, false
	}
	switch b.Quantity {
	case "p", "mean", "max", "running":
		d, err := time.ParseDuration(parts[4] + unit)
		b.Limit = float64(d)
		return b, err == nil
	case "errors":
		if unit == "%" {
			b.IsShare, b.Limit = true, limit/100
			return b, true
		}
		return b, unit == ""
	case "calls", "rate", "stalled":
		return b, unit == ""
	}
	return nil, false
}

func (b *Bound) String() string { return b.Text }

// Name returns the name of the figure: p95, mean.
func (b *Bound) Name() string {
	if b.Quantity == "p" {
		return "p" + strconv.FormatFloat(100*b.Quantile, 'f', -1, 64)
	}
	return b.Quantity
}

// A Goal is what the calls of a method should keep to. While they do not, what the method calls has hooks.
type Goal struct {
	Method    *pattern.Pattern
	Bounds    []*Bound      // all should hold
	Over      time.Duration // figures cover this time; 0: DefaultOver
	Recovered Recovery
	OnMiss    OnMiss
	Probe     string // the name of the probe that measures it
}

// The defaults of goals, and their limits.
const (
	DefaultOver     = time.Minute
	DefaultRecovery = time.Minute
	MaxGoals        = 100
	leastOver       = time.Second
	maxOver         = 24 * time.Hour
	maxWords        = 100 // of a command
	goalLevels      = 100 // of calls below the method that can have hooks
)

// Window returns the time whose figures are compared.
func (g *Goal) Window() time.Duration { return cmp.Or(g.Over, DefaultOver) }

// Title returns how messages refer to the goal.
func (g *Goal) Title() string {
	return strings.Join(textsOf(g.Bounds), ", ") + " of " + g.Method.String()
}

// Recovery is for how long a goal must be met again: a time or a number of calls.
type Recovery struct {
	Time  time.Duration
	Calls uint64
}

// OrDefault returns the recovery, or the default if none is stated.
func (r Recovery) OrDefault() Recovery {
	if r == (Recovery{}) {
		r.Time = DefaultRecovery
	}
	return r
}

func (r Recovery) String() string {
	switch r.Calls {
	case 0:
		return DurationText(r.Time)
	case 1:
		return "1 call"
	}
	return fmt.Sprintf("%d calls", r.Calls)
}

// OnMiss is what happens when a goal is missed, besides hooks: a command is run, or its findings are sent.
type OnMiss struct {
	Run  []string // a program with its arguments
	Post string   // a URL
}

func (a OnMiss) String() string {
	switch {
	case a.Post != "":
		return "post " + a.Post
	case len(a.Run) > 0:
		return "run " + strings.Join(a.Run, " ")
	}
	return ""
}

const (
	wantsBounds   = "a condition such as 'p95 < 200ms', 'errors < 1%' or 'running < 30s'"
	wantsRecovery = "a time or a number of calls, such as 1m or '100 calls'"
	wantsAction   = "'run: [./notify]' or 'post: http://localhost:8080/missed'"
)

func (g *Goal) fields(r *reader) []field {
	method := ""
	if g.Method != nil {
		method = g.Method.String()
	}
	onMiss := text("on-miss", func(n *yaml.Node, at place, where string) { r.mapping(n, at, where, g.OnMiss.fields(r)) }, g.OnMiss.String())
	onMiss.inner = g.OnMiss.fields
	return []field{
		text("method", one(r, &g.Method, wantsMethods, pattern.Parse), method),
		texts("goal", many(r, &g.Bounds, wantsBounds, parseBound), textsOf(g.Bounds)),
		text("over", one(r, &g.Over, wantsDuration, parseDuration), DurationText(g.Over)),
		text("recovered-after", one(r, &g.Recovered, wantsRecovery, parseRecovery), g.Recovered.String()),
		onMiss,
	}
}

func (a *OnMiss) fields(r *reader) []field {
	return []field{
		texts("run", words(r, &a.Run, "a program and its arguments, such as [./notify, checkout]"), a.Run),
		text("post", one(r, &a.Post, "a URL such as http://localhost:8080/missed", parseText), a.Post),
	}
}

// words returns a function that reads a list of texts as they are, or a single one.
func words(r *reader, to *[]string, wanted string) readFunc {
	return func(n *yaml.Node, at place, where string) {
		items := []*yaml.Node{n}
		if n.Kind == yaml.SequenceNode {
			items = n.Content
		}
		if len(items) == 0 {
			r.problem(n, at, where, "is an empty list", "write "+wanted)
		}
		for i, item := range items {
			word, ok := r.scalar(item, at.index(i), where, wanted, "!!str")
			switch {
			case ok && strings.ContainsRune(word, 0):
				r.problem(item, at.index(i), where, "contains a zero byte", "remove it")
			case ok:
				*to = append(*to, word)
			}
		}
	}
}

// parseBound reads a bound of a goal, which states what should hold. Figures that say nothing about how calls go are refused.
func parseBound(text string) (*Bound, error) {
	b, ok := ParseBound(text)
	if !ok || b.Quantity == "stalled" || b.Quantity == "calls" || b.Quantity == "rate" {
		return nil, &valueError{fmt.Sprintf("%q is not a goal", shortened(text)), "write " + wantsBounds}
	}
	return b, nil
}

func parseRecovery(text string) (r Recovery, err error) {
	number, isCalls := strings.CutSuffix(strings.TrimSuffix(text, "s"), " call")
	if !isCalls {
		r.Time, err = parseDuration(text)
	} else if r.Calls, err = strconv.ParseUint(number, 10, 63); r.Calls == 0 {
		err = strconv.ErrRange
	}
	if err != nil {
		return Recovery{}, &valueError{fmt.Sprintf("%q is neither a time nor a number of calls", shortened(text)), "write " + wantsRecovery}
	}
	return r, nil
}

// goalTitle returns how messages refer to a goal.
func goalTitle(g *Goal) string {
	if g.Method == nil {
		return "goal"
	}
	return title("goal", g.Method.String())
}

func (c *checker) goals() {
	if n := len(c.set.Goals); n > MaxGoals {
		c.report("set.goals", "", fmt.Sprintf("there are %d goals, at most %d are allowed", n, MaxGoals), "combine some: a pattern can stand for several methods")
	}
	seen := map[string]bool{}
	for i := range c.set.Goals {
		g := &c.set.Goals[i]
		at, where := place("goals").index(i), goalTitle(g)
		switch {
		case g.Method == nil:
			c.report(at.key("method"), where, "method is missing", "write "+wantsMethods)
		case g.Method.Excludes():
			c.report(at.key("method"), where, "the pattern excludes methods", "leave out the !")
		case seen[g.Method.String()]:
			c.report(at.key("method"), where, "another goal has this method", "write all its conditions as a list: goal: [p95 < 200ms, errors < 1%]")
		default:
			c.utf8(g.Method.String(), at.key("method"), where)
			seen[g.Method.String()] = true
		}
		if len(g.Bounds) == 0 {
			c.report(at.key("goal"), where, "goal is missing", "write "+wantsBounds)
		}
		if g.Over != 0 && (g.Over < leastOver || g.Over > maxOver) {
			c.report(at.key("over"), join(where, "over"), "the value is out of range", fmt.Sprintf("write a time from %s to %s", DurationText(leastOver), DurationText(maxOver)))
		}
		c.action(&g.OnMiss, at.key("on-miss"), join(where, "on-miss"))
	}
}

func (c *checker) action(a *OnMiss, at place, where string) {
	switch {
	case len(a.Run) > 0 && a.Post != "":
		c.report(at, where, "has run and post", "write one of them; a command can post, too")
	case len(a.Run) > maxWords:
		c.report(at.key("run"), where, fmt.Sprintf("the command has %d words, at most %d are allowed", len(a.Run), maxWords), "write a script")
	case len(a.Run) > 0 && a.Run[0] == "":
		c.report(at.key("run"), where, "names no program", "write "+wantsAction)
	case a.Post != "":
		if parsed, err := url.Parse(a.Post); err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
			c.report(at.key("post"), where, fmt.Sprintf("%q is not a URL with http or https", shortened(a.Post)), "write "+wantsAction)
		}
	}
	for i, word := range append(slices.Clone(a.Run), a.Post) {
		c.utf8(word, at.index(i), where)
	}
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// measureGoals adds a probe for each goal.
func (s *Set) measureGoals() {
	used := map[string]bool{}
	for i := range s.Probes {
		used[s.Probes[i].Name] = true
	}
	for i := range s.Goals {
		g := &s.Goals[i]
		method, _, _ := strings.Cut(g.Method.String(), "(")
		parts := strings.Split(notInName.ReplaceAllString(method, ""), ".")
		name := "goal-" + strings.Join(parts[max(0, len(parts)-2):], ".")
		name = name[:min(len(name), 60)]
		g.Probe = name
		for n := 2; used[g.Probe]; n++ {
			g.Probe = fmt.Sprintf("%s-%d", name, n)
		}
		used[g.Probe] = true
		s.Probes = append(s.Probes, Probe{Name: g.Probe, Methods: []*pattern.Pattern{g.Method}, Level: Time, Levels: goalLevels, Goal: true})
	}
}

// stated returns the probes that a file states, without probes that measure goals.
func (s *Set) stated() []Probe {
	return slices.DeleteFunc(slices.Clone(s.Probes), func(p Probe) bool { return p.Goal })
}
