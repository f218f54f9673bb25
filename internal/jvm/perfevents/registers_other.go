//go:build !amd64 && !arm64

package perfevents

// Open refuses processors whose registers are not known here.
const (
	registerCount = 0
	registerMask  = 0
)

var dwarfOrder [registerCount]uint8

// IP returns the instruction pointer.
func (s *Sample) IP() uint64 { return 0 }

// SP returns the stack pointer.
func (s *Sample) SP() uint64 { return 0 }

// FP returns the frame pointer.
func (s *Sample) FP() uint64 { return 0 }
