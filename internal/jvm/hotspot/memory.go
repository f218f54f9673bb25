package hotspot

import "encoding/binary"

// A Memory is the memory of another process, which may hold anything.
type Memory interface {
	// Read fills a buffer from an address. It reports whether it could.
	Read(address uint64, into []byte) bool
	// ReadAll fills several buffers, in their order. It reports whether it could.
	ReadAll(parts []Part) bool
}

// A Part is a part of a Memory, and the buffer for it.
type Part struct {
	Address uint64
	Into    []byte
}

// space reads values from a Memory. A failed read returns zero values and false.
type space struct{ Memory }

func (s space) u8(address uint64) uint8 {
	var b [1]byte
	_ = s.Read(address, b[:]) // zero if it failed
	return b[0]
}

func (s space) u32(address uint64) (uint32, bool) {
	var b [4]byte
	ok := s.Read(address, b[:])
	return binary.LittleEndian.Uint32(b[:]), ok
}

func (s space) u64(address uint64) (uint64, bool) {
	var b [8]byte
	ok := s.Read(address, b[:])
	return binary.LittleEndian.Uint64(b[:]), ok
}

// mostRead is more than anything that is read at once.
const mostRead = 256 << 20

// bytes reads n bytes; nil if it cannot.
func (s space) bytes(address uint64, n int) []byte {
	if n < 0 || n > mostRead {
		return nil
	}
	b := make([]byte, n)
	if !s.Read(address, b) {
		return nil
	}
	return b
}

// prefix reads up to n bytes, fewer if the memory ends before.
func (s space) prefix(address uint64, n int) []byte {
	b := make([]byte, max(0, min(n, mostRead)))
	read := 0
	for step := len(b); step >= 512; step /= 2 {
		for read+step <= len(b) && s.Read(address+uint64(read), b[read:read+step]) {
			read += step
		}
	}
	return b[:read]
}

const (
	pageSize = 4096
	// longestName bounds the names in HotSpot's tables, and of its code.
	longestName = 256
)

// text reads a string that ends with a zero byte. It does not read beyond a page before it has to.
func (s space) text(address uint64) (string, bool) {
	if address == 0 {
		return "", false
	}
	var b [longestName]byte
	for n := 0; n < len(b); {
		part := min(len(b)-n, 64, int(pageSize-(address+uint64(n))%pageSize))
		if !s.Read(address+uint64(n), b[n:n+part]) {
			return "", false
		}
		for i := n; i < n+part; i++ {
			if b[i] == 0 {
				return string(b[:i]), true
			}
		}
		n += part
	}
	return "", false
}
