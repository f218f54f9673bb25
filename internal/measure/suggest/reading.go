package suggest

import (
	"context"
	"slices"
)

// read gets class files: of the candidates, then of all else that is the program's, as
// what they have to do with may be said by small methods that they call.
func (o *observer) read(ctx context.Context) error {
	classes := make(map[string]bool)
	for _, c := range o.picked {
		classes[c.Class] = true
	}
	isWanted := func(class string) bool { return classes[class] }
	loaded, err := o.session.Prefetch(ctx, isWanted, isWanted)
	if err != nil {
		return err
	}
	reasons := make(map[string]string)
	for _, class := range loaded {
		switch {
		case class.Reason != "":
			reasons[class.Name] = class.Reason
		case class.File == nil:
			reasons[class.Name] = "its loader finds no class file of it"
		case o.code.add(class.File) != nil:
			reasons[class.Name] = "its class file cannot be read"
		}
	}
	others, err := o.session.Survey(ctx, func(class string) bool {
		return !isLibrary(class) && !Method{Class: class}.isOurs() && !Method{Class: class}.carries()
	})
	if err != nil {
		return err
	}
	for _, class := range others {
		if class.File != nil {
			_ = o.code.add(class.File) // what cannot be read says nothing
		}
	}
	o.picked = slices.DeleteFunc(o.picked, func(c *Candidate) bool {
		why := reasons[c.Class]
		if why == "" {
			why = o.equip(c)
		}
		if why != "" {
			o.left[c.Method] = why
		}
		return why != ""
	})
	return nil
}

// Why most methods have no probe: nobody need be told.
const (
	isTiny = "it is so small that compilers put it into its callers: a probe in it would cost more than it does"
	isMade = "it is native, or was made by a compiler to call another"
)

// equip completes a candidate by its class file; what it gives is why that is none.
func (o *observer) equip(c *Candidate) string {
	named := o.code.named(c.Method)
	tiny := 0
	for _, m := range named {
		if m.bytes == 0 || m.isMade() {
			continue
		}
		if m.isTiny() {
			tiny++
			continue
		}
		c.Members = append(c.Members, Method{c.Class, m.name, m.descriptor})
	}
	switch {
	case len(named) == 0:
		return "its class is hidden, or not loaded any more"
	case len(c.Members) == 0 && tiny > 0:
		return isTiny
	case len(c.Members) == 0:
		return isMade
	}
	if c.Pattern = c.pattern(o.code.isAlone(c.Method)); c.Pattern == "" {
		return "no pattern names it"
	}
	c.Nature = o.code.nature(c.Method)
	return ""
}
