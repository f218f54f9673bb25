package context

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// wish is a random set of probes for a program.
type wish struct {
	probes []wishedProbe
	tags   []wishedTag
}

// wishedTag is one that gets its value at some methods; its number is its place.
type wishedTag struct {
	name  string
	value accessor
	at    pattern
}

// wishedProbe is one probe. Each of its sequences has results of its own.
type wishedProbe struct {
	name    string
	methods []pattern
	within  [][]element // none: everywhere
	when    *condition
	groups  []int // tags, by number
	context int   // how many callers distinguish results; 0 for none
}

// mostPositions is how many elements of different sequences one JVM has room for.
const mostPositions = 28

// wisher makes wishes.
type wisher struct {
	*rand.Rand
	program *program
	callers map[*method][]*method
	room    int
	laid    map[string]bool // sequences that have their room
}

// callTag has the number of each call for its value.
const callTag = "call"

// wishFor draws a wish. One that is of each call tells the results of every call
// apart, by its number.
func wishFor(p *program, draw *rand.Rand, ofEachCall bool) *wish {
	w := &wisher{Rand: draw, program: p, callers: make(map[*method][]*method), room: mostPositions, laid: make(map[string]bool)}
	for _, from := range p.methods {
		for _, to := range p.callees[from] {
			w.callers[to] = append(w.callers[to], from)
		}
	}
	made := new(wish)
	for i, name := range []string{"tier", "amount", "text"} {
		value := accessors[[]int{3, 2, 6}[i]]
		made.tags = append(made.tags, wishedTag{name, value, w.patternOf(func(m *method) bool {
			return m.hasArguments() && !m.isConstructor()
		})})
	}
	if ofEachCall {
		// At every method that has a number, so that each call sees its own.
		made.tags = append(made.tags, wishedTag{callTag, numberAccessor, pattern{}})
	}
	const probes = 14
	for i := range probes {
		made.probes = append(made.probes, w.probe(fmt.Sprintf("probe%d", i), made.tags, ofEachCall))
	}
	return made
}

func (w *wisher) probe(name string, tags []wishedTag, ofEachCall bool) wishedProbe {
	p := wishedProbe{name: name}
	fits := func(m *method) bool { return true }
	if ofEachCall {
		fits = func(m *method) bool { return m.hasArguments() && !m.isConstructor() }
	}
	if w.IntN(2) == 0 {
		p.when = w.condition(tags, 0)
		before := fits
		fits = func(m *method) bool {
			return before(m) && m.hasArguments() && (!p.when.asksThis() || m.hasWeight())
		}
	}
	for range 1 + w.IntN(2) {
		p.methods = append(p.methods, w.patternOf(fits))
	}
	for range w.IntN(4) {
		sequence := w.sequence(p.methods)
		isKnown := func(known []element) bool { return sequenceText(known) == sequenceText(sequence) }
		if sequence != nil && !slices.ContainsFunc(p.within, isKnown) {
			p.within = append(p.within, sequence)
		}
	}
	switch {
	case ofEachCall:
		p.groups = []int{len(tags) - 1}
	case w.IntN(5) == 0:
		p.context = 1 + w.IntN(2)
	case w.IntN(2) == 0:
		p.groups = w.Perm(len(tags))[:1+w.IntN(2)]
		slices.Sort(p.groups)
	}
	return p
}

// patternOf draws a pattern all of whose methods fit.
func (w *wisher) patternOf(fits func(*method) bool) pattern {
	for {
		p := w.pattern(pick(w.Rand, w.program.methods))
		if !slices.ContainsFunc(w.program.methods, func(m *method) bool { return p.matches(m) && !fits(m) }) {
			return p
		}
	}
}

// pattern draws one that matches a method, and maybe others.
func (w *wisher) pattern(m *method) pattern {
	switch n := w.IntN(20); {
	case m.kind == compute || n < 12:
	case n < 14:
		return pattern{m.class, "*"}
	case n < 17 && strings.HasPrefix(m.class, appPackage+"C"):
		return pattern{appPackage + "C*", m.name}
	case n < 19 && m.kind != constructor:
		return pattern{m.class, m.name[:1] + "*"}
	}
	return pattern{m.class, m.name}
}

// sequence draws one of up to four elements, mostly such as the program's source
// makes likely: from the probed method outwards, to callers and callers of those. It
// is nil where there is no room for another.
func (w *wisher) sequence(probed []pattern) []element {
	var sequence []element
	inner := w.anyOf(pick(w.Rand, probed))
	next := probed
	for range 1 + w.IntN(4) {
		by := direct
		outer := w.callerOf(inner)
		if w.IntN(5) < 3 {
			by = below
			for range w.IntN(3) {
				outer = w.callerOf(outer)
			}
		}
		if w.IntN(8) == 0 {
			outer = pick(w.Rand, w.program.methods)
		}
		p := w.pattern(outer)
		if by == direct && w.meetsConstructor(p) && slices.ContainsFunc(next, w.meetsConstructor) {
			by = below // a constructor that is called by super(...) is called by one that does not count yet
		}
		sequence = append(sequence, element{pattern: p, next: by, known: w.known(p)})
		inner, next = outer, []pattern{p}
	}
	slices.Reverse(sequence)
	key := sequenceText(sequence)
	if !w.laid[key] {
		if len(sequence) > w.room {
			return nil
		}
		w.laid[key] = true
		w.room -= len(sequence)
	}
	return sequence
}

// known is what a pattern matches.
func (w *wisher) known(p pattern) []bool {
	all := make([]bool, len(w.program.methods))
	for i, m := range w.program.methods {
		all[i] = p.matches(m)
	}
	return all
}

func (w *wisher) meetsConstructor(p pattern) bool {
	return slices.ContainsFunc(w.program.methods, func(m *method) bool { return m.isConstructor() && p.matches(m) })
}

func (w *wisher) anyOf(p pattern) *method {
	var all []*method
	for _, m := range w.program.methods {
		if p.matches(m) {
			all = append(all, m)
		}
	}
	return pick(w.Rand, all)
}

func (w *wisher) callerOf(m *method) *method {
	if callers := w.callers[m]; len(callers) > 0 {
		return pick(w.Rand, callers)
	}
	return pick(w.Rand, w.program.methods)
}

// sequenceText is a sequence as users write it. What leads to the probed method is
// written only where it is direct.
func sequenceText(sequence []element) string {
	var b strings.Builder
	for i, e := range sequence {
		b.WriteString(e.pattern.String())
		if i < len(sequence)-1 {
			b.WriteString(" " + e.next.String() + " ")
		} else if e.next == direct {
			b.WriteString(" >")
		}
	}
	return b.String()
}

// condition draws one; joined ones are of those that are not, or of few joins.
func (w *wisher) condition(tags []wishedTag, depth int) *condition {
	if n := w.IntN(5); depth < 2 && n < 3 {
		made := condition{join: []string{"&&", "||", "!"}[n]}
		made.parts = append(made.parts, *w.condition(tags, depth+1))
		if made.join != "!" {
			made.parts = append(made.parts, *w.condition(tags, depth+1))
		}
		return &made
	}
	made := condition{tag: -1, path: pick(w.Rand, accessors)}
	isText := made.path.isText
	if w.IntN(4) == 0 {
		made.tag = w.IntN(3)
		made.name, made.path, isText = tags[made.tag].name, accessor{}, true
	}
	switch n := w.IntN(10); {
	case n == 0 && isText:
		made.op, made.values = pick(w.Rand, []string{"==", "!="}), []value{text(nil)}
	case n < 3:
		made.op, made.values = "in", []value{w.constant(made, isText), w.constant(made, isText), w.constant(made, isText)}
	default:
		made.op, made.values = pick(w.Rand, []string{"==", "!=", "<", "<=", ">", ">="}), []value{w.constant(made, isText)}
	}
	return &made
}

// constant draws one that some calls are equal to.
func (w *wisher) constant(of condition, isText bool) value {
	switch {
	case of.name == "amount":
		return value{isText: true, text: number(pick(w.Rand, orders[:]).amount).literal()}
	case isText:
		return value{isText: true, text: pick(w.Rand, slices.Clone(words[:]))}
	}
	return number(w.IntN(100))
}

// pattern names methods: a class's name and a method's, each with at most one "*". It
// is a matcher of its own, so that Sonde's is not judged by itself.
type pattern struct{ class, method string }

func (p pattern) String() string { return p.class + "." + p.method }

func (p pattern) matches(m *method) bool { return glob(p.class, m.class) && glob(p.method, m.name) }

func glob(pattern, name string) bool {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}

// method is one of the program's, with the number that its log has for it.
type method struct {
	number      int
	class, name string // as patterns have them: app.C3, lambda$s70$*, <init>
	kind        kind
}

func (m *method) String() string { return m.class + "." + m.name }

func (m *method) isConstructor() bool { return m.kind == constructor }

// hasArguments reports whether it has the four that the program's methods have.
func (m *method) hasArguments() bool { return m.kind != lambda && m.kind != compute }

// hasWeight reports whether it is one of an object that has a weight by then.
func (m *method) hasWeight() bool {
	return m.hasArguments() && m.kind != static && m.kind != constructor && strings.HasPrefix(m.class, appPackage+"C")
}
