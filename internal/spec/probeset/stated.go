package probeset

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

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
