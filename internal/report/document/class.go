package document

import (
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/dump"
	"github.com/sonde-jvm/sonde/internal/weave/offline"
)

// Class is written by `sonde dump --json`.
type Class struct {
	Path    string   `json:"path"`
	Class   string   `json:"class"`
	Version string   `json:"classVersion"` // of the class file
	Header  string   `json:"header"`
	Fields  []Member `json:"fields,omitempty"`
	Methods []Member `json:"methods"`
}

// Member is a field or method of a class.
type Member struct {
	Name       string `json:"name"`
	Descriptor string `json:"descriptor"`
	Text       string `json:"text,omitempty"`
}

// ClassDiff is written by `sonde dump --diff --json`. Only is "before" or "after" if one
// side alone has the class.
type ClassDiff struct {
	Path  string `json:"path"`
	Class string `json:"class"`
	Only  string `json:"only,omitempty"`
	Diff  string `json:"diff,omitempty"`
}

// NewClass describes a class that was read from a path.
func NewClass(path string, c *classfile.Class, opts dump.Options) Class {
	var text strings.Builder // never fails
	header := opts
	header.Method = func(string, string) bool { return false }
	_ = dump.Class(&text, c, header)
	j := Class{
		Path: path, Class: c.Name(), Version: fmt.Sprintf("%d.%d", c.Major, c.Minor),
		Header: text.String(), Methods: []Member{},
	}
	if opts.Method == nil {
		for i := range c.Fields {
			name, desc := memberName(c, &c.Fields[i])
			j.Fields = append(j.Fields, Member{Name: name, Descriptor: desc})
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
		j.Methods = append(j.Methods, Member{name, desc, text.String()})
	}
	return j
}

// memberName returns the name and descriptor of a member. Both are empty if the constant
// pool is invalid, which the header text reports.
func memberName(c *classfile.Class, m *classfile.Member) (name, desc string) {
	n, d, err := c.MemberName(m)
	if err != nil {
		return "", ""
	}
	return classfile.DecodeUtf8(n), classfile.DecodeUtf8(d)
}

// Instrument is written by `sonde instrument --json`.
type Instrument struct {
	Input     string   `json:"input"`
	Output    string   `json:"output"`
	Templates []string `json:"templates"`
	Classes   struct {
		Read  int `json:"read"`
		Woven int `json:"woven"`
	} `json:"classes"`
	Methods struct {
		Woven     int `json:"woven"`
		LeftAlone int `json:"leftAlone"`
		NoCode    int `json:"withoutCode"`
	} `json:"methods"`
	LeftAlone  []offline.LeftAlone `json:"leftAlone"`
	NestedJars int                 `json:"nestedJars"`
	Unsigned   []string            `json:"signaturesStripped,omitempty"`
	NotJars    []string            `json:"notJars,omitempty"`
	LinksOut   []string            `json:"linksOut,omitempty"`
	Modules    []string            `json:"modules,omitempty"`
	Unmatched  []string            `json:"unmatchedPatterns,omitempty"`
	Seconds    float64             `json:"seconds"`
	Run        string              `json:"run,omitempty"`
}

// notNil makes an empty list of nil, which would be null.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
