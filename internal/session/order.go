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
