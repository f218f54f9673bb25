package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/bench/jfluid"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A subject is a program to be profiled, and from where.
type subject struct {
	name       string
	work       string // the Java class
	classpath  string
	options    []string
	operations []string // what counts as one
	roots      []jfluid.Root
	into       string // the classes that get hooks
}

var subjects = []subject{
	{
		name: "H2", work: "H2Work", classpath: "/usr/share/java/h2.jar",
		operations: []string{
			"org/h2/jdbc/JdbcPreparedStatement.executeQuery()Ljava/sql/ResultSet;",
			"org/h2/jdbc/JdbcPreparedStatement.executeUpdate()I",
		},
		roots: []jfluid.Root{
			{Class: "org.h2.jdbc.JdbcPreparedStatement", Method: "executeQuery", Descriptor: "()Ljava/sql/ResultSet;"},
			{Class: "org.h2.jdbc.JdbcPreparedStatement", Method: "executeUpdate", Descriptor: "()I"},
		},
		into: "org.h2.**",
	},
	{
		name: "javac", work: "JavacTree", options: []string{"-Dtree=test/programs/src17", "-Dcopies=2"},
		operations: []string{"sources", "classes"},
		roots: []jfluid.Root{{
			Class: "com.sun.tools.javac.main.JavaCompiler", Method: "compile",
			Descriptor: "(Ljava/util/Collection;Ljava/util/Collection;Ljava/lang/Iterable;Ljava/util/Collection;)V",
		}},
		into: "com.sun.tools.javac.**",
	},
}

// patterns are the roots as Sonde names them.
func (s subject) patterns() []string {
	var all []string
	for _, root := range s.roots {
		all = append(all, root.Class+"."+root.Method)
	}
	return all
}

// A program runs a subject and keeps what it says.
type program struct {
	process *exec.Cmd
	in      io.Closer
	errors  bytes.Buffer // to be read when it has ended
	ended   chan struct{}

	lock sync.Mutex
	said track
}

func (s subject) start(jdk jvmtest.JDK, classes string, more ...string) (*program, error) {
	arguments := slices.Concat([]string{"-Xms512m", "-Xmx512m", "-XX:+UseSerialGC"}, s.options, more,
		[]string{"-cp", classes + ":" + s.classpath, "Steady", s.work}, s.operations)
	p := &program{process: exec.Command(jdk.Tool("java"), arguments...), ended: make(chan struct{})}
	in, err := p.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.process.Stderr = in, &p.errors
	if err := p.process.Start(); err != nil {
		return nil, err
	}
	go p.listen(out)
	return p, nil
}

func (p *program) pid() int { return p.process.Process.Pid }

// listen keeps samples; JVM and engine may print other lines.
func (p *program) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "at ") {
			continue
		}
		if s, err := parseSample(lines.Text()); err == nil {
			p.lock.Lock()
			p.said = append(p.said, s)
			p.lock.Unlock()
		}
	}
	_ = p.process.Wait() // how it ended does not matter: that it did is seen by who needs it
	close(p.ended)
}

func (p *program) track() track {
	p.lock.Lock()
	defer p.lock.Unlock()
	return slices.Clone(p.said)
}

// run lets it run for a time.
func (p *program) run(ctx context.Context, length time.Duration) error {
	select {
	case <-time.After(length):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ended:
		first, _, _ := bytes.Cut(bytes.TrimSpace(p.errors.Bytes()), []byte("\n"))
		return errors.Join(errEnded, errors.New(string(first)))
	}
}

var errEnded = errors.New("the program ended by itself")

func (p *program) close() {
	_ = p.in.Close() // which ends it
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		_ = p.process.Process.Kill()
		<-p.ended
	}
}

// Lengths are how long the parts of a phase take.
type lengths struct {
	warm      time.Duration // processor time each program has at least before its first phase
	warmest   time.Duration // how long they are waited for to become steady
	before    time.Duration // without hooks, before and after
	settle    time.Duration // with all hooks in, before that counts
	measuring time.Duration
	recovery  time.Duration // after hooks went out, at least before that counts
	patience  time.Duration // how long a whole round is waited for in each part, and recovery
}

// A stand is a program with its twin, side by side, warm.
type stand struct {
	touched, twin *program
	lengths       lengths
	warmed        string
	since         time.Duration // nobody touched the program since
}

// newStand starts both and warms them up, after the one was profiled where it is to be again.
func newStand(ctx context.Context, b bed, l lengths, options ...string) (*stand, error) {
	touched, err := b.subject.start(b.jdk, b.classes, options...)
	if err != nil {
		return nil, err
	}
	twin, err := b.subject.start(b.jdk, b.classes, options...)
	if err != nil {
		touched.close()
		return nil, err
	}
	both := &stand{touched: touched, twin: twin, lengths: l}
	if b.options.together {
		err = both.shareProcessor(ctx)
	}
	if b.options.again && err == nil {
		leave := func(context.Context, time.Duration) error { return nil }
		_, err = b.options.auto().profile(ctx, touched.pid(), b.subject, leave)
	}
	if err == nil {
		err = both.warm(ctx)
	}
	if err != nil {
		both.close()
		return nil, err
	}
	both.since = now()
	return both, nil
}

func (s *stand) close() {
	s.touched.close()
	s.twin.close()
}

func (s *stand) pair() pair { return pair{s.touched.track(), s.twin.track()} }

// wait lets both run until a moment, and on until each has ended a whole round
// since another, but not for longer than there is patience.
func (s *stand) wait(ctx context.Context, from, until time.Duration) error {
	const look = 100 * time.Millisecond
	for {
		at := now()
		if p := s.pair(); at >= until && (at >= until+s.lengths.patience || len(p.touched.ends(from, at)) > 1 && len(p.twin.ends(from, at)) > 1) {
			return nil
		}
		if err := s.touched.run(ctx, look); err != nil {
			return err
		}
		if err := s.twin.run(ctx, 0); err != nil {
			return fmt.Errorf("twin: %w", err)
		}
	}
}

// recover waits until the program goes at its old pace again, for the processor
// time it has, and says since when. What it has lost until then is the profiler's
// doing; a program that does not recover is taken as it is.
func (s *stand) recover(ctx context.Context, gone, since, begin time.Duration) (time.Duration, error) {
	const look, enough = 2 * time.Second, 0.95
	before, err := s.pair().share(since, begin)
	if err != nil {
		return 0, fmt.Errorf("before: %w", err)
	}
	for back := gone + s.lengths.recovery; ; {
		if err := s.wait(ctx, back, back+look); err != nil {
			return 0, err
		}
		after, err := s.pair().share(back, now())
		if err == nil && after.cpu >= enough*before.cpu || now() > gone+s.lengths.recovery+s.lengths.patience {
			return back, nil
		}
		back = now()
	}
}

// phase profiles the program for as long as single figures need.
func (s *stand) phase(ctx context.Context, p profiler, target subject) (*figure, error) {
	return s.profiled(ctx, p, target, time.Second, func(time.Duration) stay {
		return func(ctx context.Context, woven time.Duration) error {
			if woven == 0 {
				woven = now()
			}
			from := woven + s.lengths.settle
			return s.wait(ctx, from, from+s.lengths.measuring)
		}
	})
}

// long has a profiler stay so long, from when it came.
func (s *stand) long(ctx context.Context, p profiler, target subject, length time.Duration) (*figure, error) {
	const windows = 20
	return s.profiled(ctx, p, target, length/windows, func(began time.Duration) stay {
		return func(ctx context.Context, _ time.Duration) error {
			return s.touched.run(ctx, max(began+length-now(), 0))
		}
	})
}

// profiled lets the program run without hooks, profiles it, and lets it run again.
func (s *stand) profiled(ctx context.Context, p profiler, target subject, window time.Duration, from func(began time.Duration) stay) (*figure, error) {
	l := s.lengths
	if err := s.wait(ctx, s.since, s.since+l.before); err != nil {
		return nil, err
	}
	begin := now()
	c, err := p.profile(ctx, s.touched.pid(), target, from(begin))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name(), err)
	}
	if !c.rootSeen {
		return nil, fmt.Errorf("%s: it saw no call of the root", p.name())
	}
	back, err := s.recover(ctx, c.gone, s.since, begin)
	if err != nil {
		return nil, fmt.Errorf("after %s: %w", p.name(), err)
	}
	if err := s.wait(ctx, back, back+l.before); err != nil {
		return nil, fmt.Errorf("after %s: %w", p.name(), err)
	}
	since := s.since
	s.since = back
	f, err := s.pair().figure(c, plan{since: since, begin: begin, back: back, end: now(), settle: l.settle, window: window})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name(), err)
	}
	f.warm = s.warmed
	return f, nil
}

// A sample is what a program said of itself at a moment.
type sample struct {
	at     time.Duration // of the monotonic clock
	done   int64         // operations so far
	cpu    time.Duration // processor time of the thread that works
	rounds int64
}

func parseSample(line string) (sample, error) {
	var s sample
	_, err := fmt.Sscanf(line, "at %d %d %d %d", &s.at, &s.done, &s.cpu, &s.rounds)
	return s, err
}

// A track is all a program said, in order.
type track []sample

// used is the processor time the program had.
func (t track) used() time.Duration {
	if len(t) == 0 {
		return 0
	}
	return t[len(t)-1].cpu
}

// A pace is how fast a program went for a while.
type pace struct {
	wall float64 // operations a second
	cpu  float64 // operations a second of processor time
	took time.Duration
}

var errNoSamples = errors.New("the program said too little of itself in that time: try longer phases")

// pace is that between two moments. The parts of a round differ, so where rounds
// are long, whole ones are taken: those that began and ended in that time, or if
// there is none, those that were under way at both moments.
func (t track) pace(from, until time.Duration) (pace, error) {
	within := t.ends(from, until)
	if len(within) < 2 {
		within = t.around(from, until)
	}
	if len(within) < 2 {
		return pace{}, errNoSamples
	}
	return paceOf(within[0], within[len(within)-1]), nil
}

// cut is the pace between two moments, whatever part of a round that is.
func (t track) cut(from, until time.Duration) (pace, error) {
	first, err := t.at(from)
	if err != nil {
		return pace{}, err
	}
	last, err := t.at(until)
	if err != nil {
		return pace{}, err
	}
	return paceOf(first, last), nil
}

func paceOf(first, last sample) pace {
	done := float64(last.done - first.done)
	p := pace{took: last.at - first.at}
	p.wall = done / p.took.Seconds()
	if used := last.cpu - first.cpu; used > 0 {
		p.cpu = done / used.Seconds()
	}
	return p
}

// ends are the samples in that time at which a round had ended since the one
// before. Of a program with short rounds that is nearly every one.
func (t track) ends(from, until time.Duration) track {
	var ends track
	for i := 1; i < len(t); i++ {
		if t[i].at >= from && t[i].at <= until && t[i].rounds > t[i-1].rounds {
			ends = append(ends, t[i])
		}
	}
	return ends
}

// around are the last end of a round before that time and the first after it.
func (t track) around(from, until time.Duration) track {
	ends := t.ends(0, 1<<62)
	first := slices.IndexFunc(ends, func(s sample) bool { return s.at > from }) - 1
	last := slices.IndexFunc(ends, func(s sample) bool { return s.at >= until })
	if first < 0 || last <= first {
		return nil
	}
	return track{ends[first], ends[last]}
}

// windows cuts a time into pieces of about that length, at ends of rounds.
func (t track) windows(from, until, length time.Duration) [][2]time.Duration {
	var all [][2]time.Duration
	ends := t.ends(from, until)
	begin := 0
	for i := range ends {
		if ends[i].at-ends[begin].at >= length {
			all = append(all, [2]time.Duration{ends[begin].at, ends[i].at})
			begin = i
		}
	}
	return all
}

// at interpolates between the samples before and after a moment.
func (t track) at(moment time.Duration) (sample, error) {
	after := slices.IndexFunc(t, func(s sample) bool { return s.at >= moment })
	if after < 1 {
		return sample{}, errNoSamples
	}
	a, b := t[after-1], t[after]
	part := float64(moment-a.at) / float64(b.at-a.at)
	return sample{
		at: moment, done: a.done + int64(part*float64(b.done-a.done)), cpu: a.cpu + time.Duration(part*float64(b.cpu-a.cpu)),
		rounds: a.rounds,
	}, nil
}

// A pair is a program and its twin, which nobody touches: what it does meanwhile
// shows how fast the machine is.
type pair struct {
	touched, twin track
}

// A share is what the touched program did of what its twin did in the same time.
type share struct {
	wall float64 // by the clock
	cpu  float64 // for the same processor time
}

// share takes whole rounds.
func (p pair) share(from, until time.Duration) (share, error) {
	return p.compare(track.pace, from, until)
}

// cut takes what was done between two moments, of rounds too that had not ended.
func (p pair) cut(from, until time.Duration) (share, error) { return p.compare(track.cut, from, until) }

func (p pair) compare(by func(track, time.Duration, time.Duration) (pace, error), from, until time.Duration) (share, error) {
	touched, err := by(p.touched, from, until)
	if err != nil {
		return share{}, err
	}
	twin, err := by(p.twin, from, until)
	if err != nil {
		return share{}, err
	}
	if twin.wall == 0 || twin.cpu == 0 {
		return share{}, errNoSamples
	}
	return share{touched.wall / twin.wall, touched.cpu / twin.cpu}, nil
}

// shares are those of single windows, outside of times that do not count.
func (p pair) shares(from, until, length time.Duration, without [][2]time.Duration) []share {
	var all []share
	for _, w := range p.touched.windows(from, until, length) {
		counts := true
		for _, not := range without {
			counts = counts && (w[1] <= not[0] || w[0] >= not[1])
		}
		if s, err := p.share(w[0], w[1]); err == nil && counts && !math.IsNaN(s.cpu) {
			all = append(all, s)
		}
	}
	return all
}

// lost is the work, in time of the untouched program, that is missing between two
// moments if a share of its twin's was to be expected.
func (p pair) lost(from, until time.Duration, expected float64) (time.Duration, error) {
	if until <= from {
		return 0, nil
	}
	s, err := p.cut(from, until)
	return time.Duration((1 - s.wall/expected) * float64(until-from)), err
}

// A figure is what one phase showed: the program without hooks, with them, and
// without them again.
type figure struct {
	course  *course
	warm    string        // how the programs were warmed, before
	slower  float64       // how many times, by the clock, with all hooks in
	windows []float64     // the same by processor time, of single windows
	rough   bool          // no whole round ended while all hooks were in
	in      time.Duration // work lost until all hooks were in
	out     time.Duration // work lost from when they began to go out
	all     time.Duration // work lost from the beginning to the end, hooks included
	allCPU  float64       // the part of its work lost from the beginning to the end, for the same processor time
	span    time.Duration // from when the profiler came to when it had gone
	drift   share         // by how much the program and its twin drifted apart meanwhile, without hooks
}

// A plan is when a phase had which part.
type plan struct {
	since, begin time.Duration // without hooks, before
	back, end    time.Duration // and after
	settle       time.Duration // after hooks went in that does not count yet
	window       time.Duration
}

// figure compares the time before and the time after with what was between.
func (p pair) figure(c *course, l plan) (*figure, error) {
	before, err := p.share(l.since, l.begin)
	if err != nil {
		return nil, fmt.Errorf("before: %w", err)
	}
	after, err := p.share(l.back, l.end)
	if err != nil {
		return nil, fmt.Errorf("after: %w", err)
	}
	// What they differed by without hooks may drift: the mean holds in between. Of a
	// program that has not recovered only the time before tells.
	const recovered = 0.9
	plain := before
	if after.cpu >= recovered*before.cpu {
		plain = share{(before.wall + after.wall) / 2, (before.cpu + after.cpu) / 2}
	}
	f := &figure{
		course: c, span: c.gone - c.began,
		drift: share{after.wall/before.wall - 1, after.cpu/before.cpu - 1},
	}
	woven := min(c.woven+l.settle, c.leaving)
	during, err := p.share(woven, c.leaving)
	if err != nil {
		f.rough = true
		if during, err = p.cut(woven, c.leaving); err != nil {
			return nil, fmt.Errorf("with hooks: %w", err)
		}
	}
	f.slower = plain.wall / during.wall
	shares := p.shares(woven, c.leaving, l.window, c.weaving(l.settle))
	if len(shares) == 0 { // no round is so short
		shares = append(shares, during)
	}
	for _, s := range shares {
		f.windows = append(f.windows, plain.cpu/s.cpu)
	}
	return f, p.losses(f, c, l, plain, during, woven)
}

func (p pair) losses(f *figure, c *course, l plan, plain, during share, woven time.Duration) error {
	weaving, err := p.lost(c.began, c.woven, plain.wall)
	if err != nil {
		return err
	}
	settling, err := p.lost(c.woven, woven, during.wall)
	if err != nil {
		return err
	}
	// What is missing while the program settles is counted in its own time, which
	// is slower with hooks.
	f.in = weaving + time.Duration(float64(settling)*during.wall/plain.wall)
	if f.out, err = p.lost(c.leaving, l.back, plain.wall); err != nil {
		return err
	}
	if f.all, err = p.lost(c.began, l.back, plain.wall); err != nil {
		return err
	}
	whole, err := p.cut(c.began, l.back)
	f.allCPU = (1 - whole.cpu/plain.cpu) * float64(l.back-c.began) / float64(f.span)
	return err
}
