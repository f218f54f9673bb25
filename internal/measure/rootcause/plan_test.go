package rootcause

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/own"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// plannerFor returns a planner that knows the classes a/A to a/D, and a hot spot with
// stacks "weight leaf caller caller …", each class.name.
func plannerFor(options Options, lines ...string) (*planner, []*spot) {
	p := newPlanner(options)
	p.own = own.Packages{Names: []string{"a", "b"}}
	for _, class := range []string{"a/A", "a/B", "a/C", "a/D"} {
		p.files[class] = session.LoadedClass{Name: class, File: []byte("cannot be parsed, so nothing is inlined")}
	}
	s := &spot{share: Share{Part: 1}}
	for _, line := range lines {
		weight, stack, _ := strings.Cut(line, " ")
		methods := straighten(stackOf(stack))
		if s.top == nil {
			s.top = newNode(methods[0])
		}
		var w float64
		if _, err := fmt.Sscan(weight, &w); err != nil {
			panic(err)
		}
		s.top.add(methods[1:], w, false)
	}
	return &p, []*spot{s}
}

func TestPlan(t *testing.T) {
	usual := Defaults()
	shallow, bounded := usual, usual
	shallow.Levels = 1
	bounded.Until = []string{"a.B.*"}
	for name, tt := range map[string]struct {
		options Options
		change  func(*planner)
		stacks  []string
		want    string
		left    map[string]string // part of the reason, by method
	}{
		"a chain": {options: usual, stacks: []string{"100 a/A.hot a/B.mid a/C.main"}, want: "hot mid main"},
		"the heaviest first": {
			options: usual, stacks: []string{"30 a/A.hot a/B.light a/D.main", "70 a/A.hot a/C.heavy a/D.main"},
			want: "hot heavy main light",
		},
		"light paths are left out": {options: usual, stacks: []string{"97 a/A.hot a/B.mid", "3 a/A.hot a/C.rare"}, want: "hot mid"},
		"as far as asked for":      {options: shallow, stacks: []string{"100 a/A.hot a/B.mid a/C.main"}, want: "hot mid"},
		"not beyond the boundary":  {options: bounded, stacks: []string{"100 a/A.hot a/B/X.mid a/C.main"}, want: "hot", left: map[string]string{"mid": "hidden"}},
		"the JDK is left alone":    {options: usual, stacks: []string{"100 java/util/HashMap.get a/B.mid"}, want: "mid", left: map[string]string{"get": "belongs to the JDK"}},
		"libraries are left alone": {
			options: usual, stacks: []string{"100 c/Lib.hot c/Lib.mid a/A.main"}, want: "main hot", left: map[string]string{"mid": "library"},
			change: func(p *planner) { p.files["c/Lib"] = session.LoadedClass{Name: "c/Lib", File: []byte{1}} },
		},
		"initialisers are left alone": {options: usual, stacks: []string{"100 a/A.hot a/B.<clinit>"}, want: "hot", left: map[string]string{"<clinit>": "runs once"}},
		"a class without a file": {
			options: usual, stacks: []string{"100 a/A.hot a/B.mid"}, want: "hot", left: map[string]string{"mid": "no class file"},
			change: func(p *planner) { p.files["a/B"] = session.LoadedClass{Name: "a/B"} },
		},
		"a class that cannot be woven": {
			options: usual, stacks: []string{"100 a/A.hot a/B.mid"}, want: "hot", left: map[string]string{"mid": "it is signed"},
			change: func(p *planner) { p.files["a/B"] = session.LoadedClass{Name: "a/B", Reason: "it is signed"} },
		},
		"a native method without calls that can be hooked": {
			options: usual, stacks: []string{"100 a/A.hot a/B.mid"}, want: "mid", left: map[string]string{"hot": "native"},
			change: func(p *planner) { p.stacks.native[ref("a/A", "hot", "()V")] = true },
		},
		"a class that would cost too much": {
			options: usual, stacks: []string{"100 a/A.hot a/B.mid"}, want: "mid", left: map[string]string{"hot": "100 % of the samples are in code that contains methods of its class"},
			change: func(p *planner) {
				p.stacks.pieces = []piece{code("a/A"), code("a/A")}
				p.price = price{all: 3 * time.Second, limit: 2 * time.Second}
			},
		},
		"a method that was measured before": {
			options: usual, stacks: []string{"100 a/A.hot a/B.mid"}, want: "mid",
			change: func(p *planner) { p.subject(ref("a/A", "hot", "()V")).state = Done },
		},
	} {
		p, spots := plannerFor(tt.options, tt.stacks...)
		if tt.change != nil {
			tt.change(p)
		}
		var planned []string
		for _, s := range p.plan(spots, p.nodes(spots)) {
			planned = append(planned, s.Name)
		}
		if got := strings.Join(planned, " "); got != tt.want {
			t.Errorf("%s: hooks in %q, want %q", name, got, tt.want)
		}
		for _, s := range p.order {
			if want := tt.left[s.Name]; s.state == Left && (want == "" || !strings.Contains(s.reason, want)) || want != "" && s.state != Left {
				t.Errorf("%s: %s is %s: %q, want %q", name, s.Name, s.state, s.reason, want)
			}
		}
	}
}

func TestPlanBoundsClasses(t *testing.T) {
	p, _ := plannerFor(Defaults())
	top := newNode(ref("a/A", "hot", "()V"))
	for i := range maxClasses + 5 {
		class := fmt.Sprintf("b/C%02d", i)
		p.files[class] = session.LoadedClass{Name: class, File: []byte{1}}
		top.add([]classfile.MethodRef{ref(class, "run", "()V")}, 1, false)
	}
	spots := []*spot{{top: top, share: Share{Part: 1}}}
	top.weight = 20 // so that no path is too light
	if planned := p.plan(spots, p.nodes(spots)); len(planned) != maxClasses {
		t.Errorf("%d classes are redefined", len(planned))
	}
}

func TestSurprises(t *testing.T) {
	p, spots := plannerFor(Defaults(), "100 a/A.hot a/B.mid")
	hot, mid := p.subject(ref("a/A", "hot", "()V")), ref("a/B", "mid", "()V")
	hot.drawn = 100
	hot.callers = map[classfile.MethodRef]uint64{
		mid: 80, ref("a/C", "unseen", "()V"): 10, ref("a/D", "again", "()V"): 6, ref("a/D", "rare", "()V"): 4,
		noCaller: 50, ref("a/A$$Lambda/1", "run", "()V"): 50,
	}
	p.stacks.edges[edge{mid, hot.MethodRef}] = map[int]bool{1: true}
	met := p.surprises(spots)
	if got := names(met); strings.Join(got, " ") != "unseen again" {
		t.Errorf("met %v", got)
	}
	p.redefined["a/D"] = 1
	planned := p.planSurprises(met)
	if len(planned) != 1 || planned[0].Name != "unseen" || planned[0].hooked != inMethod {
		t.Errorf("planned %v", planned)
	}
	if again := p.subject(met[1]); again.state != Left || !strings.Contains(again.reason, "changed once") {
		t.Errorf("%+v", again)
	}
	spots[0].top.cut = 60 // most stacks end there: a caller that stacks show may hold more
	if got := names(p.surprises(spots)); strings.Join(got, " ") != "mid unseen again" {
		t.Errorf("met %v", got)
	}
}

func TestRequests(t *testing.T) {
	own := &subject{MethodRef: ref("a/A", "m", ""), exact: ref("a/A", "m", "()V"), hooked: inMethod}
	native := &subject{MethodRef: ref("a/A", "n", "()V"), hooked: aroundCalls, sites: []session.Site{{Caller: classfile.MethodRef{Class: "a/B"}}, {Caller: classfile.MethodRef{Class: "a/C"}}}}
	var request session.Request
	own.request(&request, arena.On, 4)
	native.request(&request, arena.On, 4)
	native.request(&request, 0, 0)
	if len(request.Hooks) != 1 || request.Hooks[0].Flags != arena.On || request.Hooks[0].Descriptor != "()V" || len(request.Sites) != 4 ||
		request.Sites[1].Native.Flags != arena.On|arena.Here || request.Sites[3].Native.Flags != 0 || request.Sites[1].Native.Period != 4 {
		t.Errorf("%+v", request)
	}
	if got := fmt.Sprint(own.classes(), native.classes()); got != "[a/A] [a/B a/C]" {
		t.Errorf("classes %s", got)
	}
}

func TestSlices(t *testing.T) {
	one, two := &subject{}, &subject{}
	for _, tt := range []struct {
		calls     uint64
		rates     map[*subject]float64
		slice     time.Duration
		one, two_ uint32
	}{
		{1000, map[*subject]float64{one: 0, two: 10}, maxSlice, 1, 1},
		{1000, map[*subject]float64{one: 1e6, two: 10}, maxSlice, 64, 1},                 // 20,000 calls in a slice, of which 200 are wanted
		{1000, map[*subject]float64{one: 3e6, two: 1e6}, 10 * time.Millisecond, 128, 32}, // 30,000 calls in a slice
		{1000, map[*subject]float64{one: 1e9, two: 0}, minSlice, 4096, 1},
		{1, map[*subject]float64{one: 1e6}, maxSlice, 16384, 0},
	} {
		one.period, two.period = 0, 0
		slice := planSlices(tt.calls, tt.rates)
		if slice != tt.slice || one.period != tt.one || two.period != tt.two_ {
			t.Errorf("%v: slices of %v, periods %d and %d", tt, slice, one.period, two.period)
		}
	}
}

func TestIsEnough(t *testing.T) {
	for _, tt := range []struct {
		calls, drawn uint64
		since        time.Duration
		want         bool
	}{
		{5000, 1000, 0, true}, {5000, 999, time.Minute, false}, {0, 0, inVain / 2, false}, {0, 0, inVain, true},
	} {
		group := []*subject{{calls: 5000, drawn: 1000}, {calls: tt.calls, drawn: tt.drawn}}
		if got := isEnough(group, 1000, tt.since); got != tt.want {
			t.Errorf("%+v: %t", tt, got)
		}
	}
}

func TestRest(t *testing.T) {
	for _, tt := range []struct {
		nanos, part float64
		passed      time.Duration
		want        time.Duration
	}{
		{1e6, 0.02, 10 * time.Millisecond, 40 * time.Millisecond},
		{1e6, 0.04, 10 * time.Millisecond, 15 * time.Millisecond},
		{1e6, 0.02, 49 * time.Millisecond, 0},
		{1e6, 0.02, time.Second, 0},
	} {
		if got := restAfter(tt.nanos, tt.part, tt.passed); got != tt.want {
			t.Errorf("%+v: rest %v", tt, got)
		}
	}
}

func TestOnlyDescriptor(t *testing.T) {
	for _, tt := range []struct{ class, method, want string }{
		{"Bridges", "compare", "(Ljava/lang/String;Ljava/lang/String;)I"}, // its bridge does not count
		{"Bridges", "none", ""},
		{"Constructors", "<init>", ""}, // there are two
	} {
		file, err := os.ReadFile("../../../classfile/testdata/zoo/17/" + tt.class + ".class")
		if err != nil {
			t.Fatal(err)
		}
		if got := onlyDescriptor(file, tt.method); got != tt.want {
			t.Errorf("%s.%s has descriptor %q, want %q", tt.class, tt.method, got, tt.want)
		}
	}
	if got := onlyDescriptor([]byte{1}, "compare"); got != "" {
		t.Errorf("a damaged file has %q", got)
	}
}

// TestLowerBoundsAreMarked checks that a method that HotSpot may replace is marked if calls of it were counted.
func TestLowerBoundsAreMarked(t *testing.T) {
	replaced, unseen, plain := classfile.MethodRef{Class: "A", Name: "max"}, classfile.MethodRef{Class: "A", Name: "min"}, classfile.MethodRef{Class: "A", Name: "own"}
	s := &search{planner: newPlanner(Defaults()), indexes: map[classfile.MethodRef]int{replaced: 0, unseen: 1, plain: 2}}
	s.order = []*subject{{MethodRef: replaced, id: 1, calls: 3}, {MethodRef: unseen, id: 2}, {MethodRef: plain, id: 3, calls: 5}}
	c := &Climb{Methods: make([]cct.Method, 3)}
	s.markLowerBounds(c, map[uint32]*arena.Totals{1: {LowerBound: true}, 2: {LowerBound: true}, 3: {}})
	if !c.Methods[0].LowerBound || c.Methods[1].LowerBound || c.Methods[2].LowerBound || len(c.Notes) != 1 {
		t.Errorf("marked %+v, with the notes %q", c.Methods, c.Notes)
	}
}
