package unwind

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const (
	amd64 = elf.EM_X86_64
	arm64 = elf.EM_AARCH64
)

// A callee has these registers, and this memory: the word at an address is the address plus wordOffset.
const (
	calleeSP   = 0x7000
	wordOffset = 0x10000
)

func calleeRegisters(machine Machine) (r Registers) {
	for i := range NumRegisters {
		r.Set(i, uint64(i)<<32)
	}
	r.Set(machine.SP, calleeSP)
	r.Set(machine.FP, calleeSP+0x100)
	r.Set(machine.PC, 0x555000)
	return r
}

func stackWord(address uint64) (uint64, bool) {
	return address + wordOffset, address >= calleeSP-0x100 && address < calleeSP+0x400
}

// wordAt is the word of the stack at a distance from the callee's stack pointer.
func wordAt(distance uint64) uint64 { return calleeSP + distance + wordOffset }

func TestStep(t *testing.T) {
	for _, c := range []struct {
		name         string
		machine      elf.Machine
		at           uint64 // offset in the function
		instructions []byte
		want         map[int]uint64 // registers of the caller that differ
	}{
		{"amd64 entry", amd64, 0, nil, map[int]uint64{7: calleeSP + 8, 16: wordAt(0)}},
		// push rbp; mov rbp, rsp; …; pop rbp
		{"before the push", amd64, 0, pushRBP, map[int]uint64{7: calleeSP + 8, 16: wordAt(0)}},
		{"after the push", amd64, 1, pushRBP, map[int]uint64{7: calleeSP + 16, 16: wordAt(8), 6: wordAt(0)}},
		{"in the body", amd64, 40, pushRBP, map[int]uint64{7: calleeSP + 0x110, 16: wordAt(0x108), 6: wordAt(0x100)}},
		{"after the pop", amd64, 64, pushRBP, map[int]uint64{7: calleeSP + 8, 16: wordAt(0), 6: wordAt(-8 & (1<<64 - 1))}},
		{"after remembered rules are restored", amd64, 70, pushRBP, map[int]uint64{7: calleeSP + 0x110, 16: wordAt(0x108), 6: wordAt(0x100)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := code(c.machine, c.instructions...).open(t)
			regs := calleeRegisters(l.Machine)
			want := regs
			for number, value := range c.want {
				want.Set(number, value)
			}
			if signal, err := l.Step(functionStart+c.at, &regs, stackWord); err != nil || signal || regs != want {
				t.Errorf("signal %v, error %v\nwant %x\ngot  %x", signal, err, want, regs)
			}
		})
	}
}

var pushRBP = slices.Concat([]byte{
	0x41,     // advance 1
	0x0e, 16, // def_cfa_offset 16
	0x86, 2, // rbp at -16
	0x43,    // advance 3
	0x0d, 6, // def_cfa_register rbp
	0x02, 60, // advance 60
	0x0a,       // remember
	0x0c, 7, 8, // def_cfa rsp+8
	0x42, // advance 2
	0x0b, // restore
})

var _ = errors.Is
var _ = fmt.Sprint
var _ = strings.Cut
