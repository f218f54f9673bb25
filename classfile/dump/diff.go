package dump

import (
	"bufio"
	"io"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
)

// Diff writes what changed from class a to class b, and reports whether anything
// did. Fields and methods are matched by name and descriptor, whatever their order;
// lines of a alone begin with -, of b alone with +, and a few lines around them
// with spaces. A label of b has the name of its counterpart in a; N0, N1 … are new.
//
// Classes without a change say the same; their bytes may differ in the layout of the
// constant pool and in how instructions and frames are spelled.
func Diff(w io.Writer, a, b *classfile.Class, opts Options) (changed bool, err error) {
	opts.Offsets = false
	d := &differ{before: newPrinter(a, opts), after: newPrinter(b, opts), out: bufio.NewWriter(w)}
	d.before.explode, d.after.explode = true, true
	if !opts.NoHeader {
		d.before.header()
		d.after.header()
		d.unit(d.before.take(), d.after.take())
	}
	if opts.Method == nil {
		d.members(a.Fields, b.Fields, d.fields)
	}
	d.members(a.Methods, b.Methods, d.methods)
	return d.changed, d.out.Flush()
}

// differ compares two classes unit by unit. Errors stay with the bufio.Writer until
// Flush.
type differ struct {
	before, after *printer
	out           *bufio.Writer
	changed       bool
}

// members pairs the members of both classes and compares the pairs; one that has no
// counterpart is compared with nil.
func (d *differ) members(a, b []classfile.Member, compare func(a, b *classfile.Member)) {
	counterparts := map[string][]*classfile.Member{}
	for i := range b {
		key := d.after.memberKey(&b[i])
		counterparts[key] = append(counterparts[key], &b[i])
	}
	paired := map[*classfile.Member]bool{}
	for i := range a {
		var other *classfile.Member
		key := d.before.memberKey(&a[i])
		if list := counterparts[key]; len(list) > 0 {
			other, counterparts[key] = list[0], list[1:]
			paired[other] = true
		}
		compare(&a[i], other)
	}
	for i := range b {
		if !paired[&b[i]] {
			compare(nil, &b[i])
		}
	}
}

// memberKey is a member's name and descriptor; no name holds a ';'.
func (p *printer) memberKey(m *classfile.Member) string {
	return p.rawText(m.Name) + ";" + p.rawText(m.Descriptor)
}

func (d *differ) fields(a, b *classfile.Member) {
	if a != nil {
		d.before.field(a)
	}
	if b != nil {
		d.after.field(b)
	}
	d.unit(d.before.take(), d.after.take())
}

func (d *differ) methods(a, b *classfile.Member) {
	if a != nil && !d.before.picked(a) || a == nil && !d.after.picked(b) {
		return
	}
	if a != nil && b != nil {
		d.nameAlike(a, b)
	}
	if a != nil {
		d.before.method(a)
	}
	if b != nil {
		d.after.method(b)
	}
	d.unit(d.before.take(), d.after.take())
}

// nameAlike lifts two bodies and names the labels of one after those of the other.
// Where either cannot be lifted, printing will say why.
func (d *differ) nameAlike(a, b *classfile.Member) {
	before, after := d.before.lift(a), d.after.lift(b)
	if before == nil || after == nil {
		return
	}
	d.before.lifted, d.before.names = before, number(before)
	d.after.lifted = after
	d.after.names = numberLike(d.before.outline(before), d.after.outline(after), d.before.names)
}

func (p *printer) lift(m *classfile.Member) *code.Body {
	body, err := p.lifter.Lift(p.class, m)
	if err != nil {
		return nil
	}
	return body
}
