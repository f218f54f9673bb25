package probeset

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// Version is the version of the file format.
const Version = 1

// Parse parses a set. The name of the file is for messages. The error is an [Error] with
// all problems.
func Parse(text []byte, name string) (*Set, error) {
	return parse(text, name, false)
}

// ParseOwn parses one of Sonde's own sets, which may call methods that are not proven to be
// pure, and which have rules that do not fit every program.
func ParseOwn(text []byte, name string) (*Set, error) {
	set, err := parse(text, name, true)
	if err != nil {
		return nil, err
	}
	set.Optional = true
	return set, nil
}

func parse(text []byte, name string, isOwn bool) (*Set, error) {
	root, problem := document(text, name)
	if problem != nil {
		return nil, failure([]Problem{*problem})
	}
	if root == nil {
		return nil, failure([]Problem{{File: name, Detail: "is empty", Remedy: "a set without probes is 'version: 1' with 'probes: []'"}})
	}
	r := &reader{file: name, isOwn: isOwn, lines: map[place]int{}, broken: map[place]bool{}}
	set := r.set(root)
	inFile := checker{set: set, report: func(at place, where, detail, remedy string) {
		if !r.isReported(at) {
			r.problems = append(r.problems, Problem{File: name, Line: r.line(at), Where: where, Detail: detail, Remedy: remedy})
		}
	}}
	inFile.check()
	if err := failure(r.problems); err != nil {
		return nil, err
	}
	set.measureGoals()
	return set, nil
}

// reader turns YAML nodes into a set. It continues after a problem, so that all are
// reported, and records the line of each value and which values are wrong. A wrong value
// is zero in the set.
type reader struct {
	file     string
	isOwn    bool // the file is one of Sonde's own
	problems []Problem
	lines    map[place]int
	broken   map[place]bool
}

// place is a value of a set: probes[2].methods[0].
type place string

func (p place) key(name string) place { return p + "." + place(name) }
func (p place) index(i int) place     { return place(fmt.Sprintf("%s[%d]", p, i)) }

// outer returns the value that contains this one.
func (p place) outer() (place, bool) {
	end := strings.LastIndexAny(string(p), ".[")
	if end < 0 {
		return "", false
	}
	return p[:end], true
}

func (r *reader) problem(n *yaml.Node, at place, where, detail, remedy string) {
	r.broken[at] = true
	r.problems = append(r.problems, Problem{File: r.file, Line: n.Line, Where: where, Detail: detail, Remedy: remedy})
}

// line returns the line of a value, or of the value that should contain it.
func (r *reader) line(at place) int {
	for ok := true; ok; at, ok = at.outer() {
		if line := r.lines[at]; line > 0 {
			return line
		}
	}
	return 0
}

// isReported reports whether a problem of a value, or of a value that contains it, was found
// before.
func (r *reader) isReported(at place) bool {
	for ok := true; ok; at, ok = at.outer() {
		if r.broken[at] {
			return true
		}
	}
	return false
}

// Descriptions of values, for messages.
const (
	wantsMethods   = "a pattern such as com.acme.Order.pay"
	wantsSequence  = "methods such as 'com.acme.Web.handle >> com.acme.Order.pay'"
	wantsWhen      = `a condition such as '$1.tier == "gold"'`
	wantsValue     = "a value such as $1.customer.tier"
	wantsLevel     = "count, time, trace or capture"
	wantsTemplate  = "plain (tests at entry), late (also at the exit), capture (also captures values) or a file of your own, such as Orders.java"
	wantsClass     = "a class file in base64"
	wantsDuration  = "a time with its unit, such as 10m or 250ms"
	wantsSample    = "a fraction of the calls, such as 1/100"
	wantsNumber    = "a whole number"
	wantsFailure   = "a condition such as '$return.status >= 500'"
	wantsDirection = "in or out"
	wantsForm      = "sql (a statement, without its literals), path (of a URL), name (of a host) or trace (a traceparent header, or the id of a trace)"
	wantsObject    = "$return (the value is remembered with the returned object) or $this (the value that was remembered)"
	wantsClasses   = "a pattern such as com.acme.dao.** or com.acme.Order"
	wantsTime      = "static, load, dynamic or never"
)

func (r *reader) set(root *yaml.Node) *Set {
	set := &Set{HandOff: true}
	hasVersion := false
	r.mapping(root, "set", "", []field{
		{name: "version", read: func(n *yaml.Node, at place, where string) {
			hasVersion = true
			if value, ok := r.scalar(n, at, where, "1", "!!int"); ok && value != strconv.Itoa(Version) {
				r.problem(n, at, where, value+" is not supported by this Sonde", fmt.Sprintf("write %d, or use a newer Sonde", Version))
			}
		}},
		{name: "hand-off", read: func(n *yaml.Node, at place, where string) {
			if value, ok := r.scalar(n, at, where, "true or false", "!!bool"); ok {
				set.HandOff = strings.EqualFold(value, "true")
			}
		}},
		{name: "tags", read: func(n *yaml.Node, at place, where string) {
			for i, item := range r.list(n, at, where, "a list of tags, each '- name: …'") {
				var tag Tag
				r.mapping(item, place("tags").index(i), titleOf(item, "tag"), tag.fields(r))
				set.Tags = append(set.Tags, tag)
			}
		}},
		{name: "probes", read: func(n *yaml.Node, at place, where string) {
			for i, item := range r.list(n, at, where, "a list of probes, each '- name: …'") {
				set.Probes = append(set.Probes, r.probe(item, place("probes").index(i)))
			}
		}},
		{name: "goals", read: func(n *yaml.Node, at place, where string) {
			for i, item := range r.list(n, at, where, "a list of goals, each '- method: …' with 'goal: …'") {
				var goal Goal
				r.mapping(item, place("goals").index(i), titleOf(item, "goal"), goal.fields(r))
				set.Goals = append(set.Goals, goal)
			}
		}},
		{name: "weave", read: func(n *yaml.Node, at place, where string) {
			for i, item := range r.list(n, at, where, "a list of rules, each '- classes: …' with 'when: …'") {
				var rule Rule
				r.mapping(item, place("weave").index(i), ruleTitle(i), rule.fields(r))
				set.Weave = append(set.Weave, rule)
			}
		}},
	})
	if !hasVersion && !r.broken["set"] && !r.broken["set.version"] {
		r.problem(root, "set.version", "", "version is missing", "write 'version: 1' as the first line")
	}
	return set
}

func (r *reader) probe(n *yaml.Node, at place) (p Probe) {
	r.mapping(n, at, titleOf(n, "probe"), p.fields(r))
	if r.lines[at.key("level")] == 0 {
		p.Level = p.defaultLevel()
	}
	return p
}

// field is a key that a mapping may have, with a function that reads its value and the
// value as a file states it.
type field struct {
	name   string
	read   readFunc
	values []string              // none where it is not stated
	list   bool                  // of texts
	plain  bool                  // a number or true, not a text
	inner  func(*reader) []field // of a mapping, which values sum up; nil otherwise
}

type readFunc func(n *yaml.Node, at place, where string)

func (p *Probe) fields(r *reader) []field {
	return []field{
		text("name", one(r, &p.Name, "a name", parseText), p.Name),
		texts("methods", many(r, &p.Methods, wantsMethods, pattern.Parse), textsOf(p.Methods)),
		texts("within", many(r, &p.Within, wantsSequence, pattern.ParseSequence), textsOf(p.Within)),
		number("context", r, &p.Context, MaxContext),
		text("when", one(r, &p.When, wantsWhen, parseExpr), expression(p.When)),
		text("fails", one(r, &p.Fails, wantsFailure, parseExpr), expression(p.Fails)),
		text("category", one(r, &p.Category, "the kind of call, such as db or web", parseText), p.Category),
		text("direction", one(r, &p.Direction, wantsDirection, named("direction", wantsDirection, directionNames, In)), p.Direction.String()),
		texts("may-call", own(r, &p.MayCall), textsOf(p.MayCall)),
		text("level", one(r, &p.Level, wantsLevel, named("level", wantsLevel, levelNames, Count)), p.Level.String()),
		p.templateField(r),
		text("template-class", func(n *yaml.Node, at place, where string) {
			one(r, &p.own().Class, wantsClass, parseClassFile)(n, at, where)
		}, p.classText()),
		{name: "trusted", plain: true, values: p.trustedTexts(), read: func(n *yaml.Node, at place, where string) {
			if value, ok := r.scalar(n, at, where, "true or false", "!!bool"); ok {
				p.own().Trusted = strings.EqualFold(value, "true")
			}
		}},
		texts("captures", many(r, &p.Captures, wantsValue, parseExpr), expressions(p.Captures)),
		texts("allow", many(r, &p.Allow, "a name such as password", parseText), p.Allow),
		number("levels", r, &p.Levels, MaxLevels),
		text("slower-than", one(r, &p.SlowerThan, wantsDuration, parseDuration), DurationText(p.SlowerThan)),
		text("sample", one(r, &p.Sample, wantsSample, parseSample), sampleText(p.Sample)),
		texts("group-by", many(r, &p.GroupBy, "the name of a tag", parseText), p.GroupBy),
		text("for", one(r, &p.For, wantsDuration, parseDuration), DurationText(p.For)),
		number("calls", r, &p.Calls, 1<<63),
	}
}

// templateField is the name of one of Sonde's templates, or a file.
func (p *Probe) templateField(r *reader) field {
	value := p.Template.String()
	if p.Own != nil {
		value = p.Own.File
	}
	return text("template", func(n *yaml.Node, at place, where string) {
		if own := (OwnTemplate{File: n.Value}); n.Kind == yaml.ScalarNode && isTemplateFile(own.Source()) {
			p.own().File = n.Value
			return
		}
		one(r, &p.Template, wantsTemplate, named("template", wantsTemplate, templateNames, PlainTemplate))(n, at, where)
	}, value)
}

func (p *Probe) classText() string {
	if p.Own == nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(p.Own.Class)
}

func (p *Probe) trustedTexts() []string {
	if p.Own == nil || !p.Own.Trusted {
		return nil
	}
	return []string{"true"}
}

func parseClassFile(text string) ([]byte, error) {
	class, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(class) == 0 || len(class) > MaxTemplate {
		return nil, errors.New("is not " + wantsClass + "; leave it out, and Sonde compiles the template")
	}
	return class, nil
}

func (t *Tag) fields(r *reader) []field {
	return []field{
		text("name", one(r, &t.Name, "a name", parseText), t.Name),
		text("value", one(r, &t.Value, wantsValue, r.tagValue), expression(t.Value)),
		text("at", one(r, &t.At, wantsMethods, pattern.Parse), t.place()),
		text("as", one(r, &t.As, wantsForm, named("form", wantsForm, formNames, AsSQL)), t.As.String()),
		text("of", one(r, &t.Of, wantsObject, named("object", wantsObject, objectNames, OfReturn)), t.Of.String()),
		texts("may-call", own(r, &t.MayCall), textsOf(t.MayCall)),
	}
}

// own returns a function that reads patterns of methods, in Sonde's own sets: nobody has to
// trust a file from elsewhere.
func own(r *reader, to *[]*pattern.Pattern) readFunc {
	return func(n *yaml.Node, at place, where string) {
		if !r.isOwn {
			r.problem(n, at, where, "methods that are not proven to be free of side effects can be called only by Sonde's own rules", "read fields or getters")
			return
		}
		many(r, to, wantsMethods, pattern.Parse)(n, at, where)
	}
}

func (t *Tag) place() string {
	if t.At == nil {
		return ""
	}
	return t.At.String()
}

func (u *Rule) fields(r *reader) []field {
	return []field{
		texts("classes", many(r, &u.Classes, wantsClasses, parseClass), textsOf(u.Classes)),
		text("when", one(r, &u.When, wantsTime, parseWhen), u.When.String()),
	}
}

func text(name string, read readFunc, value string) field {
	f := field{name: name, read: read}
	if value != "" {
		f.values = []string{value}
	}
	return f
}

func texts(name string, read readFunc, values []string) field {
	return field{name: name, read: read, values: values, list: true}
}

// number returns the field of a whole number from 1 on.
func number[T int | uint64](name string, r *reader, to *T, most uint64) field {
	f := field{name: name, plain: true, read: func(n *yaml.Node, at place, where string) { *to = T(r.number(n, at, where, most)) }}
	if *to > 0 {
		f.values = []string{fmt.Sprint(*to)}
	}
	return f
}

// titleOf returns how messages refer to a probe, tag or goal: by its name or method, where it has one.
func titleOf(n *yaml.Node, kind string) string {
	key := "name"
	if kind == "goal" {
		key = "method"
	}
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if name := n.Content[i+1]; n.Content[i].Value == key && name.Kind == yaml.ScalarNode {
				return title(kind, name.Value)
			}
		}
	}
	return kind
}

// title returns how messages refer to a probe or tag.
func title(kind, name string) string {
	if name == "" {
		return kind
	}
	return kind + " " + shortened(name)
}

// ruleTitle returns how messages refer to a rule, which has no name.
func ruleTitle(i int) string { return fmt.Sprintf("rule %d", i+1) }

// shortened keeps messages readable if a name is long.
func shortened(name string) string {
	const most = 60
	if letters := []rune(name); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return name
}

// valueError is an error of a parse function, with a remedy.
type valueError struct{ detail, remedy string }

func (e *valueError) Error() string { return e.detail }

func parseText(text string) (string, error) { return text, nil }

// tagValue parses the value of a tag.
func (r *reader) tagValue(text string) (*expr.Expr, error) {
	if r.isOwn {
		return quoting(expr.ParseOwn(text))
	}
	return parseExpr(text)
}

func parseExpr(text string) (*expr.Expr, error) { return quoting(expr.Parse(text)) }

// quoting returns an expression, or an error that quotes it.
func quoting(parsed *expr.Expr, err error) (*expr.Expr, error) {
	var bad *expr.Error
	if errors.As(err, &bad) {
		detail, _ := strings.CutPrefix(bad.Error(), "condition, ")
		return nil, fmt.Errorf("%q, %s", bad.Text, detail)
	}
	return parsed, err
}

func parseClass(text string) (*pattern.ClassPattern, error) {
	if strings.HasPrefix(text, "!") {
		return nil, &valueError{fmt.Sprintf("%q excludes classes, which a rule cannot do", text), "write an earlier rule for these classes, such as one with when: never"}
	}
	return pattern.ParseClass(text)
}

// named returns a function that parses the name of a level or template, from first on.
func named[T ~uint8](kind, wanted string, names []string, first T) func(string) (T, error) {
	return func(name string) (T, error) {
		if at := slices.Index(names[first:], name); at >= 0 {
			return first + T(at), nil
		}
		return 0, &valueError{fmt.Sprintf("%q is not a %s", name, kind), "write " + wanted}
	}
}

func parseWhen(name string) (When, error) {
	if at := slices.Index(whenNames[Static:], name); at >= 0 {
		return Static + When(at), nil
	}
	remedy := "write " + wantsTime
	if best := near(name, whenNames[Static:], timeWords); best != "" {
		remedy = "did you mean " + best + "?"
	}
	return Unstated, &valueError{fmt.Sprintf("%q is not a value of when", shortened(name)), remedy}
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, &valueError{fmt.Sprintf("%q is not a time", text), "write " + wantsDuration}
	}
	return d, nil
}

func parseSample(text string) (uint32, error) {
	numerator, denominator, isFraction := strings.Cut(text, "/")
	period, err := strconv.ParseUint(strings.TrimSpace(denominator), 10, 32)
	switch {
	case !isFraction || strings.TrimSpace(numerator) != "1" || err != nil || period == 0 || period > MaxSample:
		return 0, &valueError{
			fmt.Sprintf("%q is not a fraction of the calls", text),
			fmt.Sprintf("write 1/N, such as 1/100, with N up to %d", MaxSample),
		}
	case period == 1:
		return 0, nil
	}
	return uint32(period), nil
}

// mapping reads a mapping of known keys, each at most once.
func (r *reader) mapping(n *yaml.Node, at place, where string, fields []field) {
	r.lines[at] = n.Line
	if !r.is(n, yaml.MappingNode, at, where, "keys with values, such as 'name: checkout'") {
		return
	}
	found := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		known := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Value })
		switch line := found[key.Value]; {
		case key.Kind != yaml.ScalarNode || known < 0:
			r.problem(key, at.key(key.Value), where, fmt.Sprintf("unknown key %q", key.Value), nearKey(key.Value, fields))
		case line > 0:
			r.problem(key, at.key(key.Value), where, fmt.Sprintf("%s is given twice, first in line %d", key.Value, line), "remove one")
		default:
			found[key.Value] = key.Line
			r.lines[at.key(key.Value)] = value.Line
			fields[known].read(value, at.key(key.Value), join(where, key.Value))
		}
	}
}

// list returns the elements of a list of mappings.
func (r *reader) list(n *yaml.Node, at place, where, wanted string) []*yaml.Node {
	if !r.is(n, yaml.SequenceNode, at, where, wanted) {
		return nil
	}
	return n.Content
}

// is checks the kind of a node, and reports what is wanted otherwise.
func (r *reader) is(n *yaml.Node, kind yaml.Kind, at place, where, wanted string) bool {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.problem(n, at, where, "a leading & or * has another meaning in YAML", quoteRemedy)
	case strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!"):
		r.problem(n, at, where, fmt.Sprintf("a leading %q has another meaning in YAML", n.Tag), quoteRemedy)
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		r.problem(n, at, where, "has no value", "write "+wanted+orNothing(at))
	case n.Kind != kind:
		r.problem(n, at, where, "is "+kindText(n), "write "+wanted)
	default:
		return true
	}
	return false
}

func kindText(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.Tag {
	case "!!int", "!!float":
		return "the number " + n.Value
	case "!!bool":
		return "the boolean " + n.Value
	}
	return strconv.Quote(n.Value)
}

// scalar reads a value with a YAML tag.
func (r *reader) scalar(n *yaml.Node, at place, where, wanted, tag string) (string, bool) {
	if !r.is(n, yaml.ScalarNode, at, where, wanted) {
		return "", false
	}
	if n.Tag != tag {
		r.problem(n, at, where, "is "+kindText(n), "write "+wanted)
		return "", false
	}
	return n.Value, true
}

// number reads a whole number from 1 on.
func (r *reader) number(n *yaml.Node, at place, where string, most uint64) uint64 {
	text, ok := r.scalar(n, at, where, wantsNumber, "!!int")
	if !ok {
		return 0
	}
	var value uint64
	if err := n.Decode(&value); err != nil || value == 0 || value > most {
		r.problem(n, at, where, text+" is out of range", fmt.Sprintf("write a number from 1 to %d, or leave out the key", most))
		return 0
	}
	return value
}

// text reads a text, without blanks around it.
func (r *reader) text(n *yaml.Node, at place, where, wanted string) (string, bool) {
	value, ok := r.scalar(n, at, where, wanted, "!!str")
	value = strings.TrimSpace(value)
	if ok && value == "" {
		r.problem(n, at, where, "is empty", "write "+wanted+orNothing(at))
		return "", false
	}
	return value, ok
}

// one returns a function that reads a text and parses it.
func one[T any](r *reader, to *T, wanted string, parse func(string) (T, error)) readFunc {
	return func(n *yaml.Node, at place, where string) {
		if text, ok := r.text(n, at, where, wanted); ok {
			*to = parsed(r, n, at, where, text, parse)
		}
	}
}

// many returns a function that reads a list of texts, or a single one, and parses them. A
// wrong element keeps its place, so that the following ones keep their lines.
func many[T any](r *reader, to *[]T, wanted string, parse func(string) (T, error)) readFunc {
	return func(n *yaml.Node, at place, where string) {
		if n.Kind != yaml.SequenceNode {
			r.lines[at.index(0)] = n.Line
			if text, ok := r.text(n, at, where, wanted+", or a list"); ok {
				*to = []T{parsed(r, n, at.index(0), where, text, parse)}
			}
			return
		}
		if len(n.Content) == 0 {
			r.problem(n, at, where, "is an empty list", "write "+wanted+orNothing(at))
		}
		var seen []string
		for i, item := range n.Content {
			here := at.index(i)
			r.lines[here] = item.Line
			var value T
			text, ok := r.text(item, here, where, wanted)
			switch {
			case !ok:
			case slices.Contains(seen, text):
				r.problem(item, here, where, fmt.Sprintf("%q is in the list twice", text), "remove one")
			default:
				value = parsed(r, item, here, where, text, parse)
			}
			seen = append(seen, text)
			*to = append(*to, value)
		}
	}
}

// parsed parses a text and reports an error.
func parsed[T any](r *reader, n *yaml.Node, at place, where, text string, parse func(string) (T, error)) T {
	value, err := parse(text)
	if err != nil {
		var bad *valueError
		remedy := ""
		if errors.As(err, &bad) {
			remedy = bad.remedy
		}
		r.problem(n, at, where, err.Error(), remedy)
	}
	return value
}

func join(where, name string) string {
	if where == "" {
		return name
	}
	return where + ", " + name
}

// orNothing says that a key can be left out, where it can.
func orNothing(at place) string {
	key := string(at[strings.LastIndexByte(string(at), '.')+1:])
	if strings.HasPrefix(string(at), "weave[") || key == "name" || key == "methods" || key == "method" || key == "goal" || key == "value" || key == "at" || strings.HasSuffix(key, "]") {
		return ""
	}
	return ", or leave out the key"
}
