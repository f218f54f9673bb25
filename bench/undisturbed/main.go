// Undisturbed measures whether Sonde's results describe a program as it runs without Sonde.
//
//	go run ./bench/undisturbed [-jdk N] [-programs shop,H2,…] [-commands count,monitor,…]
//
// Six programs call a root method again and again, and time each call with a clock of their own. For
// each command, a new JVM is started and warmed up. Its own mean before the command began is compared
// with the mean that the command reports: they must agree within 5 % or the stated interval, or the
// first line of the result must say that the program was disturbed. The calls of each second
// before, while and after show what the command really cost, beside what it says about that. One more
// JVM runs without a command: how its own mean varies is what cannot be told from a disturbance.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

var (
	programs  = flag.String("programs", "shop,H2,Tomcat,javac,JRuby,YAML", "programs to measure")
	names     = flag.String("commands", "count,monitor,trace,auto,exact", "commands to run: auto and exact are timings of profile")
	warm      = flag.Duration("warm", 10*time.Second, "how long a program runs before it is measured")
	before    = flag.Duration("before", 5*time.Second, "length of its own measurement before a command begins")
	length    = flag.Duration("length", 5*time.Second, "length of the results of commands")
	after     = flag.Duration("after", 5*time.Second, "how long the program is followed after a command")
	untouched = flag.Duration("untouched", 30*time.Second, "how long a program is followed that no command measures")
	settle    = flag.Duration("settle", 30*time.Second, "how long a command may wait until the program runs as before")
	verbose   = flag.Bool("v", false, "print the messages of commands")
)

const (
	// tolerance is how far a reported mean may be from the program's own.
	tolerance = 0.05
	// readEvery is how often the program's clock is read.
	readEvery = 100 * time.Millisecond
	jarFolder = "/usr/share/java/"
)

// A subject is a program with its root.
type subject struct {
	name, class, root string
	into              []string // further arguments of profile
	options           []string // of java
}

var subjects = []subject{
	{name: "shop", class: "ShopRoot", root: "shop.order.Checkout.place"},
	{name: "H2", class: "H2Root", root: "org.h2.jdbc.JdbcPreparedStatement.executeQuery"},
	{name: "Tomcat", class: "TomcatRoot", root: "org.apache.catalina.core.StandardContextValve.invoke"},
	{name: "javac", class: "JavacRoot", root: "JavacTree.round", into: []string{"--into", "com.sun.tools.javac.**"}, options: []string{"-Dtree=test/programs/src17", "-Dcopies=1"}},
	{name: "JRuby", class: "JRubyRoot", root: "org.jruby.embed.internal.EmbedEvalUnitImpl.run", options: []string{
		"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens=java.base/java.io=ALL-UNNAMED",
	}},
	{name: "YAML", class: "YamlRoot", root: "org.yaml.snakeyaml.Yaml.load(java.lang.String)"},
}

var jars = []string{
	"h2", "snakeyaml", "tomcat10-catalina", "tomcat10-coyote", "tomcat10-util", "tomcat10-util-scan", "tomcat10-juli", "tomcat10-api",
	"tomcat10-jni", "tomcat10-servlet-api", "tomcat10-jsp-api", "tomcat10-el-api", "tomcat10-annotations-api", "tomcat10-jaspic-api",
}

func classpath() string {
	path := "/usr/share/jruby/lib/jruby.jar"
	for _, jar := range jars {
		path += ":" + jarFolder + jar + ".jar"
	}
	return path
}

func main() {
	harness.Main("undisturbed", func(ctx context.Context, r *harness.Report) error {
		return harness.WithSonde(ctx, func(_, sonde string) error {
			b := &bench{sonde: sonde}
			err := harness.EachJDK(func(jdk jvmtest.JDK) error { return b.measure(ctx, jdk) })
			b.report(r)
			return err
		})
	})
}

type bench struct {
	sonde string
	runs  []run
	alone []variation
}

// A variation is how the own mean of a program varies while no command measures it.
type variation struct {
	program string
	jdk     int
	means   []float64 // of successive windows, each as long as a result; relative to the one before the first
}

// holds reports whether an untouched program has such a mean in some window, relative to the one before.
func (v variation) holds(mean float64) bool {
	return len(v.means) > 0 && mean >= min(1, slices.Min(v.means)) && mean <= max(1, slices.Max(v.means))
}

func (v variation) String() string {
	var text strings.Builder
	for _, mean := range v.means {
		fmt.Fprintf(&text, "%.0f ", 100*mean)
	}
	return strings.TrimSpace(text.String())
}

func isWanted(list, name string) bool { return slices.Contains(strings.Split(list, ","), name) }

func (b *bench) measure(ctx context.Context, jdk jvmtest.JDK) error {
	shop, err := filepath.Glob("demo/shop/src/shop/*/*.java")
	if err != nil {
		return err
	}
	classes, err := harness.Compile(jdk, harness.Source{
		Files:     append(shop, "demo/shop/src/shop/NotFound.java", "test/realprograms/testdata/RealProgram.java", "bench/profile/java/JavacTree.java", "bench/undisturbed/java/*.java"),
		Classpath: classpath(),
	})
	if err != nil {
		return err
	}
	defer os.RemoveAll(classes)
	var failures []error
	for _, s := range subjects {
		if !isWanted(*programs, s.name) || ctx.Err() != nil {
			continue
		}
		alone, err := b.follow(ctx, jdk, classes, s)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s without a command: %w", s.name, err))
		}
		b.alone = append(b.alone, alone)
		progress("%s on %d without a command: %s", s.name, jdk.Major, alone)
		for _, c := range commands {
			if !isWanted(*names, c.name) || ctx.Err() != nil {
				continue
			}
			found, err := b.run(ctx, jdk, classes, s, c)
			if err != nil {
				failures = append(failures, fmt.Errorf("%s of %s: %w", c.name, s.name, err))
				progress("%s of %s on %d: %v", c.name, s.name, jdk.Major, err)
				continue
			}
			found.alone = alone
			b.runs = append(b.runs, *found)
			progress("%s", strings.Join(found.cells(), "  "))
		}
	}
	return errors.Join(append(failures, ctx.Err())...)
}

func progress(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, arguments...))
}

// A run is one command at one program.
type run struct {
	program, command string
	jdk              int
	outcome
	track        track
	began, ended time.Time     // of the command
	own, ownThen time.Duration // the program's own mean: before, and while the results were measured
	ownAfter     time.Duration
	work         float64 // processor time of a call while the results were measured, relative to before
	alone        variation
}

// start starts a program and waits until it runs steadily.
func (b *bench) start(ctx context.Context, jdk jvmtest.JDK, classes string, s subject) (*harness.Program, *follower, error) {
	arguments := slices.Concat([]string{"-Xms512m", "-Xmx512m", "-XX:+UseSerialGC"}, s.options, []string{"-cp", classes + ":" + classpath(), "Clocked", s.class})
	p, err := harness.Start(jdk, arguments...)
	if err != nil {
		return nil, nil, err
	}
	f := follow(p)
	if err = process.Pause(ctx, *warm); err == nil {
		err = f.awaitSteady(ctx)
	}
	if err != nil {
		_, _ = f.end()
		p.Close()
		return nil, nil, err
	}
	return p, f, nil
}

// follow follows a program that no command measures.
func (b *bench) follow(ctx context.Context, jdk jvmtest.JDK, classes string, s subject) (variation, error) {
	v := variation{program: s.name, jdk: jdk.Major}
	p, follower, err := b.start(ctx, jdk, classes, s)
	if err != nil {
		return v, err
	}
	defer p.Close()
	began := time.Now()
	err = process.Pause(ctx, *untouched)
	track, failed := follower.end()
	if err := errors.Join(err, failed); err != nil {
		return v, err
	}
	own := track.mean(began.Add(-*before), began)
	for at := began; !at.Add(*length).After(began.Add(*untouched)); at = at.Add(*length) {
		v.means = append(v.means, float64(track.mean(at, at.Add(*length)))/float64(max(own, 1)))
	}
	return v, nil
}

func (b *bench) run(ctx context.Context, jdk jvmtest.JDK, classes string, s subject, c command) (*run, error) {
	p, follower, err := b.start(ctx, jdk, classes, s)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	defer func() { _, _ = follower.end() }()
	found := &run{program: s.name, command: c.name, jdk: jdk.Major, began: time.Now()}
	if found.outcome, err = c.measure(ctx, b, p.PID(), s); err != nil {
		return nil, err
	}
	found.ended = time.Now()
	if err := process.Pause(ctx, *after); err != nil {
		return nil, err
	}
	if found.track, err = follower.end(); err != nil {
		return nil, err
	}
	found.own = found.track.mean(found.began.Add(-*before), found.began)
	found.ownThen = found.track.mean(found.from, found.from.Add(found.took))
	if found.isTotal { // by the program's own count
		calls := max(1, found.track.rate(found.from, found.from.Add(found.took))*found.took.Seconds())
		found.mean, found.low, found.high = found.mean/calls, found.low/calls, found.high/calls
	}
	found.ownAfter = found.track.mean(found.ended, found.ended.Add(*after))
	found.work = found.track.cpu(found.from, found.from.Add(found.took)) / found.track.cpu(found.began.Add(-*before), found.began)
	if found.own <= 0 || found.mean <= 0 {
		return nil, errors.New("no call of the root was measured")
	}
	return found, nil
}

// A reading is what the program's own clock says.
type reading struct {
	at    time.Time
	calls float64
	nanos float64
	cpu   float64 // of all Java threads
}

type track []reading

// A follower reads a program's clock again and again.
type follower struct {
	stop chan struct{}
	done chan struct{}
	once sync.Once

	lock sync.Mutex
	track
	err error
}

func follow(p *harness.Program) *follower {
	f := &follower{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(f.done)
		ticker := time.NewTicker(readEvery)
		defer ticker.Stop()
		for {
			numbers, err := p.Ask("now")
			if err != nil || len(numbers) != 3 {
				f.err = cmp.Or(err, errors.New("the program answers something else"))
				return
			}
			f.lock.Lock()
			f.track = append(f.track, reading{time.Now(), numbers[0], numbers[1], numbers[2]})
			f.lock.Unlock()
			select {
			case <-f.stop:
				return
			case <-ticker.C:
			}
		}
	}()
	return f
}

// steadyTries is how often a program is given more time until its own mean is steady.
const steadyTries = 5

// awaitSteady waits until the program's own mean is that of the time before, or it has had enough time.
func (f *follower) awaitSteady(ctx context.Context) error {
	var last float64
	for range steadyTries {
		from := time.Now()
		if err := process.Pause(ctx, *before); err != nil {
			return err
		}
		f.lock.Lock()
		var now float64
		if len(f.track) > 0 {
			now = float64(f.mean(from, time.Now()))
		}
		f.lock.Unlock()
		if last > 0 && now > last*(1-tolerance/2) && now < last*(1+tolerance/2) {
			break
		}
		last = now
	}
	return nil
}

func (f *follower) end() (track, error) {
	f.once.Do(func() { close(f.stop) })
	<-f.done
	return f.track, f.err
}

// at returns the last reading up to a time.
func (t track) at(when time.Time) reading {
	i, _ := slices.BinarySearchFunc(t, when, func(r reading, when time.Time) int { return r.at.Compare(when) })
	return t[max(0, min(i, len(t)-1))]
}

// mean returns the mean of the calls that ended in a time; 0 if there are none.
func (t track) mean(from, until time.Time) time.Duration {
	a, b := t.at(from), t.at(until)
	if b.calls <= a.calls {
		return 0
	}
	return time.Duration((b.nanos - a.nanos) / (b.calls - a.calls))
}

// cpu returns the processor time of a call in a time; 0 if there are none.
func (t track) cpu(from, until time.Time) float64 {
	a, b := t.at(from), t.at(until)
	return (b.cpu - a.cpu) / max(1, b.calls-a.calls)
}

// rate returns calls per second.
func (t track) rate(from, until time.Time) float64 {
	a, b := t.at(from), t.at(until)
	return (b.calls - a.calls) / max(b.at.Sub(a.at).Seconds(), 1e-9)
}

// lost returns the seconds of work that a time brought less than the same time before the command.
func (r *run) lost(from, until time.Time) float64 {
	usual := r.track.rate(r.began.Add(-*before), r.began)
	return until.Sub(from).Seconds() * (1 - r.track.rate(from, until)/usual)
}

// seconds returns the throughput of each second from the beginning of the command, in percent of
// that before. | marks the beginning and the end of the results, and the end of the command.
func (r *run) seconds() string {
	usual := r.track.rate(r.began.Add(-*before), r.began)
	var text strings.Builder
	marks := []time.Time{r.from, r.from.Add(r.took), r.ended}
	for at := r.began; at.Before(r.ended.Add(*after).Add(-time.Second / 2)); at = at.Add(time.Second) {
		for len(marks) > 0 && !marks[0].After(at) {
			text.WriteString("\\| ")
			marks = marks[1:]
		}
		fmt.Fprintf(&text, "%.0f ", 100*r.track.rate(at, at.Add(time.Second))/usual)
	}
	return strings.TrimSpace(text.String())
}

// judge returns whether the reported mean is that of the program before, and why.
func (r *run) judge() (harness.Verdict, string) {
	own := float64(r.own)
	agree := func(a, b float64) bool { return a >= b*(1-tolerance) && a <= b*(1+tolerance) }
	near := func(mean float64) bool { return agree(mean, own) }
	switch {
	case near(r.mean):
		return harness.Met, "within 5 %"
	case r.low <= own && own <= r.high:
		return harness.Met, "within its interval"
	case r.disturbed:
		return harness.Met, "says it is disturbed"
	case r.isTotal && r.low <= float64(r.ownThen) && float64(r.ownThen) <= r.high:
		return harness.Met, "by its own clock, too, and nothing was changed in the program"
	case r.alone.holds(r.mean/own) && agree(r.mean, float64(r.ownThen)):
		return harness.Met, "by its own clock, too; it varies as much without a command"
	case agree(r.work, 1) && agree(r.mean, float64(r.ownThen)):
		return harness.Unclear, "the program had this mean by its own clock, too, and a call took as much processor time as before: the machine was busier or idler"
	case !near(float64(r.ownAfter)) && r.mean >= min(own, float64(r.ownAfter))*(1-tolerance) && r.mean <= max(own, float64(r.ownAfter))*(1+tolerance):
		return harness.Unclear, "the program has another mean afterwards, too"
	}
	return harness.Missed, ""
}

func (r *run) cells() []string {
	verdict, why := r.judge()
	millis := func(nanos float64) string { return fmt.Sprintf("%.3g", nanos/1e6) }
	reported := millis(r.mean)
	if r.isTotal {
		reported = "~" + reported
	}
	if r.high > r.low {
		reported += fmt.Sprintf(" (%s to %s)", millis(r.low), millis(r.high))
	}
	return []string{
		r.program, fmt.Sprint(r.jdk), r.command, millis(float64(r.own)), reported, fmt.Sprintf("%+.1f %%", 100*(r.mean/float64(r.own)-1)),
		millis(float64(r.ownThen)), millis(float64(r.ownAfter)), fmt.Sprintf("%.0f %%", 100*r.work), strings.TrimSpace(string(verdict) + " " + why),
		fmt.Sprintf("%.1f", r.from.Sub(r.began).Seconds()),
		fmt.Sprintf("%.1f; says %s", r.lost(r.began, r.from), r.disturbance.GoingIn),
		fmt.Sprintf("%.1f; says %s", r.lost(r.from.Add(r.took), r.ended.Add(*after)), r.disturbance.ComingOut),
		r.speed(), r.seconds(),
	}
}

// speed returns the throughput while results were measured, and what the command says about it.
func (r *run) speed() string {
	text := fmt.Sprintf("%.0f %%", 100*r.track.rate(r.from, r.from.Add(r.took))/r.track.rate(r.began.Add(-*before), r.began))
	if s := r.disturbance.Speed; s != nil {
		return text + fmt.Sprintf("; says %.1f (%.1f to %.1f)", 100*s.Value, 100*s.Low, 100*s.High)
	}
	return text + "; says unknown"
}

func (b *bench) report(r *harness.Report) {
	r.Note("Means are in milliseconds, losses in seconds of work; ~ marks profiles without hooks, whose sampled time is divided by the program's own number of calls. Each line is a new JVM. A program's own means are those of its own clock: before the command, while its results were measured, and after it had ended. The processor time of a call is that while the results were measured, relative to before; on a machine that others use, it tells more than the means. Losses are those of the program's own throughput; behind it what the command says. Throughput is that of each second since the command began, in percent of that before; bars mark the beginning and end of the results, and the end of the command.")
	table := r.Table("program", "JDK", "command", "own mean before", "reported", "off", "own mean then", "after", "processor time of a call", "verdict", "results began after s", "lost going in", "lost coming out", "speed while measured", "throughput by second")
	met := map[harness.Verdict]int{}
	for i := range b.runs {
		verdict, _ := b.runs[i].judge()
		met[verdict]++
		cells := make([]any, 0)
		for _, cell := range b.runs[i].cells() {
			cells = append(cells, cell)
		}
		table.Row(cells...)
	}
	r.Note("How the programs vary without a command: the own means of successive windows, each as long as a result, in percent of the one before.")
	alone := r.Table("program", "JDK", "own means")
	for _, v := range b.alone {
		alone.Row(v.program, v.jdk, v.String())
	}
	verdict := harness.Met
	switch {
	case met[harness.Missed] > 0:
		verdict = harness.Missed
	case met[harness.Unclear] > 0:
		verdict = harness.Unclear
	}
	r.Bar(verdict, "reported means are the program's own before the command, within 5 %% or the stated interval, or the first line says that they are not: %d of %d, %d unclear",
		met[harness.Met], len(b.runs), met[harness.Unclear])
}
