package perfevents

const (
	registerCount = 33
	// registerMask selects x0 to x30, sp and pc.
	registerMask = 1<<registerCount - 1
)

// dwarfOrder has the place in Sample.Registers of each DWARF register: they are the same.
var dwarfOrder = func() (order [registerCount]uint8) {
	for i := range order {
		order[i] = uint8(i)
	}
	return order
}()

// IP returns the instruction pointer.
func (s *Sample) IP() uint64 { return s.Registers[32] }

// SP returns the stack pointer.
func (s *Sample) SP() uint64 { return s.Registers[31] }

// FP returns the frame pointer, x29.
func (s *Sample) FP() uint64 { return s.Registers[29] }
