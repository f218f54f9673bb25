package callgraph

// callKind is how a call finds its targets.
type callKind uint8

const (
	// exact calls what is declared at the owner, or nearest above it: invokestatic,
	// invokespecial.
	exact callKind = iota
	// virtual also calls what subtypes of the owner declare or inherit.
	virtual
	// initialize runs the static initialisers of the owner and of its supertypes. It
	// has no signature.
	initialize
)

// callKey is a call as the constant pool tells it. Equal ones are one call, whoever
// makes them.
type callKey struct {
	kind  callKind
	owner classID
	sig   sigID
}

type call struct {
	callKey
	leaves   bool // goes into a skipped class, which may call back
	reflects bool
	handles  bool
}

// call returns the call of a key. What follows from names alone is found here.
func (h *hierarchy) call(kind callKind, owner classID, s sigID) callID {
	key := callKey{kind, owner, s}
	if id, ok := h.callIDs[key]; ok {
		return id
	}
	c := call{callKey: key}
	to := &h.classes[owner]
	if kind == initialize {
		c.leaves = to.skipped && !hasLeaves(to.name)
	} else {
		name, descriptor := h.sigs[s].name, h.sigs[s].descriptor
		c.leaves = to.skipped && !isLeaf(to.name, name, descriptor)
		c.reflects = reflections[to.name][name]
		c.handles = isPolymorphic(to.name, name)
	}
	id := callID(len(h.calls))
	h.callIDs[key] = id
	h.calls = append(h.calls, c)
	return id
}
