package probeset

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// YAML writes the set as its file. What a checked set says is read back from it the
// same, except for what means the same: blanks, 1/1.
func (s *Set) YAML() []byte {
	tidied := s.tidied()
	root := &yaml.Node{Kind: yaml.MappingNode}
	add(root, "version", number(strconv.Itoa(Version)))
	add(root, "hand-off", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(s.HandOff)})
	if len(tidied.Tags) > 0 {
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range tidied.Tags {
			t := &tidied.Tags[i]
			list.Content = append(list.Content, named(t.Name, t.stated()))
		}
		add(root, "tags", list)
	}
	probes := &yaml.Node{Kind: yaml.SequenceNode}
	if len(tidied.Probes) == 0 {
		probes.Style = yaml.FlowStyle
	}
	for i := range tidied.Probes {
		p := &tidied.Probes[i]
		probes.Content = append(probes.Content, named(p.Name, p.stated()))
	}
	add(root, "probes", probes)
	if len(tidied.Weave) > 0 {
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range tidied.Weave {
			list.Content = append(list.Content, mapping(tidied.Weave[i].stated()))
		}
		add(root, "weave", list)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	// Nodes of texts can always be written, to a buffer that always takes them.
	if err := encoder.Encode(root); err != nil {
		panic("wanted: a set cannot be written: " + err.Error())
	}
	_ = encoder.Close()
	return out.Bytes()
}

func add(to *yaml.Node, key string, value *yaml.Node) {
	to.Content = append(to.Content, text(key), value)
}

func named(name string, fields []stated) *yaml.Node {
	return mapping(append([]stated{{key: "name", values: []string{name}}}, fields...))
}

func mapping(fields []stated) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fields {
		switch {
		case f.plain:
			add(n, f.key, number(f.values[0]))
		case f.list && len(f.values) > 1:
			list := &yaml.Node{Kind: yaml.SequenceNode}
			for _, value := range f.values {
				list.Content = append(list.Content, text(value))
			}
			add(n, f.key, list)
		default:
			add(n, f.key, text(f.values[0]))
		}
	}
	return n
}

func number(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: value}
}

// text is a value that reads back as a text, whatever it looks like: the library
// quotes where that is needed. A set that was checked has no other letters than UTF-8.
func text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.ToValidUTF8(value, "\uFFFD")}
}

// stated is a field that has a value, as the file writes it.
type stated struct {
	key    string
	values []string
	list   bool // of texts
	plain  bool // a number, not a text
}

// text is the value in one line.
func (s stated) text() string { return strings.Join(s.values, ", ") }

// stated lists what a probe states but its name, in the order of the file.
func (p *Probe) stated() []stated {
	var fields []stated
	texts := func(key string, values []string) {
		if len(values) > 0 {
			fields = append(fields, stated{key: key, values: values, list: true})
		}
	}
	text := func(key, value string, has bool) {
		if has {
			fields = append(fields, stated{key: key, values: []string{value}})
		}
	}
	number := func(key string, value uint64) {
		if value > 0 {
			fields = append(fields, stated{key: key, values: []string{strconv.FormatUint(value, 10)}, plain: true})
		}
	}
	texts("methods", p.Methods)
	texts("within", p.Within)
	number("context", uint64(max(p.Context, 0)))
	text("when", p.When, p.When != "")
	text("level", p.Level.String(), true)
	text("template", p.Template.String(), p.Template != ByNeed)
	texts("captures", p.Captures)
	texts("allow", p.Allow)
	number("levels", uint64(max(p.Levels, 0)))
	text("slower-than", DurationText(p.SlowerThan), p.SlowerThan > 0)
	text("sample", fmt.Sprintf("1/%d", p.Sample), p.Sample > 1)
	texts("group-by", p.GroupBy)
	text("for", DurationText(p.For), p.For > 0)
	number("calls", p.Calls)
	return fields
}

func (t *Tag) stated() []stated {
	return []stated{{key: "value", values: []string{t.Value}}, {key: "at", values: []string{t.At}}}
}

func (r *Rule) stated() []stated {
	return []stated{{key: "classes", values: r.Classes, list: true}, {key: "when", values: []string{r.When.String()}}}
}

// DurationText is a duration as a file writes it: 10m, where Go writes 10m0s.
func DurationText(d time.Duration) string {
	text := d.String()
	if short, cut := strings.CutSuffix(text, "m0s"); cut {
		text = short + "m"
	}
	if short, cut := strings.CutSuffix(text, "h0m"); cut {
		text = short + "h"
	}
	return text
}

// tidied is a copy in which what means the same is written the same.
func (s *Set) tidied() *Set {
	copied := &Set{HandOff: s.HandOff, Tags: slices.Clone(s.Tags), Probes: slices.Clone(s.Probes), Weave: slices.Clone(s.Weave)}
	copied.tidy()
	return copied
}

// tidy writes what means the same in one way. Conditions stay as they were written,
// but for blanks around them.
func (s *Set) tidy() {
	for i := range s.Tags {
		t := &s.Tags[i]
		t.Value, t.At = strings.TrimSpace(t.Value), tidyPattern(t.At)
	}
	for i := range s.Probes {
		p := &s.Probes[i]
		p.Methods = tidyTexts(p.Methods, tidyPattern)
		p.Within = tidyTexts(p.Within, tidySequence)
		p.When = strings.TrimSpace(p.When)
		p.Captures = tidyTexts(p.Captures, strings.TrimSpace)
		p.Allow = tidyTexts(p.Allow, strings.TrimSpace)
		p.GroupBy = tidyTexts(p.GroupBy, strings.TrimSpace)
		if p.Sample == 1 {
			p.Sample = 0
		}
	}
	for i := range s.Weave {
		s.Weave[i].Classes = tidyTexts(s.Weave[i].Classes, tidyClass)
	}
}

// tidyTexts changes a copy: the list may be another set's, too.
func tidyTexts(texts []string, tidy func(string) string) []string {
	var tidied []string
	for _, text := range texts {
		tidied = append(tidied, tidy(text))
	}
	return tidied
}

func tidyPattern(text string) string {
	if p, err := pattern.Parse(text); err == nil {
		return p.String()
	}
	return text
}

func tidyClass(text string) string {
	if p, err := pattern.ParseClass(text); err == nil {
		return p.String()
	}
	return text
}

func tidySequence(text string) string {
	if s, err := pattern.ParseSequence(text); err == nil {
		return s.String()
	}
	return text
}
