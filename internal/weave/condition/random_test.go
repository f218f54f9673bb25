package condition_test

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// chars is how many chars Java counts.
func chars(s string) int { return len(utf16.Encode([]rune(s))) }

// test is a random condition: its text, and what it answers.
type test struct {
	text string
	eval func(env []any) bool
}

// writer writes random conditions.
type writer struct {
	maker
	ways map[string][]way
}

var (
	numeric = []string{"int", "long", "float", "double", "char", "byte", "short", "Integer", "Long"}
	logical = []string{"boolean", "Boolean"}
	others  = []string{"Customer", "Order", "Line", "Priced", "Inner", "Local", "Object", "List<Line>", "Map<String>", "int[]"}
)

func (w *writer) way(types ...string) way {
	for {
		if list := w.ways[pick(&w.maker, types...)]; len(list) > 0 {
			return pick(&w.maker, list...)
		}
	}
}

// condition writes one with logic up to a depth.
func (w *writer) condition(depth int) test {
	if depth == 0 || w.IntN(4) == 0 {
		return w.leaf()
	}
	l := w.condition(depth - 1)
	if w.IntN(4) == 0 {
		return test{"!(" + l.text + ")", func(env []any) bool { return !l.eval(env) }}
	}
	r := w.condition(depth - 1)
	if w.IntN(2) == 0 {
		return test{"(" + l.text + " && " + r.text + ")", func(env []any) bool { return l.eval(env) && r.eval(env) }}
	}
	return test{"(" + l.text + " || " + r.text + ")", func(env []any) bool { return l.eval(env) || r.eval(env) }}
}

func (w *writer) leaf() test {
	switch w.IntN(10) {
	case 0, 1, 2:
		return w.number()
	case 3, 4:
		return w.words()
	case 5:
		return w.logic()
	case 6:
		return w.null()
	case 7:
		return w.enums()
	case 8:
		return w.pattern()
	}
	return w.class()
}

var mirror = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func holds(op string, order int, ordered bool) bool {
	switch op {
	case "==":
		return ordered && order == 0
	case "!=":
		return !ordered || order != 0
	case "<":
		return ordered && order < 0
	case "<=":
		return ordered && order <= 0
	case ">":
		return ordered && order > 0
	}
	return ordered && order >= 0
}

func (w *writer) operator() string { return pick(&w.maker, "==", "!=", "<", "<=", ">", ">=") }

// written puts a constant on either side.
func (w *writer) written(l, op, constant string) string {
	if w.IntN(4) == 0 {
		return constant + " " + mirror[op] + " " + l
	}
	return l + " " + op + " " + constant
}

// number compares numbers.
func (w *writer) number() test {
	l, op := w.way(numeric...), w.operator()
	if w.IntN(3) == 0 {
		r := w.way(numeric...)
		return test{l.text + " " + op + " " + r.text, func(env []any) bool {
			a := l.read(env)
			if a == nil {
				return false
			}
			b := r.read(env)
			return b != nil && compareNumbers(op, a, b)
		}}
	}
	if w.IntN(4) == 0 {
		var texts []string
		var values []any
		for range 1 + w.IntN(4) {
			text, v := w.literal(l.typ)
			texts, values = append(texts, text), append(values, v)
		}
		return test{l.text + " in (" + strings.Join(texts, ", ") + ")", func(env []any) bool {
			a := l.read(env)
			return a != nil && slices.ContainsFunc(values, func(b any) bool { return compareNumbers("==", a, b) })
		}}
	}
	text, v := w.literal(l.typ)
	return test{w.written(l.text, op, text), func(env []any) bool {
		a := l.read(env)
		return a != nil && compareNumbers(op, a, v)
	}}
}

// literal writes a number that is compared with values of a type.
func (w *writer) literal(typ string) (string, any) {
	switch w.IntN(4) {
	case 0:
		f := pick(&w.maker, someFloats...)
		text := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		if typ == "float" {
			return text, float32(f)
		}
		return text, f
	case 1:
		n := pick(&w.maker, someLongs...)
		return strconv.FormatInt(n, 10) + pick(&w.maker, "", "L"), n
	case 2:
		if typ == "char" {
			return "'a'", uint16('a')
		}
	}
	n := pick(&w.maker, someInts...)
	return strconv.Itoa(int(n)), n
}

func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int8:
		return int64(v), true
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case uint16:
		return int64(v), true
	}
	return 0, false
}

func compareNumbers(op string, a, b any) bool {
	m, one := whole(a)
	n, two := whole(b)
	if one && two {
		return holds(op, cmp.Compare(m, n), true)
	}
	x, y := double(a), double(b)
	return holds(op, cmp.Compare(x, y), !math.IsNaN(x) && !math.IsNaN(y))
}

func double(v any) float64 {
	switch v := v.(type) {
	case float32:
		return float64(v)
	case float64:
		return v
	}
	n, _ := whole(v)
	return float64(n)
}

func compareTexts(op, a, b string) bool {
	return holds(op, slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))), true)
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// words compares strings, or objects that may be some.
func (w *writer) words() test {
	l, op := w.way("String", "String", "Object"), w.operator()
	text := func(v any) (string, bool) { s, ok := v.(string); return s, ok }
	if w.IntN(3) == 0 {
		r := w.way("String")
		return test{l.text + " " + op + " " + r.text, func(env []any) bool {
			a, ok := text(l.read(env))
			if !ok {
				return false
			}
			b, ok := text(r.read(env))
			return ok && compareTexts(op, a, b)
		}}
	}
	c := pick(&w.maker, someTexts...)
	if w.IntN(4) == 0 {
		d := pick(&w.maker, someTexts...)
		return test{l.text + " in (" + quoted(c) + ", " + quoted(d) + ")", func(env []any) bool {
			a, ok := text(l.read(env))
			return ok && (a == c || a == d)
		}}
	}
	return test{w.written(l.text, op, quoted(c)), func(env []any) bool {
		a, ok := text(l.read(env))
		return ok && compareTexts(op, a, c)
	}}
}

func (w *writer) logic() test {
	l := w.way(logical...)
	want := w.IntN(2) == 0
	switch w.IntN(3) {
	case 0:
		return test{l.text, func(env []any) bool { return l.read(env) == true }}
	case 1:
		return test{w.written(l.text, "==", fmt.Sprint(want)), func(env []any) bool { return l.read(env) == want }}
	}
	r := w.way(logical...)
	return test{l.text + " != " + r.text, func(env []any) bool {
		a := l.read(env)
		if a == nil {
			return false
		}
		b := r.read(env)
		return b != nil && a != b
	}}
}

// null asks for null what may be it: at least one step beyond the roots, or an object.
func (w *writer) null() test {
	for {
		l := w.way(append(append([]string{"String", "Status", "Boolean", "int", "long"}, others...), numeric...)...)
		if !strings.HasPrefix(l.text, "$1.") {
			continue
		}
		if w.IntN(2) == 0 {
			return test{l.text + " == null", func(env []any) bool { return l.read(env) == nil }}
		}
		return test{w.written(l.text, "!=", "null"), func(env []any) bool { return l.read(env) != nil }}
	}
}

func (w *writer) enums() test {
	l := w.way("Status")
	c := pick(&w.maker, "OPEN", "PAID", "SENT")
	text := pick(&w.maker, c, quoted(c))
	switch w.IntN(3) {
	case 0:
		return test{l.text + " in (" + text + ", OPEN)", func(env []any) bool {
			v := l.read(env)
			return v == enum(c) || v == enum("OPEN")
		}}
	case 1:
		r := w.way("Status")
		return test{l.text + " == " + r.text, func(env []any) bool {
			a := l.read(env)
			if a == nil {
				return false
			}
			return a == r.read(env)
		}}
	}
	return test{w.written(l.text, "!=", text), func(env []any) bool {
		v := l.read(env)
		return v != nil && v != enum(c)
	}}
}

// pattern matches strings; the reference is a regular expression over chars.
func (w *writer) pattern() test {
	l := w.way("String", "String", "Status", "Object")
	var glob, expr strings.Builder
	star := 0
	for range w.IntN(6) {
		switch part := pick(&w.maker, "*", "*", "?", "a", "b", "c", "gold", "é", `\`); part {
		case "*":
			star++
			glob.WriteString("*")
			expr.WriteString(".*")
		case "?":
			if star > 0 {
				continue // not between stars
			}
			glob.WriteString("?")
			expr.WriteString(".")
		case `\`:
			glob.WriteString(`\*`)
			expr.WriteString(`\*`)
		default:
			glob.WriteString(part)
			expr.WriteString(regexp.QuoteMeta(units(part)))
		}
	}
	re := regexp.MustCompile("(?s)^" + expr.String() + "$")
	return test{l.text + " matches " + quoted(glob.String()), func(env []any) bool {
		switch v := l.read(env).(type) {
		case string:
			return re.MatchString(units(v))
		case enum:
			return re.MatchString(string(v))
		}
		return false
	}}
}

// units writes every char of a text as one rune.
func units(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		if utf16.IsSurrogate(rune(u)) {
			b.WriteRune(0xF0000 + rune(u))
		} else {
			b.WriteRune(rune(u))
		}
	}
	return b.String()
}

// class asks what something is, or whether two things are the same.
func (w *writer) class() test {
	l := w.way("Object", "Priced", "Customer")
	switch w.IntN(3) {
	case 0:
		return test{l.text + " is shop.Line", func(env []any) bool {
			o, ok := l.read(env).(*object)
			return ok && o.class == "shop.Line"
		}}
	case 1:
		return test{l.text + " is shop.Gold", func(env []any) bool {
			o, ok := l.read(env).(*object)
			return ok && o.class == "shop.Gold"
		}}
	}
	l = w.way("Customer")
	r := w.way("Customer")
	return test{l.text + " == " + r.text, func(env []any) bool {
		a, ok := l.read(env).(*object)
		if !ok {
			return false
		}
		b, ok := r.read(env).(*object)
		return ok && a == b
	}}
}
