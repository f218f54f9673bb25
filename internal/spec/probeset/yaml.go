package probeset

import (
	"bytes"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
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
