package dump

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
)

// longestText limits a line that refers to itself, or to long texts repeatedly. Real ones
// stay far below.
const longestText = 1 << 17

// constant returns a constant that ldc can load, or another entry that instructions and
// attributes refer to.
func (p *printer) constant(i uint16) string {
	var b strings.Builder
	p.writeConstant(&b, i, 0)
	return b.String()
}

func (p *printer) writeConstant(b *strings.Builder, i uint16, depth int) {
	pool := &p.class.Pool
	raw, _ := pool.Raw(i)
	switch tag := pool.Tag(i); tag {
	case classfile.TagInteger:
		fmt.Fprintf(b, "int %d", int32(binary.BigEndian.Uint32(raw[1:])))
	case classfile.TagFloat:
		bits := binary.BigEndian.Uint32(raw[1:])
		b.WriteString("float " + floatText(float64(math.Float32frombits(bits)), 32, uint64(bits)))
	case classfile.TagLong:
		fmt.Fprintf(b, "long %d", int64(binary.BigEndian.Uint64(raw[1:])))
	case classfile.TagDouble:
		bits := binary.BigEndian.Uint64(raw[1:])
		b.WriteString("double " + floatText(math.Float64frombits(bits), 64, bits))
	case classfile.TagString:
		text, err := pool.StringValue(i)
		if err != nil {
			b.WriteString(broken(err))
			return
		}
		b.WriteString(quote(text))
	case classfile.TagClass:
		b.WriteString("class " + p.className(i))
	case classfile.TagMethodType:
		b.WriteString("methodtype " + resolved(pool.MethodType(i)))
	case classfile.TagMethodHandle:
		b.WriteString("methodhandle " + p.methodHandle(i))
	case classfile.TagDynamic:
		b.WriteString("dynamic ")
		p.writeDynamic(b, i, depth)
	case classfile.TagUtf8:
		text, _ := pool.Utf8(i)
		b.WriteString("utf8 " + quote(text))
	default:
		b.WriteString(broken(&classfile.PoolError{Index: i, Want: "a constant", Got: tag}))
	}
}

// writeDynamic writes a Dynamic or InvokeDynamic entry: name, descriptor, and how it
// is linked. Arguments may be dynamic themselves.
func (p *printer) writeDynamic(b *strings.Builder, i uint16, depth int) {
	bootstrap, nt, err := p.class.Pool.Pair(i)
	if err != nil {
		b.WriteString(broken(err))
		return
	}
	b.WriteString(p.nameAndType(nt) + " by ")
	if int(bootstrap) >= len(p.bootstraps) {
		fmt.Fprintf(b, "<bootstrap method %d: there are %d>", bootstrap, len(p.bootstraps))
		return
	}
	p.writeBootstrap(b, &p.bootstraps[bootstrap], depth)
}

func (p *printer) writeBootstrap(b *strings.Builder, m *classfile.BootstrapMethod, depth int) {
	b.WriteString(p.methodHandle(m.Handle))
	b.WriteString(" [")
	for k, argument := range m.Arguments {
		if k > 0 {
			b.WriteString(", ")
		}
		if depth > 4 || b.Len() > longestText {
			b.WriteString("…")
			break
		}
		p.writeConstant(b, argument, depth+1)
	}
	b.WriteByte(']')
}

var handleKinds = [...]string{1: "getfield", "getstatic", "putfield", "putstatic", "invokevirtual",
	"invokestatic", "invokespecial", "newinvokespecial", "invokeinterface"}

func (p *printer) methodHandle(i uint16) string {
	kind, ref, err := p.class.Pool.Pair(i)
	if tag := p.class.Pool.Tag(i); err != nil || tag != classfile.TagMethodHandle {
		return broken(&classfile.PoolError{Index: i, Want: "MethodHandle", Got: tag})
	}
	if kind == 0 || int(kind) >= len(handleKinds) {
		return fmt.Sprintf("<no such method handle kind: %d> %s", kind, p.member(ref, true))
	}
	return handleKinds[kind] + " " + p.member(ref, handleKinds[kind] != "invokeinterface")
}

// member returns a field or method reference. With mark set, references to methods of
// interfaces begin with "interface".
func (p *printer) member(i uint16, mark bool) string {
	class, name, descriptor, err := p.class.Pool.Member(i)
	if err != nil {
		return broken(err)
	}
	text := word(class) + "." + word(name) + " " + word(descriptor)
	if mark && p.class.Pool.Tag(i) == classfile.TagInterfaceMethodref {
		return "interface " + text
	}
	return text
}

func (p *printer) nameAndType(i uint16) string {
	name, descriptor, err := p.class.Pool.NameAndType(i)
	if err != nil {
		return broken(err)
	}
	return word(name) + " " + word(descriptor)
}

// floatText is the shortest text that reads back as the same value; a NaN, of which
// there are many, comes with its bits.
func floatText(v float64, size int, bits uint64) string {
	if v != v {
		return fmt.Sprintf("NaN 0x%0*x", size/4, bits)
	}
	return strconv.FormatFloat(v, 'g', -1, size)
}
