package suggest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
)

// ErrNoNature says that no method of archives has to do with anything that counts.
var ErrNoNature = errors.New("no method takes requests or calls databases, the network, files or locks: name the jars of the program itself")

// ErrNoClass says that archives hold no class.
var ErrNoClass = errors.New("no class file was found in it")

// mostOfClass is how many methods of a class one line names: more are hardly the cause
// of anything.
const mostOfClass = 12

// ReadArchives proposes probes by what the code of jars, folders or class files says. At
// most so many lines are proposed, each for the methods of one class.
func ReadArchives(ctx context.Context, inputs []string, most int) (*Proposal, error) {
	if most < 1 {
		return nil, errOptions
	}
	code := newCode()
	p := &Proposal{}
	for _, input := range inputs {
		read := 0
		err := archive.Walk(ctx, input, func(e archive.Entry) error {
			if e.Release() == 0 && code.add(slices.Clone(e.Data)) == nil { // what cannot be read says nothing
				read++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if read == 0 {
			return nil, fmt.Errorf("%s: %w", input, ErrNoClass)
		}
		p.Inputs = append(p.Inputs, filepath.Base(input))
	}
	p.Read = len(code.classes)
	p.Choices, p.More = byNature(code, most)
	if len(p.Choices) == 0 {
		return nil, ErrNoNature
	}
	return p, nil
}

// kinds are in the order in which they are worth a probe.
var kinds = []Kind{Request, Database, HTTP, Queue, Network, Files, Lock}

// Request is the kind of methods by which requests come in.
const Request Kind = "requests"

// lead is the kind for which a method is proposed.
func (c *Candidate) lead() Kind {
	if c.Entry != "" {
		return Request
	}
	for _, kind := range kinds {
		if slices.ContainsFunc(c.Uses, func(u Use) bool { return u.Kind == kind }) {
			return kind
		}
	}
	return ""
}

// A group is the methods of a class of one kind.
type group struct {
	class   string
	choices []Choice
}

// byNature chooses methods by their code: a class of each kind in turn, so that no kind
// leaves another without room.
func byNature(code *Code, most int) (chosen []Choice, more int) {
	queues := make(map[Kind][]*group)
	for class := range code.classes {
		for kind, g := range code.groups(class) {
			queues[kind] = append(queues[kind], g)
		}
	}
	left := 0
	for _, kind := range kinds {
		slices.SortFunc(queues[kind], func(a, b *group) int { return cmp.Or(b.weight()-a.weight(), cmp.Compare(a.class, b.class)) })
		left += len(queues[kind])
	}
	taken := make(map[Kind][]*group)
	for lines := 0; lines < most && left > 0; {
		for _, kind := range kinds {
			if lines < most && len(queues[kind]) > 0 {
				taken[kind] = append(taken[kind], queues[kind][0])
				queues[kind] = queues[kind][1:]
				lines++
				left--
			}
		}
	}
	for _, kind := range kinds {
		for _, g := range taken[kind] {
			chosen = append(chosen, g.choices[:min(len(g.choices), mostOfClass)]...)
			more += max(0, len(g.choices)-mostOfClass)
		}
		for _, g := range queues[kind] {
			more += len(g.choices)
		}
	}
	return chosen, more
}

// weight puts classes first that have to do with several things.
func (g *group) weight() (weight int) {
	for i := range g.choices {
		weight = max(weight, len(g.choices[i].Uses))
	}
	return weight
}

// groups are the methods of a class that are worth a probe, by kind.
func (c *Code) groups(class string) map[Kind]*group {
	found := make(map[Kind]*group)
	known := c.classes[class]
	for i := range known.methods {
		m := &known.methods[i]
		isWritten := m.bytes > 0 && !m.access.Has(classfile.AccBridge) && !m.access.Has(classfile.AccSynthetic) && m.name != "<clinit>"
		isMain := m.name == "main" && m.access.Has(classfile.AccStatic) // which is called once
		if !isWritten || isMain || isLibrary(class) && isCentral(class) {
			continue
		}
		one := &Candidate{Method: Method{class, m.name, m.descriptor}}
		one.Nature = c.nature(one.Method)
		kind := one.lead()
		if kind == "" || m.isTiny() && kind != Request {
			continue
		}
		if one.Pattern = one.pattern(c.isAlone(one.Method)); one.Pattern == "" {
			continue
		}
		one.Members = []Method{one.Method}
		why := ForNature
		if kind == Request {
			why = ForEntry
		}
		if found[kind] == nil {
			found[kind] = &group{class: class}
		}
		found[kind].choices = append(found[kind].choices, Choice{Candidate: one, Why: why})
	}
	for _, g := range found {
		slices.SortStableFunc(g.choices, func(a, b Choice) int { return cmp.Or(len(b.Uses)-len(a.Uses), a.compare(b.Method)) })
	}
	return found
}
