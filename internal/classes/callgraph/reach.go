package callgraph

// reach is what was expanded and what became callable by it, over a hierarchy that
// it does not change. Nothing is ever taken back.
type reach struct {
	h        *hierarchy
	callable []bool // by method
	expanded []bool // by method
	made     []made // by call
	byOwner  map[classID][]callID
	bySig    map[sigID]bool // signatures of the virtual calls that are made
	// callsBack says that skipped classes may call what overrides their methods.
	callsBack bool
	owed      bool     // callsBack became true, and what it means was not followed yet
	handles   bool     // method handles are invoked
	seeks     bool     // what that means was not followed yet
	queue     []callID // calls that are made but not followed yet
	fresh     fresh
}

// made is a call that some expanded method makes.
type made struct {
	is      bool
	mixed   bool // reaches a method that is not native
	callers []methodID
	natives []methodID
}

// fresh is what was not told yet.
type fresh struct {
	methods                      []methodID
	sites                        []site
	reflects, handles, callsBack bool
}

type site struct {
	call           callID
	caller, native methodID
}

// nobody is the caller of calls that no method of the program makes by itself.
const nobody methodID = -1

func newReach(h *hierarchy) *reach {
	return &reach{h: h, byOwner: make(map[classID][]callID), bySig: make(map[sigID]bool)}
}

// grow makes room for what was mirrored since.
func (r *reach) grow() {
	if missing := len(r.h.methods) - len(r.callable); missing > 0 {
		r.callable = append(r.callable, make([]bool, missing)...)
		r.expanded = append(r.expanded, make([]bool, missing)...)
	}
	if missing := len(r.h.calls) - len(r.made); missing > 0 {
		r.made = append(r.made, make([]made, missing)...)
	}
}

func (r *reach) expand(id methodID) {
	r.grow()
	r.callable[id] = true
	if r.expanded[id] {
		return
	}
	r.expanded[id] = true
	if c := &r.h.classes[r.h.methods[id].class]; c.skipped {
		r.callBack()
		for _, call := range c.outward {
			r.make(call, nobody)
		}
	}
	for _, call := range r.h.methods[id].calls {
		r.make(call, id)
	}
	r.follow()
}

// expandAll expands methods and all that becomes callable from now on. What it found
// is left to be taken.
func (r *reach) expandAll(ids []methodID) {
	next := len(r.fresh.methods)
	for _, id := range ids {
		r.expand(id)
	}
	for ; next < len(r.fresh.methods); next++ {
		r.expand(r.fresh.methods[next])
	}
}

// make notes that a call is made. The first time it is queued, to be followed.
func (r *reach) make(id callID, caller methodID) {
	c, m := &r.h.calls[id], &r.made[id]
	if caller != nobody {
		r.fresh.reflects = r.fresh.reflects || c.reflects
		r.fresh.handles = r.fresh.handles || c.handles
		if c.handles && !r.handles {
			r.handles, r.seeks = true, true
		}
		r.fresh.callsBack = r.fresh.callsBack || c.leaves
		m.callers = append(m.callers, caller)
		for _, native := range m.natives {
			r.fresh.sites = append(r.fresh.sites, site{id, caller, native})
		}
	}
	if m.is {
		return
	}
	m.is = true
	r.byOwner[c.owner] = append(r.byOwner[c.owner], id)
	if c.kind == virtual {
		r.bySig[c.sig] = true
	}
	r.queue = append(r.queue, id)
}

// follow reaches the targets of all queued calls, and of those they bring.
func (r *reach) follow() {
	for len(r.queue) > 0 || r.owed || r.seeks {
		if r.seeks {
			r.seeks = false
			r.followSought()
			continue
		}
		if r.owed {
			r.owed = false
			r.followCallBacks()
			continue
		}
		last := len(r.queue) - 1
		id := r.queue[last]
		r.queue = r.queue[:last]
		c := &r.h.calls[id]
		if c.leaves || r.h.maySkip(c) {
			r.callBack()
		}
		r.h.targets(c, func(target methodID) bool {
			r.hit(id, target)
			return true
		})
	}
}

// none is the call that made a method callable where there was none.
const none callID = -1

// hit makes a method callable, as the target of a call.
func (r *reach) hit(id callID, target methodID) {
	m := &r.h.methods[target]
	owner := &r.h.classes[m.class]
	switch {
	case owner.lambda && !owner.skipped:
		if !r.callable[target] {
			r.callable[target] = true
			for _, call := range m.calls {
				r.make(call, nobody)
			}
		}
		return
	case owner.skipped && !m.leaf && (m.code || m.native || owner.lambda):
		r.callBack()
	}
	if m.native && !IsIntrinsic(r.h.named(target)) {
		r.hitNative(id, target)
	}
	if m.code && id != none {
		r.made[id].mixed = true
	}
	if m.code && !owner.skipped && !r.callable[target] {
		r.callable[target] = true
		r.fresh.methods = append(r.fresh.methods, target)
	}
}

// hitNative notes where a native method is called. What it calls is unknown: it may
// call back like a skipped class.
func (r *reach) hitNative(id callID, target methodID) {
	if !r.h.methods[target].leaf {
		r.callBack()
	}
	if id == none {
		return
	}
	made := &r.made[id]
	for _, known := range made.natives {
		if known == target {
			return
		}
	}
	made.natives = append(made.natives, target)
	for _, caller := range made.callers {
		r.fresh.sites = append(r.fresh.sites, site{id, caller, target})
	}
}

func (r *reach) reflected(owner classID, s sigID) {
	h := r.h
	calls := []callID{h.call(exact, owner, s), h.call(virtual, owner, s)}
	starts := h.sigs[s].name == "<init>"
	h.resolve(owner, s, func(id methodID) bool {
		starts = starts || h.methods[id].static
		return true
	})
	if starts {
		calls = append(calls, h.call(initialize, owner, 0))
	}
	r.grow()
	for _, id := range calls {
		r.make(id, nobody)
	}
	r.follow()
}
