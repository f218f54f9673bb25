package arenatest

// mostNodes is how many a thread of a test has, its root among them.
const mostNodes = 32

// A Thread is one that has called hooks.
type Thread struct {
	file  *File
	block int64
	chunk int64
	root  uint32
	depth uint32
}

// A Node is what a method did in a context.
type Node struct {
	ID         uint32
	Calls      uint64
	Timed      uint64
	Nanos      uint64
	Self       uint64
	Max        uint64
	Threw      uint64
	Undecided  uint64
	Distribute []uint64 // times to be counted by how long they are
}

// Thread adds one.
func (f *File) Thread(tid uint64) *Thread {
	l := f.layout
	frames := l.consts["FIRST_FRAMES"] * l.sizes["frame"]
	blockRef := f.take(l.sizes["block"])
	framesRef := f.take(frames)
	chunkRef := f.take(l.sizes["chunk"] + mostNodes*l.sizes["node"])
	t := &Thread{file: f, block: int64(blockRef) * f.unit(), chunk: int64(chunkRef) * f.unit(), root: chunkRef + uint32(l.sizes["chunk"]/f.unit())}
	f.put32(t.block+f.place("block.frames"), framesRef)
	f.put32(t.block+f.place("block.chunk"), chunkRef)
	f.put32(t.block+f.place("block.root"), t.root)
	f.put32(t.chunk+f.place("chunk.capacity"), mostNodes)
	f.put32(t.chunk+f.place("chunk.used"), 1)
	f.put64(t.block+f.place("block.tid"), tid)
	f.put32(t.block+f.place("block.owners"), 1)
	f.put32(t.block+f.place("block.older"), f.u32(f.place("header.blocks")))
	f.put32(f.place("header.blocks"), blockRef)
	return t
}

// Add adds a node below another, or below the root where that is 0, and gives its ref.
func (t *Thread) Add(below uint32, n Node) (ref uint32) {
	f := t.file
	used := f.u32(t.chunk + f.place("chunk.used"))
	if used == mostNodes {
		f.t.Fatal("the test's thread has too many nodes")
	}
	if below == 0 {
		below = t.root
	}
	at := t.chunk + f.layout.sizes["chunk"] + int64(used)*f.layout.sizes["node"]
	f.put32(at+f.place("node.id"), n.ID)
	f.put32(at+f.place("node.parent"), below)
	for field, value := range map[string]uint64{
		"calls": n.Calls, "timed": n.Timed, "nanos": n.Nanos, "self": n.Self, "max": n.Max, "threw": n.Threw, "undecided": n.Undecided,
	} {
		f.put64(at+f.place("node."+field), value)
	}
	if len(n.Distribute) > 0 {
		spread := f.take(f.layout.sizes["spread"])
		for _, nanos := range n.Distribute {
			bucket := int64(spread)*f.unit() + 4*bucketOf(nanos)
			f.put32(bucket, f.u32(bucket)+1)
		}
		f.put32(at+f.place("node.spread"), spread)
	}
	f.put32(t.chunk+f.place("chunk.used"), used+1)
	return uint32(at / f.unit())
}

// bucketOf is where a time is counted.
func bucketOf(nanos uint64) int64 {
	shift := int64(0)
	for nanos>>shift >= 16 {
		shift++
	}
	return 8*shift + int64(nanos>>shift)
}

// Enter has the thread be in a call that began at a moment and is timed.
func (t *Thread) Enter(node uint32, start int64) {
	f := t.file
	frame := int64(f.u32(t.block+f.place("block.frames")))*f.unit() + int64(t.depth)*f.layout.sizes["frame"]
	f.put32(frame+f.place("frame.node"), node)
	f.put32(frame+f.place("frame.flags"), uint32(f.layout.consts["FRAME_TIMED"]))
	f.put64(frame+f.place("frame.start"), uint64(start))
	t.depth++
	f.put32(t.block+f.place("block.depth"), t.depth)
}
