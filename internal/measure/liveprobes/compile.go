package liveprobes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A compiler finds the spots of a plan.
type compiler struct {
	universe *universe.Universe
	views    map[*universe.Class]*condition.Class // the classes as conditions see them
	flags    arena.Flags
	*plan
}

// An UnfitError is returned for a probe or a tag that fits none of the methods it names.
type UnfitError struct {
	What    string // "probe pay" or "tag tier"
	Methods int
	First   LeftOut
}

func (e *UnfitError) Error() string {
	if e.Methods == 1 {
		return fmt.Sprintf("%s: %s: %v", e.What, e.First.Method, e.First.Err)
	}
	return fmt.Sprintf("%s: it fits none of %d methods; %s: %v", e.What, e.Methods, e.First.Method, e.First.Err)
}

func (e *UnfitError) Unwrap() error { return e.First.Err }

var (
	errNative   = errors.New("it is native: it has no bytecode for a hook")
	errFileless = errors.New("its class file is not found, so its methods are not known")
)

// compile finds the spots of a set in all known classes. A probe or tag that fits none of
// the methods it names is an error; methods it does not fit are left out otherwise.
func (c *compiler) compile() error {
	for _, p := range c.probes {
		s := newSummary(p.Name)
		for _, pattern := range p.methods.Includes() {
			s.missing[pattern.String()] = true
		}
		for _, q := range p.within {
			if q != nil {
				for _, e := range q.Elements {
					s.missing[e.Pattern.String()] = true
				}
			}
		}
		c.probeSums[p.Name] = s
	}
	for _, t := range c.tags {
		if c.tagSums[t.Name] == nil {
			c.tagSums[t.Name] = newSummary(t.Name)
		}
		c.tagSums[t.Name].missing[t.At.String()] = true
	}
	if len(c.probes) == 0 {
		return nil // nothing reads the tags
	}
	var found []match
	for class := range c.universe.All() {
		found = append(found, c.find(class)...)
	}
	for _, m := range found {
		c.add(m)
	}
	return c.checkFit()
}

// checkFit returns an error for a probe or tag that fits none of the methods it names.
func (c *compiler) checkFit() error {
	for _, p := range c.probes {
		if s := c.probeSums[p.Name]; s.found > 0 && len(s.Methods) == 0 {
			return &UnfitError{"probe " + p.Name, s.found, s.unfit}
		}
	}
	for _, t := range c.tags {
		if s := c.tagSums[t.Name]; s.found > 0 && len(s.Methods) == 0 {
			return &UnfitError{"tag " + t.Name, s.found, s.unfit}
		}
	}
	return nil
}

// A match is a method with the probes, tags and sequence elements that name it.
type match struct {
	universe.Method
	probes []*probeRequest
	tags   []*tagRequest
	masks  masks
}

// find returns the methods of a class that the set names. They count as hooked from then
// on.
func (c *compiler) find(class *universe.Class) (found []match) {
	if !c.matchClass(class.Name) {
		return nil
	}
	if why := c.ruled(class.Name); why != nil {
		c.leaveByRule(class, why)
		return nil
	}
	if opened := c.universe.Open(class); opened == nil || class.Reason != "" || opened.Check() != nil {
		c.leaveClass(class)
		return nil
	}
	for _, m := range c.universe.Methods(class) {
		one := match{Method: m, masks: c.positions.match(class.Name, m.Name, m.Descriptor)}
		for _, p := range c.probes {
			if p.methods.Match(class.Name, m.Name, m.Descriptor) {
				one.probes = append(one.probes, p)
			}
			c.note(p, m)
		}
		for _, t := range c.tags {
			if t.At.Match(class.Name, m.Name, m.Descriptor) {
				one.tags = append(one.tags, t)
				delete(c.tagSums[t.Name].missing, t.At.String())
			}
		}
		if len(one.probes) > 0 || len(one.tags) > 0 || !one.masks.none() {
			found = append(found, one)
			c.hooked[m.MethodRef] = true
		}
	}
	return found
}

// note removes the patterns that match a method from the missing ones.
func (c *compiler) note(p *probeRequest, m universe.Method) {
	s := c.probeSums[p.Name]
	for _, pattern := range p.methods.Includes() {
		if pattern.Match(m.Class, m.Name, m.Descriptor) {
			delete(s.missing, pattern.String())
		}
	}
	isAnchor := false
	for _, q := range p.within {
		if q == nil {
			continue
		}
		for _, e := range q.Elements {
			if e.Pattern.Match(m.Class, m.Name, m.Descriptor) {
				delete(s.missing, e.Pattern.String())
				s.anchored[e.Pattern.String()] = true
				isAnchor = true
			}
		}
	}
	if isAnchor {
		s.Anchors++
	}
}

// leaveClass reports a class that cannot have hooks to the probes and tags that name it.
func (c *compiler) leaveClass(class *universe.Class) {
	err := errFileless
	if opened := c.universe.Open(class); opened != nil {
		if bad := opened.Check(); bad != nil {
			err = fmt.Errorf("its class file is damaged: %w", bad)
		}
	}
	if class.Reason != "" {
		err = errors.New(class.Reason)
	}
	left := LeftOut{Method: dotted(class.Name), Err: err}
	for _, p := range c.probes {
		if p.methods.MatchClass(class.Name) {
			c.probeSums[p.Name].LeftOut = append(c.probeSums[p.Name].LeftOut, left)
		}
	}
	for _, t := range c.tags {
		if t.At.MatchClass(class.Name) {
			c.tagSums[t.Name].LeftOut = append(c.tagSums[t.Name].LeftOut, left)
		}
	}
}

// add adds the spots of a method and returns them.
func (c *compiler) add(m match) (made []*planned) {
	if m.Member.Access.Has(classfile.AccNative) {
		c.leave(m, errNative)
		return nil
	}
	for _, t := range m.tags {
		made = append(made, c.addTag(m.Method, t)...)
	}
	for _, p := range m.probes {
		made = append(made, c.addProbe(m.Method, p)...)
	}
	if !m.masks.none() {
		made = append(made, &planned{
			Spot: instrument.Spot{
				MethodRef: m.MethodRef, Key: anchorKey, Kind: instrument.Anchors, Flags: arena.On,
				First: m.masks.first, Below: m.masks.below, Direct: m.masks.direct,
			},
			method: m.Method,
		})
		if m.masks.direct != 0 {
			c.addBridges(m.Method)
		}
	}
	for _, s := range made {
		c.put(s)
	}
	return made
}

func (c *compiler) leave(m match, err error) {
	for _, p := range m.probes {
		c.probeSums[p.Name].leave(m.Method, err)
	}
	for _, t := range m.tags {
		c.tagSums[t.Name].leave(m.Method, err)
	}
}

func (s *summary) leave(m universe.Method, err error) {
	left := LeftOut{Method: m.String(), Err: err}
	if s.found++; s.unfit.Err == nil {
		s.unfit = left
	}
	s.LeftOut = append(s.LeftOut, left)
}

func (s *summary) take(m universe.Method) {
	s.found++
	if text := m.String(); !s.taken[text] {
		s.taken[text] = true
		s.Methods = append(s.Methods, text)
	}
}

func (c *compiler) addBridges(m universe.Method) {
	for _, member := range c.universe.Bridges(m) {
		c.bridges[member] = true
	}
}

func (c *compiler) addTag(m universe.Method, t *tagRequest) []*planned {
	s := &planned{
		Spot: instrument.Spot{
			MethodRef: m.MethodRef, Key: t.key(), Kind: instrument.Tags, Flags: arena.On, Tag: int(t.number),
		},
		method: m, tag: t,
	}
	if err := c.equip(s); err != nil {
		c.tagSums[t.Name].leave(m, err)
		return nil
	}
	c.tagSums[t.Name].take(m)
	return []*planned{s}
}

// addProbe returns a spot for each of a probe's sequences.
func (c *compiler) addProbe(m universe.Method, p *probeRequest) (made []*planned) {
	flags, period := p.setting(p.Level, c.flags)
	for _, q := range p.within {
		s := &planned{
			Spot: instrument.Spot{
				MethodRef: m.MethodRef, Key: p.key(q), Kind: instrument.Watches, Form: p.form,
				Flags: flags, Period: period, Groups: p.groups, Context: uint8(p.Context),
			},
			method: m, probe: p, sequence: q, conditional: q != nil || p.entry != nil || p.exit != nil,
		}
		switch {
		case q == nil:
		case q.Last == pattern.Directly:
			s.Direct = c.positions.last(q)
			c.addBridges(m)
		default:
			s.Below = c.positions.last(q)
		}
		if err := c.equip(s); err != nil {
			c.probeSums[p.Name].leave(m, err)
			return nil
		}
		made = append(made, s)
	}
	c.probeSums[p.Name].take(m)
	return made
}

var errAmbiguous = errors.New("there are several classes of this name, and the values it reads differ between them")

func dotted(class string) string { return strings.ReplaceAll(class, "/", ".") }

// view returns a class as conditions see it; nil where it cannot be read.
func (c *compiler) view(class *universe.Class) *condition.Class {
	if class == nil || c.universe.Open(class) == nil {
		return nil
	}
	view := c.views[class]
	if view == nil {
		view = &condition.Class{File: c.universe.Open(class)}
		c.views[class] = view
	}
	view.Loader = class.Loader // it may have been a guess
	return view
}

func (c *compiler) subtypes(name string) (views []*condition.Class, all bool) {
	list, all := c.universe.Subtypes(name)
	for _, class := range list {
		views = append(views, c.view(class))
	}
	return views, all
}

// scope returns what a condition can refer to in a method.
func (c *compiler) scope(m universe.Method, at condition.Moment) condition.Scope {
	subtypes := c.subtypes
	if c.universe.IsAhead {
		subtypes = nil
	}
	return condition.Scope{
		Class: c.view(m.Owner), Method: m.Member, Moment: at,
		Lookup:   func(name string) *condition.Class { return c.view(c.universe.Lookup(name, m.Owner)) },
		Subtypes: subtypes, OwnOnly: c.universe.IsAhead,
		Exported: func(other *condition.Class) bool { return c.universe.Library.Exports(other.Name(), m.Owner.Name) },
		Probed:   func(m classfile.MethodRef) bool { return c.hooked[m] },
		Tags:     c.numbers, TagCall: condition.TagCall{Class: instrument.TagsClass(), Method: "tagged"},
	}
}

// equip compiles the conditions and values of a spot in its method. Where several loaders
// have a class of that name, the result must be the same in each.
func (c *compiler) equip(s *planned) error {
	s.Code, s.depends, s.captures = nil, nil, nil
	if err := c.equipIn(s, s.method); err != nil {
		return err
	}
	for _, other := range c.universe.Named(s.Class) {
		if other == s.method.Owner {
			continue
		}
		for _, m := range c.universe.Methods(other) {
			if m.Name == s.Name && m.Descriptor == s.Descriptor {
				again := *s
				if err := c.equipIn(&again, m); err != nil {
					return err
				}
				if !s.HasSameCode(&again.Spot) {
					return errAmbiguous
				}
				s.depends = append(s.depends, again.depends...)
			}
		}
	}
	return nil
}

func (c *compiler) equipIn(s *planned, m universe.Method) error {
	switch {
	case s.tag != nil:
		if name := c.secretIn(m, s.tag.Value, c.allowed()); name != "" {
			return &secretTagError{name}
		}
		checked, err := condition.CheckValue(s.tag.Value, c.scope(m, condition.Entry))
		if err != nil {
			return err
		}
		s.Code = []weave.Lowered{checked}
		s.depends = []condition.Depends{checked.Depends()}
		return nil
	case s.probe == nil:
		return nil
	}
	p := s.probe
	code := make([]weave.Lowered, allCode)
	var depends []condition.Depends
	for _, part := range []struct {
		clause *expr.Expr
		moment condition.Moment
		number int
	}{{p.entry, condition.Entry, entryCondition}, {p.exit, condition.Exit, exitCondition}} {
		if part.clause == nil {
			continue
		}
		checked, err := condition.Check(part.clause, c.scope(m, part.moment))
		if err != nil {
			return err
		}
		code[part.number] = checked
		depends = append(depends, checked.Depends())
	}
	values, err := c.capture(s, m, code)
	if err != nil {
		return err
	}
	s.Code, s.depends = trimmed(code), append(depends, values...)
	return nil
}

// trimmed returns code without trailing nils.
func trimmed(code []weave.Lowered) []weave.Lowered {
	for len(code) > 0 && code[len(code)-1] == nil {
		code = code[:len(code)-1]
	}
	return code
}

// capture compiles the values that are captured. Secret values are not read.
func (c *compiler) capture(s *planned, m universe.Method, code []weave.Lowered) (depends []condition.Depends, err error) {
	s.captures = nil
	for _, value := range s.probe.captures {
		named := CaptureName{Index: value.index, Text: value.expr.Text()}
		if c.secretIn(m, value.expr, s.probe.Allow) != "" {
			named.Redacted = true
			code[value.code] = withheld{}
			s.captures = append(s.captures, named)
			sum := c.probeSums[s.probe.Name]
			if !slices.Contains(sum.Redacted, named.Text) {
				sum.Redacted = append(sum.Redacted, named.Text)
			}
			continue
		}
		moment := condition.Entry
		if value.index&ExitCapture != 0 {
			moment = condition.Exit
		}
		checked, err := condition.CheckValue(value.expr, c.scope(m, moment))
		if err != nil {
			var bad *expr.Error
			if errors.As(err, &bad) {
				return nil, &captureError{named.Text, err}
			}
			return nil, err
		}
		code[value.code] = checked
		depends = append(depends, checked.Depends())
		s.captures = append(s.captures, named)
	}
	return depends, nil
}

// withheld is the code of a secret value: it yields null instead of reading the value.
type withheld struct{}

func (withheld) Lower(weave.Moment) (*weave.Fragment, error) {
	return &weave.Fragment{Steps: []weave.Step{{Do: weave.DoOp, Op: opcode.AconstNull}}, MaxStack: 1, Text: true}, nil
}

// A captureError names the capture that is wrong.
type captureError struct {
	text  string
	cause error
}

func (e *captureError) Error() string { return "capture " + e.text + ": " + e.cause.Error() }
func (e *captureError) Unwrap() error { return e.cause }

// secretIn returns the name that marks an expression as secret, or "". It considers the
// names in the expression and those of parameters that it refers to by number.
func (c *compiler) secretIn(m universe.Method, e *expr.Expr, allowed []string) string {
	names, numbers := namesIn(e)
	for _, number := range numbers {
		names = append(names, m.ParameterNames(number)...)
	}
	return secretIn(names, allowed)
}

// allowed returns the names that any probe allows, since all probes share the tags.
func (c *compiler) allowed() (names []string) {
	for _, p := range c.probes {
		names = append(names, p.Allow...)
	}
	return names
}

// A secretTagError is returned for a tag whose value is secret.
type secretTagError struct{ name string }

func (e *secretTagError) Error() string {
	return "its value is secret because of the name " + e.name + ": allow that name (sonde trace --allow, or allow: of a probe), or use another value"
}
