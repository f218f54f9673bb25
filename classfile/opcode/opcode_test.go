package opcode_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sonde-jvm/sonde/classfile/opcode"
)

// TestConstantsAreCurrent regenerates the constants and demands the committed bytes.
func TestConstantsAreCurrent(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "constants_gen.go")
	if out, err := exec.Command("go", "run", "./gen", "-o", fresh, "opcodes.table").CombinedOutput(); err != nil {
		t.Fatalf("generating the constants: %v\n%s", err, out)
	}
	want, err := os.ReadFile(fresh)
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("constants_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("constants_gen.go is not what opcodes.table generates: run go generate ./classfile/opcode")
	}
}

func TestTableIsWhole(t *testing.T) {
	const defined = 202 // nop to jsr_w, without a gap
	for value := range 256 {
		op := opcode.Op(value)
		info := op.Info()
		if (info.Shape != opcode.Undefined) != (value < defined) {
			t.Errorf("%#02x: shape %d", value, info.Shape)
			continue
		}
		if value >= defined {
			if op.String() != "undefined" {
				t.Errorf("%#02x is called %s", value, op)
			}
			continue
		}
		base := info.Base.Info()
		if base.Base != info.Base {
			t.Errorf("%s is a spelling of %s, which is itself a spelling of %s", op, info.Base, base.Base)
		}
		if base.Effect != info.Effect || base.Delta != info.Delta {
			t.Errorf("%s does %s to the stack, but is a spelling of %s, which does %s", op, info.Effect, info.Base, base.Effect)
		}
		varies := info.Shape == opcode.Table || info.Shape == opcode.Lookup || info.Shape == opcode.WidePrefix
		if (info.Length == 0) != varies {
			t.Errorf("%s has length %d", op, info.Length)
		}
	}
}

func TestShortAgreesWithTheTable(t *testing.T) {
	spelled := map[opcode.Op]int{}
	for value := range 256 {
		op := opcode.Op(value)
		info := op.Info()
		if info.Slot < 0 || info.Shape == opcode.Undefined {
			continue
		}
		spelled[info.Base]++
		if short, ok := info.Base.Short(uint16(info.Slot)); !ok || short != op {
			t.Errorf("%s %d is spelled %s, %v; want %s", info.Base, info.Slot, short, ok, op)
		}
	}
	if len(spelled) != 10 {
		t.Errorf("%d instructions have short spellings, want 10", len(spelled))
	}
	for base, n := range spelled {
		if n != 4 {
			t.Errorf("%s has %d short spellings", base, n)
		}
		if short, ok := base.Short(4); ok {
			t.Errorf("%s 4 is spelled %s", base, short)
		}
	}
	for _, op := range []opcode.Op{opcode.Ret, opcode.Iinc, opcode.Nop, 0x1a} {
		if short, ok := op.Short(0); ok {
			t.Errorf("%s has a short spelling %s", op, short)
		}
	}
}

func TestInverse(t *testing.T) {
	pairs := map[opcode.Op]opcode.Op{
		opcode.Ifeq: opcode.Ifne, opcode.Iflt: opcode.Ifge, opcode.Ifgt: opcode.Ifle,
		opcode.IfIcmpeq: opcode.IfIcmpne, opcode.IfIcmplt: opcode.IfIcmpge, opcode.IfIcmpgt: opcode.IfIcmple,
		opcode.IfAcmpeq: opcode.IfAcmpne, opcode.Ifnull: opcode.Ifnonnull,
	}
	conditional := 0
	for value := range 256 {
		op := opcode.Op(value)
		if !op.IsConditional() {
			continue
		}
		conditional++
		if back := op.Inverse().Inverse(); back != op {
			t.Errorf("the inverse of the inverse of %s is %s", op, back)
		}
	}
	if conditional != 2*len(pairs) {
		t.Errorf("%d conditional branches, want %d", conditional, 2*len(pairs))
	}
	for op, inverse := range pairs {
		if op.Inverse() != inverse {
			t.Errorf("the inverse of %s is %s, want %s", op, op.Inverse(), inverse)
		}
	}
}

func TestEndsBlock(t *testing.T) {
	ends := map[string]bool{
		"goto": true, "goto_w": true, "ret": true, "tableswitch": true, "lookupswitch": true, "athrow": true,
		"ireturn": true, "lreturn": true, "freturn": true, "dreturn": true, "areturn": true, "return": true,
	}
	for value := range 256 {
		op := opcode.Op(value)
		if op.EndsBlock() != ends[op.String()] {
			t.Errorf("%s: EndsBlock is %v", op, op.EndsBlock())
		}
	}
}

func TestLengthAt(t *testing.T) {
	lookup := []byte{byte(opcode.Nop), byte(opcode.Lookupswitch), 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 9}
	table := []byte{byte(opcode.Tableswitch), 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 9, 0, 0, 0, 9}
	endless := []byte{byte(opcode.Lookupswitch), 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}
	for _, tt := range []struct {
		name string
		code []byte
		at   int
		want int
	}{
		{"plain", []byte{byte(opcode.Nop), byte(opcode.Sipush), 0, 1}, 1, 3},
		{"wide load", []byte{byte(opcode.Wide), byte(opcode.Iload), 1, 0}, 0, 4},
		{"wide iinc", []byte{byte(opcode.Wide), byte(opcode.Iinc), 1, 0, 0, 1}, 0, 6},
		{"lookupswitch", lookup, 1, len(lookup) - 1},
		{"tableswitch", table, 0, len(table)},
		{"cut tableswitch", table[:10], 0, 0},
		{"negative count", endless, 0, 0},
		{"no opcode", []byte{0xfe}, 0, 0},
	} {
		if got := opcode.LengthAt(tt.code, tt.at); got != tt.want {
			t.Errorf("%s: length %d, want %d", tt.name, got, tt.want)
		}
	}
}
