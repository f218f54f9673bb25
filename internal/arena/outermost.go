package arena

// outermost tells which nodes of a thread are below no other node of the same
// method. What the calls of those took holds what calls further in took.
type outermost struct {
	children map[uint32][]uint32 // refs, by the parent's
	ids      map[uint32]uint32   // by ref
	open     map[uint32]bool     // ids on the way from the root
	found    map[uint32]bool     // refs
}

func (m memory) outermost(block uint64, root uint32) map[uint32]bool {
	o := outermost{make(map[uint32][]uint32), make(map[uint32]uint32), make(map[uint32]bool), make(map[uint32]bool)}
	m.nodes(block, func(ref uint32, node uint64) {
		if ref != root {
			parent := m.u32(node + nodeParent)
			o.children[parent] = append(o.children[parent], ref)
			o.ids[ref] = m.u32(node + nodeId)
		}
	})
	o.below(root)
	return o.found
}

// below visits a subtree. Hooks bound how deep it is.
func (o *outermost) below(parent uint32) {
	for _, ref := range o.children[parent] {
		id := o.ids[ref]
		if o.open[id] {
			o.below(ref)
			continue
		}
		o.found[ref] = true
		if len(o.children[ref]) > 0 {
			o.open[id] = true
			o.below(ref)
			delete(o.open, id)
		}
	}
}
