package drill

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

// stack returns a stack, the innermost method first.
func stack(methods ...string) *jfr.Stack {
	s := &jfr.Stack{}
	for _, name := range methods {
		dot := strings.LastIndexByte(name, '.')
		s.Frames = append(s.Frames, jfr.Frame{Method: &jfr.Method{Class: strings.ReplaceAll(name[:dot], ".", "/"), Name: name[dot+1:]}, Kind: jfr.C2})
	}
	return s
}

func TestStates(t *testing.T) {
	begin := time.Unix(100, 0)
	slow := transaction(call(web, 10*ms, call(pay, 40*ms)))
	slow.Root.Children[0].Start = 5 * ms
	normal := transaction(call(web, ms))
	at := func(after time.Duration, thread int64, wait jfr.Wait, methods ...string) jfr.Sample {
		return jfr.Sample{At: begin.Add(after), Wait: wait, Thread: &jfr.Thread{JavaID: thread}, Stack: stack(methods...)}
	}
	var e Evidence
	e.Add(slow, true)
	e.Add(normal, false)
	inLock := []string{"java.util.concurrent.locks.LockSupport.park", "java.util.concurrent.Semaphore.acquire", "a.Shop.pay", "a.Shop.handle"}
	e.AddSamples([]jfr.Sample{
		at(10*ms, 7, jfr.Parked, inLock...), at(20*ms, 7, jfr.Parked, inLock...), at(30*ms, 7, jfr.Parked, inLock...),
		at(35*ms, 7, jfr.Running, "a.Shop.pay", "a.Shop.handle"),
		at(20*ms, 8, jfr.Monitor, inLock...),                   // another thread
		at(2*ms, 7, jfr.Monitor, "a.Shop.handle"),              // not in the method yet
		at(2*time.Second, 7, jfr.Monitor, inLock...),           // in no slow call
		at(20*ms, 7, jfr.Sleeping, "b.Other.run", "b.Other.x"), // nothing of the path
	}, 10*ms, IsOn([]classfile.MethodRef{{Class: "a/Shop", Name: "handle"}}))
	tree := treeOf(slow, normal)
	path := []*Node{tree.Root, tree.Root.Children[0]}
	states := e.States(Choice{Path: path})
	if len(states) != 2 {
		t.Fatalf("got %+v, want two states", states)
	}
	if s := states[0]; s.Wait != jfr.Parked || s.Samples != 3 || s.Share.Part != 0.75 || s.Through != "java.util.concurrent.Semaphore.acquire" || s.In != "java.util.concurrent.locks.LockSupport.park" || s.InPart != 1 {
		t.Errorf("got %+v, want three samples parked in Semaphore.acquire", s)
	}
	if s := states[1]; s.Wait != jfr.Running || s.Samples != 1 || s.In != "" {
		t.Errorf("got %+v, want one sample of the method itself", s)
	}
	cause := tree.Explain(Choice{Path: path, Stop: OwnTime}, states, 0)
	if want := "a.Shop.pay waits in java.util.concurrent.Semaphore.acquire"; cause.Kind != Parks || cause.Text != want || !cause.IsWait() {
		t.Errorf("got %s: %q, want %q", cause.Kind, cause.Text, want)
	}
	var way []string
	for _, m := range e.OnTheWay(Choice{Path: path[:1]}, false) {
		way = append(way, m.Name)
	}
	if got := strings.Join(way, " "); got != "" {
		t.Errorf("got %s on the way from handle itself, want nothing: the samples are of a callee with a hook", got)
	}
	way = nil
	for _, m := range e.OnTheWay(Choice{Path: path}, false) {
		way = append(way, m.Name)
	}
	if got, want := strings.Join(way, " "), "acquire park"; got != want {
		t.Errorf("got %s on the way from pay, want %s", got, want)
	}
	e.Forget()
	if got := e.States(Choice{Path: path}); len(got) != 0 {
		t.Errorf("got %+v, want nothing", got)
	}
}

func TestExplain(t *testing.T) {
	tree := treeOf(append(repeated(5, func() *trace.Transaction { return transaction(call(web, ms)) }), repeated(5, func() *trace.Transaction { return transaction(call(web, 101*ms)) })...)...)
	state := func(wait jfr.Wait, through, in string) []State {
		return []State{{Wait: wait, Samples: 9, Through: through, In: in, InPart: 0.4}}
	}
	parked := func(lock *Lock) []State {
		return []State{{Wait: jfr.Parked, Through: "b.L.lock", In: "jdk.U.park", lock: lock}}
	}
	for want, test := range map[string]struct {
		stop   Stop
		states []State
		paused time.Duration
	}{
		"own time of a.Shop.handle": {OwnTime, state(jfr.Running, "", ""), 0},
		"own time of a.Shop.handle, most often in b.C.d, called through b.C.e":                   {OwnTime, state(jfr.Running, "b.C.e", "b.C.d"), 0},
		"own time of a.Shop.handle; no sample shows what it does":                                {OwnTime, nil, 0},
		"a.Shop.handle waits for a lock":                                                         {OwnTime, state(jfr.Monitor, "", ""), 0},
		"a.Shop.handle waits in b.L.lock":                                                        {OwnTime, parked(nil), 0},
		"a.Shop.handle waits in b.L.lock: b.Sync":                                                {OwnTime, parked(&Lock{Class: "b.Sync"}), 0},
		`a.Shop.handle waits for a lock in b.L.lock: b.Sync, held by thread "t"`:                 {OwnTime, parked(&Lock{Class: "b.Sync", Holder: "t"}), 0},
		`a.Shop.handle waits for a lock: an object, held by thread "t" in b.C.d`:                 {OwnTime, []State{{Wait: jfr.Monitor, lock: &Lock{Holder: "t", In: "b.C.d"}}}, 0},
		"a.Shop.handle sleeps in java.lang.Thread.sleep":                                         {OwnTime, state(jfr.Sleeping, "java.lang.Thread.sleep", "java.lang.Thread.sleep0"), 0},
		"a.Shop.handle waits for I/O in sun.nio.ch.Net.poll, called through b.Driver.read":       {OwnTime, state(jfr.IO, "b.Driver.read", "sun.nio.ch.Net.poll"), 0},
		"several callees of a.Shop.handle take longer, and none accounts for most of the excess": {Spread, nil, 0},
		"the cause is in a.Shop.handle or in its callees; the search ended too early to find it": {Unfinished, nil, 0},
		"a.Shop.handle no longer accounted for the excess when its callees had hooks":            {Changed, nil, 0},
		"the JVM stops threads, most likely to collect garbage, during a.Shop.handle":            {OwnTime, state(jfr.IO, "", ""), 60 * ms},
		"own time of a.Shop.handle, most often in b.C.f": { // it had no processor, because the JVM did not stop it
			OwnTime, append(state(jfr.InJVM, "b.C.d", "b.C.d"), state(jfr.Running, "b.C.f", "b.C.f")...), 10 * ms,
		},
		"own time of a.Shop.handle, most often in b.C.g": {OwnTime, state(jfr.InJVM, "b.C.g", "b.C.g"), 10 * ms},
	} {
		if got := tree.Explain(Choice{Path: []*Node{tree.Root}, Stop: test.stop}, test.states, test.paused); got.Text != want {
			t.Errorf("got %q, want %q", got.Text, want)
		}
	}
}

func TestPauses(t *testing.T) {
	begin := time.Unix(100, 0)
	var p Pauses
	p.Add(begin.Add(35*ms), begin.Add(45*ms), 30*ms) // from 10 to 40 ms
	p.Add(begin.Add(60*ms), begin.Add(70*ms), 0)
	p.Add(begin.Add(time.Hour), begin.Add(time.Hour+ms), ms)
	var e Evidence
	e.Add(transaction(call(web, 100*ms)), true)
	e.Add(transaction(call(web, 20*ms)), false)
	if got := e.Paused(p); got != 20*ms {
		t.Errorf("got %v, want 20ms: 30 of the slow call, and at most 10 of the normal one", got)
	}
}

func TestLocks(t *testing.T) {
	waiting := func(class, holder, method string) jfr.Sample {
		lock := &jfr.Lock{Class: class}
		if holder != "" {
			lock.Holder, lock.Held = &jfr.Thread{Name: holder}, stack("jdk.internal.misc.Unsafe.park", "java.lang.X.await", "a.Backup.run")
			lock.Held.Frames = slices.Insert(lock.Held.Frames, 0, jfr.Frame{Method: &jfr.Method{Class: "libc.so.6"}, Kind: jfr.Library})
		}
		return jfr.Sample{Wait: jfr.Monitor, Stack: stack(method), Lock: lock}
	}
	var e Evidence
	if got := e.Lock(); got != nil {
		t.Errorf("got %+v, want none", got)
	}
	e.AddSamples([]jfr.Sample{
		waiting("a/Lock", "", "a.Shop.pay"), waiting("a/Lock", "", "a.Shop.pay"), waiting("a/Lock", "backup", "a.Shop.pay"), waiting("a/Lock", "x", "a.Other.run"),
		waiting("a/Other", "x", "a.Shop.pay"), waiting("a/Other", "x", "a.Shop.pay"), {Stack: stack("a.Shop.pay")},
	}, ms, IsOn([]classfile.MethodRef{{Class: "a/Shop", Name: "pay"}}))
	most := e.Lock()
	if most == nil || most.Class != "a.Lock" || most.Holder != "backup" || most.Seen != 1 || strings.Join(most.Holding, " ") != "java.lang.X.await a.Backup.run" {
		t.Fatalf("got %+v, want the lock that backup has, seen once", most)
	}
	cause := &Cause{Kind: Locked, Class: "a.Shop", Method: "pay", Lock: most}
	cause.Describe()
	if want := `a.Shop.pay waits for a lock: a.Lock, held by thread "backup" in a.Backup.run`; cause.Text != want {
		t.Errorf("got %q, want %q", cause.Text, want)
	}
}

func TestSummary(t *testing.T) {
	r := Result{Methods: []string{"a.Shop.pay"}, Goal: 200 * ms, Took: time.Minute}
	if got, want := r.Summary()[0], "a.Shop.pay was not called in 60.0 s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Normal.Add(10 * ms)
	r.Normal.Add(30 * ms)
	if got, want := r.Summary()[0], "healthy: no call of a.Shop.pay took longer than 200 ms in 60.0 s; the slowest of 2 calls took 30.0 ms, the mean is 20.0 ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Cause = &Cause{Kind: Unsampled, Class: "a.Db", Method: "read", Share: 0.2}
	r.Cause.Describe()
	share := func(part float64) Contrast { return Contrast{Share: cct.Share{Part: part}} }
	r.Path = []Level{{Class: "a.Shop", Method: "pay", Contrast: share(1)}, {Class: "a.Book", Method: "add", Contrast: share(0.7)}, {Class: "a.Db", Method: "read", Contrast: share(0.2)}}
	r.Slow.Add(500 * ms)
	if got, want := r.Summary()[2], "a.Book.add accounts for 70 % of the excess; no method below it accounts for most of this"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := r.Summary()[0], "1 of 3 calls of a.Shop.pay took longer than 200 ms: 500 ms on average, the others 20.0 ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEntries(t *testing.T) {
	worker, vm := &jfr.Thread{Name: "worker", JavaID: 7}, &jfr.Thread{Name: "VM Thread"}
	deep := stack("java.lang.Thread.sleep", "a.F.f", "a.E.e", "a.D.d", "a.C.c", "lib.Pool.run", "a.B.b", "a.A.main", "java.lang.Thread.run")
	samples := []jfr.Sample{
		{Thread: worker, Stack: deep}, {Thread: worker, Stack: deep}, {Thread: worker, Stack: stack("a.G.g", "a.G$$Lambda+0x12.run", "java.lang.Thread.run")},
		{Thread: worker, Stack: stack("java.lang.Thread.sleep", "a.Rest.rest", "a.I.i"), Wait: jfr.Sleeping}, {Thread: worker, Stack: stack("a.J.j"), Wait: jfr.Monitor},
		{Thread: worker, Stack: stack("java.lang.Object.wait"), Wait: jfr.Notification},
		{Thread: vm, Stack: stack("a.H.h")}, {Thread: worker, Stack: stack("java.lang.Object.wait")}, {Thread: worker},
	}
	var got []string
	for _, m := range Entries(samples, func(class string) bool { return strings.HasPrefix(class, "a/") }) {
		got = append(got, m.Name)
	}
	if want := "b c d e g i j"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestTargets(t *testing.T) {
	begin := time.Unix(100, 0)
	at := func(after time.Duration, thread int64, wait jfr.Wait, methods ...string) jfr.Sample {
		s := jfr.Sample{At: begin.Add(after), Wait: wait, Thread: &jfr.Thread{OSID: thread}, Stack: stack(methods...)}
		s.Stack.Frames[0].Kind = jfr.Native
		return s
	}
	var seen Targets
	for _, one := range []struct {
		thread int64
		after  time.Duration
		name   string
	}{{1, 0, "bank:80"}, {1, 10 * ms, "bank:80"}, {1, 20 * ms, "client:99"}, {2, 0, "disk"}, {2, 10 * ms, ""}} {
		seen.Add(one.thread, begin.Add(one.after), one.name)
	}
	isPay := func(_, name string) bool { return name == "pay" }
	samples := []jfr.Sample{
		at(ms, 1, jfr.IO, "sun.Net.read", "a.Shop.pay"), at(12*ms, 1, jfr.IO, "sun.Net.read", "a.Shop.pay"), at(20*ms, 1, jfr.IO, "sun.Net.read", "a.Shop.answer"),
		at(0, 2, jfr.Running, "sun.Net.read", "a.Shop.pay"), at(50*ms, 2, jfr.IO, "sun.Net.read", "a.Shop.pay"), {At: begin},
	}
	if got := seen.Most(samples, isPay, 5*ms); got == nil || *got != (Target{"bank:80", 2}) {
		t.Errorf("got %+v, want bank:80 twice", got)
	}
	if got := seen.Most(samples[3:], isPay, 5*ms); got != nil {
		t.Errorf("got %+v, want none", got)
	}
	e := Evidence{samples: samples}
	if got, want := e.InIO(), []int64{1, 2}; !slices.Equal(got, want) {
		t.Errorf("got threads %v, want %v", got, want)
	}
}
