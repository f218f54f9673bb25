package session

import (
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave"
)

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
