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
	add(root, "version", plainNode(strconv.Itoa(Version)))
	add(root, "hand-off", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(s.HandOff)})
	if len(s.Tags) > 0 {
		add(root, "tags", sequence(s.Tags, (*Tag).fields))
	}
	stated := s.stated()
	probes := sequence(stated, (*Probe).fields)
	if len(stated) == 0 {
		probes.Style = yaml.FlowStyle
	}
	add(root, "probes", probes)
	if len(s.Goals) > 0 {
		add(root, "goals", sequence(s.Goals, (*Goal).fields))
	}
	if len(s.Weave) > 0 {
		add(root, "weave", sequence(s.Weave, (*Rule).fields))
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
	to.Content = append(to.Content, textNode(key), value)
}

// sequence returns a list of mappings.
func sequence[T any](list []T, fields func(*T, *reader) []field) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range list {
		n.Content = append(n.Content, mapping(fields(&list[i], nil)))
	}
	return n
}

func mapping(fields []field) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fields {
		switch {
		case len(f.values) == 0:
		case f.inner != nil:
			add(n, f.name, mapping(f.inner(nil)))
		case f.plain:
			add(n, f.name, plainNode(f.values[0]))
		case f.list && len(f.values) > 1:
			list := &yaml.Node{Kind: yaml.SequenceNode}
			for _, value := range f.values {
				list.Content = append(list.Content, textNode(value))
			}
			add(n, f.name, list)
		default:
			add(n, f.name, textNode(f.values[0]))
		}
	}
	return n
}

// plainNode returns a number, or true.
func plainNode(value string) *yaml.Node {
	tag := "!!int"
	if value == "true" {
		tag = "!!bool"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// textNode returns a node that is read as a text, whatever it looks like: the library
// quotes it if necessary. Checked sets are valid UTF-8.
func textNode(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.ToValidUTF8(value, "\uFFFD")}
}

func textsOf[T fmt.Stringer](list []T) (texts []string) {
	for _, value := range list {
		texts = append(texts, value.String())
	}
	return texts
}

// expression returns the text of an expression as it was written; "" for none.
func expression(e *expr.Expr) string {
	if e == nil {
		return ""
	}
	return strings.TrimSpace(e.Text())
}

func expressions(list []*expr.Expr) (texts []string) {
	for _, e := range list {
		texts = append(texts, expression(e))
	}
	return texts
}

func sampleText(period uint32) string {
	if period <= 1 {
		return ""
	}
	return fmt.Sprintf("1/%d", period)
}

// DurationText returns a duration as a file states it: 10m, where Go writes 10m0s; "" where
// it is not positive.
func DurationText(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	text := d.String()
	if short, cut := strings.CutSuffix(text, "m0s"); cut {
		text = short + "m"
	}
	if short, cut := strings.CutSuffix(text, "h0m"); cut {
		text = short + "h"
	}
	return text
}
