package dump

import (
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/opcode"
)

func (p *printer) instruction(b *code.Body, n *code.Node) {
	text := n.Op().String()
	if operand := p.operand(n); operand != "" {
		text += " " + operand
	}
	if n.Target() != nil {
		text += " " + p.names[n.Target()]
	}
	p.node(n, text)
	if n.Op() == opcode.Tableswitch || n.Op() == opcode.Lookupswitch {
		s := b.Switch(n)
		p.within(func() {
			for i, key := range s.Keys {
				p.node(s.Targets[i], fmt.Sprintf("%d: %s", key, p.names[s.Targets[i]]))
			}
			p.node(s.Default, "default: "+p.names[s.Default])
		})
	}
}

// operand is what stands behind the mnemonic, jump targets aside.
func (p *printer) operand(n *code.Node) string {
	switch n.Op().Info().Shape {
	case opcode.S1, opcode.S2:
		return fmt.Sprint(n.Value())
	case opcode.CP1, opcode.CP2:
		return p.entry(n)
	case opcode.Local:
		return fmt.Sprint(n.Index())
	case opcode.IncLocal:
		return fmt.Sprintf("%d %d", n.Index(), n.Value())
	case opcode.Interface:
		return p.interfaceCall(n)
	case opcode.Dynamic:
		var b strings.Builder
		p.writeDynamic(&b, n.Index(), 0)
		return b.String()
	case opcode.ArrayType:
		if n.Value() < 0 || int(n.Value()) >= len(arrayTypes) || arrayTypes[n.Value()] == "" {
			return fmt.Sprintf("<no such array type: %d>", n.Value())
		}
		return arrayTypes[n.Value()]
	case opcode.MultiArray:
		return fmt.Sprintf("%s %d", p.className(n.Index()), n.Value())
	}
	return ""
}

// entry is the constant pool entry an instruction names.
func (p *printer) entry(n *code.Node) string {
	switch n.Op() {
	case opcode.Ldc, opcode.LdcW, opcode.Ldc2W:
		return p.constant(n.Index())
	case opcode.New, opcode.Anewarray, opcode.Checkcast, opcode.Instanceof:
		return p.className(n.Index())
	}
	return p.member(n.Index(), true)
}

// interfaceCall leaves the argument count out where it is as it must be.
func (p *printer) interfaceCall(n *code.Node) string {
	text := p.member(n.Index(), false)
	desc, err := p.class.Pool.Descriptor(n.Index())
	if err != nil {
		return text
	}
	if slots, _, ok := descriptor.ArgSlots(desc); !ok || int32(slots)+1 != n.Value() {
		return fmt.Sprintf("%s <argument count %d>", text, n.Value())
	}
	return text
}

// arrayTypes are the operands of newarray.
var arrayTypes = [...]string{4: "boolean", "char", "float", "double", "byte", "short", "int", "long"}
