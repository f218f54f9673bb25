package probeset

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sonde-jvm/sonde/internal/spec/expr"
)

// YAML returns the canonical text of the set, which parses to an equal set.
func (s *Set) YAML() []byte {
	root := &yaml.Node{Kind: yaml.MappingNode}
	add(root, "version", number(strconv.Itoa(Version)))
	add(root, "hand-off", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(s.HandOff)})
	if len(s.Tags) > 0 {
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range s.Tags {
			t := &s.Tags[i]
			list.Content = append(list.Content, withName(t.Name, t.stated()))
		}
		add(root, "tags", list)
	}
	probes := &yaml.Node{Kind: yaml.SequenceNode}
	if len(s.Probes) == 0 {
		probes.Style = yaml.FlowStyle
	}
	for i := range s.Probes {
		p := &s.Probes[i]
		probes.Content = append(probes.Content, withName(p.Name, p.stated()))
	}
	add(root, "probes", probes)
	if len(s.Weave) > 0 {
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range s.Weave {
			list.Content = append(list.Content, mapping(s.Weave[i].stated()))
		}
		add(root, "weave", list)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	// Writing nodes of texts to a buffer cannot fail.
	if err := encoder.Encode(root); err != nil {
		panic("probeset: a set cannot be written: " + err.Error())
	}
	_ = encoder.Close()
	return out.Bytes()
}

func add(to *yaml.Node, key string, value *yaml.Node) {
	to.Content = append(to.Content, text(key), value)
}

func withName(name string, fields []stated) *yaml.Node {
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

// text returns a node that is read as a text, whatever it looks like: the library quotes
// it if necessary. Checked sets are valid UTF-8.
func text(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.ToValidUTF8(value, "\uFFFD")}
}

// stated is a field with its value, as the file states it.
type stated struct {
	key    string
	values []string
	list   bool // of texts
	plain  bool // a number, not a text
}

// text returns the value on one line.
func (s stated) text() string { return strings.Join(s.values, ", ") }

// stated returns the fields of a probe except its name, in the order of the file.
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
	texts("methods", textsOf(p.Methods))
	texts("within", textsOf(p.Within))
	number("context", uint64(max(p.Context, 0)))
	if p.When != nil {
		text("when", strings.TrimSpace(p.When.Text()), true)
	}
	text("level", p.Level.String(), true)
	text("template", p.Template.String(), p.Template != ByNeed)
	texts("captures", expressions(p.Captures))
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
	return []stated{{key: "value", values: []string{strings.TrimSpace(t.Value.Text())}}, {key: "at", values: []string{t.At.String()}}}
}

func (r *Rule) stated() []stated {
	return []stated{{key: "classes", values: textsOf(r.Classes), list: true}, {key: "when", values: []string{r.When.String()}}}
}

func textsOf[T fmt.Stringer](list []T) (texts []string) {
	for _, value := range list {
		texts = append(texts, value.String())
	}
	return texts
}

// expressions returns the texts of expressions as they were written.
func expressions(list []*expr.Expr) (texts []string) {
	for _, e := range list {
		texts = append(texts, strings.TrimSpace(e.Text()))
	}
	return texts
}

// DurationText returns a duration as a file states it: 10m, where Go writes 10m0s.
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
