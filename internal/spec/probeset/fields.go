package probeset

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// What belongs into the fields.
const (
	wantsMethods  = "a pattern such as com.acme.Order.pay"
	wantsSequence = "methods such as 'com.acme.Web.handle >> com.acme.Order.pay'"
	wantsWhen     = `a condition such as '$1.tier == "gold"'`
	wantsValue    = "a value such as $1.customer.tier"
	wantsLevel    = "count, time, trace or capture"
	wantsTemplate = "plain, late or capture"
	wantsDuration = "a time with its unit, such as 10m or 250ms"
	wantsSample   = "a part of the calls, such as 1/100"
	wantsNumber   = "a whole number"
	wantsClasses  = "a pattern such as com.acme.dao.** or com.acme.Order"
	wantsTime     = "static, load, dynamic or never"
)

func (r *reader) tag(n *yaml.Node, at place) (tag Tag) {
	where := r.called(n, "tag")
	r.mapping(n, at, where, []field{
		{"name", func(n *yaml.Node, at place, where string) { tag.Name, _ = r.text(n, at, where, "a name") }},
		{"value", func(n *yaml.Node, at place, where string) { tag.Value, _ = r.text(n, at, where, wantsValue) }},
		{"at", func(n *yaml.Node, at place, where string) { tag.At, _ = r.text(n, at, where, wantsMethods) }},
	})
	return tag
}

func (r *reader) probe(n *yaml.Node, at place) (p Probe) {
	leveled := false
	where := r.called(n, "probe")
	texts := func(to *[]string, wanted string) func(*yaml.Node, place, string) {
		return func(n *yaml.Node, at place, where string) { *to = r.texts(n, at, where, wanted) }
	}
	duration := func(to *time.Duration) func(*yaml.Node, place, string) {
		return func(n *yaml.Node, at place, where string) { *to = r.duration(n, at, where) }
	}
	r.mapping(n, at, where, []field{
		{"name", func(n *yaml.Node, at place, where string) { p.Name, _ = r.text(n, at, where, "a name") }},
		{"methods", texts(&p.Methods, wantsMethods)},
		{"within", texts(&p.Within, wantsSequence)},
		{"context", func(n *yaml.Node, at place, where string) { p.Context = int(r.number(n, at, where, MostContext)) }},
		{"when", func(n *yaml.Node, at place, where string) { p.When, _ = r.text(n, at, where, wantsWhen) }},
		{"level", func(n *yaml.Node, at place, where string) { p.Level, leveled = r.level(n, at, where), true }},
		{"template", func(n *yaml.Node, at place, where string) { p.Template = r.template(n, at, where) }},
		{"captures", texts(&p.Captures, wantsValue)},
		{"allow", texts(&p.Allow, "a name such as password")},
		{"levels", func(n *yaml.Node, at place, where string) { p.Levels = int(r.number(n, at, where, MostLevels)) }},
		{"slower-than", duration(&p.SlowerThan)},
		{"sample", func(n *yaml.Node, at place, where string) { p.Sample = r.sample(n, at, where) }},
		{"group-by", texts(&p.GroupBy, "the name of a tag")},
		{"for", duration(&p.For)},
		{"calls", func(n *yaml.Node, at place, where string) { p.Calls = r.number(n, at, where, 1<<63) }},
	})
	if !leveled {
		p.Level = p.usualLevel()
	}
	return p
}

// called is how a probe or tag is spoken of: by its name, where it has one.
func (r *reader) called(n *yaml.Node, what string) string {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if name := n.Content[i+1]; n.Content[i].Value == "name" && name.Kind == yaml.ScalarNode && name.Value != "" {
				return what + " " + shortened(name.Value)
			}
		}
	}
	return what
}

// shortened keeps a message readable whose subject is not.
func shortened(name string) string {
	const most = 60
	if letters := []rune(name); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return name
}

func (r *reader) level(n *yaml.Node, at place, where string) Level {
	name, ok := r.text(n, at, where, wantsLevel)
	if !ok {
		return 0
	}
	level, known := ParseLevel(name)
	if !known {
		r.problem(n, at, where, fmt.Sprintf("%q is no level", name), "write "+wantsLevel)
	}
	return level
}

func (r *reader) template(n *yaml.Node, at place, where string) Template {
	name, ok := r.text(n, at, where, wantsTemplate)
	if !ok {
		return 0
	}
	template, known := ParseTemplate(name)
	if !known {
		r.problem(n, at, where, fmt.Sprintf("%q is no template", name), "write "+wantsTemplate)
	}
	return template
}

func (r *reader) duration(n *yaml.Node, at place, where string) time.Duration {
	text, ok := r.text(n, at, where, wantsDuration)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		r.problem(n, at, where, fmt.Sprintf("%q is no time", text), "write "+wantsDuration)
		return 0
	}
	return d
}

func (r *reader) sample(n *yaml.Node, at place, where string) uint32 {
	text, ok := r.text(n, at, where, wantsSample)
	if !ok {
		return 0
	}
	one, of, parted := strings.Cut(text, "/")
	period, err := strconv.ParseUint(strings.TrimSpace(of), 10, 32)
	if !parted || strings.TrimSpace(one) != "1" || err != nil || period == 0 || period > MostSample {
		r.problem(n, at, where, fmt.Sprintf("%q is no part of the calls", text), fmt.Sprintf("write one in so many, such as 1/100, up to 1/%d", MostSample))
		return 0
	}
	return uint32(period)
}

// number reads a whole number from 1 on.
func (r *reader) number(n *yaml.Node, at place, where string, most uint64) uint64 {
	text, ok := r.scalar(n, at, where, wantsNumber, "!!int")
	if !ok {
		return 0
	}
	var value uint64
	if err := n.Decode(&value); err != nil || value == 0 || value > most {
		r.problem(n, at, where, text+" is out of bounds", fmt.Sprintf("write a number from 1 to %d, or leave the key out", most))
		return 0
	}
	return value
}
