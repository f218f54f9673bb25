package unwind

import (
	"debug/elf"
	"errors"
	"slices"
	"strings"
	"testing"
)

const (
	amd64 = elf.EM_X86_64
	arm64 = elf.EM_AARCH64
)

// The registers of callees: each has its number in the upper half, except these. The word at an
// address of the stack is the address plus wordOffset.
const (
	calleeSP   = 0x7000
	calleeFP   = 0x7100
	calleePC   = 0x555003
	wordOffset = 0x10000
)

func calleeRegisters(machine Machine) (r Registers) {
	for i := range NumRegisters {
		r.Set(i, uint64(i)<<32)
	}
	r.Set(machine.SP, calleeSP)
	r.Set(machine.FP, calleeFP)
	r.Set(machine.PC, calleePC)
	return r
}

func stackWord(address uint64) (uint64, bool) {
	return address + wordOffset, address >= calleeSP-0x100 && address < calleeSP+0x800
}

// at returns the word of the stack at an address.
func at(address uint64) uint64 { return address + wordOffset }

// pushRBP describes a function that keeps a frame pointer, returns in the middle, and goes on.
var pushRBP = []byte{
	0x41,     // advance_loc 1
	0x0e, 16, // def_cfa_offset 16
	0x86, 2, // offset rbp -16
	0x43,    // advance_loc 3
	0x0d, 6, // def_cfa_register rbp
	0x02, 60, // advance_loc1 60
	0x0a,       // remember_state
	0x0c, 7, 8, // def_cfa rsp 8
	0xc6, // restore rbp
	0x42, // advance_loc 2
	0x0b, // restore_state
}

func TestStep(t *testing.T) {
	type registers map[int]uint64
	entry := registers{7: calleeSP + 8, 16: at(calleeSP)}
	with := func(number int, value uint64) registers {
		return registers{7: calleeSP + 8, 16: at(calleeSP), number: value}
	}
	for _, c := range []struct {
		name         string
		machine      elf.Machine
		offset       uint64 // of the instruction in the function
		instructions []byte
		want         registers // those of the caller that differ
	}{
		{"at the entry", amd64, 0, nil, entry},
		{"before rbp is pushed", amd64, 0, pushRBP, entry},
		{"after rbp is pushed", amd64, 1, pushRBP, registers{7: calleeSP + 16, 16: at(calleeSP + 8), 6: at(calleeSP)}},
		{"with a frame pointer", amd64, 63, pushRBP, registers{7: calleeFP + 16, 16: at(calleeFP + 8), 6: at(calleeFP)}},
		{"after rbp is popped", amd64, 64, pushRBP, entry},
		{"after rules are restored", amd64, 66, pushRBP, registers{7: calleeFP + 16, 16: at(calleeFP + 8), 6: at(calleeFP)}},

		{"advance_loc2, before", amd64, 0x1ff, []byte{0x03, 0, 2, 0x0e, 16}, entry},
		{"advance_loc2, after", amd64, 0x200, []byte{0x03, 0, 2, 0x0e, 16}, registers{7: calleeSP + 16, 16: at(calleeSP + 8)}},
		{"advance_loc4, before", amd64, 0x7fff, []byte{0x04, 0, 0x80, 0, 0, 0x0e, 16}, entry},
		{"advance_loc4, after", amd64, 0x8000, []byte{0x04, 0, 0x80, 0, 0, 0x0e, 16}, registers{7: calleeSP + 16, 16: at(calleeSP + 8)}},
		{"offset_extended", amd64, 0, []byte{0x05, 3, 3}, with(3, at(calleeSP+8-24))},
		{"offset_extended_sf", amd64, 0, []byte{0x11, 3, 0x7e}, with(3, at(calleeSP+8+16))},
		{"GNU_negative_offset_extended", amd64, 0, []byte{0x2f, 3, 2}, with(3, at(calleeSP+8+16))},
		{"restore_extended", amd64, 0, []byte{0x83, 3, 0x06, 3}, entry},
		{"same_value", amd64, 0, []byte{0x83, 3, 0x08, 3}, entry},
		{"register", amd64, 0, []byte{0x09, 3, 4}, with(3, 4<<32)},
		{"def_cfa_sf", amd64, 0, []byte{0x12, 6, 0x7e}, registers{7: calleeFP + 16, 16: at(calleeFP + 8)}},
		{"def_cfa_offset_sf", amd64, 0, []byte{0x13, 0x7c}, registers{7: calleeSP + 32, 16: at(calleeSP + 24)}},
		{"val_offset", amd64, 0, []byte{0x14, 3, 2}, with(3, calleeSP+8-16)},
		{"val_offset_sf", amd64, 0, []byte{0x15, 3, 0x7e}, with(3, calleeSP+8+16)},
		{"expression", amd64, 0, []byte{0x10, 3, 2, 0x77, 40}, with(3, at(calleeSP+40))},
		{"expression on the CFA", amd64, 0, []byte{0x10, 3, 2, 0x23, 32}, with(3, at(calleeSP+8+32))},
		{"val_expression", amd64, 0, []byte{0x16, 3, 2, 0x77, 40}, with(3, calleeSP+40)},
		{"def_cfa_expression", amd64, 0, []byte{0x0f, 9, 0x77, 16, 0x06, 0x0c, 0, 0, 1, 0, 0x1c}, registers{7: calleeSP + 16, 16: at(calleeSP + 8)}},
		{"a register after an expression", amd64, 0, []byte{0x0f, 2, 0x77, 16, 0x0d, 7}, entry},
		{"GNU_args_size and a register that is not tracked", amd64, 0, []byte{0x2e, 0x80, 1, 0x05, 0x40, 3, 0x06, 0x40, 0}, entry},
		{"a register for the return address", amd64, 0, []byte{0x09, 16, 2, 0x0e, 0}, registers{7: calleeSP, 16: 2 << 32}},
		// A linker's entry for its table of procedures: the CFA depends on the last bits of rip.
		{"procedure linkage table", amd64, 0, []byte{0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, entry},

		{"leaf", arm64, 0, nil, registers{32: 30 << 32}},
		{"frame record", arm64, 4, []byte{0x44, 0x0e, 32, 0x9d, 4, 0x9e, 3}, registers{31: calleeSP + 32, 29: at(calleeSP), 30: at(calleeSP + 8), 32: at(calleeSP + 8)}},
		{"signed return address", arm64, 4, []byte{0x2d, 0x44, 0x16, 30, 9, 0x0e, 3, 2, 1, 0, 0, 0, 0x29, 0x00}, registers{30: 0x0029000000010203, 32: 0x10203}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := code(c.machine, c.instructions...).open(t)
			regs := calleeRegisters(l.Machine)
			want := regs
			for number, value := range c.want {
				want.Set(number, value)
			}
			signal, err := l.Step(functionStart+c.offset, &regs, stackWord)
			if err != nil || signal || regs != want {
				t.Errorf("signal %v, error %v\nwant %x\ngot  %x", signal, err, want, regs)
			}
		})
	}
}

func TestStepFails(t *testing.T) {
	again := slices.Repeat[[]byte]
	for _, c := range []struct {
		name         string
		machine      elf.Machine
		instructions []byte
		want         string
	}{
		{"no return address", amd64, []byte{0x07, 16}, ErrOutermost.Error()},
		{"no return address in arm64", arm64, []byte{0x07, 30}, ErrOutermost.Error()},
		{"return address 0", amd64, []byte{0x16, 16, 1, 0x30}, ErrIncomplete.Error()},
		{"CFA in memory that cannot be read", amd64, []byte{0x0f, 2, 0x30, 0x06}, ErrIncomplete.Error()},
		{"return address in memory that cannot be read", amd64, []byte{0x0c, 3, 0}, ErrIncomplete.Error()},
		{"CFA from a register that is not tracked", amd64, []byte{0x0c, 0x40, 0}, ErrIncomplete.Error()},
		{"own caller", amd64, []byte{0x0c, 7, 0, 0x08, 16}, "would be its own caller"},
		{"unknown instruction", amd64, []byte{0x3f}, "unknown instruction 0x3f"},
		{"truncated instruction", amd64, []byte{0x04, 1, 0, 0}, errTruncated.Error()},
		{"truncated number", amd64, []byte{0x0e, 0x80}, errTruncated.Error()},
		{"truncated expression", amd64, []byte{0x0f, 9, 0x30}, errTruncated.Error()},
		{"nothing remembered", amd64, []byte{0x0b}, errRemembered.Error()},
		{"too much remembered", amd64, again([]byte{0x0a}, 1000), errRemembered.Error()},
		{"endless expression", amd64, []byte{0x0f, 3, 0x2f, 0xfd, 0xff}, errExpressionLong.Error()},
		{"jump out of an expression", amd64, []byte{0x0f, 3, 0x2f, 0xfc, 0xff}, errExpression.Error()},
		{"jump after an expression", amd64, []byte{0x0f, 3, 0x2f, 1, 0}, errExpression.Error()},
		{"too few operands", amd64, []byte{0x0f, 2, 0x13, 0x13}, errExpression.Error()},
		{"no result", amd64, []byte{0x0f, 1, 0x13}, errExpression.Error()},
		{"too many operands", amd64, append([]byte{0x0f, 100}, again([]byte{0x30}, 100)...), errExpression.Error()},
		{"division by zero", amd64, []byte{0x0f, 3, 0x31, 0x30, 0x1b}, errExpression.Error()},
		{"remainder by zero", amd64, []byte{0x0f, 3, 0x31, 0x30, 0x1d}, errExpression.Error()},
		{"unknown instruction of an expression", amd64, []byte{0x0f, 1, 0xff}, errExpression.Error()},
		{"truncated instruction of an expression", amd64, []byte{0x0f, 1, 0x0e}, errExpression.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := code(c.machine, c.instructions...).open(t)
			before := calleeRegisters(l.Machine)
			regs := before
			if _, err := l.Step(functionStart, &regs, stackWord); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
			if regs != before {
				t.Errorf("want unchanged registers, got %x", regs)
			}
		})
	}
}

func TestStepUnknown(t *testing.T) {
	l := code(amd64).open(t)
	for _, address := range []uint64{0, functionStart - 1, functionStart + functionSize, 1<<64 - 1} {
		regs := calleeRegisters(AMD64)
		if _, err := l.Step(address, &regs, stackWord); !errors.Is(err, ErrUnknown) {
			t.Errorf("at %#x: want %v, got %v", address, ErrUnknown, err)
		}
	}
}

// TestStepForgets checks that a register whose value is lost is not known, and the caller is.
func TestStepForgets(t *testing.T) {
	l := code(amd64, 0x07, 3, 0x8c, 100, 0x09, 13, 14).open(t) // rbx undefined, r12 out of reach, r13 in r14
	regs := calleeRegisters(AMD64)
	regs.forget(14)
	if _, err := l.Step(functionStart, &regs, stackWord); err != nil {
		t.Fatal(err)
	}
	for number, want := range map[int]bool{3: false, 12: false, 13: false, 14: false, 15: true, 16: true, 7: true} {
		if _, got := regs.Get(number); got != want {
			t.Errorf("register %d is known: want %v, got %v", number, want, got)
		}
	}
}

// TestStepBeyondCache steps at more addresses than rows are remembered.
func TestStepBeyondCache(t *testing.T) {
	l := code(amd64, 0x04, 0, 0x80, 0, 0, 0x0e, 16).open(t)
	for offset := range uint64(functionSize) {
		regs := calleeRegisters(AMD64)
		want := uint64(calleeSP + 8)
		if offset >= 0x8000 {
			want += 8
		}
		if _, err := l.Step(functionStart+offset, &regs, stackWord); err != nil || regs.Values[AMD64.SP] != want {
			t.Fatalf("at offset %#x: want a stack pointer of %#x, got %#x, %v", offset, want, regs.Values[AMD64.SP], err)
		}
	}
}

func TestSignalFrames(t *testing.T) {
	t.Run("by its letter", func(t *testing.T) {
		l := image{machine: amd64, entries: describe(amd64, "zRS", []byte{0x1b}, initialAMD64, nil)}.open(t)
		regs := calleeRegisters(AMD64)
		if signal, err := l.Step(functionStart, &regs, stackWord); !signal || err != nil {
			t.Errorf("want a signal frame, got %v, %v", signal, err)
		}
	})
	t.Run("in the vdso of arm64", func(t *testing.T) {
		l := image{machine: arm64, symbols: []namedSymbol{{signalReturn, elf.STT_NOTYPE, functionStart, 8}}}.open(t)
		for _, address := range []uint64{functionStart - 1, functionStart, functionStart + 4} {
			regs := calleeRegisters(ARM64)
			var want Registers
			for i := range NumRegisters {
				want.Set(i, at(calleeSP+312+8*uint64(i)))
			}
			signal, err := l.Step(address, &regs, stackWord)
			if !signal || err != nil || regs != want {
				t.Errorf("at %#x: signal %v, error %v\nwant %x\ngot  %x", address, signal, err, want, regs)
			}
		}
		regs := calleeRegisters(ARM64)
		if _, err := l.Step(functionStart+8, &regs, stackWord); !errors.Is(err, ErrUnknown) {
			t.Errorf("after the code: want %v, got %v", ErrUnknown, err)
		}
		regs.Set(ARM64.SP, 0)
		if _, err := l.Step(functionStart, &regs, stackWord); !errors.Is(err, ErrIncomplete) {
			t.Errorf("without the stack: want %v, got %v", ErrIncomplete, err)
		}
	})
}

func TestEvaluate(t *testing.T) {
	const minus3 = 1<<64 - 3
	for _, c := range []struct {
		name       string
		expression []byte
		want       uint64
	}{
		{"the CFA", nil, 0x1000},
		{"lit31", []byte{0x4f}, 31},
		{"const1u", []byte{0x08, 0xfd}, 0xfd},
		{"const1s", []byte{0x09, 0xfd}, minus3},
		{"const2u", []byte{0x0a, 0xfd, 0xff}, 0xfffd},
		{"const2s", []byte{0x0b, 0xfd, 0xff}, minus3},
		{"const4u", []byte{0x0c, 0xfd, 0xff, 0xff, 0xff}, 0xfffffffd},
		{"const4s", []byte{0x0d, 0xfd, 0xff, 0xff, 0xff}, minus3},
		{"const8u", []byte{0x0e, 1, 2, 3, 4, 5, 6, 7, 8}, 0x0807060504030201},
		{"const8s", []byte{0x0f, 1, 2, 3, 4, 5, 6, 7, 8}, 0x0807060504030201},
		{"constu", []byte{0x10, 0xe5, 0x8e, 0x26}, 624485},
		{"consts", []byte{0x11, 0x7d}, minus3},
		{"breg3 -3", []byte{0x73, 0x7d}, 3<<32 - 3},
		{"bregx 16 +1", []byte{0x92, 16, 1}, calleePC + 1},
		{"deref", []byte{0x77, 8, 0x06}, at(calleeSP + 8)},
		{"deref_size 2", []byte{0x77, 8, 0x94, 2}, at(calleeSP+8) & 0xffff},
		{"deref_size 8", []byte{0x77, 8, 0x94, 8}, at(calleeSP + 8)},
		{"dup", []byte{0x32, 0x12, 0x22}, 4},
		{"drop", []byte{0x32, 0x31, 0x13}, 2},
		{"over", []byte{0x32, 0x31, 0x14}, 2},
		{"pick", []byte{0x33, 0x32, 0x31, 0x15, 2}, 3},
		{"swap", []byte{0x35, 0x32, 0x16, 0x1c}, 1<<64 - 3},
		{"rot puts the last below two", []byte{0x31, 0x32, 0x33, 0x17}, 2},
		{"rot keeps the last", []byte{0x31, 0x32, 0x33, 0x17, 0x13, 0x13}, 3},
		{"abs", []byte{0x11, 0x7d, 0x19}, 3},
		{"neg", []byte{0x33, 0x1f}, minus3},
		{"not", []byte{0x32, 0x20}, minus3},
		{"plus_uconst", []byte{0x32, 0x23, 0x80, 1}, 130},
		{"and", []byte{0x36, 0x33, 0x1a}, 2},
		{"div", []byte{0x11, 0x77, 0x33, 0x1b}, minus3},
		{"minus", []byte{0x32, 0x35, 0x1c}, minus3},
		{"mod", []byte{0x38, 0x33, 0x1d}, 2},
		{"mul", []byte{0x38, 0x33, 0x1e}, 24},
		{"or", []byte{0x36, 0x33, 0x21}, 7},
		{"plus", []byte{0x36, 0x33, 0x22}, 9},
		{"shl", []byte{0x36, 0x33, 0x24}, 48},
		{"shl by 64", []byte{0x36, 0x08, 64, 0x24}, 0},
		{"shr", []byte{0x11, 0x7d, 0x08, 63, 0x25}, 1},
		{"shra", []byte{0x11, 0x77, 0x31, 0x26}, 1<<64 - 5},
		{"xor", []byte{0x36, 0x33, 0x27}, 5},
		{"eq", []byte{0x33, 0x33, 0x29}, 1},
		{"ge", []byte{0x11, 0x7d, 0x33, 0x2a}, 0},
		{"gt", []byte{0x33, 0x11, 0x7d, 0x2b}, 1},
		{"le", []byte{0x33, 0x33, 0x2c}, 1},
		{"lt", []byte{0x33, 0x33, 0x2d}, 0},
		{"ne", []byte{0x33, 0x33, 0x2e}, 0},
		{"bra, taken", []byte{0x31, 0x32, 0x28, 1, 0, 0x33}, 1},
		{"bra, not taken", []byte{0x31, 0x30, 0x28, 1, 0, 0x33}, 3},
		{"skip", []byte{0x31, 0x2f, 1, 0, 0x33}, 1},
		{"nop", []byte{0x31, 0x96}, 1},
	} {
		regs := calleeRegisters(AMD64)
		f := frame{regs: &regs, memory: stackWord, cfa: 0x1000}
		if got, err := f.evaluate(c.expression); err != nil || got != c.want {
			t.Errorf("%s: want %#x, got %#x, %v", c.name, c.want, got, err)
		}
	}
}
