package condition_test

import "fmt"

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
