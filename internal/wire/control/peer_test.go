package control

import (
	"context"
	"errors"
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// agent is the other end, played by a test. It does what the test asks, right or
// wrong, and nothing by itself.
type agent struct {
	t      testing.TB
	conn   net.Conn
	reader *lineReader
	mu     sync.Mutex // of writing
}

func newAgent(t testing.TB, conn net.Conn) *agent {
	t.Cleanup(func() { conn.Close() })
	return &agent{t: t, conn: conn, reader: newLineReader(conn)}
}

// send ignores that Sonde has hung up: tests ask Sonde for that.
func (a *agent) send(kind Kind, request uint32, body any) {
	data, err := encode(kind, request, body)
	if err != nil {
		a.t.Errorf("the agent's %v: %v", kind, err)
		return
	}
	a.raw(data)
}

func (a *agent) raw(data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = a.conn.Write(data)
}

// receive waits for a frame of a kind; others are not expected.
func (a *agent) receive(kind Kind) frame {
	a.t.Helper()
	f, err := readFrame(a.reader, MaxFrame)
	if err != nil || f.kind != kind {
		a.t.Errorf("the agent wants %v and gets %v: %v", kind, f.kind, err)
	}
	return f
}

func (a *agent) hello(token string) {
	a.send(KindHello, 2, hello{Protocol, token, "b1", "17.0.15", "java.lang.SondeRt"})
}

// join does all that an agent does until its session has begun.
func (a *agent) join(s Secrets) {
	a.t.Helper()
	a.hello(s.Token)
	f := a.receive(KindWelcome)
	said, err := decode[welcome](f)
	if err != nil || said.Proof != s.Proof || f.request != 2 {
		a.t.Errorf("the welcome %d is %+v: %v", f.request, said, err)
	}
	a.send(KindDone, a.receive(KindPing).request, nothing{})
}

// serve answers requests, each by its own goroutine, until the connection ends.
func (a *agent) serve(answer func(f frame)) {
	for {
		f, err := readFrame(a.reader, MaxFrame)
		if err != nil {
			return
		}
		if f.kind == KindPing {
			a.send(KindDone, f.request, nothing{})
			continue
		}
		go answer(f)
	}
}

// pipes is a listener whose callers are in this process.
type pipes struct {
	calls  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{calls: make(chan net.Conn), closed: make(chan struct{})} }

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-l.calls:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// dial is nil when the door is shut.
func (l *pipes) dial(t testing.TB) *agent {
	here, there := net.Pipe()
	select {
	case l.calls <- here:
		return newAgent(t, there)
	case <-l.closed:
		return nil
	}
}

// quiet is a lease so long that no ping comes between.
const quiet = 24 * time.Hour

// accept runs Accept aside.
func accept(ctx context.Context, d *Door, check func(net.Conn) error) func() (*Peer, error) {
	var p *Peer
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		p, err = d.Accept(ctx, check)
	}()
	return func() (*Peer, error) {
		<-done
		return p, err
	}
}

// connect gives both ends of a session that has just begun.
func connect(t testing.TB, s Settings) (*Peer, *agent) {
	t.Helper()
	if s.Lease == 0 {
		s.Lease = quiet
	}
	l, secrets := newPipes(), NewSecrets()
	accepted := accept(t.Context(), Listen(l, secrets, s), nil)
	a := l.dial(t)
	a.join(secrets)
	p, err := accepted()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, a
}

// TestCommands holds what each method asks, and what it makes of the answer.
func TestCommands(t *testing.T) {
	type reply struct {
		kind Kind
		body any
	}
	installed := Installed{5, []uint32{2}, "VerifyError"}
	restored := Restored{5, 6, true, []string{"a remark"}}
	one, two := Class{1, 0, Modifiable, "a.A"}, Class{2, 3, Interface, "b.B"}
	done := []reply{{KindDone, nothing{}}}
	for _, tt := range []struct {
		kind    Kind
		body    any
		replies []reply
		want    any
		call    func(ctx context.Context, p *Peer) (any, error)
	}{
		{KindPing, nothing{}, done, nil, func(ctx context.Context, p *Peer) (any, error) { return nil, p.Ping(ctx) }},
		{KindMap, mapping{"/a", 1, 2}, done, nil, func(ctx context.Context, p *Peer) (any, error) { return nil, p.Map(ctx, "/a", 1, 2) }},
		{KindProbes, []uint64{1, 2}, done, nil, func(ctx context.Context, p *Peer) (any, error) { return nil, p.Probes(ctx, []uint64{1, 2}) }},
		{KindProbes, []uint64{}, done, nil, func(ctx context.Context, p *Peer) (any, error) { return nil, p.Probes(ctx, nil) }},
		{KindSwitch, []uint64{3}, done, nil, func(ctx context.Context, p *Peer) (any, error) { return nil, p.Switch(ctx, []uint64{3}) }},
		{KindWatch, view{[]Filter{{"a", "b"}}, []string{"c"}}, done, nil,
			func(ctx context.Context, p *Peer) (any, error) {
				return nil, p.Watch(ctx, []Filter{{"a", "b"}}, []string{"c"})
			}},
		{KindWatches, Watches{true, true, []uint64{1, 2, 3, 4}, []Anchor{{"a/B.c()V", 5}}, []string{"a/B.d()V"}}, done, nil,
			func(ctx context.Context, p *Peer) (any, error) {
				return nil, p.Watches(ctx, Watches{true, true, []uint64{1, 2, 3, 4}, []Anchor{{"a/B.c()V", 5}}, []string{"a/B.d()V"}})
			}},
		{KindFollow, true, done, nil, func(ctx context.Context, p *Peer) (any, error) { return nil, p.Follow(ctx, true) }},
		{KindThreads, nothing{}, []reply{{KindNamed, []Thread{{1, "main"}}}}, []Thread{{1, "main"}},
			func(ctx context.Context, p *Peer) (any, error) { return p.Threads(ctx) }},
		{KindCalibrate, Calibration{7, 1, BodyDependent, 2}, []reply{{KindCalibrated, []Run{{8, 9, 10, 11}}}}, []Run{{8, 9, 10, 11}},
			func(ctx context.Context, p *Peer) (any, error) {
				return p.Calibrate(ctx, Calibration{7, 1, BodyDependent, 2})
			}},
		{KindInstall, []uint32{1, 2}, []reply{{KindInstalled, installed}}, installed,
			func(ctx context.Context, p *Peer) (any, error) { return p.Install(ctx, []uint32{1, 2, 1}) }},
		{KindRestore, nothing{}, []reply{{KindRestored, restored}}, restored,
			func(ctx context.Context, p *Peer) (any, error) { return p.Restore(ctx) }},
		{KindList, nothing{}, []reply{{KindClasses, classes{false, []Class{one}}}, {KindClasses, classes{true, []Class{two}}}}, []Class{one, two},
			func(ctx context.Context, p *Peer) (any, error) { return p.List(ctx) }},
		{KindSees, []uint32{1, 2}, []reply{{KindSeen, []sight{{2, ""}, {1, "isolated"}}}}, map[uint32]string{1: "isolated", 2: ""},
			func(ctx context.Context, p *Peer) (any, error) { return p.Sees(ctx, []uint32{1, 2}) }},
		{KindFetch, []uint32{1, 2}, []reply{{KindOriginal, original{2, true, []byte("file"), nil}}, {KindOriginal, original{1, false, []byte("why"), []string{"a/B", "c/D"}}}, {KindDone, nothing{}}},
			map[uint32]string{1: "a/B c/D", 2: "file"},
			func(ctx context.Context, p *Peer) (any, error) {
				got := map[uint32]string{}
				err := p.Fetch(ctx, []uint32{1, 2}, func(handle uint32, file []byte, supers []string) {
					got[handle] += string(file) + strings.Join(supers, " ")
				})
				return got, err
			}},
	} {
		p, a := connect(t, Settings{})
		go func() {
			f := a.receive(tt.kind)
			if f.request%2 != 1 || !slices.Equal(f.body, bodyOf(t, tt.kind, tt.body)) {
				t.Errorf("%v %d: % x", tt.kind, f.request, f.body)
			}
			for _, r := range tt.replies {
				a.send(r.kind, f.request, r.body)
			}
			f = a.receive(tt.kind)
			a.send(KindFailed, f.request, "no\nway")
		}()
		got, err := tt.call(t.Context(), p)
		if err != nil || tt.want != nil && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%v: %+v, %v", tt.kind, got, err)
		}
		var failed *FailedError
		if _, err = tt.call(t.Context(), p); !errors.As(err, &failed) || failed.Asked != tt.kind || p.Err() != nil {
			t.Errorf("%v that fails: %v, then %v", tt.kind, err, p.Err())
		}
		p.Close()
	}
}

// TestTextsForTheUserAreCut: a hostile agent does not fill the terminal.
func TestTextsForTheUserAreCut(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	p, a := connect(t, Settings{})
	go func() {
		a.send(KindFailed, a.receive(KindPing).request, long)
		a.send(KindInstalled, a.receive(KindInstall).request, Installed{Err: long})
		a.send(KindSeen, a.receive(KindSees).request, []sight{{1, long}})
		a.send(KindRestored, a.receive(KindRestore).request, Restored{Remarks: []string{long}})
	}()
	failed := p.Ping(t.Context())
	installed, err1 := p.Install(t.Context(), []uint32{1})
	seen, err2 := p.Sees(t.Context(), []uint32{1})
	restored, err3 := p.Restore(t.Context())
	if failed == nil || errors.Join(err1, err2, err3) != nil || len(restored.Remarks) != 1 {
		t.Fatalf("%.100v, %.100v", failed, errors.Join(err1, err2, err3))
	}
	for what, text := range map[string]string{"FAILED": failed.Error(), "INSTALLED": installed.Err, "SEEN": seen[1], "RESTORED": restored.Remarks[0]} {
		if len(text) > 2*maxNotice || len(text) < 1000 {
			t.Errorf("%s: %d bytes, want a few thousand", what, len(text))
		}
	}
}

func TestBye(t *testing.T) {
	p, a := connect(t, Settings{})
	restored := Restored{5, 6, false, []string{"a thread is in a hook"}}
	go func() {
		a.send(KindRestored, a.receive(KindBye).request, restored)
		a.conn.Close()
	}()
	got, err := p.Bye(t.Context(), func(Restoring) {})
	if err != nil || !reflect.DeepEqual(got, restored) {
		t.Errorf("%+v, %v", got, err)
	}
	<-p.Done()
	if err := p.Err(); !errors.Is(err, ErrLost) || !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := p.Bye(t.Context(), func(Restoring) {}); !errors.Is(err, ErrLost) {
		t.Errorf("a second bye: %v", err)
	}
}

func TestProbesArePowersOfTwo(t *testing.T) {
	p, _ := connect(t, Settings{})
	if err := p.Probes(t.Context(), make([]uint64, 3)); err == nil || p.Err() != nil {
		t.Errorf("%v, then %v", err, p.Err())
	}
}

// TestFetchIsBatched asks for more than is asked for at a time.
func TestFetchIsBatched(t *testing.T) {
	p, a := connect(t, Settings{})
	go a.serve(func(f frame) {
		asked, err := decode[[]uint32](f)
		if err != nil || len(asked) > fetchBatch {
			t.Errorf("%d handles, %v", len(asked), err)
		}
		for _, handle := range asked {
			a.send(KindOriginal, f.request, original{handle, true, []byte{1}, nil})
		}
		a.send(KindDone, f.request, nothing{})
	})
	want, got := map[uint32]int{}, map[uint32]int{}
	var list []uint32
	for handle := range uint32(5*fetchBatch + 1) {
		list = append(list, handle+1, handle+1)
		want[handle+1] = 1
	}
	if err := p.Fetch(t.Context(), list, func(handle uint32, _ []byte, _ []string) { got[handle]++ }); err != nil || !maps.Equal(got, want) {
		t.Errorf("%d of %d classes, %v", len(got), len(want), err)
	}
}

// TestMisbehaviourEndsTheSession holds that every waiter gets the reason.
func TestMisbehaviourEndsTheSession(t *testing.T) {
	list := func(ctx context.Context, p *Peer) error { _, err := p.List(ctx); return err }
	sees := func(ctx context.Context, p *Peer) error { _, err := p.Sees(ctx, []uint32{1, 2}); return err }
	install := func(ctx context.Context, p *Peer) error { _, err := p.Install(ctx, []uint32{1}); return err }
	fetch := func(ctx context.Context, p *Peer) error {
		return p.Fetch(ctx, []uint32{1, 2}, func(uint32, []byte, []string) {})
	}
	classesBefore, namesBefore, fetchedBefore := maxClasses, maxNames, maxFetched
	maxClasses, maxNames, maxFetched = 4, 1000, 1000
	defer func() { maxClasses, maxNames, maxFetched = classesBefore, namesBefore, fetchedBefore }()
	for name, tt := range map[string]struct {
		call   func(context.Context, *Peer) error
		say    func(a *agent, request uint32)
		reason error
	}{
		"hangs up":         {list, func(a *agent, _ uint32) { a.conn.Close() }, ErrHungUp},
		"dies in a frame":  {list, func(a *agent, _ uint32) { a.raw([]byte{0, 0, 0, 9, byte(KindNotice)}); a.conn.Close() }, ErrTruncated},
		"oversized":        {list, func(a *agent, _ uint32) { a.raw([]byte{4, 0, 0, 1}) }, ErrTooLong},
		"unknown kind":     {list, func(a *agent, n uint32) { a.raw([]byte{0, 0, 0, 5, 99, 0, 0, 0, byte(n)}) }, ErrUnknownKind},
		"sonde's kind":     {list, func(a *agent, n uint32) { a.send(KindPing, n, nothing{}) }, ErrOutOfTurn},
		"says hello again": {list, func(a *agent, _ uint32) { a.hello("") }, ErrOutOfTurn},
		"refuses late":     {list, func(a *agent, _ uint32) { a.send(KindRefused, 0, "x") }, ErrOutOfTurn},
		"reply to nothing": {list, func(a *agent, n uint32) { a.send(KindDone, n+2, nothing{}) }, ErrOutOfTurn},
		"reply to none":    {list, func(a *agent, _ uint32) { a.send(KindDone, 0, nothing{}) }, ErrOutOfTurn},
		"old reply again":  {list, func(a *agent, n uint32) { a.send(KindDone, n-4, nothing{}) }, ErrOutOfTurn},
		"wrong reply":      {list, func(a *agent, n uint32) { a.send(KindSeen, n, []sight{}) }, ErrOutOfTurn},
		"malformed reply":  {list, func(a *agent, n uint32) { a.send(KindClasses, n, "xx") }, ErrMalformed},
		"handle 0":         {list, func(a *agent, n uint32) { a.send(KindClasses, n, classes{true, []Class{{Name: "x"}}}) }, ErrMalformed},
		"a class twice":    {list, func(a *agent, n uint32) { a.send(KindClasses, n, classes{true, []Class{{Handle: 1}, {Handle: 1}}}) }, ErrMalformed},
		"a long name": {list, func(a *agent, n uint32) {
			a.send(KindClasses, n, classes{true, []Class{{Handle: 1, Name: strings.Repeat("x", maxName+1)}}})
		}, ErrTooLong},
		"long names": {list, func(a *agent, n uint32) {
			a.send(KindClasses, n, classes{false, []Class{{Handle: 1, Name: strings.Repeat("x", 600)}}})
			a.send(KindClasses, n, classes{true, []Class{{Handle: 2, Name: strings.Repeat("x", 600)}}})
		}, ErrTooLong},
		"many classes": {list, func(a *agent, n uint32) {
			a.send(KindClasses, n, classes{true, []Class{{Handle: 1}, {Handle: 2}, {Handle: 3}, {Handle: 4}, {Handle: 5}}})
		}, ErrTooLong},
		"large classes": {fetch, func(a *agent, n uint32) {
			a.send(KindOriginal, n, original{1, true, make([]byte, 600), nil})
			a.send(KindOriginal, n, original{2, true, make([]byte, 600), nil})
			a.send(KindDone, n, nothing{})
		}, ErrTooLong},
		"malformed fail":   {list, func(a *agent, n uint32) { a.send(KindFailed, n, nothing{}) }, ErrMalformed},
		"malformed notice": {list, func(a *agent, _ uint32) { a.send(KindNotice, 0, nothing{}) }, ErrMalformed},
		"sees too few":     {sees, func(a *agent, n uint32) { a.send(KindSeen, n, []sight{{1, ""}}) }, ErrOutOfTurn},
		"sees one twice":   {sees, func(a *agent, n uint32) { a.send(KindSeen, n, []sight{{1, ""}, {1, ""}}) }, ErrOutOfTurn},
		"gone, not asked":  {install, func(a *agent, n uint32) { a.send(KindInstalled, n, Installed{Gone: []uint32{3}}) }, ErrOutOfTurn},
		"fetches too few":  {fetch, func(a *agent, n uint32) { a.send(KindDone, n, nothing{}) }, ErrOutOfTurn},
		"fetches another":  {fetch, func(a *agent, n uint32) { a.send(KindOriginal, n, original{3, true, []byte{1}, nil}) }, ErrOutOfTurn},
		"an empty class":   {fetch, func(a *agent, n uint32) { a.send(KindOriginal, n, original{1, true, nil, nil}) }, ErrMalformed},
		"done with more":   {fetch, func(a *agent, n uint32) { a.send(KindDone, n, "") }, ErrMalformed},
		"odd transform":    {list, func(a *agent, n uint32) { a.send(KindTransform, n, Transform{}) }, ErrOutOfTurn},
		"transform 0":      {list, func(a *agent, _ uint32) { a.send(KindTransform, 0, Transform{}) }, ErrOutOfTurn},
		"bad transform":    {list, func(a *agent, _ uint32) { a.send(KindTransform, 4, nothing{}) }, ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			p, a := connect(t, Settings{})
			other := make(chan error, 1)
			go func() { other <- p.Map(t.Context(), "/never/answered", 0, 0) }()
			a.receive(KindMap)
			go func() {
				f, err := readFrame(a.reader, MaxFrame)
				if err != nil {
					t.Error(err)
				}
				tt.say(a, f.request)
			}()
			said := tt.call(t.Context(), p)
			if said == nil {
				t.Fatal("it was not noticed")
			}
			for _, err := range []error{said, <-other, p.Err(), p.Ping(t.Context())} {
				var lost *LostError
				if !errors.Is(err, ErrLost) || !errors.Is(err, tt.reason) || !errors.As(err, &lost) || strings.Contains(err.Error(), "\n") {
					t.Error(err)
				}
			}
			<-p.Done()
			a.cutOff(name)
		})
	}
}

func TestDuplicateReply(t *testing.T) {
	p, a := connect(t, Settings{})
	go func() {
		f := a.receive(KindPing)
		a.send(KindDone, f.request, nothing{})
		a.send(KindDone, f.request, nothing{})
	}()
	if err := p.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	<-p.Done()
	if err := p.Err(); !errors.Is(err, ErrOutOfTurn) {
		t.Error(err)
	}
}

// TestCloseEndsWaiting also when the agent no longer reads.
func TestCloseEndsWaiting(t *testing.T) {
	p, _ := connect(t, Settings{})
	const waiters = 3 * outgoing
	results := make(chan error, waiters)
	for range waiters {
		go func() { results <- p.Ping(t.Context()) }()
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	for range waiters {
		if err := <-results; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
}

// TestAbandonedRequest holds that the late answer to one is taken as such.
func TestAbandonedRequest(t *testing.T) {
	p, a := connect(t, Settings{})
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() {
		_, err := p.List(ctx)
		given <- err
	}()
	late := a.receive(KindList)
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) || errors.Is(err, ErrLost) {
		t.Error(err)
	}
	if err := p.Ping(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("asked with a context that has ended: %v", err)
	}
	go func() {
		a.send(KindClasses, late.request, classes{})
		a.send(KindClasses, late.request, classes{Last: true})
		a.send(KindDone, a.receive(KindPing).request, nothing{})
	}()
	if err := p.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if len(p.requests.open) > 0 {
		t.Errorf("%d requests are left", len(p.requests.open))
	}
}

func TestSilentAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a := connect(t, Settings{Silence: 30 * time.Second})
		started := time.Now()
		go a.receive(KindList)
		if _, err := p.List(t.Context()); !errors.Is(err, ErrSilent) || time.Since(started) != 30*time.Second {
			t.Errorf("after %v: %v", time.Since(started), err)
		}
	})
}

// TestAgentThatDoesNotRead is silent, too.
func TestAgentThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a := connect(t, Settings{Silence: 30 * time.Second})
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Second):
					a.send(KindNotice, 0, "I live")
				}
			}
		}()
		if err := p.Ping(t.Context()); !errors.Is(err, ErrSilent) {
			t.Error(err)
		}
		close(stop)
	})
}

// TestLeaseIsKept counts signs of life on a clock of its own.
func TestLeaseIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a := connect(t, Settings{Lease: 4 * time.Second})
		last := time.Now()
		for range 10 {
			f := a.receive(KindPing)
			if gap := time.Since(last); gap > time.Second {
				t.Errorf("a gap of %v", gap)
			}
			last = time.Now()
			a.send(KindDone, f.request, nothing{})
		}
		p.Close()
		a.cutOff("an agent after the end")
	})
}

func TestRequestNumbersComeRound(t *testing.T) {
	p, a := connect(t, Settings{})
	go a.serve(func(frame) {})
	p.requests.mu.Lock()
	p.requests.last = 1<<32 - 3
	p.requests.open[1] = &answer{peer: p, asked: KindList}
	p.requests.mu.Unlock()
	for _, want := range []uint32{1<<32 - 1, 3} {
		answer, err := p.ask(t.Context(), KindPing, nothing{})
		if err != nil || answer.number != want {
			t.Errorf("number %d instead of %d, %v", answer.number, want, err)
		}
	}
}
