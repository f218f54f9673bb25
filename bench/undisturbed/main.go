// Undisturbed measures whether Sonde's results describe a program as it runs without Sonde.
//
//	go run ./bench/undisturbed [-jdk N] [-programs shop,H2,…] [-commands count,monitor,…]
//
// Six programs call a root method again and again, and time each call with a clock of their own. For
// each command, two new JVMs run the same program: one is measured, nobody touches its twin. How the
// twin's own mean changes meanwhile is the machine; the own mean before the command, corrected by
// that, is what the command should report: within 5 % or the stated interval, or the
// first line of the result must say that the program was disturbed. The calls of each second
// before, while and after show what the command really cost, beside what it says about that.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

var (
	programs = flag.String("programs", "shop,H2,Tomcat,javac,JRuby,YAML", "programs to measure")
	names    = flag.String("commands", "nothing,count,monitor,trace,auto,exact", "commands to run: auto and exact are timings of profile")
	warm     = flag.Duration("warm", 6*time.Second, "processor time of a program before it is measured, several times: until it is as fast as before")
	before   = flag.Duration("before", 10*time.Second, "processor time of a program before a command begins")
	length   = flag.Duration("length", 10*time.Second, "length of the results of commands")
	after    = flag.Duration("after", 3*time.Second, "processor time of a program after a command")
	settle   = flag.Duration("settle", 30*time.Second, "how long a command may wait until the program runs as before")
	verbose  = flag.Bool("v", false, "print the messages of commands")
)

const (
	tolerance = 0.05 // how far a reported mean may be from the program's own
	// A program is steady if its mean differs from the one before by less than steadyPart; it is measured after warmUps in any case.
	steadyPart = 0.03
	warmUps    = 6
	jarFolder  = "/usr/share/java/"
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
			var jdks []*bench
			var all sync.WaitGroup
			cores := make(chan int, runtime.NumCPU())
			for core := range cap(cores) {
				cores <- core
			}
			err := harness.EachJDK(func(jdk jvmtest.JDK) error {
				b := &bench{sonde: sonde, jdk: jdk}
				jdks = append(jdks, b)
				all.Go(func() {
					b.core = <-cores
					if b.failed = b.measure(ctx); b.failed != nil {
						progress("JDK %d: %v", jdk.Major, b.failed)
					}
					cores <- b.core
				})
				return nil
			})
			all.Wait()
			failures := []error{err}
			var runs []run
			for _, b := range jdks {
				runs, failures = append(runs, b.runs...), append(failures, b.failed)
			}
			report(r, runs)
			return errors.Join(failures...)
		})
	})
}

// A bench measures with one JDK. All its programs run on one processor.
type bench struct {
	sonde  string
	jdk    jvmtest.JDK
	core   int
	runs   []run
	failed error
}

func isWanted(list, name string) bool { return slices.Contains(strings.Split(list, ","), name) }

func (b *bench) measure(ctx context.Context) error {
	shop, err := filepath.Glob("demo/shop/src/shop/*/*.java")
	if err != nil {
		return err
	}
	classes, err := harness.Compile(b.jdk, harness.Source{
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
		for _, c := range commands {
			if !isWanted(*names, c.name) || ctx.Err() != nil {
				continue
			}
			found, err := b.run(ctx, classes, s, c)
			if err != nil {
				failures = append(failures, fmt.Errorf("%s of %s: %w", c.name, s.name, err))
				progress("%s of %s on %d: %v", c.name, s.name, b.jdk.Major, err)
				continue
			}
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
	track         harness.Track
	began, ended  time.Time     // of the command
	quiet, during harness.Span  // before the command, and while its results were measured
	later         harness.Span  // from the end of the results until the program ran some time without hooks
	own, ownThen  time.Duration // the program's own mean in both
	machine       float64       // the twin's mean while the results were measured, relative to before
	work          float64       // what the program did for its processor time meanwhile, relative to the twin and to before
	chance        float64       // how far both means went apart before the command, at most
}

func (b *bench) run(ctx context.Context, classes string, s subject, c command) (*run, error) {
	arguments := slices.Concat([]string{"-XX:ActiveProcessorCount=2", "-Xms512m", "-Xmx512m", "-XX:+UseSerialGC"}, s.options, []string{"-cp", classes + ":" + classpath(), "Clocked", s.class})
	pair, err := harness.StartPair(ctx, func(string) (p *harness.Program, err error) {
		err = harness.OnCore(b.core, func() (err error) {
			p, err = harness.Start(b.jdk, arguments...)
			return err
		})
		return p, err
	})
	if err != nil {
		return nil, err
	}
	defer pair.Close()
	if err := warmUp(ctx, pair); err != nil {
		return nil, err
	}
	found := &run{program: s.name, command: c.name, jdk: b.jdk.Major}
	if found.quiet, err = pair.Run(ctx, *before); err != nil {
		return nil, err
	}
	found.began = time.Now()
	if found.outcome, err = c.measure(ctx, b, pair.Touched.PID(), s); err != nil {
		return nil, err
	}
	found.ended = time.Now()
	left, err := pair.Run(ctx, *after)
	if err != nil {
		return nil, err
	}
	found.during = harness.Span{From: found.from, Until: found.from.Add(found.took)}
	found.later = harness.Span{From: found.during.Until, Until: left.Until}
	if found.track, err = pair.Seen(); err != nil {
		return nil, err
	}
	return found, found.compare()
}

// warmUp lets both programs run until they have become no faster.
func warmUp(ctx context.Context, pair *harness.Pair[*harness.Program]) error {
	var own, twin time.Duration
	for range warmUps {
		span, err := pair.Run(ctx, *warm)
		if err != nil {
			return err
		}
		track, err := pair.Seen()
		if err != nil {
			return err
		}
		ownNow, twinNow := means(track.Within(span))
		isSteady := func(before, now time.Duration) bool { return float64(now) > float64(before)*(1-steadyPart) }
		if own > 0 && isSteady(own, ownNow) && isSteady(twin, twinNow) {
			return nil
		}
		own, twin = ownNow, twinNow
	}
	return nil
}

// compare compares the program with its twin.
func (r *run) compare() error {
	quiet, during := r.track.Within(r.quiet), r.track.Within(r.during)
	own, twin := means(quiet)
	ownThen, twinThen := means(during)
	if r.command == nothing {
		r.mean = float64(ownThen)
	}
	if own == 0 || ownThen == 0 || twin == 0 || twinThen == 0 || r.mean <= 0 {
		return errors.New("no call of the root was measured")
	}
	r.own, r.ownThen, r.machine = own, ownThen, float64(twinThen)/float64(twin)
	usual, err := quiet.Share()
	if err != nil {
		return err
	}
	share, err := during.Share()
	if err != nil {
		return err
	}
	r.work = share / usual
	for from := r.quiet.From; !from.Add(*length).After(r.quiet.Until); from = from.Add(time.Second) {
		a, b := means(r.track.Within(harness.Span{From: from, Until: from.Add(*length)}))
		r.chance = max(r.chance, math.Abs(float64(a)/float64(max(b, 1))*float64(twin)/float64(own)-1))
	}
	if r.isTotal { // by the program's own count
		calls := max(1, during[len(during)-1].Touched.Done-during[0].Touched.Done)
		r.mean, r.low, r.high = r.mean/calls, r.low/calls, r.high/calls
	}
	return nil
}

// means are those of the calls of both programs that ended in a time; 0 if there are none.
func means(t harness.Track) (touched, twin time.Duration) {
	if len(t) == 0 {
		return 0, 0
	}
	of := func(from, until harness.Progress) time.Duration {
		if until.Done <= from.Done {
			return 0
		}
		return time.Duration(float64(until.Took-from.Took) / (until.Done - from.Done))
	}
	first, last := t[0], t[len(t)-1]
	return of(first.Touched, last.Touched), of(first.Twin, last.Twin)
}

// expected is the program's own mean before the command, on the machine as it was while the results were measured.
func (r *run) expected() float64 { return float64(r.own) * r.machine }

// off is how far the reported mean is from the expected one, as a part of it.
func (r *run) off() float64 { return r.mean/r.expected() - 1 }

// seconds returns the throughput of each second from the beginning of the command, relative to the twin, in percent of
// that before. | marks the beginning and the end of the results, and the end of the command.
func (r *run) seconds() string {
	usual := relative(r.track.Within(r.quiet))
	var text strings.Builder
	marks := []time.Time{r.during.From, r.during.Until, r.ended}
	for at := r.began; at.Before(r.later.Until.Add(-time.Second / 2)); at = at.Add(time.Second) {
		for len(marks) > 0 && !marks[0].After(at) {
			text.WriteString("\\| ")
			marks = marks[1:]
		}
		fmt.Fprintf(&text, "%.0f ", 100*relative(r.track.Within(harness.Span{From: at, Until: at.Add(time.Second + harness.Every)}))/usual)
	}
	return strings.TrimSpace(text.String())
}

// relative is how many calls the program made for one of its twin.
func relative(t harness.Track) float64 {
	if len(t) == 0 {
		return 0
	}
	first, last := t[0], t[len(t)-1]
	return (last.Touched.Done - first.Touched.Done) / max(1, last.Twin.Done-first.Twin.Done)
}

// judge returns whether the reported mean is that of the program before, and why.
func (r *run) judge() (harness.Verdict, string) {
	switch {
	case math.Abs(r.off()) <= tolerance:
		return harness.Met, "within 5 %"
	case r.low <= r.expected() && r.expected() <= r.high:
		return harness.Met, "within its interval"
	case r.disturbed:
		return harness.Met, "says it is disturbed"
	case cmp.Or(r.low, r.mean)*(1-r.disturbance.Lower()) <= r.expected() && r.expected() <= r.mean:
		return harness.Met, "no lower than it says it may be"
	case math.Abs(r.off()) <= tolerance+r.chance:
		return harness.Unclear, "both programs went apart as far without a command"
	case math.Abs(r.mean/float64(r.ownThen)/r.work-1) <= tolerance:
		return harness.Unclear, "it did as much as before for the same processor time, and its own clock agrees"
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
	percent := func(part float64) string { return fmt.Sprintf("%.0f %%", 100*part) }
	usual, _ := r.track.Within(r.quiet).Share()
	lost := func(from, until time.Time) float64 {
		return r.track.Lost(harness.Span{From: from, Until: until}, usual).Seconds()
	}
	return []string{
		r.program, fmt.Sprint(r.jdk), r.command, millis(float64(r.own)), percent(r.machine), millis(r.expected()), reported, fmt.Sprintf("%+.1f %%", 100*r.off()), fmt.Sprintf("%.1f %%", 100*r.chance),
		millis(float64(r.ownThen)), percent(r.work), strings.TrimSpace(string(verdict) + " " + why),
		fmt.Sprintf("%.1f", r.during.From.Sub(r.began).Seconds()),
		fmt.Sprintf("%.1f; says %s", lost(r.began, r.during.From), r.disturbance.GoingIn),
		fmt.Sprintf("%.1f; says %s", lost(r.later.From, r.later.Until), r.disturbance.ComingOut),
		r.speed(), r.seconds(),
	}
}

// speed returns the throughput while results were measured, relative to the twin, and what the command says about it.
func (r *run) speed() string {
	text := fmt.Sprintf("%.0f %%", 100*relative(r.track.Within(r.during))/relative(r.track.Within(r.quiet)))
	if s := r.disturbance.Speed; s != nil {
		return text + fmt.Sprintf("; says %.1f (%.1f to %.1f)", 100*s.Value, 100*s.Low, 100*s.High)
	}
	return text + "; says unknown"
}

func report(r *harness.Report, runs []run) {
	r.Note("Means are in milliseconds, losses in seconds of processor time; ~ marks profiles without hooks, whose sampled time is divided by the program's own number of calls. Each line is a new JVM, and a twin that nobody touches. \"Machine\" is the twin's own mean while results were measured, relative to before: the program's own mean before, times this, is what should be reported. \"By chance\" is how far both means went apart before the command, at most, in any time as long as the results. \"Work\" is what the program did for its processor time meanwhile, compared with its twin and with before. Throughput is that of each second since the command began, relative to the twin, in percent of that before; bars mark the beginning and end of the results, and the end of the command. Behind losses and speed stands what the command says.")
	table := r.Table("program", "JDK", "command", "own mean before", "machine", "expected", "reported", "off", "by chance", "own mean then", "work", "verdict", "results began after s", "lost going in", "lost coming out", "speed while measured", "throughput by second")
	met := map[harness.Verdict]int{}
	for i := range runs {
		verdict, _ := runs[i].judge()
		if runs[i].command != nothing {
			met[verdict]++
		}
		cells := make([]any, 0)
		for _, cell := range runs[i].cells() {
			cells = append(cells, cell)
		}
		table.Row(cells...)
	}
	verdict := harness.Met
	switch {
	case met[harness.Missed] > 0:
		verdict = harness.Missed
	case met[harness.Unclear] > 0:
		verdict = harness.Unclear
	}
	r.Bar(verdict, "reported means are the program's own before the command, corrected by its twin, within 5 %% or the stated interval, or the first line says that they are not: %d of %d, %d unclear",
		met[harness.Met], len(runs), met[harness.Unclear])
}
