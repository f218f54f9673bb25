package arena

import (
	"os"
	"path/filepath"
	"testing"
)

// A model writes an arena as the hooks do, with the same pieces in the same
// order of stores, but finds children in a Go map and takes the time from its
// caller.
type model struct {
	t     testing.TB
	arena *Arena
	now   int64
}

// What a block is made of, all taken at once.
const (
	modelFramesAt = blockSize
	modelTableAt  = modelFramesAt + layoutFirstFrames*frameSize
	modelChunkAt  = modelTableAt + layoutFirstTable*4
	modelRootAt   = modelChunkAt + chunkSize
	modelBlock    = modelRootAt + layoutFirstNodes*nodeSize
)

// newModel makes an arena of a length, of which all is allocated.
func newModel(t testing.TB, length int64) *model {
	t.Helper()
	return &model{t: t, arena: newArena(t, length, length), now: 1000}
}

func newArena(t testing.TB, length, limit int64) *Arena {
	t.Helper()
	a, err := Create(newFile(t, length), limit, Owner{Target: 1, Command: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// newFile is a file of zeros.
func newFile(t testing.TB, length int64) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "arena"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if err := file.Truncate(length); err != nil {
		t.Fatal(err)
	}
	return file
}

func (m *model) take(bytes uint64) uint32 {
	ref := m.arena.memory.take(bytes)
	if ref == 0 {
		m.t.Fatal("the model's arena is too small")
	}
	return ref
}

// A modelThread writes one block.
type modelThread struct {
	*model
	block    uint64
	children map[[2]uint32]uint32 // refs, by the parent's ref and id
	open     []modelCall
}

// A modelCall is what a token tells the exit.
type modelCall struct {
	node   uint64
	framed bool
	flat   bool
	start  int64
	child  int64
}

func (m *model) thread(tid uint64, virtual bool) *modelThread {
	ref := m.take(modelBlock)
	w, block := m.arena.memory, uint64(ref)*layoutUnit
	chunk := ref + modelChunkAt/layoutUnit
	if virtual {
		w.put32(block+blockFlags, layoutBlockVirtual)
	}
	w.put32(block+blockFrames, ref+modelFramesAt/layoutUnit)
	w.put32(block+blockChunk, chunk)
	w.put32(block+blockRoot, ref+modelRootAt/layoutUnit)
	w.put32(uint64(chunk)*layoutUnit+chunkCapacity, layoutFirstNodes)
	w.put32(uint64(chunk)*layoutUnit+chunkUsed, 1)
	w.put32(block+blockOlder, w.u32(headerBlocks))
	w.put32(headerBlocks, ref)
	w.put64(block+blockTid, tid)
	w.put32(block+blockOwners, 1)
	return &modelThread{model: m, block: block, children: make(map[[2]uint32]uint32)}
}

// enter begins a call; flags decide whether it is timed and where its node is.
func (t *modelThread) enter(id uint32, flags Flags) {
	w := t.arena.memory
	parent := w.u32(t.block + blockRoot)
	if flags&Flat == 0 {
		for i := len(t.open) - 1; i >= 0; i-- {
			if !t.open[i].flat {
				parent = uint32(t.open[i].node / layoutUnit)
				break
			}
		}
	}
	node := t.child(parent, id)
	w.put64(node+nodeCalls, w.u64(node+nodeCalls)+1)
	call := modelCall{node: node, flat: flags&Flat != 0, framed: flags&Timed != 0, start: t.now}
	if call.framed {
		if call.flat {
			w.put32(node+nodeActive, w.u32(node+nodeActive)+1)
		}
		depth := w.u32(t.block + blockDepth)
		frame := t.frame(depth)
		w.put64(frame+frameNode, node/layoutUnit|(layoutFrameTimed|layoutFrameDrawn)<<32)
		w.put64(frame+frameChild, 0)
		w.put32(t.block+blockDepth, depth+1)
		w.put64(frame+frameStart, uint64(t.now))
	}
	t.open = append(t.open, call)
}

// exit ends the innermost call.
func (t *modelThread) exit(threw bool) {
	w := t.arena.memory
	call := t.open[len(t.open)-1]
	t.open = t.open[:len(t.open)-1]
	if threw {
		w.put64(call.node+nodeThrew, w.u64(call.node+nodeThrew)+1)
	}
	if !call.framed {
		return
	}
	outermost := true
	if call.flat {
		active := w.u32(call.node+nodeActive) - 1
		w.put32(call.node+nodeActive, active)
		outermost = active == 0
	}
	nanos := t.now - call.start
	w.put64(call.node+nodeTimed, w.u64(call.node+nodeTimed)+1)
	w.put64(call.node+nodeSelf, w.u64(call.node+nodeSelf)+uint64(nanos-call.child))
	if outermost {
		w.put64(call.node+nodeNanos, w.u64(call.node+nodeNanos)+uint64(nanos))
	}
	for i := len(t.open) - 1; i >= 0; i-- {
		if t.open[i].framed {
			t.open[i].child += nanos
			w.put64(t.frame(w.u32(t.block+blockDepth)-2)+frameChild, uint64(t.open[i].child))
			break
		}
	}
	w.put32(t.block+blockDepth, w.u32(t.block+blockDepth)-1)
}

func (t *modelThread) frame(depth uint32) uint64 {
	first, piece := uint32(0), 0
	for depth >= first+layoutFirstFrames<<piece {
		first += layoutFirstFrames << piece
		piece++
	}
	w, at := t.arena.memory, t.block+blockFrames+4*uint64(piece)
	if w.u32(at) == 0 {
		w.put32(at, t.take(frameSize*layoutFirstFrames<<piece))
	}
	return uint64(w.u32(at))*layoutUnit + uint64(depth-first)*frameSize
}

func (t *modelThread) child(parent, id uint32) uint64 {
	ref, known := t.children[[2]uint32{parent, id}]
	if !known {
		ref = t.newNode(parent, id)
		t.children[[2]uint32{parent, id}] = ref
	}
	return uint64(ref) * layoutUnit
}

func (t *modelThread) newNode(parent, id uint32) uint32 {
	w, ref := t.arena.memory, t.arena.memory.u32(t.block+blockChunk)
	chunk := uint64(ref) * layoutUnit
	if capacity := w.u32(chunk + chunkCapacity); w.u32(chunk+chunkUsed) == capacity {
		capacity = min(4*capacity, layoutMostNodes)
		older := ref
		ref = t.take(chunkSize + uint64(capacity)*nodeSize)
		chunk = uint64(ref) * layoutUnit
		w.put32(chunk+chunkCapacity, capacity)
		w.put32(chunk+chunkOlder, older)
		w.put32(t.block+blockChunk, ref)
	}
	used := w.u32(chunk + chunkUsed)
	node := chunk + chunkSize + uint64(used)*nodeSize
	w.put32(node+nodeId, id)
	w.put32(node+nodeParent, parent)
	w.put64(node+nodeBorn, uint64(t.now))
	w.put32(chunk+chunkUsed, used+1)
	return uint32(node / layoutUnit)
}

// spill counts a call for which there was no room.
func (m *model) spill(id uint32) {
	w := m.arena.memory
	head := uint64(w.u32(headerSpill)) * layoutUnit
	for slot := id; ; slot++ {
		entry := head + spillSize + uint64(slot&w.u32(head+spillMask))*spilledSize
		if owner := w.u32(entry + spilledId); owner == 0 || owner == id {
			w.put32(entry+spilledId, id)
			w.put64(entry+spilledCalls, w.u64(entry+spilledCalls)+1)
			return
		}
	}
}
