package perfevents

const (
	registerCount = 17
	// registerMask selects ax, bx, cx, dx, si, di, bp, sp, ip (0 to 8) and r8 to r15 (16 to 23).
	registerMask = 0xff01ff
)

// dwarfOrder has the place in Sample.Registers of each DWARF register: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp,
// r8 to r15, rip.
var dwarfOrder = [registerCount]uint8{0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8}

// IP returns the instruction pointer.
func (s *Sample) IP() uint64 { return s.Registers[8] }

// SP returns the stack pointer.
func (s *Sample) SP() uint64 { return s.Registers[7] }

// FP returns the frame pointer, rbp.
func (s *Sample) FP() uint64 { return s.Registers[6] }
