package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/dump"
)

// classJSON is a class as `sonde dump --json` writes it.
type classJSON struct {
	Path    string       `json:"path"`
	Class   string       `json:"class"`
	Version string       `json:"version"`
	Header  string       `json:"header"`
	Fields  []memberJSON `json:"fields,omitempty"`
	Methods []memberJSON `json:"methods"`
}

type memberJSON struct {
	Name       string `json:"name"`
	Descriptor string `json:"descriptor"`
	Text       string `json:"text,omitempty"`
}

// diffJSON is a difference as `sonde dump --diff --json` writes it. Only is
// "before" or "after" where the other side lacks the class.
type diffJSON struct {
	Path  string `json:"path"`
	Class string `json:"class"`
	Only  string `json:"only,omitempty"`
	Diff  string `json:"diff,omitempty"`
}

func (d *dumper) describe(path string, c *classfile.Class, opts dump.Options) classJSON {
	var text strings.Builder // never fails
	header := opts
	header.Method = func(string, string) bool { return false }
	_ = dump.Class(&text, c, header)
	j := classJSON{
		Path: path, Class: c.Name(), Version: fmt.Sprintf("%d.%d", c.Major, c.Minor),
		Header: text.String(), Methods: []memberJSON{},
	}
	if opts.Method == nil {
		for i := range c.Fields {
			name, desc := memberName(c, &c.Fields[i])
			j.Fields = append(j.Fields, memberJSON{Name: name, Descriptor: desc})
		}
	}
	for i := range c.Methods {
		m := &c.Methods[i]
		name, desc := memberName(c, m)
		if opts.Method != nil && !opts.Method(name, desc) {
			continue
		}
		text.Reset()
		_ = dump.Method(&text, c, m, opts)
		j.Methods = append(j.Methods, memberJSON{name, desc, text.String()})
	}
	return j
}

// memberName is the name and descriptor of a member, empty where the pool is
// broken: the header text then says so.
func memberName(c *classfile.Class, m *classfile.Member) (name, desc string) {
	n, d, err := c.MemberName(m)
	if err != nil {
		return "", ""
	}
	return classfile.DecodeUtf8(n), classfile.DecodeUtf8(d)
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
