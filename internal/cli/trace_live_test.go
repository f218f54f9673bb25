package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const tracedHandle = "traced.Traced$Shop.handle"

// A tracedJSON is what is looked at of a transaction.
type tracedJSON struct {
	TraceID       string
	DurationNanos int64
	Lost          uint64
	Tags          map[string]string
	Root          tracedCall
	Parts         []tracedCall
	Final         bool
	Kept          int
	Losses        map[string]uint64
}

type tracedCall struct {
	Class, Method             string
	Category, Target          string
	Threw, Handed, Incoming   bool
	MeasuredNanos, StartNanos int64
	SelfNanos                 int64
	ThreadName                string
	Values                    []struct {
		Expression, Text       string
		AtExit, Redacted, Null bool
	}
	Children []tracedCall
}

// shape is a call with all below it: names, and ! for an exception.
func (c *tracedCall) shape() string {
	name, _, _ := strings.Cut(c.Method, "$") // of lambdas
	if c.Threw {
		name += "!"
	}
	var inner []string
	for i := range c.Children {
		inner = append(inner, c.Children[i].shape())
	}
	if len(inner) == 0 {
		return name
	}
	return name + "(" + strings.Join(inner, " ") + ")"
}

func (c *tracedCall) value(expression string) string {
	for _, v := range c.Values {
		if v.Expression == expression {
			if v.Redacted && v.Text == "" {
				return "redacted"
			}
			return v.Text
		}
	}
	return "none"
}

// The calls of an order, as the program is written.
const (
	tracedFast = "handle(load(look look) look look look look look refuse!)"
	tracedSlow = "handle(load(look look) look look look look look wait refuse!)"
	tracedPart = "lambda(audit(look look))"
)

// TestTraceLive traces a program that makes known calls.
func TestTraceLive(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/traced/Traced.java"}})
			p := &monitoredProgram{t, jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "traced.Traced"}})}
			p.do("fast 1", "handled fast") // order 1: its classes are loaded
			checkTracedCalls(t, p)
			checkTracedSlow(t, p)
			if _, out, _ := sonde(t, "status", strconv.Itoa(p.PID)); !strings.HasPrefix(out, "Sonde has no hooks and no agent in") {
				t.Errorf("%s", out)
			}
		})
	}
}

// TestTraceOutgoing compares the outgoing calls in transactions with what a program knows that it did, and looks for its
// secrets. The calls are deeper than what is traced otherwise, and some go through a pool.
func TestTraceOutgoing(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(callsH2); err != nil {
		t.Skipf("NOT TESTED: %s is missing: run .ci/setup h2", callsH2)
	}
	jvmtest.OnEach(t, jvmtest.OneJDK(t), func(t *testing.T, jdk jvmtest.JDK) {
		classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/calls/Calls.java"}, Classpath: []string{callsH2}})
		p := &monitoredProgram{t, jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes + string(os.PathListSeparator) + callsH2, "calls.Calls", "warm"}})}
		s := startSonde(t, "trace", strconv.Itoa(p.PID), "calls.Calls.round", "calls.Calls$Orders.handle", "--json", "--limit", "1000", "--levels", "1", "--no-settle")
		if _, err := fmt.Fprintln(p.Stdin, "work 5"); err != nil {
			t.Fatal(err)
		}
		var requests, statements int
		if _, err := fmt.Sscanf(p.Await(t, "did "), "did %d %d", &requests, &statements); err != nil {
			t.Fatal(err)
		}
		s.signal(t, syscall.SIGINT)
		if code := s.end(t); code != exitOK {
			t.Fatalf("exit code %d: %s", code, s.stderr.String())
		}
		got := make(map[string]int)
		var count func(c *tracedCall)
		count = func(c *tracedCall) {
			switch {
			case c.Incoming:
				got["in "+c.Category+" "+c.Target]++
			case c.Category != "":
				got[c.Category]++
				got[c.Target]++
			}
			for i := range c.Children {
				count(&c.Children[i])
			}
		}
		for line := range strings.Lines(s.out.String()) {
			if tx := parse[tracedJSON](t, line); !tx.Final {
				count(&tx.Root)
				if len(tx.Tags) > 0 {
					t.Errorf("tags %v, want none", tx.Tags)
				}
			}
		}
		for what, want := range map[string]int{
			"db": statements, "web": requests, "GET localhost": requests, "select name from orders where id = ? and name <> ?": 30, "": 5, // the latter was prepared before
			"in web GET /orders/{}": 5, "in web GET /orders/{}/items": 5,
		} {
			if got[what] != want {
				t.Errorf("%d calls of %q, want %d; all are %v", got[what], what, want, got)
			}
		}
		if strings.Contains(s.out.String(), "hunter2") {
			t.Errorf("the output has a secret: %s", s.out.String())
		}
	})
}

// TestTraceProxies traces through a subclass that was made at run time, and through a proxy of an interface.
func TestTraceProxies(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/proxied/Proxied.java"}})
			made := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/proxied/made/Service.java"}, Flags: []string{"-cp", classes}})
			file := filepath.Join(made, "proxied", "Proxied$Service$$SpringCGLIB$$0.class")
			p := &monitoredProgram{t, jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "proxied.Proxied", file}})}
			s := startSonde(t, "trace", strconv.Itoa(p.PID), "proxied.Proxied$Web.handle", "--json", "--limit", "1", "--levels", "6")
			p.do("1", "handled")
			if code := s.end(t); code != exitOK {
				t.Fatalf("exit code %d: %s", code, s.stderr.String())
			}
			line, _, _ := strings.Cut(s.out.String(), "\n")
			tx := parse[tracedJSON](t, line)
			if got, want := tx.Root.shape(), "handle(find(find(load(lambda(query)))))"; got != want {
				t.Errorf("%s, want %s", got, want)
			}
			call := &tx.Root
			var names []string
			for ; len(call.Children) > 0; call = &call.Children[0] {
				names = append(names, call.Children[0].Class)
			}
			for i, want := range []string{"proxied.Proxied$Service$$SpringCGLIB$$0", "proxied.Proxied$Service", "proxied.Proxied$Store$Proxy", "proxied.Proxied", "proxied.Proxied"} {
				if i >= len(names) || strings.TrimRight(names[i], "0123456789") != strings.TrimRight(want, "0123456789") {
					t.Errorf("call %d is of %q, want %s", i+1, names, want)
				}
			}
		})
	}
}

// checkTracedCalls has four orders traced with values and a tag; with the fourth it ends.
func checkTracedCalls(t *testing.T, p *monitoredProgram) {
	t.Helper()
	s := startSonde(t, "trace", strconv.Itoa(p.PID), tracedHandle, "--json", "--limit", "4", "--tag", "tenant=$1.tenant",
		"--capture", "$1.number", "--capture", "$1.cardNumber", "--capture", "$2", "--capture", "$return")
	p.do("fast 3", "handled fast")
	p.do("slow 1", "handled slow")
	if code := s.end(t); code != exitOK {
		t.Fatalf("exit code %d: %s", code, s.stderr.String())
	}
	for _, secret := range []string{"4111-", "hidden"} {
		if strings.Contains(s.out.String(), secret) {
			t.Errorf("a secret is shown: %s", secret)
		}
	}
	lines := strings.Split(strings.TrimSpace(s.out.String()), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines: %s", len(lines), s.out.String())
	}
	for i, line := range lines[:4] {
		checkTraced(t, parse[tracedJSON](t, line), 2+i, i == 3)
	}
	if end := parse[tracedJSON](t, lines[4]); !end.Final || end.Kept != 4 || len(end.Losses) != 0 {
		t.Errorf("%s", lines[4])
	}
}

func checkTraced(t *testing.T, tx tracedJSON, number int, isSlow bool) {
	t.Helper()
	want, tenant := tracedFast, []string{"acme", "globex"}[number%2]
	if isSlow {
		want = tracedSlow
	}
	if got := tx.Root.shape(); got != want {
		t.Errorf("order %d: got %s\nwant %s", number, got, want)
	}
	if len(tx.Parts) != 1 || tx.Parts[0].shape() != tracedPart || !tx.Parts[0].Handed {
		t.Errorf("order %d: parts %+v", number, tx.Parts)
	}
	for expression, want := range map[string]string{
		"$1.number": strconv.Itoa(number), "$1.cardNumber": "redacted", "$2": fmt.Sprintf("id=%d&token=(redacted)", number),
		"$return": fmt.Sprintf("done %d", number),
	} {
		if got := tx.Root.value(expression); got != want {
			t.Errorf("order %d: %s is %q, want %q", number, expression, got, want)
		}
	}
	if len(tx.Root.Values) != 4 || tx.Tags["tenant"] != tenant || tx.Lost != 0 || len(tx.TraceID) != 32 {
		t.Errorf("order %d: %+v", number, tx)
	}
	// Bars nest, and nobody has more time for himself than he took.
	var check func(c *tracedCall)
	check = func(c *tracedCall) {
		for i := range c.Children {
			child := &c.Children[i]
			if child.StartNanos < c.StartNanos || child.StartNanos+child.MeasuredNanos > c.StartNanos+c.MeasuredNanos || child.SelfNanos > child.MeasuredNanos {
				t.Errorf("order %d: %s lies outside %s", number, child.Method, c.Method)
			}
			check(child)
		}
	}
	check(&tx.Root)
}

// checkTracedSlow keeps only slow orders, until it is interrupted, and writes all files.
func checkTracedSlow(t *testing.T, p *monitoredProgram) {
	t.Helper()
	const atLeast = 55 * time.Millisecond // the slow ones wait for 60
	folder := t.TempDir()
	args := []string{"trace", strconv.Itoa(p.PID), tracedHandle, "--slower-than", atLeast.String(), "--capture", "$1.number", "--hand-off=false", "--show", "all"}
	for _, name := range []string{"t.json", "t.html", "t.trace.json", "t.otlp.json", "t.txt"} {
		args = append(args, "-o", filepath.Join(folder, name))
	}
	s := startSonde(t, args...)
	p.do("slow 1", "handled slow") // order 6
	p.do("fast 20", "handled fast")
	p.do("slow 2", "handled slow") // orders 27 and 28
	p.do("fast 50", "handled fast")
	p.do("slow 1", "handled slow") // order 79
	s.signal(t, syscall.SIGINT)
	if code := s.end(t); code != exitOK {
		t.Fatalf("exit code %d: %s", code, s.stderr.String())
	}
	text, err := os.ReadFile(filepath.Join(folder, "t.json"))
	if err != nil {
		t.Fatal(err)
	}
	checkDocuments(t, string(text))
	result := parse[struct {
		Transactions []tracedJSON
		Losses       map[string]uint64
	}](t, string(text))
	var numbers []string
	for _, tx := range result.Transactions {
		numbers = append(numbers, tx.Root.value("$1.number"))
		if time.Duration(tx.Root.MeasuredNanos) < atLeast {
			t.Errorf("order %s was kept though it took %v", tx.Root.value("$1.number"), time.Duration(tx.DurationNanos))
		}
		if len(tx.Parts) != 0 {
			t.Errorf("parts without hand-off: %+v", tx.Parts)
		}
	}
	for _, slow := range []string{"6", "27", "28", "79"} {
		if !slices.Contains(numbers, slow) {
			t.Errorf("order %s was slow and is not among %v", slow, numbers)
		}
	}
	if kept := uint64(len(numbers)); kept+result.Losses["notChosen"] != 74 {
		t.Errorf("%d kept, losses %v, of 74", kept, result.Losses)
	}
	for _, want := range []string{"Traced$Shop.wait", "self time", "kept; "} {
		if !strings.Contains(s.out.String(), want) {
			t.Errorf("no %q in %s", want, s.out.String())
		}
	}
	checkTraceFiles(t, folder)
}

func checkTraceFiles(t *testing.T, folder string) {
	t.Helper()
	for name, want := range map[string]string{
		"t.html": `<script type="application/json" id="result">{"format":"sonde-trace"`, "t.trace.json": `"traceEvents":[`, "t.otlp.json": `"resourceSpans":[`,
		"t.txt": "Traced$Shop.wait",
	} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, no %s", name, err, want)
		}
		if strings.HasSuffix(name, ".json") && !json.Valid(text) {
			t.Errorf("%s is no JSON", name)
		}
	}
}
