package hotspot

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
)

func bytesOf(t testing.TB, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestPrologueAMD64 interrupts the prologues of compilers before each of their instructions.
func TestPrologueAMD64(t *testing.T) {
	for _, test := range []struct {
		name   string
		code   []string // instructions
		states []frameState
	}{
		{"C1", []string{"89 84 24 00 c0 fe ff", "55", "48 83 ec 30", "90"}, []frameState{noFrame, noFrame, savedPointer, completeFrame}},
		{"C1 with a large frame", []string{"89 84 24 00 c0 fe ff", "55", "48 81 ec 00 01 00 00", "90"}, []frameState{noFrame, noFrame, savedPointer, completeFrame}},
		{"C2 without a bang", []string{"48 83 ec 18", "48 89 6c 24 10", "90"}, []frameState{noFrame, reservedFrame, completeFrame}},
		{"C2 with a large frame", []string{"48 81 ec 18 01 00 00", "48 89 ac 24 10 01 00 00", "90"}, []frameState{noFrame, reservedFrame, completeFrame}},
		{"with an entry barrier", []string{"55", "48 83 ec 10", "41 81 7f 20 01 00 00 00", "0f 85 00 00 00 00", "90"}, []frameState{noFrame, savedPointer, completeFrame, completeFrame, completeFrame}},
		{"of a native method", []string{"55", "48 8b ec", "48 83 ec 40", "90"}, []frameState{noFrame, savedPointer, savedPointer, completeFrame}},
		{"that is not known", []string{"0f 0b", "90"}, []frameState{noFrame, unknownFrame}},
	} {
		code := bytesOf(t, strings.Join(test.code, "")+strings.Repeat("90", 16))
		offset := 0
		for i, instruction := range test.code {
			if got := prologueAMD64(code, offset); got != test.states[i] {
				t.Errorf("%s, before instruction %d: state %d, want %d", test.name, i, got, test.states[i])
			}
			offset += len(bytesOf(t, instruction))
		}
	}
	if got := prologueAMD64(nil, 3); got != unknownFrame {
		t.Errorf("code that cannot be read: state %d, want %d", got, unknownFrame)
	}
}

func TestEpilogueAMD64(t *testing.T) {
	const any = "00 00 00 00 00 00 00 00"
	for _, test := range []struct {
		name, before, code string
		want               frameState
	}{
		{"add", any, "48 83 c4 30 5d c3", completeFrame},
		{"pop after add", "00 00 00 00 48 83 c4 30", "5d 49 3b a7 48 03 00 00 0f 87 00 00 00 00 c3", savedPointer},
		{"pop after a large add", "00 48 81 c4 00 01 00 00", "5d c3", savedPointer},
		{"another pop", any, "5d c3", completeFrame},
		{"poll of JDK 17", "00 00 00 48 83 c4 30 5d", "49 3b a7 48 03 00 00 0f 87 00 00 00 00 c3", noFrame},
		{"branch of the poll", any, "0f 87 00 00 00 00 c3", noFrame},
		{"poll of JDK 11", any, "4d 8b 97 08 01 00 00 41 85 02 c3", noFrame},
		{"poll of JDK 8", any, "85 05 00 00 00 00 c3", noFrame},
		{"jump after pop", "00 00 00 48 83 c4 30 5d", "e9 00 00 00 00", noFrame},
		{"ret", any, "c3", noFrame},
		{"check for exceptions of native methods", any, "49 83 7f 08 00 0f 85 01 00 00 00 c3", noFrame},
		{"the same in JDK 17", any, "49 81 7f 08 00 00 00 00 0f 85 01 00 00 00 c3", noFrame},
		{"where a poll jumps to", any, "49 ba 01 02 03 04 05 06 07 08 4d 89 97 58 03 00 00 e9 00 00 00 00", noFrame},
		{"its second instruction", "49 ba 01 02 03 04 05 06 07 08", "4d 89 97 58 03 00 00 e9 00 00 00 00", noFrame},
		{"its jump", "00 00 00 4d 89 97 58 03 00 00", "e9 00 00 00 00", noFrame},
		{"a call of the VM", any, "49 ba 01 02 03 04 05 06 07 08 4d 89 97 98 02 00 00 49 89", completeFrame},
		{"other code", any, "48 8b c3 48 03 c1", completeFrame},
	} {
		code := bytesOf(t, test.code)
		if got := epilogueAMD64(bytesOf(t, test.before), append(code, make([]byte, 24-len(code))...)); got != test.want {
			t.Errorf("%s: state %d, want %d", test.name, got, test.want)
		}
	}
}

func TestCallAMD64(t *testing.T) {
	const pc = 0x10000
	for _, test := range []struct {
		code   string
		target uint64
		direct bool
		ok     bool
	}{
		{"e8 fc ff ff ff", pc - 4, true, true},
		{"49 ba 88 77 66 55 44 33 22 11 41 ff d2", 0x1122334455667788, true, true},
		{"41 ff d2", 0, false, true},
		{"ff d0", 0, false, true},
		{"ff 50 40", 0, false, true},
		{"ff 90 00 01 00 00", 0, false, true},
		{"ff 15 00 01 00 00", 0, false, true},
		{"48 89 c3", 0, false, false},
	} {
		code := bytesOf(t, test.code)
		target, direct, ok := callAMD64(append(make([]byte, 13-len(code)), code...), pc)
		if target != test.target || direct != test.direct || ok != test.ok {
			t.Errorf("%s: %#x, %v, %v; want %#x, %v, %v", test.code, target, direct, ok, test.target, test.direct, test.ok)
		}
	}
}

// words encodes instructions of arm64.
func words(instructions ...uint32) (code []byte) {
	for _, i := range instructions {
		code = binary.LittleEndian.AppendUint32(code, i)
	}
	return code
}

func TestPrologueARM64(t *testing.T) {
	const (
		bang    = 0xd1401fe9 // sub x9, sp, 0x7000
		storeFP = 0xa9017bfd // stp fp, lr, [sp, 16]
	)
	for _, test := range []struct {
		name string
		code []byte
		want uint64
		ok   bool
	}{
		{"entry", nil, 0, true},
		{"after the bang", words(bang, 0xf900013f), 0, true},
		{"after sub", words(bang, 0xd10083ff), 32, true}, // sub sp, sp, 32
		{"after a large sub", words(0xd14007ff), 0x1000, true},
		{"after stp", words(0xd10083ff, storeFP), 32, true},
		{"after a push", words(0xa9bf7bfd), 16, true},                     // stp fp, lr, [sp, -16]!
		{"after a push and sub", words(0xa9be7bfd, 0xd10083ff), 64, true}, // stp fp, lr, [sp, -32]!
		{"after a sub of a register", words(0xcb2863ff), 0, false},        // sub sp, sp, x8
	} {
		if got, ok := prologueARM64(test.code); got != test.want && test.ok || ok != test.ok {
			t.Errorf("%s: %d, %v; want %d, %v", test.name, got, ok, test.want, test.ok)
		}
	}
}

func TestEpilogueARM64(t *testing.T) {
	const (
		nop     = 0xd503201f
		load    = 0xa9417bfd // ldp fp, lr, [sp, 16]
		add     = 0x910083ff // add sp, sp, 32
		poll    = 0xf9401f88 // ldr x8, [x28, 56]
		compare = 0xeb2863ff
		branch  = 0x54000088
	)
	for _, test := range []struct {
		name string
		code []byte // the instruction before comes first
		want bool
	}{
		{"before ldp", words(nop, load, add, poll, compare), false},
		{"before add", words(load, add, poll, compare, branch), true},
		{"before the poll", words(add, poll, compare, branch, ret), true},
		{"in the poll", words(compare, branch, ret, nop, nop), true},
		{"before ret", words(branch, ret, nop, nop, nop), true},
		{"after leave", words(0xa8c17bfd, nop, nop, nop, nop), true},
		{"a poll in a loop", words(nop, poll, compare, nop, ret), false},
		{"other code", words(nop, nop, nop, nop, ret), false},
	} {
		if got := epilogueARM64(test.code); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	if size, ok := addARM64(add); size != 32 || !ok {
		t.Errorf("add sp, sp, 32 adds %d, %v", size, ok)
	}
}

func TestIsCallARM64(t *testing.T) {
	for code, want := range map[uint32]bool{0x94000010: true, 0x97fffff0: true, 0xd63f0100: true, 0xd503201f: false, 0x14000010: false, 0xd61f0100: false} {
		if got := isCallARM64(code); got != want {
			t.Errorf("%08x is a call: %v, want %v", code, got, want)
		}
	}
}
