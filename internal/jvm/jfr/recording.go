package jfr

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Read shows a visitor the events of a recording of one or several chunks, in
// the order they are written. What cannot be read is told by losses; an error
// is for what is no recording at all, or fails to be read as a file.
func Read(r io.ReaderAt, size int64, v Visitor) ([]Loss, error) {
	rd := reader{from: r, size: size, visitor: v}
	err := rd.run()
	return rd.out.Losses, err
}

// ReadFile is Read for a file.
func ReadFile(path string, v Visitor) ([]Loss, error) {
	rd := reader{visitor: v}
	err := rd.open(path)
	return rd.out.Losses, err
}

// ReadSamples returns the samples of a recording.
func ReadSamples(r io.ReaderAt, size int64) (Batch, error) {
	rd := reader{from: r, size: size, samples: true}
	err := rd.run()
	return rd.out, err
}

// ReadSamplesFile is ReadSamples for a file.
func ReadSamplesFile(path string) (Batch, error) {
	rd := reader{samples: true}
	err := rd.open(path)
	return rd.out, err
}

// A reader goes through the chunks of a recording.
type reader struct {
	from    io.ReaderAt
	size    int64
	file    string
	visitor Visitor
	samples bool
	out     Batch
	buffer  []byte // of a chunk, used again for the next
}

func (r *reader) open(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r.from, r.size, r.file = f, info.Size(), filepath.Base(path)
	if err := r.run(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (r *reader) run() error {
	for at := int64(0); at < r.size; {
		next, stopped, err := r.chunk(at)
		if err != nil || stopped {
			return err
		}
		at = next
	}
	if r.size == 0 {
		return ErrNoRecording
	}
	return nil
}

// chunk reads the chunk at a place and returns where the next is.
func (r *reader) chunk(at int64) (next int64, stopped bool, err error) {
	head := make([]byte, min(headerSize, r.size-at))
	if err := r.read(head, at); err != nil {
		return 0, false, err
	}
	h, err := parseHeader(head)
	var version *VersionError
	switch {
	case err == nil:
	case at == 0:
		return 0, false, err
	case errors.As(err, &version):
		return r.skip(OtherVersion, at, at+1, err.Error())
	default:
		return r.skip(Corrupt, at, at+1, "no chunk begins here")
	}
	if h.ticksPerSecond <= 0 {
		return r.skip(Corrupt, at, at+headerSize, "its header names no clock")
	}
	if h.size < headerSize {
		return r.skip(Unfinished, at, at+headerSize, "the JVM did not write what its header must say")
	}
	length := min(h.size, r.size-at)
	ch := newChunk(h, r.file, at)
	ch.visitor, ch.samples, ch.out = r.visitor, r.samples, &r.out
	if int64(cap(r.buffer)) < length {
		r.buffer = make([]byte, length)
	}
	data := r.buffer[:length]
	if err := r.read(data, at); err != nil {
		return 0, false, err
	}
	if length < h.size {
		ch.lose(Truncated, length, h.size-length, "the file ends before its chunk")
	}
	end := ch.add(piece{data: data, cut: length < h.size})
	ch.finish()
	next = at + int64(end)
	if !h.finished() && !ch.stopped && next < r.size && !r.begins(next) {
		return r.skip(Unfinished, next, next, "it was written after the last flush")
	}
	return next, ch.stopped, nil
}

func (r *reader) read(into []byte, at int64) error {
	n, err := r.from.ReadAt(into, at)
	if n == len(into) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("the file became shorter while it was read: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// skip says that nothing could be read from a place, and goes on at the next
// chunk behind it.
func (r *reader) skip(d Defect, from, search int64, detail string) (next int64, stopped bool, err error) {
	next, err = r.search(search)
	r.out.Losses = append(r.out.Losses, Loss{Defect: d, File: r.file, Offset: from, Count: next - from, Detail: detail})
	return next, false, err
}

func (r *reader) begins(at int64) bool {
	b := make([]byte, min(headerSize, r.size-at))
	return r.read(b, at) == nil && isHeader(b)
}

// search finds the next chunk from a place on; without one it is the end.
func (r *reader) search(from int64) (int64, error) {
	const window = 1 << 16
	const overlap = 8 // a header is told by fewer bytes
	buffer := make([]byte, window)
	for from < r.size {
		b := buffer[:min(window, r.size-from)]
		if err := r.read(b, from); err != nil {
			return r.size, err
		}
		for i := range b {
			if b[i] == magic[0] && isHeader(b[i:]) {
				return from + int64(i), nil
			}
		}
		if int64(len(b)) == r.size-from {
			break
		}
		from += int64(len(b) - overlap)
	}
	return r.size, nil
}
