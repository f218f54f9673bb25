package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A subject is a program to be walked.
type subject struct {
	name       string
	work       string   // the Java class
	operations []string // what counts as one
}

const h2Jar = "/usr/share/java/h2.jar"

var subjects = []subject{
	{name: "H2", work: "H2Work", operations: []string{
		"org/h2/jdbc/JdbcPreparedStatement.executeQuery()Ljava/sql/ResultSet;", "org/h2/jdbc/JdbcPreparedStatement.executeUpdate()I",
	}},
	{name: "orders", work: "Orders", operations: []string{"orders"}},
}

func (s subject) start(jdk jvmtest.JDK, classes string) (*harness.Program, error) {
	arguments := []string{"-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", "-cp", classes + ":" + h2Jar, "Paced", s.work}
	return harness.Start(jdk, append(arguments, s.operations...)...)
}

func startPair(ctx context.Context, jdk jvmtest.JDK, s subject, classes string) (*harness.Pair[*harness.Program], error) {
	return harness.StartPair(ctx, func(string) (*harness.Program, error) { return s.start(jdk, classes) })
}

// A figure is what one course showed.
type figure struct {
	course *course
	speeds []float64     // between batches, against when it is left alone; by window
	lost   time.Duration // processor time that brought nothing, to batches
	all    time.Duration // the same over the whole course, whatever it was lost to
	done   float64       // operations meanwhile
}

// A result is what one program on one JDK showed.
type result struct {
	jdk, program string
	alone        []float64 // speeds in windows in which nobody touched it
	walked, all  []figure
}

// A turn is a program's way through all phases.
type turn struct {
	*harness.Pair[*harness.Program]
	result *result
	before harness.Span // when it was last left alone
}

// measure has one program walked and instrumented in turn.
func measure(ctx context.Context, jdk jvmtest.JDK, s subject, classes string) (*result, error) {
	p, err := startPair(ctx, jdk, s, classes)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	t := &turn{Pair: p, result: &result{jdk: jdk.Version, program: s.name}}
	if *again {
		if _, err := walked(ctx, p.Touched.PID(), 0); err != nil {
			return nil, err
		}
	}
	if _, err := p.Run(ctx, *warm); err != nil {
		return nil, err
	}
	if t.before, err = t.rest(ctx, 0); err != nil {
		return nil, err
	}
	for phase := range *phases {
		fmt.Fprintf(os.Stderr, "%s JDK %s, %s, phase %d\n", time.Now().Format("15:04:05"), jdk.Version, s.name, phase+1)
		if err := t.phase(ctx); err != nil {
			return t.result, err
		}
	}
	return t.result, nil
}

// phase walks the program, then has hooks in all of it for as long.
func (t *turn) phase(ctx context.Context) error {
	pid := t.Touched.PID()
	walk, err := walked(ctx, pid, *stay)
	if err != nil {
		return err
	}
	if err := t.account(ctx, walk, &t.result.walked); err != nil {
		return err
	}
	track, err := t.Seen()
	if err != nil {
		return err
	}
	all, err := instrumented(ctx, pid, walk.classes, func() error { _, err := t.Run(ctx, track.Used(walk.span)); return err })
	if err != nil {
		return err
	}
	return t.account(ctx, all, &t.result.all)
}

// rest leaves the program alone after it has settled, and returns when that was.
func (t *turn) rest(ctx context.Context, settle time.Duration) (harness.Span, error) {
	if _, err := t.Run(ctx, settle); err != nil {
		return harness.Span{}, err
	}
	return t.Run(ctx, *rest)
}

// account leaves the program alone after a course, and compares.
func (t *turn) account(ctx context.Context, c *course, into *[]figure) error {
	after, err := t.rest(ctx, *settle)
	if err != nil {
		return err
	}
	track, err := t.Seen()
	if err != nil {
		return err
	}
	f, plain, err := figureOf(track, c, t.before, after, *settle)
	if err != nil {
		return err
	}
	*into = append(*into, f)
	if *timeline {
		printTimeline(os.Stderr, track, c, plain)
	}
	for _, share := range track.Shares(after) {
		t.result.alone = append(t.result.alone, share/plain)
	}
	t.before = after
	return nil
}

var errNoWindows = errors.New("there are no windows to compare: let it rest or stay longer")

// figureOf compares a course with the times before and after it, in which the program
// was left alone.
func figureOf(t harness.Track, c *course, before, after harness.Span, settle time.Duration) (f figure, plain float64, err error) {
	// What they differ by when both are alone may drift: the mean holds in between.
	plain = (harness.Median(t.Shares(before)) + harness.Median(t.Shares(after))) / 2
	var disturbed, settling []harness.Span
	for _, d := range c.disturbed {
		settled := t.After(d.span.Until, settle)
		disturbed = append(disturbed, harness.Span{From: d.span.From, Until: settled})
		if d.hooked {
			settling = append(settling, harness.Span{From: d.span.Until, Until: settled})
		}
	}
	between := t.Shares(c.span.Without(harness.Union(disturbed))...)
	if math.IsNaN(plain) || len(between) == 0 {
		return figure{}, 0, errNoWindows
	}
	f.course = c
	for _, share := range between {
		f.speeds = append(f.speeds, share/plain)
	}
	for _, s := range harness.Union(disturbed) {
		for _, part := range s.Without(settling) {
			f.lost += t.Lost(part, plain)
		}
	}
	for _, s := range settling {
		f.lost += t.Lost(s, harness.Median(between))
	}
	f.all = t.Lost(harness.Span{From: c.span.From, Until: t.After(c.span.Until, settle)}, plain)
	if part := t.Within(c.span); len(part) > 1 {
		f.done = part[len(part)-1].Touched.Done - part[0].Touched.Done
	}
	return f, plain, nil
}
