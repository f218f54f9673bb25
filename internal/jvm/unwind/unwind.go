// Package unwind finds the callers of native frames in another process, with the call
// frame information that compilers write into the section .eh_frame of ELF files.
//
// A Library is such a file: it translates addresses, names functions, and replaces the registers
// of a frame by the registers of its caller. It knows neither processes nor their mappings: the code that
// walks a stack finds the library of each program counter. Files may be hostile; everything read
// from them is checked, and all work is bounded.
package unwind

import (
	"errors"
	"fmt"
)

var (
	// ErrOutermost is returned for a frame that has no caller, such as the first of a thread.
	ErrOutermost = errors.New("the frame has no caller")
	// ErrUnknown is returned for an address without call frame information.
	ErrUnknown = errors.New("no call frame information for the address")
	// ErrIncomplete is returned if the caller depends on a register that is not known or on
	// memory that cannot be read.
	ErrIncomplete = errors.New("the registers or the memory from which the caller is computed are not known")
)

// NumRegisters is the number of registers that are tracked. Others, such as those for floating
// point, hold neither addresses nor frames.
const NumRegisters = 33

// Registers are the values of a frame's registers, indexed by the numbers that DWARF gives them.
//
//	amd64: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8-15 r8-r15, 16 rip
//	arm64: 0-30 x0-x30 (29 fp, 30 lr), 31 sp, 32 pc
type Registers struct {
	Values [NumRegisters]uint64
	Known  uint64 // bit n is set if Values[n] is known
}

// Get returns a register; ok is false if its value is not known.
func (r *Registers) Get(number int) (value uint64, ok bool) {
	if number < 0 || number >= NumRegisters || r.Known>>number&1 == 0 {
		return 0, false
	}
	return r.Values[number], true
}

// Set sets a register to a known value.
func (r *Registers) Set(number int, value uint64) {
	r.Values[number] = value
	r.Known |= 1 << number
}

func (r *Registers) forget(number int) { r.Known &^= 1 << number }

// A Machine has the DWARF numbers of the registers that every frame has.
type Machine struct {
	FP, SP, PC int
	codeBits   int // the bits of a code address; the others of a saved one may authenticate it
}

// The machines whose libraries can be opened.
var (
	AMD64 = Machine{FP: 6, SP: 7, PC: 16, codeBits: 64}
	ARM64 = Machine{FP: 29, SP: 31, PC: 32, codeBits: 48}
)

// Memory returns the word at an address; ok is false if it cannot be read.
type Memory func(address uint64) (word uint64, ok bool)

// Step replaces the registers of a frame by the registers of its caller. The address, as Address returns
// it, is that of the instruction that the frame executes. It is the program counter if the frame is
// the innermost or was interrupted, else the program counter minus one, because a call may be the
// last instruction of a function. signal reports that the frame is code to which a signal handler
// returns, so its caller was interrupted. After an error the registers are unchanged.
func (l *Library) Step(address uint64, regs *Registers, memory Memory) (signal bool, err error) {
	next := *regs
	if l.isSignalReturn(address) {
		signal, err = true, stepSignalARM64(&next, memory)
	} else {
		signal, err = l.stepByTable(address, regs, &next, memory)
	}
	if err != nil {
		return false, err
	}
	next.Values[l.Machine.PC] &= 1<<l.Machine.codeBits - 1
	pc, sp := next.Values[l.Machine.PC], next.Values[l.Machine.SP]
	switch {
	case pc == 0: // the table says which frames have no caller
		return false, ErrIncomplete
	case pc == regs.Values[l.Machine.PC] && sp == regs.Values[l.Machine.SP]:
		return false, fmt.Errorf("the frame at %#x would be its own caller", address)
	}
	*regs = next
	return signal, nil
}

func (l *Library) stepByTable(address uint64, regs, next *Registers, memory Memory) (signal bool, err error) {
	row := l.row(address)
	if row.err != nil {
		return false, row.err
	}
	f := frame{regs: regs, memory: memory}
	if f.cfa, err = f.value(row.cfa); err != nil {
		return false, err
	}
	next.Set(l.Machine.SP, f.cfa) // unless there is a rule for it
	sp, _ := regs.Get(l.Machine.SP)
	for _, saved := range row.saved {
		if saved.register == l.Machine.FP && saved.rule.kind == savedAtOffset && f.cfa+uint64(saved.rule.offset) < sp {
			// The instruction leave has removed it from the stack. GCC does not describe that.
			continue
		}
		if value, err := f.value(saved.rule); err == nil {
			next.Set(saved.register, value)
		} else if saved.register == row.returnAddress {
			return false, err
		} else {
			next.forget(saved.register)
		}
	}
	pc, ok := next.Get(row.returnAddress)
	if !ok {
		return false, ErrIncomplete
	}
	next.Set(l.Machine.PC, pc)
	return row.signal, nil
}

// signalReturn is the code in the vdso of arm64 to which signal handlers return. Linux gives it no
// call frame information, or information that loses the program counter.
const signalReturn = "__kernel_rt_sigreturn"

// isSignalReturn reports whether an address is in signalReturn, or directly before it.
func (l *Library) isSignalReturn(address uint64) bool {
	const size = 8
	return l.signalReturn != 0 && address+1 >= l.signalReturn && address < l.signalReturn+size
}

// stepSignalARM64 restores the registers that the kernel has stored on the stack of a handler.
func stepSignalARM64(regs *Registers, memory Memory) error {
	// siginfo, the fields of ucontext up to the registers, and the address of a fault
	const offset = 128 + 176 + 8
	sp, ok := regs.Get(ARM64.SP)
	if !ok {
		return ErrIncomplete
	}
	for number := range NumRegisters { // x0-x30, sp, pc: in the order of their numbers
		value, ok := memory(sp + offset + 8*uint64(number))
		if !ok {
			return ErrIncomplete
		}
		regs.Set(number, value)
	}
	return nil
}
