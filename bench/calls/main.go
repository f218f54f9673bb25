// Calls measures what sonde calls costs web servers, beside OpenTelemetry's agent, which does the same job.
//
//	go run ./bench/calls [-jdk N] [-rounds 8]
//
// Three servers of one kind take turns: an untouched one, one that sonde calls looks at with all categories, and one with the agent, which
// sends its spans and metrics to a receiver that drops them. wrk sends requests to one of them at a time, so what differs within a round is
// what each of them costs. Each request sends one to four statements to H2, which is in the same process.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
)

var (
	rounds = flag.Int("rounds", 8, "how often each server is measured")
	warm   = flag.Duration("warm", 20*time.Second, "how long requests are sent to each server before")
	length = flag.Duration("length", 4*time.Second, "how long they are sent in a round")
	verb   = flag.Bool("v", false, "print each round")
)

const (
	leastShare = 0.95 // of the throughput of an untouched server
	url        = "jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1;USER=sa"
	sources    = "test/calls/testdata/"
)

// A kind of servers.
type kind struct{ name, main, file, jars string }

var kinds = []kind{
	{"Tomcat", "shop.TomcatShop", "tomcat/TomcatShop.java", "/usr/share/java/tomcat10-*.jar"},
	{"Spring Boot", "shop.SpringShop", "spring/SpringShop.java", ".tools/spring/*.jar"},
}

// The servers of a kind.
const (
	untouched = iota
	withSonde
	withAgent
	ways
)

// A trial is a kind of servers on a JDK.
type trial struct {
	kind
	jdk       int
	start     [ways]time.Duration // until the server answers
	memory    [ways]uint64        // resident, in bytes, after load
	attaching time.Duration       // until sonde calls counts
	perSecond [ways][]float64     // requests, by round
}

func main() {
	harness.Main("calls", func(ctx context.Context, r *harness.Report) error {
		return harness.WithSonde(ctx, func(folder, sonde string) error {
			sink, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			defer func() { _ = sink.Close() }()
			go func() { _ = http.Serve(sink, http.HandlerFunc(drop)) }()
			agents, _ := filepath.Glob(".tools/otel/*.jar") // the pattern is well formed
			if len(agents) == 0 {
				return errors.New("OpenTelemetry's agent is missing: run .ci/setup otel")
			}
			agent := []string{"-javaagent:" + agents[0], "-Dotel.exporter.otlp.protocol=http/protobuf", "-Dotel.exporter.otlp.endpoint=http://" + sink.Addr().String(), "-Dotel.logs.exporter=none"}
			var trials []*trial
			err = harness.EachJDK(func(jdk jvmtest.JDK) error {
				for _, k := range kinds {
					t := &trial{kind: k, jdk: jdk.Major}
					if err := t.measure(ctx, jdk, folder, sonde, agent); err != nil {
						return fmt.Errorf("%s on %d: %w", k.name, jdk.Major, err)
					}
					trials = append(trials, t)
				}
				return nil
			})
			report(r, trials)
			return err
		})
	})
}

// drop is a receiver of spans and metrics that keeps none.
func drop(w http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, request.Body)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (t *trial) measure(ctx context.Context, jdk jvmtest.JDK, folder, sonde string, agent []string) error {
	jars, _ := filepath.Glob(t.jars) // the pattern is well formed
	if len(jars) == 0 {
		return fmt.Errorf("%s is missing: run .ci/setup shops", t.jars)
	}
	classpath := strings.Join(append(jars, "/usr/share/java/h2.jar"), ":")
	classes, err := harness.Compile(jdk, harness.Source{Files: []string{sources + "common/*.java", sources + t.file}, Classpath: classpath})
	if err != nil {
		return err
	}
	defer os.RemoveAll(classes)
	var servers [ways]*harness.Program
	for way := range ways {
		logs := filepath.Join(folder, fmt.Sprint(t.jdk, way, t.main))
		if err := os.MkdirAll(logs, 0o755); err != nil {
			return err
		}
		words := []string{"-Xmx512m", "-cp", classpath + ":" + classes, t.main, url, logs}
		if way == withAgent {
			words = append(agent, words...)
		}
		begin := time.Now()
		if servers[way], err = harness.Start(jdk, words...); err != nil {
			return err
		}
		defer servers[way].Close()
		t.start[way] = time.Since(begin)
	}
	for _, s := range servers {
		if _, err := load(ctx, s, *warm); err != nil {
			return err
		}
	}
	end, err := t.attach(ctx, sonde, servers[withSonde].PID())
	if err != nil {
		return err
	}
	for _, s := range servers { // the looked-at one is compiled again, and so nobody has an advantage
		if _, err := load(ctx, s, *warm/2); err != nil {
			return err
		}
	}
	for round := range *rounds {
		for turn := range ways {
			way := (turn + round) % ways
			n, err := load(ctx, servers[way], *length)
			if err != nil {
				return err
			}
			t.perSecond[way] = append(t.perSecond[way], n)
		}
		if *verb {
			fmt.Fprintf(os.Stderr, "%s on %d, round %d: %.0f, %.0f with Sonde, %.0f with the agent\n", t.name, t.jdk, round+1,
				t.perSecond[untouched][round], t.perSecond[withSonde][round], t.perSecond[withAgent][round])
		}
	}
	for way, s := range servers {
		if t.memory[way], err = resident(s.PID()); err != nil {
			return err
		}
	}
	return end()
}

// attach starts sonde calls with all categories, and returns when it counts.
func (t *trial) attach(ctx context.Context, sonde string, pid int) (end func() error, err error) {
	usual, others := categories.Names()
	c := exec.CommandContext(ctx, sonde, "calls", strconv.Itoa(pid), "--no-service", "--json", "--interval", "1s", "--category", strings.Join(slices.Concat(usual, others), ","))
	reader, writer := io.Pipe()
	var messages bytes.Buffer
	c.Stdout, c.Stderr = writer, &messages
	begin := time.Now()
	if err := c.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		err := c.Wait()
		_ = writer.Close() // it never fails
		ended <- err
	}()
	if _, err := reader.Read(make([]byte, 1)); err != nil {
		return nil, fmt.Errorf("sonde calls: %w: %s", <-ended, bytes.TrimSpace(messages.Bytes()))
	}
	t.attaching = time.Since(begin)
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	return func() error {
		if err := c.Process.Signal(syscall.SIGINT); err != nil {
			return err
		}
		return <-ended
	}, nil
}

// load sends requests to a server for a while, and returns how many it has answered in a second.
func load(ctx context.Context, s *harness.Program, length time.Duration) (float64, error) {
	out, err := exec.CommandContext(ctx, "wrk", "-t1", "-c4", "-d"+strconv.Itoa(int(length.Seconds()))+"s", "-s", sources+"shop.lua", "http://127.0.0.1:"+s.Listening).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("Non-2xx")) {
		return 0, fmt.Errorf("wrk: %w: %s", err, out)
	}
	_, text, _ := strings.Cut(string(out), "Requests/sec:")
	var perSecond float64
	if _, err := fmt.Sscan(text, &perSecond); err != nil {
		return 0, fmt.Errorf("wrk says %q: %w", out, err)
	}
	return perSecond, nil
}

// resident returns the resident memory of a process.
func resident(pid int) (uint64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, text, _ := strings.Cut(string(status), "VmRSS:")
	var kilobytes uint64
	_, err = fmt.Sscan(text, &kilobytes)
	return kilobytes << 10, err
}

// share returns the throughput of a server beside that of the untouched one, round by round.
func (t *trial) share(way int) harness.Spread {
	var shares []float64
	for i, n := range t.perSecond[way] {
		shares = append(shares, n/t.perSecond[untouched][i])
	}
	return harness.SpreadOf(shares)
}

func report(r *harness.Report, trials []*trial) {
	r.Note("Throughput is that of an untouched server in the same round: median and quartiles of %d rounds. The agent is there from the start; Sonde attaches to a running server, with all of its categories, and \"until it counts\" includes that the program runs as before. Memory is resident, after load.", *rounds)
	table := r.Table("server", "JDK", "with", "requests/s", "throughput", "start", "until it counts", "memory", "verdict")
	for _, t := range trials {
		for way, name := range []string{"nothing", "sonde calls", "OpenTelemetry's agent"} {
			share, attaching, verdict := "", "", ""
			if way != untouched {
				share = t.share(way).Times(100).Text("%.1f %%")
			}
			if way == withSonde {
				attaching = format.Duration(t.attaching)
				v := harness.Judge(t.share(way).Median >= leastShare)
				verdict = string(v)
				r.Bar(v, "%s on %d: throughput with sonde calls at least %.0f %%: %.1f %%, and %.1f %% with the agent", t.name, t.jdk, 100*leastShare, 100*t.share(way).Median, 100*t.share(withAgent).Median)
			}
			table.Row(t.name, t.jdk, name, fmt.Sprintf("%.0f", harness.Median(t.perSecond[way])), share, format.Duration(t.start[way]), attaching, fmt.Sprintf("%d MiB", t.memory[way]>>20), verdict)
		}
	}
}
