package control

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// MaxFrame bounds the length a frame declares.
const MaxFrame = 64 << 20

const (
	lengthSize = 4
	headSize   = 1 + 4 // kind and request, which the length counts

	// firstPiece bounds the bytes allocated for a body before any of it has arrived.
	firstPiece = 64 << 10
)

// A frame is the unit of the protocol:
//
//	length u32 (of what follows)  kind u8  request u32  body
//
// It owns its body, so decoded values may refer to it.
type frame struct {
	kind    Kind
	request uint32
	body    []byte
}

// readFrame reads one frame of at most limit bytes. It returns io.EOF only for an end between
// two frames.
func readFrame(r io.Reader, limit int) (frame, error) {
	var head [lengthSize + headSize]byte
	if _, err := io.ReadFull(r, head[:lengthSize]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = &FrameError{Defect: ErrTruncated, Detail: "in its length"}
		}
		return frame{}, err
	}
	length := binary.BigEndian.Uint32(head[:])
	switch {
	case length < headSize:
		return frame{}, &FrameError{Defect: ErrMalformed, Detail: fmt.Sprintf("its length is %d", length)}
	case uint64(length) > uint64(limit):
		return frame{}, &FrameError{Defect: ErrTooLong, Detail: fmt.Sprintf("%d bytes of at most %d", length, limit)}
	}
	if _, err := io.ReadFull(r, head[lengthSize:]); err != nil {
		return frame{}, truncated(frame{}, err)
	}
	f := frame{kind: Kind(head[lengthSize]), request: binary.BigEndian.Uint32(head[lengthSize+1:])}
	if kinds[f.kind].from == fromNobody {
		return frame{}, f.defect(ErrUnknownKind, "")
	}
	body, err := readBody(r, int(length)-headSize)
	if err != nil {
		return frame{}, truncated(f, err)
	}
	f.body = body
	return f, nil
}

// readBody allocates in step with the bytes that arrive, not by the declared length.
func readBody(r io.Reader, length int) ([]byte, error) {
	body := make([]byte, 0, min(length, firstPiece))
	for len(body) < length {
		if len(body) == cap(body) {
			grown := make([]byte, len(body), min(length, 2*cap(body)))
			copy(grown, body)
			body = grown
		}
		n, err := io.ReadFull(r, body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err != nil {
			return nil, err
		}
	}
	return body, nil
}

// truncated reports an end within a frame as a defect of the frame.
func truncated(f frame, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return f.defect(ErrTruncated, "")
	}
	return err
}

// A body appends its fields to the head of a frame.
type body interface {
	append(dst []byte) []byte
}

func encode(kind Kind, request uint32, b body) ([]byte, error) {
	head := [lengthSize + headSize]byte{lengthSize: byte(kind)}
	binary.BigEndian.PutUint32(head[lengthSize+1:], request)
	data := b.append(head[:])
	length := len(data) - lengthSize
	if length > MaxFrame {
		return nil, &FrameError{Kind: kind, Request: request, Defect: ErrTooLong,
			Detail: fmt.Sprintf("%d bytes of at most %d", length, MaxFrame)}
	}
	binary.BigEndian.PutUint32(data, uint32(length))
	return data, nil
}

// readable is a body that can be decoded.
type readable[T any] interface {
	*T
	read(*cursor)
}

// decode reads a body, which must fill its frame.
func decode[T any, P readable[T]](f frame) (T, error) {
	var value T
	c := cursor{rest: f.body}
	P(&value).read(&c)
	if c.failed || len(c.rest) > 0 {
		var none T
		detail := "its fields do not fit into it"
		if !c.failed {
			detail = fmt.Sprintf("%d bytes are left over", len(c.rest))
		}
		return none, f.defect(ErrMalformed, detail)
	}
	return value, nil
}

func (f frame) defect(defect error, detail string) error {
	return &FrameError{Kind: f.kind, Request: f.request, Defect: defect, Detail: detail}
}

// A cursor reads the fields of a body. After a missing or invalid field it is failed and
// returns zeros, so a reader checks once, at the end.
type cursor struct {
	rest   []byte
	failed bool
}

func (c *cursor) take(n int) []byte {
	if c.failed || n > len(c.rest) {
		c.fail()
		return nil
	}
	taken := c.rest[:n:n]
	c.rest = c.rest[n:]
	return taken
}

func (c *cursor) fail() { c.failed, c.rest = true, nil }

func (c *cursor) u8() uint8 {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if b := c.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (c *cursor) flag() bool {
	b := c.u8()
	if b > 1 {
		c.fail()
	}
	return b == 1
}

// count reads the number of items that follow, each of at least size bytes. It fails if the
// remaining bytes cannot hold them.
func (c *cursor) count(size int) int {
	n := c.u32()
	if uint64(n)*uint64(size) > uint64(len(c.rest)) {
		c.fail()
		return 0
	}
	return int(n)
}

// bytes returns a part of the body, not a copy.
func (c *cursor) bytes() []byte { return c.take(c.count(1)) }

func (c *cursor) text() string {
	b := c.bytes()
	if !utf8.Valid(b) {
		c.fail()
		return ""
	}
	return string(b)
}

// textSize is the minimum number of bytes of a string.
const textSize = 4

func appendU32(dst []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(dst, v) }
func appendU64(dst []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(dst, v) }

func appendFlag(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// appendList writes n u32 × item.
func appendList[T any](dst []byte, list []T, item func([]byte, T) []byte) []byte {
	dst = appendU32(dst, uint32(len(list)))
	for _, one := range list {
		dst = item(dst, one)
	}
	return dst
}

// readList reads a list written by appendList, with items of at least size bytes.
func readList[T any](c *cursor, size int, item func(*cursor) T) []T {
	list := make([]T, c.count(size))
	for i := range list {
		list[i] = item(c)
	}
	return list
}

func appendText[T string | []byte](dst []byte, v T) []byte {
	return append(appendU32(dst, uint32(len(v))), v...)
}

// A Kind says what is in a frame.
type Kind uint8

// A side is the sender of a kind of frame.
type side uint8

const (
	fromNobody side = iota
	fromAgent
	fromSonde
	fromEither
)

type kindInfo struct {
	name string
	from side
}

// String returns the kind's name in capitals, or its number if it has none.
func (k Kind) String() string {
	if name := kinds[k].name; name != "" {
		return name
	}
	return "kind " + strconv.Itoa(int(k))
}

func (k Kind) sentByAgent() bool {
	return kinds[k].from == fromAgent || kinds[k].from == fromEither
}
