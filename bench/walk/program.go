package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/bench/driver"
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

// compile builds all subjects into a folder.
func compile(jdk jvmtest.JDK, folder string) error {
	arguments := []string{
		"-nowarn", "-d", folder, "-cp", h2Jar, "test/realprograms/testdata/RealProgram.java", "test/realprograms/testdata/H2Work.java",
	}
	sources, _ := filepath.Glob("bench/walk/java/*.java") // the pattern is well formed
	out, err := exec.Command(jdk.Tool("javac"), append(arguments, sources...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("javac (run from the top of the repository, after .ci/setup live): %w\n%s", err, out)
	}
	return nil
}

func (s subject) start(jdk jvmtest.JDK, classes string) (*driver.Program, error) {
	arguments := []string{"-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", "-cp", classes + ":" + h2Jar, "Paced", s.work}
	return driver.Start(jdk, append(arguments, s.operations...)...)
}

// every is how often programs are asked how far they are.
const every = 200 * time.Millisecond

// A pair is a program and its twin, which nobody touches: what it does meanwhile
// tells how fast the machine is.
type pair struct {
	touched, twin *driver.Program
	stop          context.CancelFunc
	stopped       chan struct{}

	lock  sync.Mutex
	track track
	err   error
}

func startPair(ctx context.Context, jdk jvmtest.JDK, s subject, classes string) (*pair, error) {
	touched, err := s.start(jdk, classes)
	if err != nil {
		return nil, err
	}
	twin, err := s.start(jdk, classes)
	if err != nil {
		touched.Close()
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	p := &pair{touched: touched, twin: twin, stop: stop, stopped: make(chan struct{})}
	go p.follow(ctx)
	return p, nil
}

// follow asks both programs, again and again.
func (p *pair) follow(ctx context.Context) {
	defer close(p.stopped)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		r := reading{at: time.Now()}
		var err error
		if r.touched, err = progressOf(p.touched); err == nil {
			r.twin, err = progressOf(p.twin)
		}
		p.lock.Lock()
		p.err = err
		if err == nil {
			p.track = append(p.track, r)
		}
		p.lock.Unlock()
		if err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func progressOf(program *driver.Program) (progress, error) {
	numbers, err := program.Ask("now")
	if err != nil {
		return progress{}, err
	}
	if len(numbers) != 2 {
		return progress{}, fmt.Errorf("the program answered by %d numbers", len(numbers))
	}
	return progress{numbers[0], time.Duration(numbers[1])}, nil
}

// seen is what was read so far.
func (p *pair) seen() (track, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.track[:len(p.track):len(p.track)], p.err
}

// last is the newest reading.
func (p *pair) last() (reading, error) {
	track, err := p.seen()
	if err != nil || len(track) == 0 {
		return reading{}, err
	}
	return track[len(track)-1], nil
}

// run lets both run until each has had so much processor time more, however busy the
// machine is.
func (p *pair) run(ctx context.Context, used time.Duration) error {
	first, err := p.last()
	for now := first; err == nil; now, err = p.last() {
		if now.touched.cpu-first.touched.cpu >= used && now.twin.cpu-first.twin.cpu >= used {
			return nil
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

func (p *pair) close() {
	p.stop()
	<-p.stopped
	p.touched.Close()
	p.twin.Close()
}
