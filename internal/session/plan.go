package session

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

// An order is what is to become of one class. It is settled before the class is woven:
// what is chosen meanwhile must not get into what is kept under the order's name.
type order struct {
	class   string
	methods []ordered // all of the class, in its order
	sites   bool      // calls are among it
}

// An ordered is what a method gets.
type ordered struct {
	name, descriptor string
	templates        []*weave.Template
	spots            []*spot           // whose templates are the last of those
	sites            map[string]uint32 // by what is called: the id of the native method
}

// order picks for each method of a class.
func (p *picking) order(parsed *classfile.Class, class []byte) (*order, error) {
	if err := parsed.Read(class); err != nil {
		return nil, err
	}
	name, err := parsed.Pool.ClassName(parsed.This)
	if err != nil {
		return nil, fmt.Errorf("this class: %w", err)
	}
	o := &order{class: string(name), methods: make([]ordered, len(parsed.Methods))}
	for i := range parsed.Methods {
		m := &parsed.Methods[i]
		name, descriptor, err := parsed.MemberName(m)
		if err != nil {
			return nil, fmt.Errorf("method %d: %w", i, err)
		}
		hasCode := parsed.Find(m.Attributes, classfile.KindCode) != nil
		got := &o.methods[i]
		got.name, got.descriptor = string(name), string(descriptor)
		got.templates = p.pick(weave.MethodInfo{
			Class: o.class, Name: got.name, Descriptor: got.descriptor, Access: m.Access, HasCode: hasCode,
		})
		if len(got.templates) > 0 {
			got.spots = p.spots[got.name+got.descriptor]
			p.intrinsic[got.name+got.descriptor] = mayBeIntrinsic(parsed, m)
		}
	}
	p.workshop.choices.orderSites(o)
	return o, nil
}

// orderSites adds the calls that are chosen.
func (c *choices) orderSites(o *order) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if !c.callers[o.class] {
		return
	}
	for i := range o.methods {
		m := &o.methods[i]
		if calls := c.sites[o.class+"."+m.name+m.descriptor]; len(calls) > 0 {
			m.sites, o.sites = maps.Clone(calls), true
		}
	}
}

// isEmpty reports whether the class is to stay as it is.
func (o *order) isEmpty() bool {
	return !o.sites && !slices.ContainsFunc(o.methods, func(m ordered) bool { return len(m.templates) > 0 })
}

// appendSpec writes the order as a text: orders with the same text weave the same of one
// class file. Ids are in it where they are not those of the class's own methods, which
// the entry has. Names may hold any character, so lengths tell where they end.
//
//	method NAME(DESCRIPTOR)
//	template NAME
//	spot TEMPLATE ID CODE
//	call CALLED ID
func (o *order) appendSpec(text []byte) []byte {
	for i := range o.methods {
		m := &o.methods[i]
		if len(m.templates) == 0 && len(m.sites) == 0 {
			continue
		}
		text = appendWords(text, "method", m.name+m.descriptor)
		own := len(m.templates) - len(m.spots)
		for _, t := range m.templates[:own] {
			text = appendWords(text, "template", t.Name())
		}
		for _, p := range m.spots {
			text = appendWords(text, "spot", p.template.Name(), idText(p.id), p.print)
		}
		if len(m.sites) == 0 {
			continue // sorting nothing costs as much as the rest
		}
		for _, called := range slices.Sorted(maps.Keys(m.sites)) {
			text = appendWords(text, "call", called, idText(m.sites[called]))
		}
	}
	return text
}

func idText(id uint32) string { return strconv.FormatUint(uint64(id), 16) }

// appendWords writes a line: what it says, and words with their lengths.
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

// slots are the native methods whose calls get hooks.
func (o *order) slots(b *book) (slots []cache.Slot) {
	if !o.sites {
		return nil
	}
	ids := make(map[uint32]bool)
	for i := range o.methods {
		for _, id := range o.methods[i].sites {
			ids[id] = true
		}
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	for id := range ids {
		if class, name, descriptor, ok := SplitMember(b.names[id]); ok {
			slots = append(slots, cache.Slot{Class: class, Name: name, Descriptor: descriptor, ID: id})
		}
	}
	slices.SortFunc(slots, func(a, b cache.Slot) int { return cmp.Compare(a.ID, b.ID) })
	return slots
}

// A picking is what is chosen of the methods of one class while it is woven. Methods
// go by their names and descriptors.
type picking struct {
	workshop *workshop
	wanted   wishes
	lean     map[string]string // methods that go without spots that have code, and why

	hooks    map[string]bool      // that get a hook of their own
	spots    map[string][]*spot   // what else stands around them
	handOffs map[string]bool      // through which tasks go from thread to thread
	left     map[uint32]LeftAlone // spots that have no hook
	met      map[string]bool      // those with spots that the class has

	intrinsic map[string]bool // that HotSpot may replace, so that hooks miss calls
}

func newPicking(w *workshop, wanted wishes) *picking {
	p := &picking{workshop: w, wanted: wanted, lean: make(map[string]string)}
	p.begin()
	return p
}

// begin forgets what was picked, but not what is to be lean.
func (p *picking) begin() {
	p.hooks, p.handOffs, p.met = make(map[string]bool), make(map[string]bool), make(map[string]bool)
	p.spots, p.left = make(map[string][]*spot), make(map[uint32]LeftAlone)
	p.intrinsic = make(map[string]bool)
}

// pick tells a weaver which templates a method gets, the first outermost: its own
// hook, what tells of calls by reflection, what has tasks carry their context, and
// its spots.
func (p *picking) pick(m weave.MethodInfo) (templates []*weave.Template) {
	member := m.Name + m.Descriptor
	spots := p.workshop.choices.spotsOf(m.Class, member)
	p.met[member] = len(spots) > 0
	exempt := exemption(m.Class)
	switch {
	case !m.HasCode:
		p.leave(spots, noCode(m.Access))
		return nil
	case exempt != "":
		p.leave(spots, exempt)
		spots = nil
	case m.Access.Has(classfile.AccBridge):
		p.leave(spots, "it is a bridge that a compiler made: it only leads to another method")
		spots = nil
	}
	if exempt == "" {
		templates = p.pickHook(m, member)
	}
	if handing := p.workshop.handing(m); handing != nil {
		p.handOffs[member] = true
		templates = append(templates, handing)
	}
	return p.pickSpots(templates, spots, member)
}

func (p *picking) pickHook(m weave.MethodInfo, member string) (templates []*weave.Template) {
	_, is := p.wanted.find(m.Class, m.Name, m.Descriptor)
	if !is {
		_, is = p.workshop.choices.find(m.Class, member)
	}
	if is {
		p.hooks[member] = true
		templates = append(templates, p.workshop.templates.live)
	}
	if telling := p.workshop.reflection(m); telling != nil {
		templates = append(templates, telling)
	}
	return templates
}

func (p *picking) pickSpots(templates []*weave.Template, spots []*spot, member string) []*weave.Template {
	reason, lean := p.lean[member]
	for _, one := range spots {
		switch {
		case one.template == nil:
			p.left[one.id] = one.leftAlone(one.reason)
		case lean && one.hasCode():
			p.left[one.id] = one.leftAlone(reason)
		default:
			p.spots[member] = append(p.spots[member], one)
			templates = append(templates, one.template)
		}
	}
	return templates
}

func (p *picking) leave(spots []*spot, reason string) {
	for _, one := range spots {
		p.left[one.id] = one.leftAlone(reason)
	}
}

func noCode(access classfile.Access) string {
	if access.Has(classfile.AccNative) {
		return "it is native: it has no code a hook could stand in"
	}
	return "it is abstract: it has no code a hook could stand in"
}

// slims notes which methods could not be woven and may be without conditions and
// values. It reports whether there are any: then all is to be picked again.
func (p *picking) slims(results []weave.MethodResult) (again bool) {
	for i := range results {
		r := &results[i]
		member := r.Name + r.Descriptor
		if _, lean := p.lean[member]; r.Woven || lean {
			continue
		}
		for _, one := range p.spots[member] {
			if one.hasCode() {
				p.lean[member], again = r.Reason.Error(), true
			}
		}
	}
	if again {
		p.begin()
	}
	return again
}

// settle names the spots that are not woven, of methods that could not be and of
// those that the class has not.
func (p *picking) settle(class string, results []weave.MethodResult) {
	for i := range results {
		if r := &results[i]; !r.Woven {
			p.leave(p.spots[r.Name+r.Descriptor], r.Reason.Error())
			delete(p.spots, r.Name+r.Descriptor)
			delete(p.handOffs, r.Name+r.Descriptor)
		}
	}
	for _, member := range p.workshop.choices.spotted(class) {
		if !p.met[member] {
			p.leave(p.workshop.choices.spotsOf(class, member), "the class has no such method")
		}
	}
}

// WhyLowerBound says why the calls counted of a method are a lower bound.
const WhyLowerBound = "HotSpot may replace this method by an intrinsic in compiled code, so that calls made from compiled code are not counted"

// intrinsicCandidates mark the methods of a JDK that HotSpot may replace: from 16 on, and
// before.
var intrinsicCandidates = [...]string{"Ljdk/internal/vm/annotation/IntrinsicCandidate;", "Ljdk/internal/HotSpotIntrinsicCandidate;"}

// mayBeIntrinsic reports whether compilers of HotSpot may put code of their own in the place
// of calls of a method. A hook in its body does not see those calls.
func mayBeIntrinsic(class *classfile.Class, m *classfile.Member) bool {
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
		for _, candidate := range intrinsicCandidates {
			if err == nil && string(name) == candidate {
				return true
			}
		}
	}
	return false
}
