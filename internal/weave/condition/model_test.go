package condition_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"unicode/utf16"
)

// The values of the reference interpreter. Java's null is nil; byte, short, int, long
// and char are int8, int16, int32, int64 and uint16.
type (
	object struct {
		class  string
		fields map[string]any
	}
	enum   string
	array  []any
	listOf struct {
		impl  string
		items []any
	}
	mapOf struct {
		impl    string
		entries map[string]any
		keys    []string
	}
)

// How lists and maps are made in Java, whether elements can be asked for, and sizes.
var (
	listImpls = map[string]struct {
		java       string
		get, sizes bool
	}{
		"ArrayList": {"new java.util.ArrayList(java.util.Arrays.asList(%s))", true, true},
		"asList":    {"java.util.Arrays.asList(%s)", true, true},
		"of":        {"java.util.List.of(%s)", true, true},
		"copied":    {"new java.util.concurrent.CopyOnWriteArrayList(java.util.Arrays.asList(%s))", true, true},
		"linked":    {"new java.util.LinkedList(java.util.Arrays.asList(%s))", false, true},
		"wrapped":   {"java.util.Collections.unmodifiableList(java.util.Arrays.asList(%s))", false, false},
		"subclass":  {"new java.util.ArrayList(java.util.Arrays.asList(%s)) {}", false, false},
	}
	mapImpls = map[string]struct {
		java       string
		get, sizes bool
	}{
		"HashMap":    {"new java.util.HashMap(%s)", true, true},
		"concurrent": {"new java.util.concurrent.ConcurrentHashMap(%s)", true, true},
		"of":         {"%s", true, true},
		"linked":     {"new java.util.LinkedHashMap(%s)", false, true},
		"tree":       {"new java.util.TreeMap(%s)", false, true},
		"subclass":   {"new java.util.HashMap(%s) {}", false, false},
	}
)

// java writes a value as an expression.
func java(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case int8:
		return fmt.Sprintf("(byte) %d", v)
	case int16:
		return fmt.Sprintf("(short) %d", v)
	case int32:
		return fmt.Sprintf("%d", v)
	case int64:
		return fmt.Sprintf("%dL", v)
	case uint16:
		return fmt.Sprintf("(char) %d", v)
	case float32:
		return fmt.Sprintf("Float.intBitsToFloat(%d)", int32(math.Float32bits(v)))
	case float64:
		return fmt.Sprintf("Double.longBitsToDouble(%dL)", int64(math.Float64bits(v)))
	case bool:
		return fmt.Sprint(v)
	case string:
		var b strings.Builder
		for _, u := range utf16.Encode([]rune(v)) {
			switch {
			case u == '"' || u == '\\':
				b.WriteString("\\" + string(rune(u)))
			case u < ' ' || u > '~':
				fmt.Fprintf(&b, "\\u%04x", u)
			default:
				b.WriteRune(rune(u))
			}
		}
		return `"` + b.String() + `"`
	case enum:
		return "shop.Status." + string(v)
	case listOf:
		return fmt.Sprintf(listImpls[v.impl].java, all(v.items))
	case mapOf:
		var pairs []string
		for _, k := range v.keys {
			pairs = append(pairs, java(k), java(v.entries[k]))
		}
		return fmt.Sprintf(mapImpls[v.impl].java, "java.util.Map.of("+strings.Join(pairs, ", ")+")")
	case *object:
		return v.java()
	}
	panic(fmt.Sprintf("%T", v))
}

func all(items []any) string {
	var list []string
	for _, item := range items {
		list = append(list, java(item))
	}
	return strings.Join(list, ", ")
}

// orders are the constructors' parameters.
var orders = map[string][]string{
	"shop.Order": {"customer", "status", "count", "total", "rate", "weight", "grade", "small", "middle", "paid", "note", "numbers", "words",
		"lines", "items", "counts", "extras", "priced", "boxed", "any", "maybe"},
	"shop.Customer": {"level", "id", "tier", "city", "vip", "age", "friend", "headers"},
	"shop.Gold":     {"level", "id", "tier", "city", "vip", "age", "friend", "headers"},
	"shop.Line":     {"label", "cents", "status"},
	"Many":          {"level", "id", "own", "label", "inner", "local"},
	"Many.Inner":    {"hidden", "next"},
	"Local":         {"seen", "next"},
}

func (o *object) java() string {
	var list []string
	for _, name := range orders[o.class] {
		list = append(list, javaFor(name, o.fields[name]))
	}
	return "new " + o.class + "(" + strings.Join(list, ", ") + ")"
}

// javaFor is java for a field: arrays say what they hold.
func javaFor(field string, v any) string {
	if a, ok := v.(array); ok {
		return map[string]string{"numbers": "new int[] {", "words": "new String[] {"}[field] + all(a) + "}"
	}
	return java(v)
}

// maker makes random values.
type maker struct{ *rand.Rand }

func pick[T any](m *maker, list ...T) T { return list[m.IntN(len(list))] }

var (
	someTexts  = []string{"", "a", "b", "gold", "silver", "Bern", "abc", "abcabc", "a*b", "é", "𝄞x", "\uFFFDq", "axb", "v", "aac", "\\"}
	someInts   = []int32{0, 1, -1, 2, 3, 5, 7, 100, -128, 127, 70000, math.MaxInt32, math.MinInt32}
	someLongs  = []int64{0, 1, -1, 5, 7, 100, 1 << 40, 1<<53 + 1, math.MaxInt64, math.MinInt64, 70000}
	someFloats = []float64{0, 0.1, 1.5, -2.25, 3, 7, 1e9, 16777217}
)

func (m *maker) text() any {
	if m.IntN(6) == 0 {
		return nil
	}
	return pick(m, someTexts...)
}

func (m *maker) float() float64 {
	return pick(m, append(someFloats, math.NaN(), math.Inf(1), math.Copysign(0, -1))...)
}

func (m *maker) maybe(v any) any {
	if m.IntN(5) == 0 {
		return nil
	}
	return v
}

func (m *maker) status() any { return m.maybe(pick(m, enum("OPEN"), enum("PAID"), enum("SENT"))) }

func (m *maker) list(item func() any) any {
	if m.IntN(6) == 0 {
		return nil
	}
	l := listOf{impl: pick(m, "ArrayList", "asList", "of", "copied", "linked", "wrapped", "subclass", "ArrayList", "of")}
	for range m.IntN(4) {
		v := item()
		if v == nil && (l.impl == "of" || len(l.items) == 0) {
			v = "a" // of() takes no null, and asList(null) is something else
		}
		l.items = append(l.items, v)
	}
	return l
}

func (m *maker) mapping(item func() any) any {
	if m.IntN(6) == 0 {
		return nil
	}
	l := mapOf{impl: pick(m, "HashMap", "concurrent", "of", "linked", "tree", "subclass", "HashMap", "of"), entries: map[string]any{}}
	for _, k := range []string{"a", "b", "k", "x"} {
		if v := item(); v != nil && m.IntN(2) == 0 {
			l.entries[k] = v
			l.keys = append(l.keys, k)
		}
	}
	return l
}

func (m *maker) line() any {
	return &object{"shop.Line", map[string]any{"label": m.text(), "cents": pick(m, someLongs...), "status": m.status()}}
}

func (m *maker) any(depth int) any {
	switch m.IntN(6) {
	case 0:
		return nil
	case 1, 2:
		return pick(m, someTexts...)
	case 3:
		return m.line()
	case 4:
		if depth > 0 {
			return m.list(func() any { return m.any(0) })
		}
		return int32(5)
	}
	if depth > 0 {
		return m.mapping(func() any { return m.any(0) })
	}
	return "v"
}

func (m *maker) customer(depth int) any {
	if m.IntN(6) == 0 || depth == 0 {
		return nil
	}
	return &object{pick(m, "shop.Customer", "shop.Gold"), map[string]any{"level": pick(m, int32(0), int32(1), int32(2), int32(3)), "id": pick(m, someLongs...),
		"tier": m.text(), "city": m.text(), "vip": m.IntN(2) == 0, "age": nil, "friend": m.customer(depth - 1), "headers": m.mapping(m.text)}}
}

func (m *maker) numbers() any {
	if m.IntN(6) == 0 {
		return nil
	}
	a := array{}
	for range m.IntN(4) {
		a = append(a, pick(m, someInts...))
	}
	return a
}

func (m *maker) words() any {
	if m.IntN(6) == 0 {
		return nil
	}
	a := array{}
	for range m.IntN(4) {
		a = append(a, m.text())
	}
	return a
}

func (m *maker) counts() any {
	return m.mapping(func() any { return pick(m, int32(0), int32(1), int32(5), int32(200)) })
}

func (m *maker) order() any {
	if m.IntN(8) == 0 {
		return nil
	}
	return &object{"shop.Order", map[string]any{"customer": m.customer(3), "status": m.status(), "count": pick(m, someInts...), "total": pick(m, someLongs...),
		"rate": float32(m.float()), "weight": m.float(), "grade": pick(m, uint16('A'), uint16('a'), uint16(0xFFFF)), "small": pick(m, int8(-128), int8(0), int8(5)),
		"middle": pick(m, int16(-1), int16(7), int16(32767)), "paid": m.IntN(2) == 0, "note": m.text(), "numbers": m.numbers(), "words": m.words(),
		"lines": m.list(m.line), "items": m.list(m.text), "counts": m.counts(), "extras": m.mapping(func() any { return m.any(1) }),
		"priced": m.maybe(m.line()), "boxed": m.maybe(pick(m, someLongs...)), "any": m.any(1), "maybe": m.maybe(m.IntN(2) == 0)}}
}

// environment is what one call has: this, then the arguments.
func (m *maker) environment() []any {
	var inner, local any
	for range m.IntN(3) {
		inner = &object{"Many.Inner", map[string]any{"hidden": pick(m, someLongs...), "next": inner}}
		local = &object{"Local", map[string]any{"seen": pick(m, someInts...), "next": local}}
	}
	self := &object{"Many", map[string]any{"level": pick(m, someInts...), "id": pick(m, someLongs...), "own": pick(m, int32(0), int32(2), int32(1<<30)),
		"label": m.text(), "inner": inner, "local": local}}
	return []any{self, m.order(), pick(m, someInts...), m.text(), pick(m, someLongs...), m.float(), m.list(m.text), m.counts(), m.numbers(),
		m.any(1), m.IntN(2) == 0, pick(m, uint16('a'), uint16('b'), uint16('\''), uint16(0)), float32(m.float())}
}

// way is a path: how it is written, of which type it is, and what it reads. Types are
// Java's, shortened: Map<V> has strings for keys.
type way struct {
	text string
	typ  string
	read func(env []any) any // nil where there is nothing
}

// What can happen besides an answer.
type (
	undecided struct{}
	failed    struct{} // an exception
)

// hop is a step from a value of a type that is not nil.
type hop struct {
	text string
	typ  string
	read func(v any) any
}

func field(name, typ string) hop { return hop{"." + name, typ, get(name)} }

func get(name string) func(any) any { return func(v any) any { return v.(*object).fields[name] } }

func getter(text, typ, of string) hop { return hop{"." + text, typ, get(of)} }

// at reads an element by number or key.
func at(index any, typ string) hop {
	if n, ok := index.(int); ok {
		return hop{fmt.Sprintf("[%d]", n), typ, func(v any) any {
			var items []any
			switch v := v.(type) {
			case array:
				items = v
			case listOf:
				if !listImpls[v.impl].get {
					panic(undecided{})
				}
				items = v.items
			default:
				panic(undecided{})
			}
			if n >= len(items) {
				return nil
			}
			return items[n]
		}}
	}
	return hop{fmt.Sprintf("[%q]", index), typ, func(v any) any {
		m, ok := v.(mapOf)
		if !ok || !mapImpls[m.impl].get {
			panic(undecided{})
		}
		return m.entries[index.(string)]
	}}
}

func size(v any) int {
	switch v := v.(type) {
	case array:
		return len(v)
	case string:
		return chars(v)
	case listOf:
		if !listImpls[v.impl].sizes {
			panic(undecided{})
		}
		return len(v.items)
	case mapOf:
		if !mapImpls[v.impl].sizes {
			panic(undecided{})
		}
		return len(v.entries)
	}
	panic(fmt.Sprintf("%T", v))
}

func sized(text string) hop { return hop{text, "int", func(v any) any { return int32(size(v)) }} }

func empty() hop { return hop{".isEmpty()", "boolean", func(v any) any { return size(v) == 0 }} }

var customerHops = []hop{
	getter("tier", "String", "tier"), getter("getTier()", "String", "tier"), field("city", "String"),
	{".vip", "boolean", vip}, {".isVip()", "boolean", vip}, getter("id", "long", "id"), getter("getId()", "long", "id"),
	field("friend", "Customer"), field("headers", "Map<String>"),
	{".rank()", "int", func(v any) any {
		o := v.(*object)
		r := o.fields["level"].(int32)
		if o.fields["vip"].(bool) {
			r += 10
		}
		if tier, ok := o.fields["tier"].(string); ok {
			r += int32(chars(tier))
		}
		return r
	}},
	{".switched()", "int", func(v any) any {
		switch v.(*object).fields["level"] {
		case int32(0):
			return int32(1)
		case int32(1):
			return int32(5)
		}
		return int32(9)
	}},
	{".friendsCity()", "String", func(v any) any {
		friend, ok := v.(*object).fields["friend"].(*object)
		if !ok {
			panic(failed{})
		}
		return friend.fields["city"]
	}},
}

func vip(v any) any {
	o := v.(*object)
	if o.class == "shop.Gold" {
		return o.fields["level"].(int32) >= 2
	}
	return o.fields["vip"]
}

var hops = map[string][]hop{
	"Customer": customerHops,
	"Order": {
		field("customer", "Customer"), field("status", "Status"), field("count", "int"), field("total", "long"), field("rate", "float"),
		field("weight", "double"), field("grade", "char"), field("small", "byte"), field("middle", "short"), field("paid", "boolean"),
		field("note", "String"), field("numbers", "int[]"), field("words", "String[]"), field("lines", "List<Line>"), field("items", "List<String>"),
		field("counts", "Map<Integer>"), field("extras", "Map<Object>"), field("priced", "Priced"), field("boxed", "Long"), field("any", "Object"),
		field("maybe", "Boolean"),
	},
	"Line": {getter("label", "String", "label"), getter("cents()", "long", "cents"), getter("status", "Status", "status"), getter("name", "String", "label")},
	"Priced": {getter("cents", "long", "cents"), getter("getLabel()", "String", "label"),
		{".dear", "boolean", func(v any) any { return v.(*object).fields["cents"].(int64) > 1000 }}},
	"Many": {field("own", "int"), field("label", "String"), field("inner", "Inner"), field("local", "Local"), field("level", "int"), getter("id", "long", "id"),
		{".twice()", "int", func(v any) any { return v.(*object).fields["own"].(int32) * 2 }}},
	"Inner":  {field("hidden", "long"), field("next", "Inner"), {".deep()", "boolean", func(v any) any { return v.(*object).fields["next"] != nil }}},
	"Local":  {field("seen", "int"), field("next", "Local"), getter("unseen", "int", "seen")},
	"String": {sized(".length"), sized(".length()"), empty()},
	"Status": {{".done()", "boolean", func(v any) any { return v == enum("SENT") }},
		{".name()", "String", func(v any) any { return string(v.(enum)) }},
		{".ordinal()", "int", func(v any) any { return map[any]int32{enum("OPEN"): 0, enum("PAID"): 1, enum("SENT"): 2}[v] }}},
	"int[]":        {at(0, "int"), at(2, "int"), sized(".length")},
	"String[]":     {at(0, "String"), at(1, "String"), sized(".length")},
	"List<Line>":   {at(0, "Line"), at(1, "Line"), sized(".size()"), empty()},
	"List<String>": {at(0, "String"), at(2, "String"), sized(".size()"), empty()},
	"Map<String>":  {at("a", "String"), at("zz", "String"), sized(".size()"), empty()},
	"Map<Integer>": {at("a", "Integer"), at("b", "Integer"), sized(".size()"), empty()},
	"Map<Object>":  {at("a", "Object"), at("k", "Object"), sized(".size()")},
	"Object":       {at(0, "Object"), at("a", "Object")},
}

// roots are what the method has, as environment puts it.
var roots = []struct{ text, typ string }{
	{"$this", "Many"}, {"$1", "Order"}, {"$2", "int"}, {"$text", "String"}, {"$4", "long"}, {"$ratio", "double"}, {"$6", "List<String>"},
	{"$map", "Map<Integer>"}, {"$8", "int[]"}, {"$any", "Object"}, {"$flag", "boolean"}, {"$11", "char"}, {"$part", "float"},
}

// ways are all paths up to a length, by type.
func ways(longest int) map[string][]way {
	found := make(map[string][]way)
	var grow func(w way, left int)
	grow = func(w way, left int) {
		found[w.typ] = append(found[w.typ], w)
		if left == 0 {
			return
		}
		for _, h := range hops[w.typ] {
			grow(way{w.text + h.text, h.typ, func(env []any) any {
				v := w.read(env)
				if v == nil {
					return nil
				}
				return h.read(v)
			}}, left-1)
		}
	}
	for i, r := range roots {
		grow(way{r.text, r.typ, func(env []any) any { return env[i] }}, longest)
	}
	found["String"] = append(found["String"], way{"tx.tier", "String", func([]any) any { return "gold" }},
		way{"tx.tenant", "String", func([]any) any { return nil }})
	return found
}
