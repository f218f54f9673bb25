package control

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// MaxFrame bounds the length a frame declares.
const MaxFrame = 64 << 20

const (
	lengthSize = 4
	headSize   = 1 + 4 // kind and request, which the length counts

	// firstPiece is allocated for a body on the word of its length alone.
	firstPiece = 64 << 10
)

// A frame is the unit of conversation:
//
//	length u32 (of what follows)  kind u8  request u32  body
//
// Its body is its own: what is decoded from it may keep pointing into it.
type frame struct {
	kind    Kind
	request uint32
	body    []byte
}

// readFrame reads one frame of at most limit bytes. Only an end between two
// frames is io.EOF.
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

// readBody allocates in step with the bytes that come, not by the length that
// was declared.
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

// truncated tells an end within a frame from other trouble.
func truncated(f frame, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return f.defect(ErrTruncated, "")
	}
	return err
}

// A body writes itself behind a frame's head.
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

// decode reads a body that must fill its frame.
func decode[T any, P interface {
	*T
	read(*cursor)
}](f frame) (T, error) {
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
