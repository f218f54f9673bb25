package rootcause

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
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

func frame(class, name string, kind jfr.FrameKind, at int) jfr.Frame {
	return jfr.Frame{Method: &jfr.Method{Class: class, Name: name}, Kind: kind, BCI: at}
}

func TestStacks(t *testing.T) {
	s := newStacks()
	s.add(&jfr.Stack{Frames: []jfr.Frame{
		frame("libc.so.6", "memcpy", jfr.Library, 0), frame("a/Value", "get", jfr.Inlined, 3), frame("a/User", "use", jfr.C2, 7), frame("a/Main", "main", jfr.Interpreted, 9),
	}})
	s.add(&jfr.Stack{Frames: []jfr.Frame{frame("a/File", "read0", jfr.Native, 0), frame("a/User", "use", jfr.Compiled, 8)}})
	s.add(&jfr.Stack{Frames: []jfr.Frame{frame("a/Main", "main", jfr.Interpreted, 2)}})
	s.add(&jfr.Stack{Frames: []jfr.Frame{frame("a/Main", "main", jfr.UnknownKind, 2)}})
	for class, want := range map[string]float64{"a/Value": 0.25, "a/User": 0.5, "a/Main": 0.25, "a/File": 0, "libc.so.6": 0} {
		if got := s.heat(map[string]bool{class: true}); got != want {
			t.Errorf("%s is in %g of the running code, want %g", class, got, want)
		}
	}
	if got := s.heat(map[string]bool{"a/Value": true, "a/User": true}); got != 0.5 {
		t.Errorf("two classes are in %g of the running code, want 0.5", got)
	}
	if at := s.edges[edge{ref("a/User", "use", ""), ref("a/Value", "get", "")}]; len(at) != 1 || !at[7] {
		t.Errorf("the call is at %v, want 7", at)
	}
	if !s.native[ref("a/File", "read0", "")] || !s.isInlined(ref("a/Value", "get", "")) || s.isInlined(ref("a/User", "use", "")) {
		t.Errorf("native %v, kinds %v", s.native, s.kinds)
	}
}

// code returns a piece of a class that contains code of others.
func code(root string, others ...string) piece {
	p := piece{classes: map[string]bool{root: true}, root: root}
	for _, class := range others {
		p.classes[class] = true
	}
	return p
}

func TestClassesAreJudgedByTheirCost(t *testing.T) {
	pieces := []piece{code("a/Hot"), code("a/Hot"), code("a/Hot", "a/Warm"), code("a/Warm"), code("a/Cool"), {}, {}, {}, {}, code("java/util/ArrayList", "a/Lent")}
	weights := map[string]float64{"a/Hot": 100, "a/Warm": 90, "a/Cool": 20, "a/Lent": 200}
	for name, tt := range map[string]struct {
		price price
		want  string
		own   string
	}{
		"a program that was compiled in no time":      {price{all: 100 * time.Millisecond, limit: time.Second}, "a/Lent", ""},
		"what explains most for its cost comes first": {price{all: 2 * time.Second, limit: 1300 * time.Millisecond}, "a/Cool a/Lent a/Warm", ""},
		"little is left":         {price{all: 2 * time.Second, limit: 400 * time.Millisecond}, "a/Hot a/Lent a/Warm", ""},
		"nothing is left":        {price{all: 2 * time.Second, limit: -time.Second}, "a/Cool a/Hot a/Lent a/Warm", ""},
		"all code is discarded":  {price{all: 2 * time.Second, discardsAll: true, limit: 2300 * time.Millisecond}, "a/Hot a/Lent a/Warm", ""},
		"own classes come first": {price{all: 2 * time.Second, limit: 1300 * time.Millisecond}, "a/Hot a/Lent a/Warm", "a/Cool"},
		"too much for any":       {price{all: 2 * time.Second, discardsAll: true, limit: time.Second}, "a/Cool a/Hot a/Lent a/Warm", ""},
	} {
		s := &stacks{pieces: pieces}
		s.judge(weights, tt.price, func(class string) bool { return class == tt.own })
		left := slices.DeleteFunc(slices.Sorted(maps.Keys(s.shed)), func(class string) bool { return s.shed[class] == "" })
		if got := strings.Join(left, " "); got != tt.want {
			t.Errorf("%s: %q are left alone, want %q", name, got, tt.want)
		}
	}
}

func TestABatchShowsTheRealPrice(t *testing.T) {
	for name, tt := range map[string]struct {
		before price
		heat   float64
		spent  time.Duration
		want   price
	}{
		"half of the code":        {price{all: 8 * time.Second, limit: 2 * time.Second}, 0.5, time.Second, price{all: 2 * time.Second, limit: time.Second}},
		"too little to show much": {price{all: 8 * time.Second, limit: 2 * time.Second}, 0.01, time.Second, price{all: 8 * time.Second, limit: time.Second}},
		"all of the code":         {price{all: 8 * time.Second, discardsAll: true, limit: 2 * time.Second}, 0.01, time.Second, price{all: time.Second, limit: time.Second}},
	} {
		got := tt.before
		if got.pay(tt.heat, tt.spent); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if reason := (price{all: time.Second, limit: 2 * time.Second, discardsAll: true}).refusal(); reason != "" {
		t.Errorf("refused because %s", reason)
	}
	if reason := (price{all: 8 * time.Second, limit: 2 * time.Second, discardsAll: true}).refusal(); !strings.Contains(reason, "about 8.00 s of work, and --budget allows 2.00 s") {
		t.Errorf("refused because %q", reason)
	}
}

// tallyFor returns a look in which methods of package a are own.
func tallyFor(weights map[string]float64) *tally {
	isOwn := func(class string) bool { return strings.HasPrefix(class, "a/") }
	t := tallyOf(&hotspots.Table{}, isOwn)
	for stack, weight := range weights {
		t.add(hotspots.Path{Methods: stackOf(stack), Weight: weight, Samples: int(weight)}, isOwn)
	}
	return t
}

func names(methods []classfile.MethodRef) (all []string) {
	for _, m := range methods {
		all = append(all, m.Name)
	}
	return all
}

func TestHottest(t *testing.T) {
	simple := map[string]float64{"a/A.x a/A.main": 60, "a/A.y a/A.main": 30, "a/A.y a/A.other": 6, "a/A.z a/A.main": 4}
	spread := map[string]float64{
		"java/X.a c/Lib.f a/A.own a/A.main": 12, "java/X.b c/Lib.f a/A.own a/A.main": 12, "java/X.c a/A.own a/A.main": 12, "java/X.hot a/A.two": 30,
		"a/A.two": 2, "java/X.idle": 12, "": 100,
	}
	for name, tt := range map[string]struct {
		weights map[string]float64
		share   float64
		few     int
		want    string
	}{
		"above a share":                         {simple, 0.05, 3, "x 0.60, y 0.36"},
		"none is hot enough":                    {simple, 0.9, 1, "x 0.60"},
		"all are":                               {simple, 0.01, 1, "x 0.60, y 0.36, z 0.04"},
		"time in libraries is the own method's": {spread, 0.2, 3, "own and libraries 0.45, hot 0.38"},
		"nothing has so much":                   {spread, 0.9, 2, "hot 0.38, a 0.15"},
	} {
		look := tallyFor(tt.weights)
		var got []string
		for _, s := range look.hottest(tt.share, tt.few) {
			libraries := ""
			if s.isOwner {
				libraries = " and libraries"
			}
			got = append(got, fmt.Sprintf("%s%s %.2f", s.top.method.Name, libraries, look.share(s).Part))
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	share := tallyFor(simple).share(&spot{top: newNode(ref("a/A", "y", "()V"))})
	if share.Part != 0.36 || share.Low > 0.28 || share.Low < 0.25 || share.High < 0.44 || share.High > 0.48 {
		t.Errorf("the share of y is %+v", share)
	}
}

func TestPathsOfAnOwner(t *testing.T) {
	look := tallyFor(map[string]float64{"java/X.a c/Lib.f a/A.own a/A.main": 10, "java/X.b a/A.own a/B.run": 5, "a/A.own": 1, "java/X.a a/A.main": 7})
	s := &spot{top: newNode(ref("a/A", "own", "()V")), isOwner: true}
	look.feed(s)
	if s.top.weight != 16 || s.samples != 16 || s.top.entries != 1 || s.top.callers[ref("a/A", "main", "()V")].weight != 10 || s.top.callers[ref("a/B", "run", "()V")].weight != 5 {
		t.Errorf("%+v, %d samples", s.top, s.samples)
	}
}

func TestShareCoversAllLooks(t *testing.T) {
	s := &spot{floor: 0.025}
	for _, look := range []struct{ weight, samples float64 }{{30, 100}, {0, 100}, {150, 300}} {
		if s.cools(cct.ShareOf(look.weight, look.samples, look.samples), int(look.samples)) {
			t.Errorf("it is cold after %+v", look)
		}
	}
	if s.share.Part != 0.36 || s.seen != 500 {
		t.Errorf("%+v of %d", s.share, s.seen)
	}
}

func TestASpotCoolsWhenLooksShowItTogether(t *testing.T) {
	s := &spot{floor: 0.025}
	s.cools(cct.ShareOf(90, 100, 100), 100)
	none := cct.ShareOf(0, 100, 100)
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

func TestOwnersHaveTheTimeOfTheirLibraries(t *testing.T) {
	s := &search{Options: Defaults(), planner: newPlanner(Defaults()), indexes: make(map[classfile.MethodRef]int)}
	s.owners.weights = make(map[classfile.MethodRef]map[classfile.MethodRef]float64)
	look := tallyFor(map[string]float64{
		"java/util/List.add a/A.fill a/A.main": 30, "c/Lib.put a/A.fill a/A.main": 20, "a/A.main": 10, "c/Lib.run": 39, "c/Lib.put a/A.rare": 1,
	})
	s.owners.add(look)
	s.samples = look.count
	var got []string
	for _, o := range s.ownerResults() {
		name := "none"
		if o.Method >= 0 {
			name = s.methods[o.Method].Name
		}
		got = append(got, fmt.Sprintf("%s %.2f in %s %.2f", name, o.Share.Part, s.methods[o.In].Name, o.InPart))
	}
	if want := "fill 0.50 in add 0.60, none 0.39 in run 1.00, main 0.10 in main 1.00, rare 0.01 in put 1.00"; strings.Join(got, ", ") != want {
		t.Errorf("owners %q, want %q", got, want)
	}
}
