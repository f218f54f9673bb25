package control

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"testing"
)

func encoded(t testing.TB, kind Kind, request uint32, b body) []byte {
	t.Helper()
	data, err := encode(kind, request, b)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestFrameLayout(t *testing.T) {
	got := encoded(t, KindMap, 7, mapping{"/a", 1 << 32, 9})
	want := []byte{
		0, 0, 0, 23, 10, 0, 0, 0, 7,
		0, 0, 0, 2, '/', 'a', 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9,
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got % x, want % x", got, want)
	}
}

func TestDefectiveFrames(t *testing.T) {
	whole := encoded(t, KindNotice, 0, message("text"))
	for length := 1; length < len(whole); length++ {
		if _, err := readFrame(bytes.NewReader(whole[:length]), MaxFrame); !errors.Is(err, ErrTruncated) {
			t.Errorf("cut after %d bytes: %v", length, err)
		}
	}
	if _, err := readFrame(bytes.NewReader(nil), MaxFrame); !errors.Is(err, io.EOF) {
		t.Errorf("no frame: %v", err)
	}
	for _, tt := range []struct {
		name   string
		data   []byte
		defect error
	}{
		{"oversized", []byte{4, 0, 0, 1, byte(KindNotice), 0, 0, 0, 0}, ErrTooLong},
		{"all ones", []byte{255, 255, 255, 255, byte(KindNotice), 0, 0, 0, 0}, ErrTooLong},
		{"no head", []byte{0, 0, 0, 4, byte(KindDone), 0, 0, 0}, ErrMalformed},
		{"kind 0", []byte{0, 0, 0, 5, 0, 0, 0, 0, 1}, ErrUnknownKind},
		{"kind 99", []byte{0, 0, 0, 5, 99, 0, 0, 0, 1}, ErrUnknownKind},
	} {
		_, err := readFrame(bytes.NewReader(tt.data), MaxFrame)
		var typed *FrameError
		if !errors.Is(err, tt.defect) || !errors.As(err, &typed) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestLargestFrame(t *testing.T) {
	full := Transform{Bytes: make([]byte, MaxFrame-headSize-16)}
	data := encoded(t, KindTransform, 2, full)
	if f, err := readFrame(bytes.NewReader(data), MaxFrame); err != nil || len(f.body) != MaxFrame-headSize {
		t.Errorf("a full frame: %d bytes, %v", len(f.body), err)
	}
	full.Bytes = append(full.Bytes, 0)
	if _, err := encode(KindTransform, 2, full); !errors.Is(err, ErrTooLong) {
		t.Errorf("a byte more: %v", err)
	}
}

// TestLengthIsNotBelieved declares the most there may be and sends little.
func TestLengthIsNotBelieved(t *testing.T) {
	data := []byte{0, 0, 0, 0, byte(KindNotice), 0, 0, 0, 0, 'x'}
	binary.BigEndian.PutUint32(data, MaxFrame)
	const rounds = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		if _, err := readFrame(bytes.NewReader(data), MaxFrame); !errors.Is(err, ErrTruncated) {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / rounds; each > 2*firstPiece {
		t.Errorf("%d bytes allocated for one", each)
	}
}
