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

func (w words) append(dst []byte) []byte {
	dst = appendU32(dst, uint32(len(w)))
	for _, word := range w {
		dst = appendU64(dst, word)
	}
	return dst
}

func (w *words) read(c *cursor) {
	*w = make(words, c.count(8))
	for i := range *w {
		(*w)[i] = c.u64()
	}
}

// A Filter lets a class through by its name: prefix string, suffix string.
type Filter struct {
	Prefix, Suffix string
}

// filters: n u32 × filter.
type filters []Filter

func (f filters) append(dst []byte) []byte {
	dst = appendU32(dst, uint32(len(f)))
	for _, filter := range f {
		dst = appendText(appendText(dst, filter.Prefix), filter.Suffix)
	}
	return dst
}

func (f *filters) read(c *cursor) {
	*f = make(filters, c.count(2*textSize))
	for i := range *f {
		(*f)[i] = Filter{c.text(), c.text()}
	}
}

// A Thread is one of the JVM's: tid u64, name string.
type Thread struct {
	ID   uint64 // Java's, not the system's
	Name string
}

// threads: n u32 × thread.
type threads []Thread

func (s threads) append(dst []byte) []byte {
	dst = appendU32(dst, uint32(len(s)))
	for _, thread := range s {
		dst = appendText(appendU64(dst, thread.ID), thread.Name)
	}
	return dst
}

func (s *threads) read(c *cursor) {
	*s = make(threads, c.count(8+textSize))
	for i := range *s {
		(*s)[i] = Thread{c.u64(), c.text()}
	}
}

// A calibration: rounds u32, flags u32.
type calibration struct {
	rounds, flags uint32
}

func (k calibration) append(dst []byte) []byte { return appendU32(appendU32(dst, k.rounds), k.flags) }
func (k *calibration) read(c *cursor)          { k.rounds, k.flags = c.u32(), c.u32() }
