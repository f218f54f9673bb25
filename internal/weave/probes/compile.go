// Package probes compiles a probe set to a plan, a list of spots (one probe in one method):
// it finds the methods that probes, sequences and tags name in the known classes, and
// compiles conditions and captured values for each method. It needs no JVM, so live probes
// and packs get the same plan. A set is first turned into a Request, which depends on no
// class. Compile finds the spots of a Request, and Load adds spots in classes that load later.
package probes

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// Classes are the loaded classes with what conditions know of them.
type Classes struct {
	*universe.Universe
	views map[*universe.Class]*condition.Class // the classes as conditions see them
	tags  string                               // the class from which conditions read tags
}

// NewClasses returns a model without classes. tags is the class of the agent from which
// conditions read tags.
func NewClasses(library *jimage.Image, tags string) *Classes {
	return &Classes{universe.New(library), make(map[*universe.Class]*condition.Class), tags}
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
	return fmt.Sprintf("%s: none of %d methods qualifies; for example, %s: %v", e.What, e.Methods, e.First.Method, e.First.Err)
}

func (e *UnfitError) Unwrap() error { return e.First.Err }

var (
	errNative   = errors.New("it is native: it has no bytecode for a hook")
	errFileless = errors.New("its class file is not found, so its methods are not known")
)

// Compile finds the spots of a set in all known classes. A probe or tag that fits none of
// the methods it names is an error; methods it does not fit are left out otherwise.
func Compile(c *Classes, r *Request, positions *Positions, flags arena.Flags) (*Plan, error) {
	p := newPlan(c, r, positions, flags)
	for _, n := range p.namers {
		s := p.sum(n)
		for _, pattern := range n.methods.Includes() {
			s.missing[pattern.String()] = true
		}
		for _, element := range n.elements() {
			s.missing[element.String()] = true
		}
	}
	if len(p.Probes) == 0 {
		return p, nil
	}
	pattern.LearnAll(c.Universe, p.shown)
	var found []match
	for class := range c.All() {
		found = append(found, p.find(class)...)
	}
	for _, m := range found {
		p.add(m)
	}
	for _, n := range p.namers {
		if s := p.sum(n); s.found > 0 && len(s.Methods) == 0 && !n.isOptional {
			return nil, &UnfitError{n.what, s.found, s.unfit}
		}
	}
	return p, nil
}

// A match is a method with the probes, tags and sequence elements that name it.
type match struct {
	universe.Method
	probes []*Probe
	tags   []*tagRequest
	masks  masks
}

// find returns the methods of a class that the set names. They count as hooked from then
// on.
func (p *Plan) find(class *universe.Class) (found []match) {
	if !p.MatchClass(class.Name) {
		return nil
	}
	if why := p.Excluded(class.Name); why != nil {
		p.leaveByRule(class, why)
		return nil
	}
	if opened := p.classes.Open(class); opened == nil || class.Reason != "" || opened.Check() != nil {
		p.leaveClass(class)
		return nil
	}
	for _, m := range p.classes.Methods(class) {
		for _, n := range p.namers {
			p.note(n, m)
		}
		if one := p.match(m); !one.isEmpty() {
			found = append(found, one)
			p.Hooked[m.MethodRef] = true
		}
	}
	return found
}

// match returns what names a method.
func (p *Plan) match(m universe.Method) match {
	one := match{Method: m, masks: p.Positions.match(m.MethodRef)}
	for _, probe := range p.Probes {
		if probe.methods.Match(m.MethodRef) {
			one.probes = append(one.probes, probe)
			if probe.mark != nil {
				one.masks.first |= p.Positions.last(probe.mark)
			}
		}
	}
	for _, t := range p.tags {
		if t.methods.Match(m.MethodRef) {
			one.tags = append(one.tags, t)
		}
	}
	return one
}

func (m *match) isEmpty() bool { return len(m.probes) == 0 && len(m.tags) == 0 && m.masks.none() }

// findMore returns the methods of known classes that the set names since another class has loaded.
func (p *Plan) findMore(classes iter.Seq[*universe.Class], loaded *universe.Class) (found []match) {
	for class := range classes {
		opened := p.classes.Open(class)
		if class == loaded || !p.MatchClass(class.Name) || p.Excluded(class.Name) != nil || opened == nil || class.Reason != "" || opened.Check() != nil {
			continue
		}
		for _, m := range p.classes.Methods(class) {
			one, name := p.match(m), m.String()
			one.probes = slices.DeleteFunc(one.probes, func(probe *Probe) bool { return p.sum(&probe.namer).taken[name] })
			one.tags = slices.DeleteFunc(one.tags, func(t *tagRequest) bool { return p.sum(&t.namer).taken[name] })
			anchor := instrument.Spot{MethodRef: m.MethodRef, Key: anchorKey}
			if s := p.Spots[anchor.FullName()]; s != nil && (masks{s.First, s.Below, s.Direct}) == one.masks {
				one.masks = masks{}
			}
			if one.isEmpty() {
				continue
			}
			for _, n := range p.namers {
				p.note(n, m)
			}
			found = append(found, one)
			p.Hooked[m.MethodRef] = true
		}
	}
	return found
}

// note removes the patterns that match a method from the missing ones.
func (p *Plan) note(n *namer, m universe.Method) {
	s := p.sum(n)
	for _, pattern := range n.methods.Includes() {
		if pattern.Match(m.MethodRef) {
			delete(s.missing, pattern.String())
		}
	}
	isAnchor := false
	for _, element := range n.elements() {
		if element.Match(m.MethodRef) {
			delete(s.missing, element.String())
			s.anchored[element.String()] = true
			isAnchor = true
		}
	}
	if isAnchor {
		s.Anchors++
	}
}

// leaveClass reports a class that cannot have hooks to the probes and tags that name it.
func (p *Plan) leaveClass(class *universe.Class) {
	err := errFileless
	if opened := p.classes.Open(class); opened != nil {
		if bad := opened.Check(); bad != nil {
			err = fmt.Errorf("its class file is damaged: %w", bad)
		}
	}
	if class.Reason != "" {
		err = errors.New(class.Reason)
	}
	left := LeftOut{Method: descriptor.ExternalName(class.Name), Err: err}
	for _, n := range p.namers {
		if n.methods.MatchClass(class.Name) {
			p.sum(n).LeftOut = append(p.sum(n).LeftOut, left)
		}
	}
}

// Load adds the spots of a class that is loading and returns them. There are spots in other
// classes, too, if it shows that methods of theirs implement one that the set names. A class whose
// superclass or interface has yet to load may get spots that the set does not ask for: they are removed when that
// has loaded.
func (p *Plan) Load(class *universe.Class) (made, removed []*Spot) {
	others := pattern.LearnLoaded(p.classes.Universe, class, p.shown)
	removed = p.settle()
	for _, m := range append(p.find(class), p.findMore(others, class)...) {
		if slices.ContainsFunc(p.shown, func(one *pattern.Pattern) bool { return one.Doubts(m.MethodRef) }) {
			p.doubted = append(p.doubted, m.Method)
		}
		made = append(made, p.add(m)...)
	}
	return append(made, p.retry(class)...), removed
}

// settle removes the spots in methods that turn out not to be named by the set.
func (p *Plan) settle() (removed []*Spot) {
	p.doubted = slices.DeleteFunc(p.doubted, func(m universe.Method) bool {
		if slices.ContainsFunc(p.shown, func(one *pattern.Pattern) bool { return one.Doubts(m.MethodRef) }) {
			return false
		}
		if one := p.match(m); one.isEmpty() {
			removed = append(removed, p.remove(m)...)
		}
		return true
	})
	return removed
}

func (p *Plan) remove(m universe.Method) (removed []*Spot) {
	for name, s := range p.Spots {
		if s.MethodRef == m.MethodRef {
			removed = append(removed, s)
			delete(p.Spots, name)
		}
	}
	delete(p.Hooked, m.MethodRef)
	for _, n := range p.namers {
		s := p.sum(n)
		s.Methods = slices.DeleteFunc(s.Methods, func(text string) bool { return text == m.String() })
		delete(s.taken, m.String())
	}
	return removed
}

// retry adds the spots of methods whose conditions and values did not fit before a class was known.
func (p *Plan) retry(class *universe.Class) (made []*Spot) {
	if !p.lacking[class.Name] {
		return nil
	}
	delete(p.lacking, class.Name)
	unfit := p.unfit
	p.unfit = nil
	for _, m := range unfit {
		text := m.String()
		for _, n := range m.namers() {
			s := p.sum(n)
			s.found--
			s.LeftOut = slices.DeleteFunc(slices.Clone(s.LeftOut), func(l LeftOut) bool { return l.Method == text }) // reports have the list
		}
		if one := p.match(m.Method); !one.isEmpty() { // it may have been removed
			made = append(made, p.add(m)...)
		}
	}
	return made
}

// namers returns the probes and tags that name the method.
func (m *match) namers() (all []*namer) {
	for _, probe := range m.probes {
		all = append(all, &probe.namer)
	}
	for _, t := range m.tags {
		all = append(all, &t.namer)
	}
	return all
}

func (p *Plan) add(m match) (made []*Spot) {
	if m.Member.Access.Has(classfile.AccNative) {
		for _, probe := range m.probes {
			p.sum(&probe.namer).leave(m.Method, errNative)
		}
		for _, t := range m.tags {
			p.sum(&t.namer).leave(m.Method, errNative)
		}
		return nil
	}
	for _, t := range m.tags {
		made = append(made, p.addTag(m.Method, t)...)
	}
	for _, probe := range m.probes {
		made = append(made, p.addProbe(m.Method, probe)...)
	}
	if !m.masks.none() {
		made = append(made, &Spot{
			Spot: instrument.Spot{
				MethodRef: m.MethodRef, Key: anchorKey, Kind: instrument.Anchors, Flags: arena.On,
				First: m.masks.first, Below: m.masks.below, Direct: m.masks.direct,
			},
			Method: m.Method,
		})
		if m.masks.direct != 0 {
			p.addBridges(m.Method)
		}
	}
	for _, s := range made {
		p.Put(s)
	}
	return made
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

func (p *Plan) addBridges(m universe.Method) {
	for _, member := range p.classes.Bridges(m) {
		p.bridges[member] = true
	}
}

func (p *Plan) addTag(m universe.Method, t *tagRequest) []*Spot {
	s := &Spot{
		Spot: instrument.Spot{
			MethodRef: m.MethodRef, Key: t.key(), Kind: instrument.Tags, Flags: arena.On, Tag: int(t.number),
		},
		Method: m, tag: t,
	}
	if t.Of == probeset.OfReturn {
		s.Kind = instrument.Keeps
	}
	if err := p.equip(s); err != nil {
		p.sum(&t.namer).leave(m, err)
		p.unfit = append(p.unfit, match{Method: m, tags: []*tagRequest{t}})
		return nil
	}
	p.sum(&t.namer).take(m)
	return []*Spot{s}
}

// addProbe returns a spot for each of a probe's sequences.
func (p *Plan) addProbe(m universe.Method, probe *Probe) (made []*Spot) {
	flags, period := probe.setting(probe.Level, p.flags)
	for _, q := range probe.within {
		s := &Spot{
			Spot: instrument.Spot{
				MethodRef: m.MethodRef, Key: probe.key(q), Kind: instrument.Watches, Form: probe.form,
				Flags: flags, Period: period, Groups: probe.groups, Context: uint8(probe.Context), Quota: probe.Quota,
			},
			Method: m, Probe: probe, sequence: q, conditional: q != nil || !probe.Inside && (probe.entry != nil || probe.exit != nil || probe.mark != nil),
		}
		if probe.Level >= probeset.Trace && !probe.Inside {
			s.answers, s.status = p.answeredBy(m.MethodRef)
		}
		s.Queued = probe.isOfTasks() && !p.classes.IsAhead
		if s.Fails = probe.Fails != nil; probe.mark != nil {
			s.Outside = p.Positions.last(probe.mark)
		}
		switch {
		case q == nil:
		case q.Last == pattern.Directly:
			s.Direct = p.Positions.last(q)
			p.addBridges(m)
		default:
			s.Below = p.Positions.last(q)
		}
		if err := p.equipWithStatus(s); err != nil {
			p.sum(&probe.namer).leave(m, err)
			p.unfit = append(p.unfit, match{Method: m, probes: []*Probe{probe}})
			return nil
		}
		made = append(made, s)
		if probe.user != nil {
			made = append(made, userSpots(s)...)
		}
	}
	p.sum(&probe.namer).take(m)
	return made
}

// answeredBy returns the category of the incoming calls that a method answers, and the status of the answer; "" for none.
func (p *Plan) answeredBy(m classfile.MethodRef) (category string, of *status) {
	for _, t := range p.tags {
		if category := categories.Answered(t.Name); category != "" && t.methods.Match(m) {
			if value, mayCall := categories.Status(t.At); value != nil {
				of = &status{value, mayCall}
			}
			return category, of
		}
	}
	return "", nil
}

// equipWithStatus is equip for a spot whose status is read if there is room for one more value, and its types fit.
func (p *Plan) equipWithStatus(s *Spot) error {
	if s.status != nil && s.Probe.late < mostValues {
		with := *s
		with.Form, with.Flags = instrument.Capturing, s.Flags&^arena.Here
		if p.equip(&with) == nil {
			*s = with
			return nil
		}
	}
	s.status = nil
	return p.equip(s)
}

// userSpots returns the spots of a user's template in the method of a watch: the template, what it records, and
// for each tag that it sets a spot that restores it.
func userSpots(watch *Spot) (made []*Spot) {
	probe := watch.Probe
	add := func(s instrument.Spot, record weave.Record) {
		s.MethodRef, s.Flags = watch.MethodRef, arena.On
		spot := &Spot{Spot: s, Method: watch.Method, Probe: probe, sequence: watch.sequence, record: record}
		if s.Kind == instrument.Templates {
			spot.depends = watch.depends
		}
		made = append(made, spot)
	}
	key := "template " + probe.user.Hash() + "|" + watch.Key
	add(instrument.Spot{Key: key, Kind: instrument.Templates, Below: watch.Below, Direct: watch.Direct, Outside: watch.Outside, Quota: watch.Quota, User: probe.user, Code: watch.Code}, weave.Record{})
	for i, record := range probe.user.Records {
		number := probe.user.Tags[i]
		switch record.Kind {
		case weave.Tag:
			add(instrument.Spot{Key: "tag|" + record.Name + "|template", Kind: instrument.Tags, Tag: int(number)}, record)
		case weave.Event:
			add(instrument.Spot{Key: instrument.RecordKey(key, record.Name), Kind: instrument.Records, Tag: int(number), Groups: probe.groups | 1<<number}, record)
		default:
			add(instrument.Spot{Key: instrument.RecordKey(key, record.Name), Kind: instrument.Records, Groups: probe.groups}, record)
		}
	}
	return made
}

var errAmbiguous = errors.New("several class loaders have a class of this name, and the probe's conditions or values compile to different code in them, because the classes differ")

// view returns a class as conditions see it; nil where it cannot be read.
func (p *Plan) view(class *universe.Class) *condition.Class {
	if class == nil || p.classes.Open(class) == nil {
		return nil
	}
	view := p.classes.views[class]
	if view == nil {
		view = &condition.Class{File: p.classes.Open(class)}
		p.classes.views[class] = view
	}
	view.Loader = class.Loader // it may have been a guess
	return view
}

func (p *Plan) subtypes(name string) (views []*condition.Class, all bool) {
	list, all := p.classes.Subtypes(name)
	for _, class := range list {
		views = append(views, p.view(class))
	}
	return views, all
}

// scope returns what a condition can refer to in a method.
func (p *Plan) scope(m universe.Method, at condition.Moment, mayCall []*pattern.Pattern) condition.Scope {
	subtypes := p.subtypes
	if p.classes.IsAhead {
		subtypes = nil
	}
	return condition.Scope{
		Class: p.view(m.Owner), Method: m.Member, Moment: at,
		Lookup: func(name string) *condition.Class {
			view := p.view(p.classes.Lookup(name, m.Owner))
			if view == nil {
				p.lacking[name] = true
			}
			return view
		},
		Subtypes: subtypes, OwnOnly: p.classes.IsAhead,
		Exported: func(other *condition.Class) bool { return p.classes.Library.Exports(other.Name(), m.Owner.Name) },
		Probed:   func(m classfile.MethodRef) bool { return p.Hooked[m] },
		MayCall: func(m classfile.MethodRef) bool {
			return slices.ContainsFunc(mayCall, func(may *pattern.Pattern) bool { return may.Match(m) })
		},
		Tags: p.Numbers, TagCall: condition.TagCall{Class: p.classes.tags, Method: "tagged", Parent: "parent"},
	}
}

// Recheck compiles the conditions of a spot again after a class has loaded. An error says
// why they are no longer valid.
func (p *Plan) Recheck(s *Spot) error {
	again := *s
	if err := p.equip(&again); err != nil {
		return err
	}
	s.depends = again.depends
	return nil
}

// equip compiles the conditions and values of a spot in its method. Where several loaders
// have a class of that name, the result must be the same in each.
func (p *Plan) equip(s *Spot) error {
	s.Code, s.depends, s.captures = nil, nil, nil
	if err := p.equipIn(s, s.Method); err != nil {
		return err
	}
	for _, other := range p.classes.Named(s.Class) {
		if other == s.Method.Owner {
			continue
		}
		for _, m := range p.classes.Methods(other) {
			if m.Name == s.Name && m.Descriptor == s.Descriptor {
				again := *s
				if err := p.equipIn(&again, m); err != nil {
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

func (p *Plan) equipIn(s *Spot, m universe.Method) error {
	switch {
	case s.tag != nil:
		checked, err := p.tagValue(s.tag, m)
		if err != nil {
			return err
		}
		s.Code = []weave.Lowered{checked}
		s.depends = []condition.Depends{checked.Depends()}
		return nil
	case s.Probe == nil:
		return nil
	}
	probe := s.Probe
	code := make([]weave.Lowered, allCode)
	var depends []condition.Depends
	for _, part := range []struct {
		clause *expr.Expr
		moment condition.Moment
		number int
	}{{probe.entry, condition.Entry, entryCondition}, {cmp.Or(probe.exit, probe.Fails), condition.Exit, exitCondition}} {
		if part.clause == nil {
			continue
		}
		checked, err := condition.Check(part.clause, p.scope(m, part.moment, probe.MayCall))
		if err != nil {
			return err
		}
		code[part.number] = checked
		depends = append(depends, checked.Depends())
	}
	values, err := p.capture(s, m, code)
	if err != nil {
		return err
	}
	s.Code, s.depends = trimmed(code), append(depends, values...)
	return nil
}

// tagValue compiles the value of a tag.
func (p *Plan) tagValue(t *tagRequest, m universe.Method) (*condition.Checked, error) {
	scope := p.scope(m, condition.Entry, t.MayCall)
	if t.Of == probeset.OfThis {
		return condition.CheckKept("kept", scope)
	}
	if name := p.secretIn(m, t.Value, p.allowed()); name != "" {
		return nil, fmt.Errorf("the value is treated as a secret because of its name %s: allow that name (sonde trace --allow, or allow: of a probe), or use another value", name)
	}
	if t.As == probeset.AsIs {
		return condition.CheckValue(t.Value, scope)
	}
	return condition.CheckText(t.Value, t.As.String(), scope)
}

// trimmed returns code without trailing nils.
func trimmed(code []weave.Lowered) []weave.Lowered {
	for len(code) > 0 && code[len(code)-1] == nil {
		code = code[:len(code)-1]
	}
	return code
}

// capture compiles the values that are captured. Secret values are not read.
func (p *Plan) capture(s *Spot, m universe.Method, code []weave.Lowered) (depends []condition.Depends, err error) {
	s.captures = nil
	for _, value := range s.Probe.captures {
		named := CaptureName{Index: value.index, Text: value.expr.Text()}
		if p.secretIn(m, value.expr, s.Probe.Allow) != "" {
			named.Redacted = true
			code[value.code] = withheld{}
			s.captures = append(s.captures, named)
			sum := p.sum(&s.Probe.namer)
			if !slices.Contains(sum.Redacted, named.Text) {
				sum.Redacted = append(sum.Redacted, named.Text)
			}
			continue
		}
		moment := condition.Entry
		if value.index&ExitCapture != 0 {
			moment = condition.Exit
		}
		checked, err := condition.CheckValue(value.expr, p.scope(m, moment, s.Probe.MayCall))
		if err != nil {
			var bad *expr.Error
			if errors.As(err, &bad) {
				return nil, fmt.Errorf("capture %s: %w", named.Text, err)
			}
			return nil, err
		}
		code[value.code] = checked
		depends = append(depends, checked.Depends())
		s.captures = append(s.captures, named)
	}
	if s.status != nil {
		checked, err := condition.CheckValue(s.status.value, p.scope(m, condition.Exit, s.status.mayCall))
		if err != nil {
			return nil, err
		}
		code[exitValues+s.Probe.late] = checked
		depends = append(depends, checked.Depends())
		s.captures = append(s.captures, CaptureName{Index: s.Probe.late | ExitCapture, Text: categories.StatusName})
	}
	return depends, nil
}

// withheld is the code of a secret value: it yields null instead of reading the value.
type withheld struct{}

func (withheld) Lower(weave.Moment) (*weave.Fragment, error) {
	return &weave.Fragment{Steps: []weave.Step{{Do: weave.DoOp, Op: opcode.AconstNull}}, MaxStack: 1, Text: true}, nil
}

// secretIn returns the name that marks an expression as secret, or "". It considers the
// names in the expression and those of parameters that it refers to by number.
func (p *Plan) secretIn(m universe.Method, e *expr.Expr, allowed []string) string {
	names, numbers := namesIn(e)
	for _, number := range numbers {
		names = append(names, m.ParameterNames(number)...)
	}
	return secretIn(names, allowed)
}

// allowed returns the names that any probe allows, since all probes share the tags.
func (p *Plan) allowed() (names []string) {
	for _, probe := range p.Probes {
		names = append(names, probe.Allow...)
	}
	return names
}
