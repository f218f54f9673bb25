package weave

import (
	"fmt"
	"math"

	"github.com/sonde-jvm/sonde/classfile"
)

// imports is where a template's constants are in the class being woven.
type imports struct {
	index []uint16 // by constant number; 0 until needed
}

// importsOf returns the table for a template, empty at first use in a class.
func (w *Weaver) importsOf(t *Template) *imports {
	for i := range w.imported {
		if w.imported[i].template == t {
			return &w.imported[i].imports
		}
	}
	if len(w.imported) < cap(w.imported) {
		w.imported = w.imported[:len(w.imported)+1]
	} else {
		w.imported = append(w.imported, importedTemplate{})
	}
	last := &w.imported[len(w.imported)-1]
	last.template = t
	if cap(last.imports.index) < len(t.constants) {
		last.imports.index = make([]uint16, len(t.constants))
	}
	last.imports.index = last.imports.index[:len(t.constants)]
	clear(last.imports.index)
	return &last.imports
}

type importedTemplate struct {
	template *Template
	imports  imports
}

// constant returns the index of a template's constant in the class, adding it when
// it is first wanted.
func (w *Weaver) constant(t *Template, im *imports, no int) uint16 {
	if i := im.index[no]; i != 0 {
		return i
	}
	pool := &w.class.Pool
	k := &t.constants[no]
	var i uint16
	switch k.tag {
	case classfile.TagClass:
		i = pool.AddNewClass(k.text)
	case classfile.TagString:
		i = pool.AddString(k.text)
	case classfile.TagMethodType:
		i = pool.AddMethodType(k.text)
	case classfile.TagFieldref, classfile.TagMethodref, classfile.TagInterfaceMethodref:
		i = pool.AddMember(k.tag, k.text, k.name, k.desc)
	case classfile.TagMethodHandle:
		i = pool.AddPair(k.tag, k.kind, w.constant(t, im, k.ref))
	case classfile.TagDynamic, classfile.TagInvokeDynamic:
		i = pool.AddPair(k.tag, w.bootstrap(t, im, k.bootstrap), pool.AddNameAndType(k.name, k.desc))
	default:
		i = pool.AddRaw(k.raw)
	}
	if w.failed == nil {
		im.index[no] = i
	}
	return i
}

// bootstrap returns the number of a bootstrap method of the class, adding one.
func (w *Weaver) bootstrap(t *Template, im *imports, numbers []int) uint16 {
	entry := classfile.BootstrapMethod{Handle: w.constant(t, im, numbers[0])}
	for _, no := range numbers[1:] {
		entry.Arguments = append(entry.Arguments, w.constant(t, im, no))
	}
	c := &w.class
	a := c.Find(c.Attributes, classfile.KindBootstrapMethods)
	var entries classfile.BootstrapMethods
	if a == nil {
		name := c.AttributeName(classfile.KindBootstrapMethods)
		c.Attributes = append(c.Attributes, classfile.Attribute{Name: name})
		a = &c.Attributes[len(c.Attributes)-1]
	} else if contents, err := c.Decode(*a); err != nil {
		w.failed = err
		return 0
	} else {
		entries = contents.(classfile.BootstrapMethods)
	}
	for i, e := range entries {
		if e.Handle == entry.Handle && fmt.Sprint(e.Arguments) == fmt.Sprint(entry.Arguments) {
			return uint16(i)
		}
	}
	if len(entries) == math.MaxUint16 {
		w.failed = &Reason{PoolFull, "no room for a bootstrap method"}
		return 0
	}
	data, err := append(entries, entry).AppendTo(nil)
	if err != nil {
		w.failed = err
		return 0
	}
	a.Data = data
	return uint16(len(entries))
}
