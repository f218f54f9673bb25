package document

import (
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/classfile/dump"
	"github.com/sonde-jvm/sonde/internal/measure/find"
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

// Find is written by `sonde find --json`.
type Find struct {
	PID      int          `json:"pid"`
	JDK      string       `json:"jdk"`
	Main     string       `json:"main"`
	Patterns []string     `json:"patterns"`
	Loaded   int          `json:"loadedClasses"`
	Classes  []FoundClass `json:"classes"`
}

// FoundClass is a loaded class.
type FoundClass struct {
	Name     string        `json:"class"` // with dots
	Loader   string        `json:"loader"`
	From     []string      `json:"from"` // a module of the JDK, or jars and folders
	Fileless bool          `json:"fileless,omitempty"`
	Methods  []FoundMethod `json:"methods"`
	File     []byte        `json:"file,omitempty"` // the class file in base64, with the option files
}

// FoundMethod is a method of a loaded class.
type FoundMethod struct {
	Name       string `json:"name"`
	Descriptor string `json:"descriptor"`
	Pattern    string `json:"pattern"` // matches only this method: name, parameters and result
	HasCode    bool   `json:"hasCode"`
}

// NewFind describes what was found.
func NewFind(pid int, patterns []string, r *find.Result) *Find {
	d := &Find{PID: pid, JDK: r.JDK, Main: r.Main, Patterns: patterns, Loaded: r.Loaded, Classes: []FoundClass{}}
	for i := range r.Classes {
		c := &r.Classes[i]
		class := FoundClass{Name: strings.ReplaceAll(c.Name, "/", "."), Loader: LoaderName(c.Loader), From: []string{}, Fileless: c.Fileless, Methods: []FoundMethod{}, File: c.File}
		if c.Module != "" {
			class.From = append(class.From, c.Module)
		}
		class.From = append(class.From, c.Places...)
		for _, m := range c.Methods {
			class.Methods = append(class.Methods, FoundMethod{m.Name, m.Descriptor, patternOf(m), m.HasCode()})
		}
		d.Classes = append(d.Classes, class)
	}
	return d
}

// patternOf returns the part of a pattern that matches only this method of its class.
func patternOf(m find.Method) string {
	parsed, err := descriptor.ParseMethod(m.Descriptor)
	if err != nil {
		return m.Name
	}
	var types []string
	for _, t := range parsed.Params() {
		types = append(types, t.Human())
	}
	return fmt.Sprintf("%s(%s):%s", m.Name, strings.Join(types, ", "), parsed.Return().Human())
}
