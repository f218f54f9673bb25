package control

// Watches are the spots, anchors and tag points of a JVM, and what their hooks need
// beside: fresh u8, n u32 × u64, n u32 × anchor, n u32 × bridge string.
type Watches struct {
	Table   []uint64 // as arena.WatchTable makes it; empty switches all off
	Anchors []Anchor // for elements that are to be called directly by others
	Bridges []string // methods, as Anchor.Member, that are no callers
	Fresh   bool     // positions mean other elements than before: the path of every thread begins anew
}

// An Anchor is a method that is an element of sequences: member string, positions u32.
type Anchor struct {
	Member    string // a/b/C.name(descriptor)
	Positions uint32 // as which elements
}

func (w Watches) append(dst []byte) []byte {
	dst = words(w.Table).append(appendFlag(dst, w.Fresh))
	dst = appendList(dst, w.Anchors, func(dst []byte, one Anchor) []byte { return appendU32(appendText(dst, one.Member), one.Positions) })
	return appendList(dst, w.Bridges, appendText[string])
}

func (w *Watches) read(c *cursor) {
	w.Fresh = c.flag()
	(*words)(&w.Table).read(c)
	w.Anchors = readList(c, textSize+4, func(c *cursor) Anchor { return Anchor{c.text(), c.u32()} })
	w.Bridges = readList(c, textSize, (*cursor).text)
}
