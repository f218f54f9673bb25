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

// A Method is what one method of a class gets and, in an Outcome, what became of it.
type Method struct {
	classfile.MethodRef
	Hooked     bool          // it gets a hook of its own
	HandOff    bool          // tasks go through it from thread to thread
	Spotted    bool          // spots were requested in it
	Spots      []*PlacedSpot // that have their hooks
	LowerBound bool          // HotSpot may replace it, so that hooks miss calls
	Result     weave.MethodResult

	templates []*weave.Template              // outermost first; the templates of spots are the last
	sites     map[classfile.MethodRef]uint32 // by call: the id of the native method
}

// Natives returns the ids of the native methods whose calls get hooks in the method.
func (m *Method) Natives() []uint32 { return slices.Collect(maps.Values(m.sites)) }

// A plan says what is woven into one class. It is complete before the class is woven:
// targets that are added meanwhile must not get into what is cached under its name.
type plan struct {
	class    string
	targets  classTargets
	lean     map[string]string // methods woven without the spots that have code, with the reason
	methods  []Method          // all methods of the class, in its order
	left     map[uint32]LeftAlone
	hasSites bool
}

// newPlan selects for each method of a class.
func (w *Weaver) newPlan(parsed *classfile.Class, pattern *Pattern, lean map[string]string) (*plan, error) {
	name, err := parsed.Pool.ClassName(parsed.This)
	if err != nil {
		return nil, fmt.Errorf("this_class: %w", err)
	}
	p := &plan{class: string(name), lean: lean, methods: make([]Method, len(parsed.Methods)), left: make(map[uint32]LeftAlone)}
	p.targets = w.targets.copyOf(p.class)
	exempt := Exemption(p.class)
	for i := range parsed.Methods {
		member := &parsed.Methods[i]
		name, descriptor, err := parsed.MemberName(member)
		if err != nil {
			return nil, fmt.Errorf("method %d: %w", i, err)
		}
		m := &p.methods[i]
		m.MethodRef = classfile.MethodRef{Class: p.class, Name: string(name), Descriptor: string(descriptor)}
		m.sites = p.targets.sites[m.Member()]
		p.hasSites = p.hasSites || len(m.sites) > 0
		spots := p.targets.spots[m.Member()]
		m.Spotted = len(spots) > 0
		if parsed.Find(member.Attributes, classfile.KindCode) == nil {
			p.leave(spots, noCode(member.Access))
			continue
		}
		if exempt == "" {
			w.pickHook(p, m, pattern)
		}
		if p.targets.handsOff {
			if t := w.handOffTemplate(m.MethodRef); t != nil {
				m.HandOff = true
				m.templates = append(m.templates, t)
			}
		}
		switch {
		case exempt != "":
			p.leave(spots, exempt)
		default:
			p.pickSpots(m, spots, member.Access.Has(classfile.AccBridge))
		}
		m.LowerBound = len(m.templates) > 0 && isIntrinsic(parsed, member)
	}
	return p, nil
}

// pickHook adds a method's own hook and the report of calls by reflection.
func (w *Weaver) pickHook(p *plan, m *Method, pattern *Pattern) {
	_, m.Hooked = p.targets.hooks[m.Member()]
	if m.Hooked || pattern != nil && pattern.Methods.Match(m.MethodRef) {
		m.Hooked = true
		m.templates = append(m.templates, w.templates.live)
	}
	if t := w.reflectionTemplate(m.MethodRef); t != nil && p.targets.reflects {
		m.templates = append(m.templates, t)
	}
}

func (p *plan) pickSpots(m *Method, spots []*PlacedSpot, isBridge bool) {
	reason, isLean := p.lean[m.Member()]
	for _, s := range spots {
		switch {
		case isBridge && !s.isSwitched:
			p.left[s.ID] = s.LeftAlone("it is a bridge method made by the compiler, which only calls another method")
		case !s.IsActive():
			p.left[s.ID] = s.LeftAlone(s.reason)
		case isLean && s.hasCode():
			p.left[s.ID] = s.LeftAlone(reason)
		case s.Kind == Records:
			m.Spots = append(m.Spots, s)
		default:
			m.Spots = append(m.Spots, s)
			m.templates = append(m.templates, s.template)
		}
	}
}

func (p *plan) leave(spots []*PlacedSpot, reason string) {
	for _, s := range spots {
		p.left[s.ID] = s.LeftAlone(reason)
	}
}

func noCode(access classfile.Access) string {
	if access.Has(classfile.AccNative) {
		return "it is native: it has no bytecode for a hook"
	}
	return "it is abstract: it has no bytecode for a hook"
}

// isEmpty reports whether the class stays as it is.
func (p *plan) isEmpty() bool {
	return !p.hasSites && !slices.ContainsFunc(p.methods, func(m Method) bool { return len(m.templates) > 0 })
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
		text = appendWords(text, "method", m.Member())
		own := len(m.templates)
		for _, s := range m.Spots {
			if s.template != nil {
				own--
			}
		}
		for _, t := range m.templates[:own] {
			text = appendWords(text, "template", t.Name())
		}
		for _, s := range m.Spots {
			name := "record"
			if s.template != nil {
				name = s.template.Name()
			}
			text = appendWords(text, "spot", name, idText(s.ID), s.fingerprint)
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
