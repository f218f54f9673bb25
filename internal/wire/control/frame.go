package control

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
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
		return frame{}, &FrameError{Defect: ErrTooLong, Detail: fmt.Sprintf("%d bytes, and at most %d are accepted", length, limit)}
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

// encode makes a frame. Its body is written by its type: unsigned integers in network byte
// order, a bool as u8, strings and lists as n u32 and n bytes or items, structs field by field.
func encode(kind Kind, request uint32, body any) ([]byte, error) {
	head := [lengthSize + headSize]byte{lengthSize: byte(kind)}
	binary.BigEndian.PutUint32(head[lengthSize+1:], request)
	data := appendValue(head[:], reflect.ValueOf(body))
	length := len(data) - lengthSize
	if length > MaxFrame {
		return nil, &FrameError{Kind: kind, Request: request, Defect: ErrTooLong,
			Detail: fmt.Sprintf("%d bytes, and at most %d are accepted", length, MaxFrame)}
	}
	binary.BigEndian.PutUint32(data, uint32(length))
	return data, nil
}

func appendValue(dst []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(dst, 1)
		}
		return append(dst, 0)
	case reflect.Uint8:
		return append(dst, byte(v.Uint()))
	case reflect.Uint16:
		return binary.BigEndian.AppendUint16(dst, uint16(v.Uint()))
	case reflect.Uint32:
		return binary.BigEndian.AppendUint32(dst, uint32(v.Uint()))
	case reflect.Uint64:
		return binary.BigEndian.AppendUint64(dst, v.Uint())
	case reflect.String:
		return append(binary.BigEndian.AppendUint32(dst, uint32(v.Len())), v.String()...)
	case reflect.Slice:
		dst = binary.BigEndian.AppendUint32(dst, uint32(v.Len()))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return append(dst, v.Bytes()...)
		}
		for i := range v.Len() {
			dst = appendValue(dst, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			dst = appendValue(dst, v.Field(i))
		}
	default:
		panic("control: a body with a " + v.Kind().String())
	}
	return dst
}

// decode reads a body, which must fill its frame. The fields of structs must be exported.
func decode[T any](f frame) (value T, err error) {
	c := cursor{rest: f.body}
	c.read(reflect.ValueOf(&value).Elem())
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

func (c *cursor) read(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		b := c.uint(1)
		if b > 1 {
			c.fail()
		}
		v.SetBool(b == 1)
	case reflect.String:
		b := c.take(c.count(1))
		if !utf8.Valid(b) {
			c.fail()
			return
		}
		v.SetString(string(b))
	case reflect.Slice:
		item := v.Type().Elem()
		n := c.count(leastSize(item))
		if item.Kind() == reflect.Uint8 {
			v.SetBytes(c.take(n)) // a part of the body, not a copy
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			c.read(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			c.read(v.Field(i))
		}
	default:
		v.SetUint(c.uint(int(v.Type().Size())))
	}
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

func (c *cursor) uint(size int) (n uint64) {
	for _, b := range c.take(size) {
		n = n<<8 | uint64(b)
	}
	return n
}

// count reads the number of items that follow, each of at least size bytes. It fails if the
// remaining bytes cannot hold them.
func (c *cursor) count(size int) int {
	n := c.uint(4)
	if n*uint64(size) > uint64(len(c.rest)) {
		c.fail()
		return 0
	}
	return int(n)
}

// leastSize returns the minimum number of bytes of a value.
func leastSize(t reflect.Type) (size int) {
	switch t.Kind() {
	case reflect.String, reflect.Slice:
		return 4
	case reflect.Struct:
		for i := range t.NumField() {
			size += leastSize(t.Field(i).Type)
		}
		return size
	}
	return int(t.Size())
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

// A kindInfo is a row of kinds.table. For a request of Sonde it lists the frames of the answer:
// any number of parts, then the last. FAILED may replace the last.
type kindInfo struct {
	name       string
	from       side
	part, last Kind
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
