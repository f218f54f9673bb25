package context

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// value is what a path leads to: a number, a text, or nothing.
type value struct {
	missing bool
	isText  bool
	number  int
	text    string
}

func number(n int) value { return value{number: n} }

func text(s *string) value {
	if s == nil {
		return value{missing: true, isText: true}
	}
	return value{isText: true, text: *s}
}

// literal is a constant as conditions write it.
func (v value) literal() string {
	switch {
	case v.missing:
		return "null"
	case v.isText:
		return strconv.Quote(v.text)
	}
	return strconv.Itoa(v.number)
}

// accessor is a path with what it means.
type accessor struct {
	path   string
	isText bool
	ofThis bool // only methods of an object have it
	read   func(f facts) value
}

// accessors are all paths that conditions, tags and captures use; tags are read apart.
var accessors = []accessor{
	{path: "$2", read: func(f facts) value { return number(f.amount) }},
	{path: "$amount", read: func(f facts) value { return number(f.amount) }},
	{path: "$3.amount", read: func(f facts) value {
		if f.order == nil {
			return value{missing: true}
		}
		return number(f.order.amount)
	}},
	{path: "$order.getTier()", isText: true, read: func(f facts) value {
		if f.order == nil {
			return text(nil)
		}
		return text(f.order.tier)
	}},
	{path: "$order.customer.rank", read: func(f facts) value {
		if f.order == nil || f.order.customer == nil {
			return value{missing: true}
		}
		return number(f.order.customer.rank)
	}},
	{path: "$3.customer.name", isText: true, read: func(f facts) value {
		if f.order == nil || f.order.customer == nil {
			return text(nil)
		}
		return text(f.order.customer.name)
	}},
	{path: "$4", isText: true, read: func(f facts) value { return text(f.text) }},
	{path: "$this.weight", ofThis: true, read: func(f facts) value { return number(f.weight) }},
}

// numberAccessor is the path of a call's own number.
var numberAccessor = accessor{path: "$1", read: func(f facts) value { return number(f.number) }}

// condition is a tree of comparisons.
type condition struct {
	join  string // "&&", "||" or "!"; "" for a comparison
	parts []condition

	tag    int // to be compared, by number; -1: path
	name   string
	path   accessor
	op     string
	values []value // more than one for "in"
}

func (c condition) String() string {
	switch c.join {
	case "":
		left := c.path.path
		if c.tag >= 0 {
			left = "tx." + c.name
		}
		if c.op == "in" {
			return fmt.Sprintf("%s in (%s)", left, strings.Join(literals(c.values), ", "))
		}
		return fmt.Sprintf("%s %s %s", left, c.op, c.values[0].literal())
	case "!":
		return "!(" + c.parts[0].String() + ")"
	}
	texts := make([]string, len(c.parts))
	for i, part := range c.parts {
		texts[i] = "(" + part.String() + ")"
	}
	return strings.Join(texts, " "+c.join+" ")
}

func literals(values []value) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = v.literal()
	}
	return all
}

// asksThis reports whether only methods of an object can be asked.
func (c condition) asksThis() bool {
	return c.path.ofThis || slices.ContainsFunc(c.parts, condition.asksThis)
}

// true reports whether it holds of a call that sees tags.
func (c condition) true(f facts, tag func(number int) *string) bool {
	holds := func(part condition) bool { return part.true(f, tag) }
	fails := func(part condition) bool { return !part.true(f, tag) }
	switch c.join {
	case "&&":
		return !slices.ContainsFunc(c.parts, fails)
	case "||":
		return slices.ContainsFunc(c.parts, holds)
	case "!":
		return fails(c.parts[0])
	}
	left := value{}
	if c.tag >= 0 {
		left = text(tag(c.tag))
	} else {
		left = c.path.read(f)
	}
	return slices.ContainsFunc(c.values, func(right value) bool { return compare(left, c.op, right) })
}

// compare is the language's: what is missing is equal to null, and no comparison with
// anything else is true of it.
func compare(left value, op string, right value) bool {
	if right.missing {
		return (op == "==") == left.missing
	}
	if left.missing {
		return false
	}
	order := left.number - right.number
	if left.isText {
		order = strings.Compare(left.text, right.text)
	}
	switch op {
	case "==", "in":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}
