package session

import (
	"fmt"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// spotTemplates are what spots are woven by.
type spotTemplates struct {
	anchor, tag, plain, watch, late, capture *weave.Template
}

// mostCode is how many conditions and values a template has: numbers 0 to 9.
const mostCode = FirstAtExit + arena.WatchValues

// of is the template of a spot and how many numbers its code may have.
func (t *spotTemplates) of(p *Spot) (template *weave.Template, codes int) {
	switch {
	case p.Kind == Anchors:
		return t.anchor, 0
	case p.Kind == Tags:
		return t.tag, 1
	case p.Form == Plain && !p.hasCode() && p.isEverywhere():
		return t.plain, 0
	case p.Form == Plain:
		return t.watch, 1
	case p.Form == Late:
		return t.late, 2
	}
	return t.capture, mostCode
}

// bind makes the template of a spot. Where its code cannot be had it says why.
func (w *workshop) bind(p *Spot, id uint32) (template *weave.Template, reason string) {
	template, codes := w.templates.spots.of(p)
	var all [mostCode]weave.Lowered
	for i, code := range p.Code {
		if code == nil {
			continue
		}
		if i >= codes {
			return nil, fmt.Sprintf("its hook has no place for condition %d", i)
		}
		all[i] = code
	}
	if codes == 0 {
		return template.As(int32(id)), ""
	}
	bound, err := template.Bind(all[:]...)
	if err != nil {
		return nil, firstLine(err.Error())
	}
	return bound.As(int32(id)), ""
}

// compileSpotTemplates compiles what spots and hand-offs are woven by.
func (w *workshop) compileSpotTemplates() (err error) {
	t := &w.templates.spots
	for _, one := range []struct {
		to     **weave.Template
		source func() ([]byte, string)
	}{
		{&t.anchor, agent.AnchorTemplate},
		{&t.tag, agent.TagTemplate},
		{&t.plain, agent.PlainTemplate},
		{&t.watch, agent.WatchTemplate},
		{&t.late, agent.LateTemplate},
		{&t.capture, agent.CaptureTemplate},
	} {
		if *one.to, err = w.compile(one.source); err != nil {
			return err
		}
	}
	// What a constructor begins must end also where super(...) throws.
	t.anchor, t.tag = t.anchor.BehindSuper(), t.tag.BehindSuper()
	w.templates.handOff = make([]*weave.Template, len(handOffMethods))
	for i := range handOffMethods {
		if w.templates.handOff[i], err = w.compile(handOffMethods[i].template); err != nil {
			return err
		}
	}
	return nil
}

// callsMethods reports whether code calls methods of the program or of the JDK, which
// may have hooks. Sonde's own have none.
func callsMethods(codes []weave.Lowered) bool {
	mayBeHooked := func(class string) bool { return !isHooksClass(class) }
	for _, code := range codes {
		for _, at := range moments {
			if code == nil {
				continue
			}
			f, err := code.Lower(at) // where it fails it does not run at that moment
			if err == nil && f.Calls(mayBeHooked) {
				return true
			}
		}
	}
	return false
}
