package profile

import (
	"fmt"

	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// explain says what the budget did to a profile of a view.
func (g *governor) explain(p *cct.Profile, v view) {
	g.lock.Lock()
	defer g.lock.Unlock()
	waiting := 0
	index := make(map[callgraph.Method]int, len(p.Methods))
	for i, m := range p.Methods {
		index[callgraph.Method{Class: m.Class, Name: m.Name, Descriptor: m.Descriptor}] = i
	}
	for _, h := range g.order {
		i, is := index[h.method]
		if !is {
			p.Methods = append(p.Methods, cct.Method{Class: h.method.Class, Name: h.method.Name, Descriptor: h.method.Descriptor})
			i = len(p.Methods) - 1
		}
		q := cct.Quiet{Method: i, On: v.onFor(h.onAt, h.offAt), Reason: h.reason}
		switch {
		case h.mode == untried:
			waiting++
			q.Reason = "there was no time to try it: off, its time is with its callers"
		case h.mode == on && (h.root || q.On >= v.took()):
			continue
		case h.mode == on:
			q.Reason = "its hook was chosen during the run: what it took before is with its callers"
		}
		p.Quiet = append(p.Quiet, q)
	}
	if g.broke {
		p.Notes = append(p.Notes, "deeper calls have no hooks: another round of them would not fit the budget (--timing exact has them all)")
	}
	if waiting > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("there was no time to try the hooks of %s: their time is with their callers", format.Plural(waiting, "method")))
	}
	if len(g.central) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s in classes that are compiled into much of what runs: to put hooks there would cost the program more than the budget has (--budget, or --timing exact): their time is with their callers", format.Plural(len(g.central), "method")))
	}
	if len(g.spared) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s too small to be worth a hook: their time is with their callers", format.Plural(len(g.spared), "method")))
	}
}

// counted are the methods that are never timed.
func (g *governor) counted() map[uint32]bool {
	g.lock.Lock()
	defer g.lock.Unlock()
	counted := make(map[uint32]bool)
	for _, h := range g.order {
		if h.mode == quiet {
			counted[h.id] = true
		}
	}
	return counted
}

// si is a number with a unit prefix.
func si(n float64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.3g G", n/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.3g M", n/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.3g k", n/1e3)
	}
	return fmt.Sprintf("%.0f", n)
}
