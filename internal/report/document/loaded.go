package document

import (
	"fmt"
	"strings"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/measure/find"
)

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
