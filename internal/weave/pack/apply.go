package pack

// apply makes a woven class of so many bytes; false where the delta does not say how.
func apply(delta, original, dictionary []byte, size int) ([]byte, bool) {
	m := maker{rest: delta, dictionary: dictionary, original: original, woven: make([]byte, 0, size)}
	for len(m.woven) < size && !m.failed {
		fresh := m.number()
		m.woven = append(m.woven, m.take(fresh)...)
		if len(m.woven) < size && !m.failed {
			m.copy(fresh)
		}
	}
	return m.woven, !m.failed && len(m.woven) == size && len(m.rest) == 0
}

// A maker reads a delta, up to what is wrong.
type maker struct {
	rest, dictionary, original, woven []byte

	last   origin // of the last copy
	behind int    // where that ended
	ended  int    // where the last copy of the original did
	failed bool
}

// An origin is what bytes are copied from.
type origin int

const (
	ofOriginal origin = iota
	ofWoven
	ofDictionary
)

// copy does the next copy, with so many new bytes before it.
func (m *maker) copy(fresh uint64) {
	head := m.number()
	from := m.behind + int(fresh)
	switch head & 3 {
	case fromHere:
		m.last, from = ofOriginal, m.ended
	case fromFurther:
		n := m.number()
		m.last, from = ofOriginal, m.ended+int(n>>1^-(n&1))
	case fromBack:
		m.last, from = ofWoven, len(m.woven)-int(m.number())
		if from < 0 {
			m.last, from = ofDictionary, len(m.dictionary)+from
		}
	}
	source := [...][]byte{m.original, m.woven, m.dictionary}[m.last]
	length := int(head >> 2)
	if m.failed || length == 0 || from < 0 || from > len(source) || length > len(source)-from {
		m.failed = true
		return
	}
	m.woven = append(m.woven, source[from:from+length]...)
	m.behind = from + length
	if m.last == ofOriginal {
		m.ended = m.behind
	}
}

// mostVarint is how many bytes one has: what it says is below 2^35.
const mostVarint = 5

func (m *maker) number() (n uint64) {
	for i := range min(mostVarint, len(m.rest)) {
		n |= uint64(m.rest[i]&0x7f) << (7 * i)
		if m.rest[i] < 0x80 {
			m.rest = m.rest[i+1:]
			return n
		}
	}
	m.failed = true
	return 0
}

func (m *maker) take(n uint64) []byte {
	if n > uint64(len(m.rest)) {
		m.failed = true
		return nil
	}
	taken := m.rest[:n]
	m.rest = m.rest[n:]
	return taken
}
