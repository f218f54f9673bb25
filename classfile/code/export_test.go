package code

// Len returns how many nodes the list has.
func (b *Body) Len() int { return b.count }

// Position returns the offset the last lowering gave the node.
func (n *Node) Position() int { return int(n.pos) }
