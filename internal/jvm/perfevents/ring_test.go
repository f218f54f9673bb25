//go:build amd64 || arm64

package perfevents

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"
)

// record returns a record with a body of numbers.
func record(kind uint32, numbers ...uint64) []byte {
	data := binary.NativeEndian.AppendUint32(nil, kind)
	data = binary.NativeEndian.AppendUint16(data, 0)
	data = binary.NativeEndian.AppendUint16(data, uint16(headerSize+8*len(numbers)))
	return append(data, words(numbers...)...)
}

func words(numbers ...uint64) (data []byte) {
	for _, n := range numbers {
		data = binary.NativeEndian.AppendUint64(data, n)
	}
	return data
}

func pair(first, second uint32) []byte {
	return binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, first), second)
}

// sized returns a header that claims a size.
func sized(size uint16) []byte {
	header := record(recordSample)
	binary.NativeEndian.PutUint16(header[6:], size)
	return header
}

// ringOf returns a ring of 64 bytes with data from a position on.
func ringOf(tail uint64, data []byte) (*ring, uint64) {
	head := tail + uint64(len(data))
	r := &ring{head: &head, tail: &tail, data: make([]byte, 64)}
	for i, b := range data {
		r.data[(tail+uint64(i))%64] = b
	}
	return r, head
}

func TestRing(t *testing.T) {
	three := slices.Concat(record(1, 10), record(2, 20, 21, 22), record(3))
	const all = "1:[10] 2:[20 21 22] 3:[] "
	for _, test := range []struct {
		name      string
		tail      uint64
		data      []byte
		want      string
		malformed bool
	}{
		{"empty", 128, nil, "", false},
		{"at the beginning", 0, three, all, false},
		{"full, first record continues at the beginning", 56, slices.Concat(three, record(4)), all + "4:[] ", false},
		{"second record continues at the beginning", 64 + 24, three, all, false},
		{"position overflows", ^uint64(0) - 23, three, all, false},
		{"size zero", 0, slices.Concat(record(1, 10), sized(0)), "1:[10] ", true},
		{"size below a header", 0, sized(4), "", true},
		{"size not a multiple of 8", 0, slices.Concat(sized(12), record(1)), "", true},
		{"size beyond the head", 32, slices.Concat(sized(24), record(1)), "", true},
		{"size beyond the ring", 0, sized(65528), "", true},
		{"half a header", 0, record(1)[:4], "", true},
		{"tail not a multiple of 8", 4, record(1), "", true},
		{"more than a ring", 0, make([]byte, 72), "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, head := ringOf(test.tail, test.data)
			got := ""
			err := r.read(r.written(), func(kind uint32, body []byte) error {
				var numbers []uint64
				for f := (fields{rest: body}); len(f.rest) > 0; {
					numbers = append(numbers, f.uint64())
				}
				got += fmt.Sprintf("%d:%v ", kind, numbers)
				return nil
			})
			if got != test.want || (err != nil) != test.malformed {
				t.Errorf("got %q, %v; want %q, malformed %v", got, err, test.want, test.malformed)
			}
			if *r.tail != head {
				t.Errorf("the tail is %d, want %d", *r.tail, head)
			}
		})
	}
}

// sampleBody returns the body of a sample with a call chain and 16 bytes of stack, of which some were copied.
func sampleBody(abi, chain, size, copied uint64) []byte {
	body := slices.Concat(pair(7, 8), words(1000, 99), pair(3, 0), words(2_000_000, chain, ^uint64(127), 0xffffffff81000000, abi))
	if abi != abiNone {
		for i := range registerCount {
			body = append(body, words(uint64(100+i))...)
		}
	}
	return append(append(body, words(size)...), slices.Concat([]byte("0123456789abcdef"), words(copied))...)
}

func TestSample(t *testing.T) {
	var s Sample
	if err := s.decode(sampleBody(abi64, 2, 16, 8), true); err != nil {
		t.Fatal(err)
	}
	if s.pid != 7 || s.TID != 8 || s.At != 1000 || s.event != 99 || s.CPU != 3 || s.Period != 2*time.Millisecond {
		t.Errorf("got %+v", s)
	}
	if want := []uint64{0xffffffff81000000}; !slices.Equal(s.Kernel, want) {
		t.Errorf("kernel frames %x, want %x without the marker", s.Kernel, want)
	}
	if !s.HasRegisters || s.Registers[0] != 100 || s.Registers[registerCount-1] != 100+registerCount-1 {
		t.Errorf("registers %v", s.Registers)
	}
	if string(s.Stack) != "01234567" {
		t.Errorf("stack %q, want the 8 bytes that were copied", s.Stack)
	}

	if err := s.decode(sampleBody(abiNone, 2, 16, 1<<63), true); err != nil || s.HasRegisters || s.Registers[0] != 0 || len(s.Stack) != 16 {
		t.Errorf("without registers: %v, %+v", err, s)
	}
	for name, body := range map[string][]byte{
		"long chain": sampleBody(abi64, 1<<62, 16, 8),
		"long stack": sampleBody(abi64, 2, 1<<63, 8),
		"cut":        sampleBody(abi64, 2, 16, 8)[:60],
		"empty":      nil,
	} {
		if err := s.decode(body, true); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(uint16(56), uint16(64), slices.Concat(record(recordFork, 1, 2, 3), record(recordLost, 1, 2)))
	f.Add(uint16(0), uint16(256), slices.Concat(sized(uint16(8+len(sampleBody(abi64, 2, 16, 8)))), sampleBody(abi64, 2, 16, 8)))
	f.Fuzz(func(t *testing.T, tail, written uint16, data []byte) {
		start, head := uint64(tail), uint64(tail)+uint64(written)
		r := &ring{head: &head, tail: &start, data: make([]byte, 512)}
		copy(r.data, data)
		before, total := bytes.Clone(r.data), 0
		var s Sample
		err := r.read(r.written(), func(kind uint32, body []byte) error {
			total += headerSize + len(body)
			if kind == recordFork {
				_, err := decodeChange(body, false)
				return err
			}
			err := s.decode(body, kind%2 == 1)
			if len(s.Stack) > len(body) || 8*len(s.Kernel) > len(body) {
				t.Errorf("%d bytes of stack and %d kernel frames in %d bytes", len(s.Stack), len(s.Kernel), len(body))
			}
			return err
		})
		if total > int(written) || err == nil && total != int(written) {
			t.Errorf("%d bytes of records in %d written, error %v", total, written, err)
		}
		if *r.tail != head || !bytes.Equal(r.data, before) {
			t.Errorf("the tail is %d, want %d; the data are unchanged: %v", *r.tail, head, bytes.Equal(r.data, before))
		}
	})
}
