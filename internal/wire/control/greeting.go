package control

import "time"

// Protocol is the number of the protocol that this package speaks.
const Protocol = 1

// maxHello bounds what is read of a caller before it has proven itself.
const maxHello = 4 << 10

// A Hello is what an agent says of itself.
type Hello struct {
	Protocol  uint16
	Build     string // of the agent
	Java      string // the JVM's version
	HookClass string // the class that holds the hooks
}

// A hello: protocol u16, token string, build string, java string, hook class string.
type hello struct {
	Hello
	token string
}

func (h hello) append(dst []byte) []byte {
	dst = appendText(appendU16(dst, h.Protocol), h.token)
	return appendText(appendText(appendText(dst, h.Build), h.Java), h.HookClass)
}

func (h *hello) read(c *cursor) {
	h.Protocol, h.token = c.u16(), c.text()
	h.Build, h.Java, h.HookClass = c.text(), c.text(), c.text()
}

// A welcome: proof string, lease u32 in milliseconds.
type welcome struct {
	proof string
	lease uint32
}

func (w welcome) append(dst []byte) []byte { return appendU32(appendText(dst, w.proof), w.lease) }
func (w *welcome) read(c *cursor)          { w.proof, w.lease = c.text(), c.u32() }

// milliseconds never makes a lease nothing, nor one that does not fit.
func milliseconds(lease time.Duration) uint32 {
	return uint32(max(1, min(lease.Milliseconds(), 1<<32-1)))
}

// A message: text string. REFUSED, FAILED and NOTICE are messages.
type message string

func (m message) append(dst []byte) []byte { return appendText(dst, string(m)) }
func (m *message) read(c *cursor)          { *m = message(c.text()) }

// nothing is the body of frames whose kind says all.
type nothing struct{}

func (nothing) append(dst []byte) []byte { return dst }
func (*nothing) read(*cursor)            {}
