package context

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

// The methods of hand-written logs.
var handMethods = []*method{
	{number: 0, class: "app.C", name: "a", kind: static},
	{number: 1, class: "app.C", name: "b", kind: static},
	{number: 2, class: "app.C", name: "c", kind: static},
	{number: 3, class: "app.C", name: "<init>", kind: constructor},
}

// script makes a log of words such as "a b . made7 begin7 end call born": a name
// enters a method, each "." leaves one.
func script(t *testing.T, text string) *thread {
	t.Helper()
	log := new(thread)
	for word := range strings.FieldsSeq(text) {
		at := slices.IndexFunc(handMethods, func(m *method) bool { return m.name == strings.TrimRight(word, "0123456789") })
		digits := strings.TrimLeft(word, "abcdefghijklmnopqrstuvwxyz<>")
		argument := int32(0)
		for _, d := range digits {
			argument = argument*10 + d - '0'
		}
		switch {
		case at >= 0: // what stands behind a name is the index of its text
			log.words = append(log.words, eventEnter|int32(at)<<3|argument<<18, 0, 0)
		case strings.Trim(word, ".") == "":
			log.words = append(log.words, eventExit|int32(len(word))<<3)
		case strings.HasPrefix(word, "made"):
			log.words = append(log.words, eventMade|argument<<3)
		case strings.HasPrefix(word, "begin"):
			log.words = append(log.words, eventBegin|argument<<3)
		case word == "end":
			log.words = append(log.words, eventEnd)
		case word == "call":
			log.words = append(log.words, eventCallback)
		case word == "born":
			log.words = append(log.words, eventBorn)
		default:
			t.Fatalf("what is %q?", word)
		}
	}
	return log
}

// sequenceOf reads "a >> b >".
func sequenceOf(text string) []element {
	var sequence []element
	for word := range strings.FieldsSeq(text) {
		switch word {
		case ">":
			sequence[len(sequence)-1].next = direct
		case ">>":
		default:
			sequence = append(sequence, element{pattern: pattern{"app.C", word}})
		}
	}
	return sequence
}

// TestContextsByHand: what holds of each call of c, in order.
func TestContextsByHand(t *testing.T) {
	for _, test := range []struct{ name, sequence, threads, want string }{
		{"below", "a >>", "a c . b c ... c .", "yyn"},
		{"direct", "a >", "a c . b c ...", "yn"},
		{"in order", "a >> b", "b a c ... a b c ...", "ny"},
		{"direct link", "a > b", "a c b c .... a b c ...", "nny"},
		{"itself is no element", "c >>", "c c ..", "ny"},
		{"recursion, direct", "a > a >", "a a c ...", "y"},
		{"recursion, one frame is not two", "a >> a", "a c .. a b a c ....", "ny"},
		{"several ways, one fits", "a > b >> b >", "a b b c ....", "y"},
		{"wildcard", "* > b >", "b c .. a b c ...", "ny"},
		{"an exception leaves several frames", "b >>", "a b a .. c ..", "n"},
		{"the JDK is between", "a >", "a call c ...", "n"},
		{"below, the JDK between", "a >>", "a call c ...", "y"},
		{"handed over", "a >>", "a made1 . | begin1 c . end c .", "yn"},
		{"handed over, not direct", "a >", "a made1 . | begin1 c . end", "n"},
		{"handed over in the midst", "a >> b", "a made1 . | b begin1 c . end c . .", "nn"},
		{"handed over, own frames aside", "b >>", "a made1 . | b begin1 c . end c . .", "ny"},
		{"handed over twice", "a >> b", "a made1 . | begin1 b made2 . end | begin2 c . end", "y"},
		{"begun before it is made, in the file", "a >>", "begin1 c . end | a made1 .", "y"},
		{"periodic", "a >>", "a made1 . | begin1 c . end begin1 c . end", "yy"},
		{"run by its maker", "a >>", "a made1 begin1 c . end .", "y"},
		{"unborn", "<init> >>", "<init> c . born c ..", "ny"},
		{"unborn, below a born one", "<init> >", "<init> born <init> c . born c ...", "ny"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var threads []*thread
			for text := range strings.SplitSeq(test.threads, "|") {
				threads = append(threads, script(t, text))
			}
			got := ""
			in := &interpreter{methods: handMethods, tags: make([][]tagPoint, len(handMethods))}
			in.judge = func(c call) {
				if c.method.name == "c" {
					got += map[bool]string{true: "y", false: "n"}[holds(sequenceOf(test.sequence), c.frame)]
				}
			}
			if err := in.replay(threads); err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("%q in %q: have %s, want %s", test.sequence, test.threads, got, test.want)
			}
		})
	}
}

// TestTagsByHand: the tag is a text that a sets; 1 is gold, 2 silver, 0 null.
func TestTagsByHand(t *testing.T) {
	for _, test := range []struct{ name, threads, want string }{
		{"none", "c .", "-"},
		{"set", "a1 c ..", "gold"},
		{"the innermost", "a1 a2 c . . c ..", "silver gold"},
		{"null hides what is outside", "a1 a c ...", "-"},
		{"handed over", "a1 made1 . | a2 begin1 c . end c ..", "gold silver"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var threads []*thread
			for text := range strings.SplitSeq(test.threads, "|") {
				threads = append(threads, script(t, text))
			}
			var got []string
			in := &interpreter{methods: handMethods, tags: make([][]tagPoint, len(handMethods))}
			in.tags[0] = []tagPoint{{0, accessors[6]}}
			in.judge = func(c call) {
				if c.method.name != "c" {
					return
				}
				if v, _ := seen(0, c.frame); v != nil {
					got = append(got, *v)
				} else {
					got = append(got, "-")
				}
			}
			if err := in.replay(threads); err != nil {
				t.Fatal(err)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("have %q, want %s", got, test.want)
			}
		})
	}
}

func TestLogsThatMakeNoSense(t *testing.T) {
	for name, text := range map[string]string{
		"left too often":        "a ..",
		"ends inside":           "a b .",
		"leaves a task":         "a made1 begin1 . end .",
		"a task of nobody":      "begin3 end",
		"ends what never began": "a end .",
	} {
		in := &interpreter{methods: handMethods, tags: make([][]tagPoint, len(handMethods)), judge: func(call) {}}
		if err := in.replay([]*thread{script(t, text)}); !errors.Is(err, errLog) {
			t.Errorf("%s: have %v", name, err)
		}
	}
	for name, words := range map[string][]int32{
		"empty":    {},
		"cut off":  {2, 1, 0},
		"too long": {1, 0, 5},
	} {
		var data []byte
		for _, word := range words {
			data = binary.BigEndian.AppendUint32(data, uint32(word))
		}
		if _, err := readLog(data); !errors.Is(err, errLog) {
			t.Errorf("%s: have %v", name, err)
		}
	}
}

func TestConditionsByHand(t *testing.T) {
	gold := "gold"
	full := facts{amount: 40, order: &orders[1], text: &gold} // amount 37, tier gold, rank 1, name silver
	none := facts{amount: 5}
	is := func(path int, op string, values ...value) condition {
		return condition{tag: -1, path: accessors[path], op: op, values: values}
	}
	for _, test := range []struct {
		condition    condition
		text         string
		full, absent bool
	}{
		{is(0, ">", number(7)), "$2 > 7", true, false},
		{is(2, "!=", number(1)), "$3.amount != 1", true, false},
		{is(3, "==", text(&gold)), `$order.getTier() == "gold"`, true, false},
		{is(3, "==", text(nil)), "$order.getTier() == null", false, true},
		{is(3, "!=", text(nil)), "$order.getTier() != null", true, false},
		{is(6, "<=", text(&gold)), `$4 <= "gold"`, true, false},
		{is(4, "in", number(3), number(1)), "$order.customer.rank in (3, 1)", true, false},
		{condition{join: "!", parts: []condition{is(4, "<", number(0))}}, "!($order.customer.rank < 0)", true, true},
		{condition{join: "||", parts: []condition{is(0, "<", number(7)), is(0, ">=", number(40))}}, "($2 < 7) || ($2 >= 40)", true, true},
		{condition{join: "&&", parts: []condition{is(0, "<", number(7)), is(6, "==", text(nil))}}, `($2 < 7) && ($4 == null)`, false, true},
		{condition{tag: 0, name: "tier", op: "==", values: []value{text(&gold)}}, `tx.tier == "gold"`, true, true},
	} {
		if got := test.condition.String(); got != test.text {
			t.Errorf("written as %s, want %s", got, test.text)
		}
		tag := func(int) *string { return &gold }
		if got := test.condition.true(full, tag); got != test.full {
			t.Errorf("%s of a full call: %t", test.text, got)
		}
		if got := test.condition.true(none, tag); got != test.absent {
			t.Errorf("%s of an empty call: %t", test.text, got)
		}
	}
}
