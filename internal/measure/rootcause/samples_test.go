package rootcause

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
)

func ref(class, name, descriptor string) classfile.MethodRef {
	return classfile.MethodRef{Class: class, Name: name, Descriptor: descriptor}
}

// stackOf reads "leaf caller caller …", each class.name.
func stackOf(text string) (stack []classfile.MethodRef) {
	for _, word := range strings.Fields(text) {
		dot := strings.LastIndexByte(word, '.')
		stack = append(stack, ref(word[:dot], word[dot+1:], "()V"))
	}
	return stack
}

func TestStraighten(t *testing.T) {
	for _, test := range []struct{ stack, want string }{
		{"a/A.leaf a/A.mid a/A.main", "leaf mid main"},
		{"a/A.f a/A.f a/A.f a/A.main", "f main"},
		{"a/A.leaf a/A.a a/A.b a/A.a a/A.b a/A.main", "leaf a b main"},
		{"a/A.leaf a/A.a a/A.b a/A.a a/A.main", "leaf a main"},
		{"a/A.lambda$0 a/A$$Lambda/0x01.run java/util/ArrayList.forEach a/A.main", "lambda$0 forEach main"},
		{"a/A.m java/lang/reflect/Method.invoke jdk/internal/reflect/X.invoke0 a/A.main", "m main"},
	} {
		var names []string
		for _, m := range straighten(stackOf(test.stack)) {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%s is straightened to %q, want %q", test.stack, got, test.want)
		}
	}
}

func TestNodesHoldTheWeightOfTheirStacks(t *testing.T) {
	stack := straighten(stackOf("a/A.leaf a/A.left a/A.main"))
	top := newNode(stack[0])
	top.add(stack[1:], 7, false)
	top.add(straighten(stackOf("a/A.right a/A.main")), 3, false)
	top.add(straighten(stackOf("a/A.right")), 2, true)
	right := top.callers[ref("a/A", "right", "()V")]
	if top.weight != 12 || right.weight != 5 || right.cut != 2 || right.level != 1 || right.callee != top {
		t.Errorf("top %+v, right %+v", top, right)
	}
	main := right.callers[ref("a/A", "main", "()V")]
	if main.weight != 3 || main.entries != 3 || main.level != 2 {
		t.Errorf("main %+v", main)
	}
	met := 0
	top.visit(4, func(*node) { met++ })
	if met != 4 { // leaf, left, its main, right
		t.Errorf("%d nodes weigh 4 or more", met)
	}
}

func TestACentralClassIsInlinedIntoMany(t *testing.T) {
	c := newStacks()
	for i := range maxInlined + 1 {
		c.add(&jfr.Stack{Frames: []jfr.Frame{
			{Method: &jfr.Method{Class: "a/Value", Name: "get"}, Kind: jfr.Inlined},
			{Method: &jfr.Method{Class: "a/User", Name: "m" + string(rune('a'+i))}, Kind: jfr.Compiled, BCI: 7},
			{Method: &jfr.Method{Class: "a/Main", Name: "main"}, Kind: jfr.Interpreted, BCI: 9},
		}})
	}
	if !c.isCentral("a/Value") || c.isCentral("a/User") || !c.isCentral("java/util/HashMap") {
		t.Errorf("central: %v", c.inlined)
	}
	at := c.edges[edge{ref("a/User", "ma", ""), ref("a/Value", "get", "")}]
	if len(at) != 1 || !at[7] {
		t.Errorf("the call is at %v", at)
	}
}

// compiledInto returns a stack in which a method of a class is inlined into a method of
// another.
func compiledInto(class, root, name string) *jfr.Stack {
	return &jfr.Stack{Frames: []jfr.Frame{
		{Method: &jfr.Method{Class: class, Name: "get", Descriptor: "()V"}, Kind: jfr.Inlined},
		{Method: &jfr.Method{Class: root, Name: name, Descriptor: "()V"}, Kind: jfr.Compiled},
	}}
}

func TestClassesThatWouldCostMuchAreLeftAlone(t *testing.T) {
	c := newStacks()
	for i := range maxCode + 1 {
		c.add(compiledInto("a/Wide", "a/Wide", fmt.Sprint("m", i)))
	}
	c.add(compiledInto("a/Lent", "a/Other", "run"))
	c.add(compiledInto("a/Own", "a/Own", "run"))
	c.judge(map[string]float64{"a/Wide": 9, "a/Lent": 5, "a/Own": 1})
	if len(c.shed) != 2 || c.shed["a/Own"] {
		t.Errorf("left alone: %v", c.shed)
	}
}

func TestTheHeaviestClassIsRedefined(t *testing.T) {
	c := newStacks()
	for i := range maxCode/2 + 1 {
		c.add(compiledInto("a/Light", "a/Light", fmt.Sprint("m", i)))
		c.add(compiledInto("a/Heavy", "a/Heavy", fmt.Sprint("m", i)))
	}
	c.judge(map[string]float64{"a/Light": 1, "a/Heavy": 2})
	if c.shed["a/Heavy"] || !c.shed["a/Light"] {
		t.Errorf("left alone: %v", c.shed)
	}
}

func tallyFor(weights map[string]float64) *tally {
	t := tallyOf(&hotspots.Table{})
	for stack, weight := range weights {
		t.add(hotspots.Path{Methods: stackOf(stack), Weight: weight, Samples: int(weight)})
		t.count += int(weight)
	}
	return t
}

func names(methods []classfile.MethodRef) (all []string) {
	for _, m := range methods {
		all = append(all, m.Name)
	}
	return all
}

func TestMethodsAboveTheShareAreHot(t *testing.T) {
	counts := tallyFor(map[string]float64{"a/A.x a/A.main": 60, "a/A.y a/A.main": 30, "a/A.y a/A.other": 6, "a/A.z a/A.main": 4})
	if hot := names(counts.hottest(0.05, 3)); !slices.Equal(hot, []string{"x", "y"}) {
		t.Errorf("hot are %v", hot)
	}
	if hot := names(counts.hottest(0.9, 1)); !slices.Equal(hot, []string{"x"}) {
		t.Errorf("if none is hot enough: %v", hot)
	}
	if hot := names(counts.hottest(0.01, 1)); len(hot) != 3 {
		t.Errorf("if all are: %v", hot)
	}
	share := counts.share(ref("a/A", "y", "()V"))
	if share.Part != 0.36 || share.Low > 0.28 || share.Low < 0.25 || share.High < 0.44 || share.High > 0.48 {
		t.Errorf("the share of y is %+v", share)
	}
}

func TestShareCoversAllLooks(t *testing.T) {
	s := &spot{floor: 0.025}
	for _, look := range []struct{ weight, samples float64 }{{30, 100}, {0, 100}, {150, 300}} {
		if s.cools(hotspots.ShareOf(look.weight, look.samples, look.samples), int(look.samples)) {
			t.Errorf("it is cold after %+v", look)
		}
	}
	if s.share.Part != 0.36 || s.seen != 500 {
		t.Errorf("%+v of %d", s.share, s.seen)
	}
}

func TestASpotCoolsWhenLooksShowItTogether(t *testing.T) {
	s := &spot{floor: 0.025}
	s.cools(hotspots.ShareOf(90, 100, 100), 100)
	none := hotspots.ShareOf(0, 100, 100)
	if s.cools(none, 100) {
		t.Error("a hundred samples do not prove that it has less than 3 %")
	}
	if s.share.Part != 0.9 {
		t.Errorf("looks in which it may be cold count for its share: %+v", s.share)
	}
	if !s.cools(none, 100) {
		t.Error("two hundred samples do")
	}
}
