package control

// Installed is what a retransformation took and what became of it: nanos u64,
// gone n u32 × handle u32, error string.
type Installed struct {
	Nanos uint64
	Gone  []uint32 // classes that were unloaded meanwhile
	Err   string   // empty where all went in
}

func (i Installed) append(dst []byte) []byte {
	return appendText(handles(i.Gone).append(appendU64(dst, i.Nanos)), i.Err)
}

func (i *Installed) read(c *cursor) {
	i.Nanos = c.u64()
	(*handles)(&i.Gone).read(c)
	i.Err = c.text()
}

// Restored is what was put back: nanos u64, classes u32, unmapped u8, n u32 ×
// remark string.
type Restored struct {
	Nanos    uint64
	Classes  uint32
	Unmapped bool     // the arena; it stays mapped where a thread is still in a hook
	Remarks  []string // what could not be put back, one line each
}

func (r Restored) append(dst []byte) []byte {
	dst = appendFlag(appendU32(appendU64(dst, r.Nanos), r.Classes), r.Unmapped)
	return appendList(dst, r.Remarks, appendText[string])
}

func (r *Restored) read(c *cursor) {
	r.Nanos, r.Classes, r.Unmapped = c.u64(), c.u32(), c.flag()
	r.Remarks = readList(c, textSize, (*cursor).text)
}

// Restoring is how far a restoration is: done u32, all u32.
type Restoring struct {
	Done, All uint32 // classes
}

func (r Restoring) append(dst []byte) []byte { return appendU32(appendU32(dst, r.Done), r.All) }
func (r *Restoring) read(c *cursor)          { r.Done, r.All = c.u32(), c.u32() }

// A Transform is a class the JVM is about to define or to redefine: handle u32,
// loader u32, name string, bytes.
type Transform struct {
	Handle uint32 // 0 while the class is being loaded
	Loader uint32 // 0 is the boot loader
	Name   string // with slashes
	Bytes  []byte
}

func (t Transform) append(dst []byte) []byte {
	return appendText(appendText(appendU32(appendU32(dst, t.Handle), t.Loader), t.Name), t.Bytes)
}

func (t *Transform) read(c *cursor) {
	t.Handle, t.Loader, t.Name, t.Bytes = c.u32(), c.u32(), c.text(), c.bytes()
}

// Woven is what a Transform became: new bytes, original bytes.
type Woven struct {
	New      []byte // empty leaves the class alone
	Original []byte // what undo puts back; empty where the JVM's own will do
}

func (w Woven) append(dst []byte) []byte { return appendText(appendText(dst, w.New), w.Original) }
func (w *Woven) read(c *cursor)          { w.New, w.Original = c.bytes(), c.bytes() }
