package drill

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

var recordedFrom = time.Unix(1_700_000_000, 0)

func recordedMethod(name string) *jfr.Method {
	return &jfr.Method{Class: "a/Shop", Name: name, Descriptor: "()V"}
}

// recorded returns a call of a thread, with times in milliseconds.
func recorded(thread int64, name string, from, to int) jfr.Call {
	at := func(millis int) time.Time { return recordedFrom.Add(time.Duration(millis) * ms) }
	return jfr.Call{Method: recordedMethod(name), Thread: jfr.Thread{JavaID: thread}, Start: at(from), Took: at(to).Sub(at(from))}
}

func newRecorded() *Recorded {
	return NewRecorded(func(m classfile.MethodRef) bool { return m.Class == "a/Shop" && m.Name == "serve" })
}

// spellTx writes a transaction as name duration self (callees).
func spellTx(tx *trace.Transaction) string {
	var spell func(c *trace.Call) string
	spell = func(c *trace.Call) string {
		text := fmt.Sprintf("%s %d %d", c.Method, c.Duration/ms, c.Self/ms)
		var inner []string
		for _, child := range c.Children {
			inner = append(inner, spell(child))
		}
		if len(inner) > 0 {
			text += " (" + strings.Join(inner, ", ") + ")"
		}
		return text
	}
	lost := ""
	if tx.Lost > 0 {
		lost = " lost"
	}
	return fmt.Sprintf("%d: %s%s", tx.Begin.Sub(recordedFrom)/ms, spell(tx.Root), lost)
}

func TestRecordedCallsBecomeTransactions(t *testing.T) {
	tests := []struct {
		name    string
		batches [][]jfr.Call // those of a thread in the order of their ends
		want    []string
	}{
		{"nothing", nil, nil},
		{"one call", [][]jfr.Call{{recorded(1, "serve", 0, 10)}}, []string{"0: serve 10 10"}},
		{"callees", [][]jfr.Call{{recorded(1, "c", 3, 5), recorded(1, "b", 2, 6), recorded(1, "d", 6, 8), recorded(1, "serve", 0, 10)}}, []string{"0: serve 10 4 (b 4 2 (c 2 2), d 2 2)"}},
		{"another thread", [][]jfr.Call{{recorded(2, "b", 2, 6), recorded(1, "serve", 0, 10)}}, []string{"0: serve 10 10"}},
		{"callees come before", [][]jfr.Call{{recorded(1, "b", 2, 6)}, {recorded(1, "serve", 0, 10)}}, []string{"0: serve 10 6 (b 4 4)"}},
		{"outside a root", [][]jfr.Call{{recorded(1, "b", 0, 4), recorded(1, "serve", 5, 10), recorded(1, "b", 11, 12)}}, []string{"5: serve 5 5"}},
		{"the same times", [][]jfr.Call{{recorded(1, "c", 0, 10), recorded(1, "b", 0, 10), recorded(1, "serve", 0, 10)}}, []string{"0: serve 10 0 (b 10 0 (c 10 10))"}},
		{"two calls", [][]jfr.Call{{recorded(1, "b", 1, 2), recorded(1, "serve", 0, 10), recorded(1, "b", 21, 23), recorded(1, "serve", 20, 30)}}, []string{"0: serve 10 9 (b 1 1)", "20: serve 10 8 (b 2 2)"}},
		{"recursion", [][]jfr.Call{{recorded(1, "serve", 2, 4), recorded(1, "serve", 0, 10)}}, []string{"0: serve 10 8 (serve 2 2)"}},
		{"recursion in two batches", [][]jfr.Call{{recorded(1, "serve", 2, 4)}, {recorded(1, "serve", 0, 10)}}, []string{"2: serve 2 2", "0: serve 10 8 (serve 2 2)"}},
		{"too many", [][]jfr.Call{slices.Repeat([]jfr.Call{recorded(1, "b", 2, 4)}, mostWaiting), {recorded(1, "b", 5, 6), recorded(1, "serve", 0, 10), recorded(1, "serve", 20, 30)}}, []string{"0: serve 10 9 (b 1 1) lost", "20: serve 10 10"}},
	}
	for _, test := range tests {
		r := newRecorded()
		var got []string
		for _, batch := range test.batches {
			for _, tx := range r.Add(batch) {
				got = append(got, spellTx(tx))
				if m, is := r.MethodOf(tx.Root.Spot); !is || m.Name != "serve" || !slices.Equal(r.Roots(), []classfile.MethodRef{m}) {
					t.Errorf("%s: the root is %v, want serve", test.name, m)
				}
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestShortCallsAreCounted(t *testing.T) {
	timing := func(at int, calls int64, mean time.Duration) jfr.Timing {
		return jfr.Timing{Method: recordedMethod("serve"), At: recordedFrom.Add(time.Duration(at) * ms), Calls: calls, Mean: mean}
	}
	tests := []struct {
		name    string
		timings []jfr.Timing
		from    int
		want    []Short
		rate    float64
	}{
		{"no timing before", []jfr.Timing{timing(100, 50, ms)}, 0, nil, 0},
		// of 12 calls that take 20 ms in all, one was traced, with 10 ms
		{"traced calls are left out", []jfr.Timing{timing(0, 0, 0), timing(100, 12, 20*ms/12)}, 0, []Short{{0, 11, 10 * ms / 11}}, 120},
		{"all were traced", []jfr.Timing{timing(0, 0, 0), timing(100, 1, 10*ms)}, 0, nil, 10},
		{"since then", []jfr.Timing{timing(0, 0, 0), timing(100, 12, ms), timing(200, 14, ms)}, 50, []Short{{0, 2, ms}}, 20},
		{"counted anew", []jfr.Timing{timing(0, 90, ms), timing(100, 12, ms)}, 0, nil, 0},
	}
	for _, test := range tests {
		r := newRecorded()
		r.Add([]jfr.Call{recorded(1, "serve", 50, 60)})
		got := r.AddTimings(test.timings, recordedFrom.Add(time.Duration(test.from)*ms))
		isSame := func(a, b Short) bool {
			return a.Spot == b.Spot && a.Calls == b.Calls && (a.Mean-b.Mean).Abs() < time.Microsecond
		}
		if !slices.EqualFunc(got, test.want, isSame) || math.Abs(r.Rate()-test.rate) > 0.01 {
			t.Errorf("%s: got %v, rate %v, want %v, %v", test.name, got, r.Rate(), test.want, test.rate)
		}
	}
}

func TestFrequentMethodsAreNotTraced(t *testing.T) {
	r := newRecorded()
	for name, calls := range map[string]int64{"serve": 10, "tiny": 900, "small": 60, "b": 20} {
		for i := range int64(2) {
			r.AddTimings([]jfr.Timing{{Method: recordedMethod(name), At: recordedFrom.Add(time.Duration(i) * time.Second), Calls: i * calls}}, recordedFrom)
		}
	}
	for most, want := range map[float64]string{1000: "", 500: "tiny", 80: "tiny small", 5: "tiny small b"} {
		var names []string
		for _, m := range r.TooFrequent(most, func(m classfile.MethodRef) bool { return m.Name == "serve" }) {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("at most %v calls: got %q, want %q", most, got, want)
		}
	}
}

// TestShortCallsAreNormal compares slow calls with normal ones that were too short to be traced.
func TestShortCallsAreNormal(t *testing.T) {
	r, tree := newRecorded(), NewTree(40*ms)
	tree.AddShort(Short{0, 5, 2 * ms})
	var calls Calls
	for _, tx := range r.Add([]jfr.Call{recorded(1, "pay", 10, 90), recorded(1, "serve", 0, 102)}) {
		tree.Add(tx)
		calls.Add(tx.Duration)
	}
	calls.AddShort(Short{0, 3, 2 * ms})
	if got := tree.Time(tree.Root); tree.Slow != 1 || tree.Normal != 5 || got.Slow != float64(102*ms) || got.Normal != float64(2*ms) || tree.Root.Method != "serve" {
		t.Errorf("got %+v of %d slow and %d normal calls, want 102 ms and 2 ms", got, tree.Slow, tree.Normal)
	}
	if pay := tree.Root.Children[0]; math.Abs(tree.Time(pay).Share.Part-0.8) > 0.001 {
		t.Errorf("got %+v, want pay with 80 %% of the excess", tree.Time(pay))
	}
	if calls.Calls != 4 || calls.Mean != 27*ms || calls.Longest != 102*ms {
		t.Errorf("got %+v, want 4 calls with a mean of 27 ms", calls)
	}
}

// TestTraceable samples slow calls of a root. Of each stack, the innermost method is the first one.
func TestTraceable(t *testing.T) {
	inlined := stack("a.Shop.tiny", "a.Shop.pay", "a.Shop.serve")
	inlined.Frames[0].Kind = jfr.Inlined
	tests := []struct {
		name  string
		stack *jfr.Stack
		own   string // prefix
		want  string
	}{
		{"own methods", stack("java.lang.Thread.sleep", "a.Bank.wait", "a.Shop.pay", "a.Shop.serve"), "a/", "pay wait"},
		{"the first method of a library", stack("lib.Row.next", "lib.Query.run", "a.Shop.pay", "a.Shop.serve"), "a/", "pay run"},
		{"called through the JDK", stack("lib.Row.next", "lib.Query.run", "java.util.List.forEach", "a.Shop.serve"), "a/", "run"},
		{"called back", stack("a.Shop.found", "lib.Row.next", "lib.Query.run", "a.Shop.serve"), "a/", "run found"},
		{"lambdas", stack("a.Bank.wait", "a.Shop.lambda$pay$0", "a.Shop.serve"), "a/", "wait"},
		{"inlined and innermost", inlined, "a/", "pay"},
		{"all", stack("lib.Row.next", "lib.Query.run", "a.Shop.serve"), "", "run next"},
	}
	for _, test := range tests {
		tree, tx := NewTree(40*ms), newRecorded().Add([]jfr.Call{recorded(1, "serve", 0, 100)})[0]
		tree.Add(tx)
		var e Evidence
		e.Add(tx, true)
		sample := jfr.Sample{At: tx.Begin.Add(50 * ms), Thread: &jfr.Thread{JavaID: 1}, Stack: test.stack}
		e.AddSamples([]jfr.Sample{sample, sample}, 10*ms, IsOn([]classfile.MethodRef{{Class: "a/Shop", Name: "serve"}}))
		var names []string
		for _, m := range e.Traceable(Choice{Path: []*Node{tree.Root}, tree: tree}, true, func(class string) bool { return strings.HasPrefix(class, test.own) }) {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
