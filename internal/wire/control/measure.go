package control

// A mapping: path string, length u64, epoch u32.
type mapping struct {
	path   string
	length uint64
	epoch  uint32
}

func (m mapping) append(dst []byte) []byte {
	return appendU32(appendU64(appendText(dst, m.path), m.length), m.epoch)
}

func (m *mapping) read(c *cursor) { m.path, m.length, m.epoch = c.text(), c.u64(), c.u32() }

// words: n u32 × u64.
type words []uint64

func (w words) append(dst []byte) []byte { return appendList(dst, w, appendU64) }
func (w *words) read(c *cursor)          { *w = readList(c, 8, (*cursor).u64) }

// A Filter lets a class through by its name: prefix string, suffix string.
type Filter struct {
	Prefix, Suffix string
}

// A view: n u32 × filter, n u32 × exclude string.
type view struct {
	filters  []Filter
	excludes []string
}

func (v view) append(dst []byte) []byte {
	dst = appendList(dst, v.filters, func(dst []byte, one Filter) []byte { return appendText(appendText(dst, one.Prefix), one.Suffix) })
	return appendList(dst, v.excludes, appendText[string])
}

func (v *view) read(c *cursor) {
	v.filters = readList(c, 2*textSize, func(c *cursor) Filter { return Filter{c.text(), c.text()} })
	v.excludes = readList(c, textSize, (*cursor).text)
}

// A choice: on u8.
type choice bool

func (o choice) append(dst []byte) []byte { return appendFlag(dst, bool(o)) }
func (o *choice) read(c *cursor)          { *o = choice(c.flag()) }

// A Thread is one of the JVM's: tid u64, name string.
type Thread struct {
	ID   uint64 // Java's, not the system's
	Name string
}

// threads: n u32 × thread.
type threads []Thread

func (s threads) append(dst []byte) []byte {
	return appendList(dst, s, func(dst []byte, one Thread) []byte { return appendText(appendU64(dst, one.ID), one.Name) })
}

func (s *threads) read(c *cursor) {
	*s = readList(c, 8+textSize, func(c *cursor) Thread { return Thread{c.u64(), c.text()} })
}
