package arena

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// A Node is a method in a calling context of one thread. Calls includes running calls; Timed, Nanos and Self are of calls
// that have ended.
type Node struct {
	Ref, Parent uint32 // Parent is the root's ref at the top
	ID          uint32
	From        uint32 // of a node with HandedID: the ref of the node, of another thread, that handed its calls over
	Calls       uint64
	Timed       uint64 // calls whose time is known
	Nanos       uint64 // by outermost calls
	Self        int64
	Threw       uint64
	Squares     float64 // sum of the squared self times, of sampled calls only
	Max         uint64  // nanoseconds of the longest timed call
	Born        int64   // System.nanoTime when the node was created
	Missed      uint64  // calls that continued before their callees had hooks
	Undecided   uint64  // calls whose condition could not be evaluated; not in Calls
	Spread      *Spread // distribution of the times; nil if it was not requested or had no room
}

// A Frame is a running call that is timed or has opened a context. Calls that are only counted have none.
type Frame struct {
	ID    uint32
	Node  uint32
	Start int64 // System.nanoTime; 0 if the call is not timed
	Child int64 // nanoseconds in timed callees that have ended
}

// A Thread holds the calls of one thread, or of several that used its block one after the other.
type Thread struct {
	ID      uint64 // of the last owner
	Owners  uint32
	Virtual bool
	Away    bool   // it waits for Sonde, inside the innermost call; an adjustment will record how long
	Tasks   uint64 // that it has handed over in calls of its tree
	Root    uint32
	Nodes   []Node
	Stack   []Frame // outermost first
}

// Threads reads the calls of every thread. It may be called at any moment; calls during the reading may be missing.
func (a *Arena) Threads() (threads []Thread, err error) {
	err = a.walk(func(w *walk) {
		w.blocks(func(block uint64) { threads = append(threads, w.thread(block)) })
	})
	return threads, err
}

// Stacks is Threads without the trees: it reads only running calls.
func (a *Arena) Stacks() (threads []Thread, err error) {
	err = a.walk(func(w *walk) {
		w.blocks(func(block uint64) {
			if t := w.owner(block); w.u32(block+blockDepth) != 0 {
				w.stack(block, func(frame Frame) { t.Stack = append(t.Stack, frame) })
				threads = append(threads, t)
			}
		})
	})
	return threads, err
}

func (w *walk) blocks(visit func(block uint64)) {
	for ref := w.u32(headerBlocks); ref != 0; {
		block := w.meet(ref, blockSize)
		visit(block)
		ref = w.u32(block + blockOlder)
	}
}

func (w *walk) owner(block uint64) Thread {
	flags := w.u32(block + blockFlags)
	return Thread{
		ID:      w.u64(block + blockTid),
		Owners:  w.u32(block + blockOwners),
		Virtual: flags&layoutBlockVirtual != 0,
		Away:    flags&layoutBlockAway != 0,
		Root:    w.u32(block + blockRoot),
	}
}

func (w *walk) thread(block uint64) Thread {
	t := w.owner(block)
	w.nodes(block, func(ref uint32, node uint64) {
		if ref == t.Root {
			t.Tasks = w.u64(node + nodeCalls)
			return
		}
		n := w.node(ref, node)
		if n.ID == QueuedID {
			return // no call
		}
		if n.ID == HandedID {
			if n.From == 0 {
				return // all others are below it
			}
			n.Parent = t.Root
		}
		t.Nodes = append(t.Nodes, n)
	})
	w.stack(block, func(frame Frame) { t.Stack = append(t.Stack, frame) })
	return t
}

func (w *walk) nodes(block uint64, visit func(ref uint32, node uint64)) {
	for ref := w.u32(block + blockChunk); ref != 0; {
		chunk := w.piece(ref, chunkSize)
		used := w.u32(chunk + chunkUsed)
		if used > layoutMostNodes {
			panic(fmt.Errorf("%w: a chunk of %d nodes", ErrDamaged, used))
		}
		w.meet(ref, chunkSize+uint64(used)*nodeSize)
		for i := range used {
			visit(ref+chunkSize/layoutUnit+i*(nodeSize/layoutUnit), chunk+chunkSize+uint64(i)*nodeSize)
		}
		ref = w.u32(chunk + chunkOlder)
	}
}

// id returns the ID of a node, and where it is HandedID and not the node above all others, the node that handed its calls over.
func (w *walk) id(node uint64) (id, from uint32) {
	id = w.u32(node + nodeId)
	if parent := w.u32(node + nodeParent); parent != 0 && w.u32(w.piece(parent, nodeSize)+nodeId) == HandedID {
		return HandedID, id
	}
	return id, 0
}

func (w *walk) node(ref uint32, node uint64) Node {
	id, from := w.id(node)
	return Node{
		Ref:    ref,
		Parent: w.u32(node + nodeParent),
		ID:     id,
		From:   from,
		Calls:  w.u64(node + nodeCalls),
		Timed:  w.u64(node + nodeTimed),
		Nanos:  w.u64(node + nodeNanos),
		Self:   int64(w.u64(node + nodeSelf)),
		Threw:  w.u64(node + nodeThrew),

		Squares: math.Float64frombits(w.u64(node + nodeSquares)),
		Max:     w.u64(node + nodeMax),
		Born:    int64(w.u64(node + nodeBorn)),
		Missed:  w.u64(node + nodeMissed),

		Undecided: w.u64(node + nodeUndecided),
		Spread:    w.spread(w.u32(node + nodeSpread)),
	}
}

// stack visits the frames of a running thread. Each frame is consistent, but they may not all have existed at one moment.
func (w *walk) stack(block uint64, visit func(Frame)) {
	depth := min(uint64(w.u32(block+blockDepth)), layoutFirstFrames<<layoutFramePieces)
	for piece, at := 0, uint64(0); at < depth && piece < layoutFramePieces; piece++ {
		ref := w.u32(block + blockFrames + 4*uint64(piece))
		size := uint64(layoutFirstFrames) << piece
		if ref == 0 {
			return
		}
		frames := w.meet(ref, size*frameSize)
		for i := uint64(0); i < size && at < depth; i, at = i+1, at+1 {
			if w.u32(frames+i*frameSize+frameFlags)&layoutFrameJoined == 0 {
				visit(w.frame(frames + i*frameSize))
			}
		}
	}
}

// frame reads the node and the flags in one access, as they are written.
func (m memory) frame(frame uint64) Frame {
	both := m.u64(frame + frameNode)
	f := Frame{Node: uint32(both)}
	if both>>(8*(frameFlags-frameNode))&layoutFrameTimed != 0 {
		f.Start = int64(m.u64(frame + frameStart))
		f.Child = int64(m.u64(frame + frameChild))
	}
	if f.Node != 0 {
		f.ID = m.u32(m.piece(f.Node, nodeSize) + nodeId)
	}
	return f
}

// Callers that are not methods.
const (
	// CallerUnknown means that the caller could not be determined: the method has called itself too deeply, or there
	// were too many callers.
	CallerUnknown = layoutCallerUnknown
	// CallerEntry means that the call is the first of its thread.
	CallerEntry = layoutCallerEntry
)

// IsCaller reports whether an ID is the number of a caller. An arrival with this ID names the method; CallerUnknown and
// CallerEntry have none.
func IsCaller(id uint32) bool {
	return id >= layoutCallersFirst && id-layoutCallersFirst < layoutCallersMost
}

// An Edge holds the sampled calls of a method by one caller. Sum returns the number of all calls.
type Edge struct {
	Caller uint32 // its number
	Method uint32
	Totals // of the sampled calls
}

// Edges returns all edges, added up over threads and ordered by methods and callers.
func Edges(threads []Thread) []Edge {
	type ends struct{ caller, method uint32 }
	found := make(map[ends]*Edge)
	for _, thread := range threads {
		callers := make(map[uint32]uint32) // numbers, by their nodes' refs
		for _, node := range thread.Nodes {
			if IsCaller(node.ID) && node.Parent == thread.Root {
				callers[node.Ref] = node.ID
			}
		}
		for _, node := range thread.Nodes {
			number, isEdge := callers[node.Parent]
			if !isEdge {
				continue
			}
			edge := found[ends{number, node.ID}]
			if edge == nil {
				edge = &Edge{Caller: number, Method: node.ID}
				found[ends{number, node.ID}] = edge
			}
			node.Self = max(node.Self, 0)
			edge.addNode(node)
		}
	}
	edges := make([]Edge, 0, len(found))
	for _, key := range slices.SortedFunc(maps.Keys(found), func(a, b ends) int {
		return cmp.Or(cmp.Compare(a.method, b.method), cmp.Compare(a.caller, b.caller))
	}) {
		edges = append(edges, *found[key])
	}
	return edges
}

// LabelOther stands for all labels without a number of their own.
const LabelOther = layoutLabelOther

// IsLabel reports whether an ID is the number of a label: a combination of tag values, or successive callers. An arrival
// with this ID describes it; LabelOther has none. The calls of a spot with a label are counted in a node of the spot
// below the node of the label, and nowhere else.
func IsLabel(id uint32) bool {
	return id >= layoutLabelsFirst && id-layoutLabelsFirst < layoutLabelsMost
}
