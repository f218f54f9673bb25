package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const (
	joinedTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	joinedSpan  = "00f067aa0ba902b7"
)

// startJoined starts a web server with its client.
func startJoined(t *testing.T, jdk jvmtest.JDK, options ...string) *monitoredProgram {
	t.Helper()
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/joined/Joined.java"}})
	args := append(options, "-cp", classes, "joined.Joined")
	p := &monitoredProgram{t, jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: args})}
	p.do("/now none", "answered") // its classes are loaded
	p.do("/later none", "answered")
	return p
}

// request sends a request, and returns the trace that the program says it belongs to.
func (p *monitoredProgram) request(path, parent string) string {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.Stdin, path, parent); err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimPrefix(p.Await(p.t, "answered "), "answered ")
}

// A joinedJSON is what is looked at of a transaction.
type joinedJSON struct{ TraceID, ParentSpanID string }

// traceJoined traces one transaction for each request.
func traceJoined(t *testing.T, p *monitoredProgram, requests int, send func(), options ...string) (kept []joinedJSON) {
	t.Helper()
	args := []string{"trace", strconv.Itoa(p.PID), "joined.Joined$Shop.order", "--json", "--limit", strconv.Itoa(requests)}
	s := startSonde(t, append(args, options...)...)
	send()
	if code := s.end(t); code != exitOK {
		t.Fatalf("exit code %d: %s", code, s.stderr.String())
	}
	if all := s.out.String() + s.stderr.String(); strings.Contains(all, "hunter2") || strings.Contains(all, "traceparent") {
		t.Errorf("the output has a header: %s", all)
	}
	lines := strings.Split(strings.TrimSpace(s.out.String()), "\n")
	for _, line := range lines[:len(lines)-1] {
		kept = append(kept, parse[joinedJSON](t, line))
	}
	if len(kept) != requests {
		t.Fatalf("%d transactions, want %d: %s", len(kept), requests, s.out.String())
	}
	return kept
}

// TestTraceJoinsRequests: a transaction has the trace of the request that it works for, also on another thread.
func TestTraceJoinsRequests(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			p := startJoined(t, jdk)
			requests := []struct {
				path, parent string
				isJoined     bool
			}{
				{"/now", "00-" + joinedTrace + "-" + joinedSpan + "-01", true},
				{"/now", "none", false},
				{"/later", "00-" + joinedTrace + "-" + joinedSpan + "-00", true},
				{"/later", "none", false},
				{"/now", "00-" + strings.Repeat("0", 32) + "-" + joinedSpan + "-01", false},
				{"/now", "01-" + joinedTrace + "-" + joinedSpan + "-01-more", true},
			}
			send := func() {
				for _, r := range requests {
					p.request(r.path, r.parent)
				}
			}
			for _, isOn := range []bool{true, false} {
				for i, tx := range traceJoined(t, p, len(requests), send, fmt.Sprintf("--join=%v", isOn)) {
					parent, isJoined := "", isOn && requests[i].isJoined
					if isJoined {
						parent = joinedSpan
					}
					if (tx.TraceID == joinedTrace) != isJoined || tx.ParentSpanID != parent || len(tx.TraceID) != 32 {
						t.Errorf("--join=%v, %+v: got %+v", isOn, requests[i], tx)
					}
				}
			}
		})
	}
}

// TestTraceJoinsOpenTelemetry: where OpenTelemetry's agent is in the JVM, transactions have the trace of its current span.
func TestTraceJoinsOpenTelemetry(t *testing.T) {
	t.Parallel()
	jdks := jvmtest.JDKs(t)
	// The client of the program does not send a header of the agent.
	p := startJoined(t, jdks[len(jdks)-1], append(openTelemetry(t), "-Dotel.instrumentation.http-url-connection.enabled=false")...)
	var want []string
	send := func() {
		for _, parent := range []string{"none", "00-" + joinedTrace + "-" + joinedSpan + "-01", "none"} {
			want = append(want, p.request("/now", parent))
		}
	}
	kept := traceJoined(t, p, 3, send)
	if want[1] != joinedTrace {
		t.Fatalf("the agent has not taken over the trace of the request, it says %q", want)
	}
	for i, tx := range kept {
		if tx.TraceID != want[i] {
			t.Errorf("request %d: trace %s, and the agent says %s", i+1, tx.TraceID, want[i])
		}
	}
}

// openTelemetry returns the options of a program with OpenTelemetry's agent.
func openTelemetry(t *testing.T) []string {
	t.Helper()
	jars, err := filepath.Glob("../../.tools/otel/*.jar")
	if err != nil || len(jars) == 0 {
		t.Skip("NOT TESTED: OpenTelemetry's agent is missing: run .ci/setup otel")
	}
	agent, err := filepath.Abs(jars[0])
	if err != nil {
		t.Fatal(err)
	}
	options := []string{"-javaagent:" + agent, "-Dotel.traces.exporter=none", "-Dotel.metrics.exporter=none", "-Dotel.logs.exporter=none", "-Dotel.instrumentation.common.default-enabled=false"}
	for _, name := range []string{"executors", "http-url-connection", "java-http-client", "java-http-server"} { // what the programs use: all would take seconds
		options = append(options, "-Dotel.instrumentation."+name+".enabled=true")
	}
	return options
}

// A callerProgram calls a web server in two ways.
type callerProgram struct {
	name string
	ways [2]string
	jars []string
}

var (
	jdkCaller    = callerProgram{"Caller", [2]string{"client", "connection"}, nil}
	apacheCaller = callerProgram{"ApacheCaller", [2]string{"four", "five"}, clientJars}
)

// startCaller starts a program that calls a web server.
func startCaller(t *testing.T, jdk jvmtest.JDK, url string, options ...string) *monitoredProgram {
	t.Helper()
	return jdkCaller.start(t, jdk, url, options...)
}

func (c *callerProgram) start(t *testing.T, jdk jvmtest.JDK, url string, options ...string) *monitoredProgram {
	t.Helper()
	jars := jarsOf(t, c.jars)
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/joined/" + c.name + ".java"}, Classpath: jars})
	path := strings.Join(append([]string{classes}, jars...), string(os.PathListSeparator))
	p := &monitoredProgram{t, jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: append(options, "-cp", path, "joined."+c.name)})}
	for _, way := range c.ways { // their classes are loaded
		p.request("order-"+way, url+" none")
	}
	return p
}

// TestTraceJoinsNeighbours: a neighbour with OpenTelemetry's agent takes part in a trace of Sonde, and Sonde in one of a neighbour.
func TestTraceJoinsNeighbours(t *testing.T) {
	t.Parallel()
	jdks := jvmtest.JDKs(t)
	jdk, agent := jdks[len(jdks)-1], openTelemetry(t)
	ways := []string{"client", "connection"}
	t.Run("to a neighbour", func(t *testing.T) {
		t.Parallel()
		server := startJoined(t, jdk, agent...)
		url := "http://localhost:" + server.request("port", "") + "/now"
		caller := startCaller(t, jdk, url)
		s := startSonde(t, "trace", strconv.Itoa(caller.PID), "joined.Caller$Front.order", "--propagate", "--json", "--limit", strconv.Itoa(len(ways)))
		var said []string
		for _, way := range ways {
			said = append(said, caller.request("order-"+way, url+" none"))
		}
		if code := s.end(t); code != exitOK {
			t.Fatalf("exit code %d: %s", code, s.stderr.String())
		}
		for i, line := range strings.SplitN(s.out.String(), "\n", len(ways)+1)[:len(ways)] {
			if id := parse[joinedJSON](t, line).TraceID; said[i] != id+" "+id {
				t.Errorf("%s: the neighbour takes part in %s, and Sonde says %s", ways[i], said[i], id)
			}
		}
	})
	t.Run("of a neighbour", func(t *testing.T) {
		t.Parallel()
		server := startJoined(t, jdk)
		url := "http://localhost:" + server.request("port", "") + "/seen"
		caller := startCaller(t, jdk, url, agent...)
		requests := 2 * len(ways)
		s := startSonde(t, "trace", strconv.Itoa(server.PID), "joined.Joined$Shop.order", "--json", "--limit", strconv.Itoa(requests))
		var sent []string
		for _, way := range ways {
			sent = append(sent, strings.Fields(caller.request("order-"+way, url+" none"))...)
		}
		if code := s.end(t); code != exitOK {
			t.Fatalf("exit code %d: %s", code, s.stderr.String())
		}
		for i, line := range strings.SplitN(s.out.String(), "\n", requests+1)[:requests] {
			if tx := parse[joinedJSON](t, line); !strings.HasPrefix(sent[i], "[00-"+tx.TraceID+"-"+tx.ParentSpanID+"-") {
				t.Errorf("the neighbour has sent %s, and Sonde says %+v", sent[i], tx)
			}
		}
	})
}

// A sentJSON is what is looked at of a transaction that sends requests.
type sentJSON struct {
	TraceID string
	Root    sentCallJSON
}

type sentCallJSON struct {
	Method, Category, SpanID string
	Children                 []sentCallJSON
}

// sent returns the spans of the outgoing calls.
func (c *sentCallJSON) sent() (spans []string) {
	if c.SpanID != "" {
		spans = append(spans, c.SpanID)
	}
	for i := range c.Children {
		spans = append(spans, c.Children[i].sent()...)
	}
	return spans
}

// TestTracePropagates: transactions of two programs belong to one trace, and that of the second is below the call that the
// first has made. Requests with a header of their own, and those outside of transactions, stay as they are.
func TestTracePropagates(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			checkPropagates(t, jdk, &jdkCaller)
		})
	}
	t.Run("Apache", func(t *testing.T) {
		t.Parallel()
		checkPropagates(t, jvmtest.OneJDK(t)[0], &apacheCaller)
	})
}

func checkPropagates(t *testing.T, jdk jvmtest.JDK, program *callerProgram) {
	t.Helper()
	server := startJoined(t, jdk)
	url := "http://localhost:" + server.request("port", "") + "/seen"
	caller := program.start(t, jdk, url)
	const own = "00-" + joinedTrace + "-" + joinedSpan + "-01"
	front := startSonde(t, "trace", strconv.Itoa(caller.PID), "joined."+program.name+"$Front.order", "--json", "--propagate", "--limit", "3")
	back := startSonde(t, "trace", strconv.Itoa(server.PID), "joined.Joined$Shop.order", "--json", "--limit", "7")
	var heard []string
	for _, line := range []string{"order-" + program.ways[0], "order-" + program.ways[1], program.ways[0]} {
		heard = append(heard, strings.Fields(caller.request(line, url+" none"))...)
	}
	if kept := caller.request("order-"+program.ways[0], url+" "+own); kept != "["+own+"] ["+own+"]" {
		t.Errorf("the server has seen %s instead of the header of the request", kept)
	}
	if kept := caller.request(program.ways[1], url+" "+own); kept != "["+own+"]" {
		t.Errorf("the server has seen %s instead of the header of the request", kept)
	}
	for _, s := range []*runningSonde{front, back} {
		if code := s.end(t); code != exitOK {
			t.Fatalf("exit code %d: %s", code, s.stderr.String())
		}
	}
	fronts, backs := strings.Split(front.out.String(), "\n"), strings.Split(back.out.String(), "\n")
	for i := range 2 {
		tx := parse[sentJSON](t, fronts[i])
		spans := tx.Root.sent()
		if len(spans) != 2 || spans[0] == spans[1] {
			t.Fatalf("transaction %d has sent %q: %s", i+1, spans, fronts[i])
		}
		for j, span := range spans {
			if want := "[00-" + tx.TraceID + "-" + span + "-01]"; heard[2*i+j] != want {
				t.Errorf("the server has seen %s, and Sonde says %s", heard[2*i+j], want)
			}
			if got := parse[joinedJSON](t, backs[2*i+j]); got.TraceID != tx.TraceID || got.ParentSpanID != span {
				t.Errorf("transaction %d of the server: %+v, want one of trace %s below %s", 2*i+j+1, got, tx.TraceID, span)
			}
		}
	}
	if heard[4] != "null" {
		t.Errorf("a request outside of transactions has the header %s", heard[4])
	}
	if tx := parse[sentJSON](t, fronts[2]); len(tx.Root.sent()) != 0 {
		t.Errorf("requests with a header of their own have spans: %s", fronts[2])
	}
}

// TestTraceWith: what another program does for a transaction is a part of it, below the call that has sent the request.
func TestTraceWith(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			server := startJoined(t, jdk)
			url := "http://localhost:" + server.request("port", "") + "/seen"
			caller := startCaller(t, jdk, url)
			s := startSonde(t, "trace", strconv.Itoa(caller.PID), "joined.Caller$Front.order", "--with", strconv.Itoa(server.PID), "--levels", "6", "--json", "--limit", "2")
			caller.request("client", url+" none") // belongs to no transaction
			caller.request("order-client", url+" none")
			caller.request("order-connection", url+" none")
			if code := s.end(t); code != exitOK {
				t.Fatalf("exit code %d: %s", code, s.stderr.String())
			}
			lines := strings.Split(s.out.String(), "\n")
			for _, line := range lines[:2] {
				tx := parse[struct{ Root processCallJSON }](t, line)
				var answered []string
				tx.Root.visit(func(caller, c *processCallJSON) {
					switch {
					case c.PID == 0 || caller.PID != 0:
					case c.PID != server.PID || caller.SpanID == "" || !strings.HasPrefix(c.ThreadName, fmt.Sprintf("process %d, ", server.PID)):
						t.Errorf("%+v is below %+v", c, caller)
					case c.StartNanos < caller.StartNanos: // it may end later: the answer comes first
						t.Errorf("%s begins before %s", c.Method, caller.Method)
					default:
						answered = append(answered, c.methods()...)
					}
				})
				if got := strings.Count(strings.Join(answered, " ")+" ", "order "); got != 2 {
					t.Errorf("the server has done %q: %s", answered, line)
				}
			}
		})
	}
}

// A processCallJSON is what is looked at of a call in one of several programs.
type processCallJSON struct {
	Method, SpanID, ThreadName string
	PID                        int
	StartNanos                 int64
	Children                   []*processCallJSON
}

func (c *processCallJSON) visit(see func(caller, c *processCallJSON)) {
	for _, child := range c.Children {
		see(c, child)
		child.visit(see)
	}
}

func (c *processCallJSON) methods() []string {
	methods := []string{c.Method}
	c.visit(func(_, child *processCallJSON) { methods = append(methods, child.Method) })
	return methods
}
