// Matrix runs the tests of test/releases and test/identity on every JDK that Sonde supports, and makes tables of the results:
// what works on which JDK, and with which options of the JVM.
//
//	go run ./bench/matrix -write
//	go run ./bench/matrix EVENTS.json...    what go test -json wrote before, instead of running the tests
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func main() { harness.Main("matrix", run) }

// suites are the tests whose results are in the tables, with what makes them test everything.
var suites = [][]string{
	{"SONDE_MATRIX=1", "./test/releases", "-run=TestCapabilities|TestOptions"},
	{"SONDE_CORPUS=full", "./test/identity", "-run=TestCorpusIdentity/jdk"},
}

func run(ctx context.Context, r *harness.Report) error {
	var results results
	for _, file := range flag.Args() {
		events, err := os.Open(file)
		if err != nil {
			return err
		}
		if err := errors.Join(results.read(events), events.Close()); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	for _, suite := range suites {
		if flag.NArg() == 0 {
			if err := results.test(ctx, suite[0], suite[1:]...); err != nil {
				return err
			}
		}
	}
	results.report(r)
	return nil
}

// A result is how a test of one JDK has ended.
type result struct {
	test       string
	table, row string
	jdk        string
	action     string // pass, skip, fail, or run if it has not ended
	reason     string // why it was skipped or has failed
}

// results are in the order in which the tests have begun. Of a test that was run again, the last one counts.
type results struct {
	all  []result
	said map[string]string // the reasons that running tests have printed, by the names of the tests
}

// test runs tests, and prints what those print that fail.
func (r *results) test(ctx context.Context, variable string, args ...string) error {
	command := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-count=1", "-timeout=180m", "-parallel=3"}, args...)...)
	command.Env = append(os.Environ(), variable)
	command.Stderr = os.Stderr
	events, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	err = r.read(events)
	var exit *exec.ExitError
	if waited := command.Wait(); waited != nil && !errors.As(waited, &exit) { // tests that fail are results
		err = errors.Join(err, waited)
	}
	return err
}

// read reads the events of go test -json.
func (r *results) read(events io.Reader) error {
	if r.said == nil {
		r.said = map[string]string{}
	}
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 1<<24) // a failed test may print a whole result
	for lines.Scan() {
		var event struct{ Action, Package, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return err
		}
		switch event.Action {
		case "run":
			delete(r.said, event.Test)
			r.add(event.Test, event.Action)
		case "output":
			if reason, isReason := reasonIn(event.Output); isReason && r.said[event.Test] == "" {
				r.said[event.Test] = reason
			}
			if event.Test == "" || strings.HasPrefix(strings.TrimSpace(event.Output), "--- ") {
				fmt.Print(event.Output)
			}
		case "pass", "skip", "fail":
			r.add(event.Test, event.Action)
		}
	}
	return lines.Err()
}

// reasonIn returns what a test says with Skip or Error: a line that begins with its file, without the file.
func reasonIn(output string) (string, bool) {
	found := regexp.MustCompile(`^\s+\w+_test\.go:\d+: (.*)`).FindStringSubmatch(output)
	if found == nil {
		return "", false
	}
	return strings.TrimPrefix(found[1], "NOT TESTED: "), true
}

// The tables, by the titles of their first columns.
const (
	capabilities = "capability"
	options      = "way to run the JVM"
)

// notes say what the cells of each table mean.
var notes = map[string]string{
	capabilities: "What works on which JDK: a program counts what it does, and Sonde must report the same. context: conditions, " +
		"sequences, tags and callers, also over threads. pack: a program that was started with one, with a walk beside it. " +
		"identity: all classes of the JDK come back byte-identical.",
	options: "With which options, and in which surroundings: in each cell, count, context, profile, trace, walk and undo. Sonde runs " +
		"as root, outside containers. From JDK 24 on, ZGC is generational without an option.",
}

// add adds the result of a test whose name has the JDK in its second part. A part of a test of options is in its row if it fails.
func (r *results) add(test, action string) {
	parts := strings.Split(test, "/")
	if len(parts) < 2 || !strings.HasPrefix(parts[1], "jdk") {
		return
	}
	before := slices.IndexFunc(r.all, func(o result) bool { return o.test == test })
	one := result{test: test, jdk: strings.TrimPrefix(parts[1], "jdk"), action: action, reason: r.said[test]}
	switch {
	case parts[0] == "TestCorpusIdentity":
		one.table, one.row = capabilities, "identity"
	case len(parts) == 2 && one.reason == "": // it says nothing else than its parts
		return
	case parts[0] == "TestCapabilities" && len(parts) == 3:
		one.table, one.row = capabilities, parts[2]
	case parts[0] == "TestOptions" && len(parts) == 3:
		one.table, one.row = options, parts[2]
	case parts[0] == "TestOptions" && len(parts) > 3:
		if action != "fail" && before < 0 {
			return
		}
		one.table, one.row, one.reason = options, parts[2], parts[3]+": "+one.reason
	default: // of the whole JDK
		one.table, one.row = capabilities, "all"
	}
	one.row = strings.ReplaceAll(one.row, "_", " ")
	if before >= 0 {
		r.all[before] = one
		return
	}
	r.all = append(r.all, one)
}

// report makes a table of each kind of test, and a note for each cell without a plain result.
func (r *results) report(to *harness.Report) {
	var reasons []string
	failed := 0
	for _, table := range []string{capabilities, options} {
		to.Note("%s", notes[table])
		var rows []string
		cells := map[[2]string]result{}
		for _, one := range r.all {
			if one.table != table {
				continue
			}
			if !slices.Contains(rows, one.row) {
				rows = append(rows, one.row)
			}
			at := [2]string{one.row, one.jdk}
			if before, is := cells[at]; !is || worse(one, before) {
				cells[at] = one
			}
		}
		header := []string{table}
		for _, jdk := range jvmtest.AllReleases {
			header = append(header, fmt.Sprint("JDK ", jdk))
		}
		t := to.Table(header...)
		for _, row := range rows {
			texts := []any{row}
			for _, jdk := range jvmtest.AllReleases {
				one, is := cells[[2]string{row, fmt.Sprint(jdk)}]
				if !is {
					one = result{action: "skip", reason: "not run"}
				}
				mark := map[string]string{"pass": "✓", "skip": "–", "run": "✗", "fail": "✗"}[one.action]
				if one.action != "pass" {
					reason := cmp.Or(one.reason, map[string]string{"run": "it did not end"}[one.action], "no reason is known")
					if !slices.Contains(reasons, reason) {
						reasons = append(reasons, reason)
					}
					mark += fmt.Sprintf(" [%d]", slices.Index(reasons, reason)+1)
				}
				if one.action == "fail" || one.action == "run" {
					failed++
				}
				texts = append(texts, mark)
			}
			t.Row(texts...)
		}
	}
	for i, reason := range reasons {
		to.Note("[%d] %s", i+1, reason)
	}
	to.Bar(harness.Judge(failed == 0), "everything works that a JDK has; %d cells failed", failed)
}

// worse reports whether a result replaces another one of the same cell: a failure does, with the first reason that there is.
func worse(a, b result) bool {
	rank := func(r result) int { return slices.Index([]string{"skip", "pass", "run", "fail"}, r.action) }
	return rank(a) > rank(b) || rank(a) == rank(b) && b.reason == ""
}
