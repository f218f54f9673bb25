package classfile_test

import (
	"bytes"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
)

// TestCorpusAttributes demands that each attribute of each class decodes, to a type
// of its own where the specification knows it, and comes back byte for byte.
func TestCorpusAttributes(t *testing.T) {
	law := &attributeLaw{TB: t, seen: map[classfile.Kind]int{}}
	eachOfCorpus(t, law.class)
	t.Logf("%v", law.seen)
}

// attributeLaw checks that decoding and appending are inverse.
type attributeLaw struct {
	testing.TB
	seen map[classfile.Kind]int
}

func (l *attributeLaw) class(name string, data []byte) {
	c, err := classfile.Parse(data)
	if err != nil {
		l.Errorf("%s: %v", name, err)
		return
	}
	l.attributes(name, c, c.Attributes)
	for _, members := range [][]classfile.Member{c.Fields, c.Methods} {
		for i := range members {
			l.attributes(name, c, members[i].Attributes)
		}
	}
}

func (l *attributeLaw) attributes(name string, c *classfile.Class, list []classfile.Attribute) {
	for _, a := range list {
		kind := c.Kind(a.Name)
		l.seen[kind]++
		contents, err := c.Decode(a)
		if err != nil {
			l.Errorf("%s: %v", name, err)
			continue
		}
		back, err := contents.AppendTo(nil)
		if err != nil || !bytes.Equal(back, a.Data) {
			l.Errorf("%s: %s: %x came back as %x, %v", name, kind, a.Data, back, err)
		}
		switch contents := contents.(type) {
		case classfile.Opaque:
			if kind != classfile.KindUnknown {
				l.Errorf("%s: %s is not decoded", name, kind)
			}
		case *classfile.Code:
			l.attributes(name, c, contents.Attributes)
		case classfile.Record:
			for i := range contents {
				l.attributes(name, c, contents[i].Attributes)
			}
		}
	}
}
