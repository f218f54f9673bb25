package code

import "fmt"

// TypeAnnotation is an annotation on a type that is used within the body.
type TypeAnnotation struct {
	Target byte        // target_type of JVMS 4.7.20
	Ranges []TypeRange // where the annotated local variable lives
	At     *Node       // label of the annotated instruction
	Extra  uint16      // which type argument, or which handler, by Target
	Rest   []byte      // type path and annotation, as found
	table  uint16
}

// TypeRange is a piece of a local variable's life.
type TypeRange struct {
	Start, End *Node
	Slot       uint16
}

// maxNesting bounds annotations within annotations. The compiler's stay below ten.
const maxNesting = 200

func (l *lift) typeAnnotations(data []byte) error {
	table := uint16(len(l.attributes))
	in := reader{data: data}
	for range in.u2() {
		mark := in.at
		a := TypeAnnotation{Target: byte(in.u1()), table: table}
		ok := true
		switch a.Target {
		case 0x40, 0x41: // a local variable, a resource
			n := in.u2()
			if n*6 > len(data)-in.at {
				return malformed("type annotation", mark, fmt.Sprintf("%d ranges do not fit", n))
			}
			a.Ranges = make([]TypeRange, n)
			for i := range a.Ranges {
				start, size := in.u2(), in.u2()
				r := TypeRange{l.label(start), l.label(start + size), uint16(in.u2())}
				ok = ok && r.Start != nil && r.End != nil
				a.Ranges[i] = r
			}
		case 0x42: // an exception handler
			a.Extra = uint16(in.u2())
		case 0x43, 0x44, 0x45, 0x46: // instanceof, new, method references
			a.At = l.label(in.u2())
			ok = a.At != nil
		case 0x47, 0x48, 0x49, 0x4A, 0x4B: // a cast, type arguments
			a.At = l.label(in.u2())
			a.Extra = uint16(in.u1())
			ok = a.At != nil
		default:
			return malformed("type annotation", mark, fmt.Sprintf("target %#02x is not one of a body", a.Target))
		}
		if !ok {
			return malformed("type annotation", mark, "speaks of an offset where no instruction begins")
		}
		from := in.at
		in.bytes(2 * in.u1())
		if err := skipAnnotation(&in, 0); err != nil {
			return err
		}
		if in.short {
			return malformed("type annotation", in.at, "truncated")
		}
		a.Rest = data[from:in.at:in.at]
		l.TypeAnnotations = append(l.TypeAnnotations, a)
	}
	if in.short || in.at != len(data) {
		return malformed("type annotations", in.at, "they do not fill their attribute")
	}
	return nil
}

func skipAnnotation(in *reader, depth int) error {
	in.u2()
	for range in.u2() {
		in.u2()
		if err := skipValue(in, depth+1); err != nil || in.short {
			return err
		}
	}
	return nil
}

func skipValue(in *reader, depth int) error {
	if depth > maxNesting {
		return malformed("annotation", in.at, "nested too deeply")
	}
	switch tag := in.u1(); tag {
	case 'B', 'C', 'D', 'F', 'I', 'J', 'S', 'Z', 's', 'c':
		in.u2()
	case 'e':
		in.u4()
	case '@':
		return skipAnnotation(in, depth)
	case '[':
		for range in.u2() {
			if err := skipValue(in, depth+1); err != nil || in.short {
				return err
			}
		}
	default:
		if !in.short {
			return malformed("annotation", in.at-1, fmt.Sprintf("no such element value: %q", byte(tag)))
		}
	}
	return nil
}
