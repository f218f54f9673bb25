package code

// memory is where nodes and what hangs on them live. It is used again for body
// after body, so that lifting a class costs no allocation.
type memory struct {
	chunks  [][]Node
	chunk   int    // the one in use
	free    []Node // what is left of it
	types   []Type
	keys    []int32
	targets []*Node

	at      []int32 // by offset: instruction index+1, or -label index-1, or 0
	labels  []*Node
	jumps   []int32 // instructions that jump or switch
	returns []*Node
}

const chunkNodes = 4096

func (m *memory) reset() {
	m.chunk, m.free = -1, nil
	m.types, m.keys, m.targets = m.types[:0], m.keys[:0], m.targets[:0]
}

func (m *memory) node() *Node {
	if len(m.free) == 0 {
		m.advance(1)
	}
	n := &m.free[0]
	m.free = m.free[1:]
	return n
}

// reserve returns room for n nodes or more in one piece. Whoever takes k of them
// moves free behind those.
func (m *memory) reserve(n int) []Node {
	if len(m.free) < n {
		m.advance(n)
	}
	return m.free
}

// advance moves to a chunk with room for n nodes.
func (m *memory) advance(n int) {
	for m.chunk++; m.chunk < len(m.chunks); m.chunk++ {
		if len(m.chunks[m.chunk]) >= n {
			m.free = m.chunks[m.chunk]
			return
		}
	}
	m.chunks = append(m.chunks, make([]Node, max(n, chunkNodes)))
	m.free = m.chunks[m.chunk]
}

func (m *memory) newTypes(n int) []Type {
	if cap(m.types)-len(m.types) < n {
		// Slices handed out before keep the old array.
		m.types = make([]Type, 0, max(n, 2*cap(m.types), 256))
	}
	k := len(m.types)
	m.types = m.types[:k+n]
	return m.types[k : k+n : k+n]
}

func (m *memory) newSwitch(n int) ([]int32, []*Node) {
	if cap(m.keys)-len(m.keys) < n {
		m.keys = make([]int32, 0, max(n, 2*cap(m.keys), 256))
	}
	if cap(m.targets)-len(m.targets) < n {
		m.targets = make([]*Node, 0, max(n, 2*cap(m.targets), 256))
	}
	k, t := len(m.keys), len(m.targets)
	m.keys, m.targets = m.keys[:k+n], m.targets[:t+n]
	return m.keys[k : k+n : k+n], m.targets[t : t+n : t+n]
}
