package instrument

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
)

// A Selection is what was selected in one class. Maps are keyed by name and descriptor
// of a method, unless stated otherwise.
type Selection struct {
	weaver   *Weaver
	patterns Patterns
	lean     map[string]string // methods woven without the spots that have code, with the reason

	Hooked    map[string]bool          // methods that get a hook of their own
	Spots     map[string][]*PlacedSpot // spots that have their hooks
	HandOffs  map[string]bool          // methods through which tasks go from thread to thread
	SpotsLeft map[uint32]LeftAlone     // spots without a hook, by id
	Spotted   map[string]bool          // methods of the class that have spots
	Intrinsic map[string]bool          // methods HotSpot may replace, so that hooks miss calls
}

func newSelection(w *Weaver, patterns Patterns) Selection {
	s := Selection{weaver: w, patterns: patterns, lean: make(map[string]string)}
	s.reset()
	return s
}

// reset clears the selection, except which methods are woven lean.
func (s *Selection) reset() {
	s.Hooked, s.HandOffs, s.Spotted = make(map[string]bool), make(map[string]bool), make(map[string]bool)
	s.Spots, s.SpotsLeft = make(map[string][]*PlacedSpot), make(map[uint32]LeftAlone)
	s.Intrinsic = make(map[string]bool)
}

// pick returns the templates of a method, outermost first: its own hook, the report of
// calls by reflection, the hand-off of tasks, and its spots.
func (s *Selection) pick(m weave.MethodInfo) (templates []*weave.Template) {
	member := m.Name + m.Descriptor
	spots := s.weaver.targets.spotsOf(m.Class, member)
	s.Spotted[member] = len(spots) > 0
	exempt := Exemption(m.Class)
	switch {
	case !m.HasCode:
		s.leave(spots, noCode(m.Access))
		return nil
	case exempt != "":
		s.leave(spots, exempt)
		spots = nil
	case m.Access.Has(classfile.AccBridge):
		s.leave(spots, "it is a bridge method made by the compiler, which only calls another method")
		spots = nil
	}
	if exempt == "" {
		templates = s.pickHook(m, member)
	}
	if t := s.weaver.handOffTemplate(m); t != nil {
		s.HandOffs[member] = true
		templates = append(templates, t)
	}
	return s.pickSpots(templates, spots, member)
}

func (s *Selection) pickHook(m weave.MethodInfo, member string) (templates []*weave.Template) {
	_, is := s.patterns.Find(m.MethodRef)
	if is || s.weaver.targets.hasHook(m.Class, member) {
		s.Hooked[member] = true
		templates = append(templates, s.weaver.templates.live)
	}
	if t := s.weaver.reflectionTemplate(m); t != nil {
		templates = append(templates, t)
	}
	return templates
}

func (s *Selection) pickSpots(templates []*weave.Template, spots []*PlacedSpot, member string) []*weave.Template {
	reason, isLean := s.lean[member]
	for _, p := range spots {
		switch {
		case !p.IsActive():
			s.SpotsLeft[p.ID] = p.LeftAlone(p.reason)
		case isLean && p.hasCode():
			s.SpotsLeft[p.ID] = p.LeftAlone(reason)
		default:
			s.Spots[member] = append(s.Spots[member], p)
			templates = append(templates, p.template)
		}
	}
	return templates
}

func (s *Selection) leave(spots []*PlacedSpot, reason string) {
	for _, p := range spots {
		s.SpotsLeft[p.ID] = p.LeftAlone(reason)
	}
}

func noCode(access classfile.Access) string {
	if access.Has(classfile.AccNative) {
		return "it is native: it has no bytecode for a hook"
	}
	return "it is abstract: it has no bytecode for a hook"
}

// leanSelection finds methods that could not be woven and may be without their conditions
// and values. It reports whether there are any: then everything is selected again.
func (s *Selection) leanSelection(results []weave.MethodResult) (again bool) {
	for i := range results {
		r := &results[i]
		member := r.Name + r.Descriptor
		if _, isLean := s.lean[member]; r.Woven || isLean {
			continue
		}
		if slices.ContainsFunc(s.Spots[member], func(p *PlacedSpot) bool { return p.hasCode() }) {
			s.lean[member], again = r.Reason.Error(), true
		}
	}
	if again {
		s.reset()
	}
	return again
}

// finish moves the spots of methods that were not woven, or that the class does not have,
// to SpotsLeft.
func (s *Selection) finish(class string, results []weave.MethodResult) {
	for i := range results {
		if r := &results[i]; !r.Woven {
			member := r.Name + r.Descriptor
			s.leave(s.Spots[member], r.Reason.Error())
			delete(s.Spots, member)
			delete(s.HandOffs, member)
		}
	}
	for _, member := range s.weaver.targets.spottedMembers(class) {
		if !s.Spotted[member] {
			s.leave(s.weaver.targets.spotsOf(class, member), "the class has no such method")
		}
	}
}

// A plan says what is woven into one class. It is complete before the class is woven:
// targets that are added meanwhile must not get into what is cached under its name.
type plan struct {
	class    string
	methods  []plannedMethod // all methods of the class, in its order
	hasSites bool
}

type plannedMethod struct {
	name, descriptor string
	templates        []*weave.Template
	spots            []*PlacedSpot                  // their templates are the last ones
	sites            map[classfile.MethodRef]uint32 // by call: the id of the native method
}

// plan selects for each method of a class.
func (s *Selection) plan(parsed *classfile.Class) (*plan, error) {
	name, err := parsed.Pool.ClassName(parsed.This)
	if err != nil {
		return nil, fmt.Errorf("this class: %w", err)
	}
	p := &plan{class: string(name), methods: make([]plannedMethod, len(parsed.Methods))}
	for i := range parsed.Methods {
		member := &parsed.Methods[i]
		name, descriptor, err := parsed.MemberName(member)
		if err != nil {
			return nil, fmt.Errorf("method %d: %w", i, err)
		}
		hasCode := parsed.Find(member.Attributes, classfile.KindCode) != nil
		m := &p.methods[i]
		m.name, m.descriptor = string(name), string(descriptor)
		m.templates = s.pick(weave.MethodInfo{
			MethodRef: classfile.MethodRef{Class: p.class, Name: m.name, Descriptor: m.descriptor},
			Access:    member.Access, HasCode: hasCode,
		})
		if len(m.templates) > 0 {
			m.spots = s.Spots[m.name+m.descriptor]
			s.Intrinsic[m.name+m.descriptor] = countIsLowerBound(parsed, member)
		}
	}
	s.weaver.targets.planSites(p)
	return p, nil
}

// planSites adds the calls that get hooks.
func (t *targets) planSites(p *plan) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if !t.callers[p.class] {
		return
	}
	for i := range p.methods {
		m := &p.methods[i]
		if calls := t.sites[classfile.MethodRef{Class: p.class, Name: m.name, Descriptor: m.descriptor}]; len(calls) > 0 {
			m.sites, p.hasSites = maps.Clone(calls), true
		}
	}
}

// isEmpty reports whether the class stays as it is.
func (p *plan) isEmpty() bool {
	return !p.hasSites && !slices.ContainsFunc(p.methods, func(m plannedMethod) bool { return len(m.templates) > 0 })
}

// appendSpec writes the plan as text. Plans with the same text weave the same bytes of
// one class file. Ids are part of it, except those of the class's own methods, which are
// in the cache entry. Names may hold any character, so each is preceded by its length.
//
//	method NAME(DESCRIPTOR)
//	template NAME
//	spot TEMPLATE ID CODE
//	call CALLED ID
func (p *plan) appendSpec(text []byte) []byte {
	for i := range p.methods {
		m := &p.methods[i]
		if len(m.templates) == 0 && len(m.sites) == 0 {
			continue
		}
		text = appendWords(text, "method", m.name+m.descriptor)
		own := len(m.templates) - len(m.spots)
		for _, t := range m.templates[:own] {
			text = appendWords(text, "template", t.Name())
		}
		for _, s := range m.spots {
			text = appendWords(text, "spot", s.template.Name(), idText(s.ID), s.fingerprint)
		}
		if len(m.sites) == 0 {
			continue // sorting nothing costs as much as the rest
		}
		for _, called := range slices.SortedFunc(maps.Keys(m.sites), classfile.MethodRef.Compare) {
			text = appendWords(text, "call", called.String(), idText(m.sites[called]))
		}
	}
	return text
}

func idText(id uint32) string { return strconv.FormatUint(uint64(id), 16) }

// appendWords writes a line: its kind, and words preceded by their lengths.
func appendWords(text []byte, kind string, words ...string) []byte {
	text = append(text, kind...)
	for _, word := range words {
		text = append(text, ' ')
		text = strconv.AppendInt(text, int64(len(word)), 10)
		text = append(text, ':')
		text = append(text, word...)
	}
	return append(text, '\n')
}

// slots returns the native methods whose calls get hooks.
func (p *plan) slots(ids *ids) (slots []cache.Slot) {
	if !p.hasSites {
		return nil
	}
	natives := make(map[uint32]bool)
	for i := range p.methods {
		for _, id := range p.methods[i].sites {
			natives[id] = true
		}
	}
	for id := range natives {
		if m, ok := ids.method(id); ok {
			slots = append(slots, cache.Slot{MethodRef: m, ID: id})
		}
	}
	slices.SortFunc(slots, func(a, b cache.Slot) int { return cmp.Compare(a.ID, b.ID) })
	return slots
}

// WhyLowerBound says why the number of calls of a method is a lower bound.
const WhyLowerBound = "HotSpot may replace this method by an intrinsic in compiled code, so that calls made from compiled code are not counted"

// intrinsicCandidates are the annotations of methods that HotSpot may replace: since JDK
// 16, and before.
var intrinsicCandidates = [...]string{"Ljdk/internal/vm/annotation/IntrinsicCandidate;", "Ljdk/internal/HotSpotIntrinsicCandidate;"}

// countIsLowerBound reports whether HotSpot's compilers may replace calls of a method by
// their own code. A hook in its body does not see those calls.
func countIsLowerBound(class *classfile.Class, m *classfile.Member) bool {
	attribute := class.Find(m.Attributes, classfile.KindRuntimeVisibleAnnotations)
	if attribute == nil {
		return false
	}
	contents, err := class.Decode(*attribute)
	list, is := contents.(classfile.Annotations)
	if err != nil || !is {
		return false
	}
	for _, annotation := range list {
		name, err := class.Pool.Utf8(annotation.Type)
		if err == nil && slices.Contains(intrinsicCandidates[:], string(name)) {
			return true
		}
	}
	return false
}
