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

// words: n u32 × u64. PROBES and CALIBRATED are words.
type words []uint64

func (w words) append(dst []byte) []byte { return appendList(dst, w, appendU64) }
func (w *words) read(c *cursor)          { *w = readList(c, 8, (*cursor).u64) }

// A Filter lets a class through by its name: prefix string, suffix string.
type Filter struct {
	Prefix, Suffix string
}

// filters: n u32 × filter.
type filters []Filter

func (f filters) append(dst []byte) []byte {
	return appendList(dst, f, func(dst []byte, one Filter) []byte { return appendText(appendText(dst, one.Prefix), one.Suffix) })
}

func (f *filters) read(c *cursor) {
	*f = readList(c, 2*textSize, func(c *cursor) Filter { return Filter{c.text(), c.text()} })
}

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

// A calibration: rounds u32, flags u32.
type calibration struct {
	rounds, flags uint32
}

func (k calibration) append(dst []byte) []byte { return appendU32(appendU32(dst, k.rounds), k.flags) }
func (k *calibration) read(c *cursor)          { k.rounds, k.flags = c.u32(), c.u32() }
