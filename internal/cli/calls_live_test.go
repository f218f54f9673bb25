package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

const callsH2 = "/usr/share/java/h2.jar"

// TestCallsLive compares calls with what a program knows that it did, and looks for its secrets. The classes of the
// second program load only after the hooks are in.
func TestCallsLive(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(callsH2); err != nil {
		t.Skipf("NOT TESTED: %s is missing: run .ci/setup h2", callsH2)
	}
	for _, jdk := range jvmtest.JDKs(t) {
		for _, isWarm := range []bool{true, false} {
			t.Run(fmt.Sprintf("jdk%d warm %v", jdk.Major, isWarm), func(t *testing.T) {
				t.Parallel()
				classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/calls/Calls.java"}, Classpath: []string{callsH2}})
				args := []string{"-cp", classes + string(os.PathListSeparator) + callsH2, "calls.Calls"}
				if isWarm {
					args = append(args, "warm")
				}
				p := &monitoredProgram{t, jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: args})}
				checkCalls(t, p, isWarm, jdk.Major == 25)
			})
		}
	}
}

func checkCalls(t *testing.T, p *monitoredProgram, isWarm, byCallers bool) {
	t.Helper()
	const rounds = 20
	metrics := filepath.Join(t.TempDir(), "sonde.prom")
	args := []string{"calls", strconv.Itoa(p.PID), "--json", "--interval", "50ms", "--prometheus", metrics}
	if byCallers {
		args = append(args, "--by", byCaller)
	}
	read, write := io.Pipe()
	var written strings.Builder
	m := startSondeTo(t, write, args...)
	r := &monitorReader{t: t, lines: bufio.NewScanner(io.TeeReader(read, &written))}
	r.lines.Buffer(nil, 1<<20)
	r.await("the first interval", func(document.Monitor) bool { return true })
	if _, err := fmt.Fprintf(p.Stdin, "work %d\n", rounds); err != nil {
		t.Fatal(err)
	}
	var requests, statements uint64
	if _, err := fmt.Sscanf(p.Await(t, "did "), "did %d %d", &requests, &statements); err != nil {
		t.Fatal(err)
	}
	m.signal(t, syscall.SIGINT)
	final := r.await("the end", func(d document.Monitor) bool { return d.Final })
	if code := m.end(t); code != exitOK {
		t.Errorf("exit code %d: %s", code, m.stderr.String())
	}
	sums := make(map[string]uint64)
	for _, row := range final.Rows {
		sums[row.Category+" "+row.Direction] += row.Calls
	}
	// The JVM shows a class before its supertypes, so the first call of a client may have no hook.
	least := requests
	if !isWarm {
		least -= 2
	}
	if sums["web in"] != requests || sums["db out"] != statements || sums["web out"] < least || sums["web out"] > requests {
		t.Errorf("calls are %v, and the program counted %d requests and %d statements", sums, requests, statements)
	}
	checkCallRows(t, final, rounds, sums["web out"], byCallers)
	prometheus, err := os.ReadFile(metrics)
	if err != nil {
		t.Error(err)
	}
	if want := `sonde_calls_total{main="calls.Calls",category="web",direction="in",tag_method="GET",tag_path="/orders/{}"} 20`; !strings.Contains(string(prometheus), want+"\n") {
		t.Errorf("the metrics lack %s:\n%s", want, prometheus)
	}
	_, shown, _ := sonde(t, "show", "--text")
	for where, text := range map[string]string{"JSON": written.String(), "stderr": m.stderr.String(), "metrics": string(prometheus), "history": shown} {
		if at := strings.Index(text, "hunter2"); at >= 0 {
			t.Errorf("%s has a secret: %.300s", where, text[max(0, at-200):])
		}
	}
}

func checkCallRows(t *testing.T, final document.Monitor, rounds, sent uint64, byCallers bool) {
	t.Helper()
	type row struct{ calls, errors uint64 }
	got := make(map[string]row)
	for _, r := range final.Rows {
		key := r.Category + " " + r.Direction + ": " + r.Tags["statement"] + r.Tags["host"]
		if r.Direction == "in" {
			key += r.Tags["method"] + " " + r.Tags["path"]
		} else if byCallers && r.Tags["path"] != "(none)" {
			key += " < " + r.Tags["method"] + " " + r.Tags["path"]
		}
		got[key] = row{got[key].calls + r.Calls, got[key].errors + r.Errors}
	}
	want := map[string]row{
		"web in: GET /orders/{}":                           {rounds, 0},
		"web in: GET /orders/{}/items":                     {rounds, 0},
		"web in: GET /broken":                              {rounds, rounds},
		"web out: localhost":                               {sent, rounds},
		"db out: update orders set name = ? where id = ?":  {rounds, 0},
		"db out: select id from orders where id in (?)":    {rounds, 0},
		"db out: select ? from nowhere":                    {rounds, rounds},
		"db out: insert into orders (id, name) values (?)": {rounds, 0},
		"db out: (null)":                                   {rounds, 0},
	}
	const query = "db out: select name from orders where id = ? and name <> ?"
	if byCallers {
		want[query+" < GET /orders/{}"], want[query+" < GET /orders/{}/items"] = row{3 * rounds, 0}, row{3 * rounds, 0}
	} else {
		want[query] = row{6 * rounds, 0}
	}
	for key, w := range want {
		if got[key] != w {
			t.Errorf("%s: %+v, not %+v", key, got[key], w)
		}
		delete(got, key)
	}
	if len(got) > 0 {
		t.Errorf("further rows: %+v", got)
	}
	for _, r := range final.Rows {
		if r.Direction == "in" && (r.Share == nil || *r.Share < 0 || *r.Share > 1) {
			t.Errorf("%+v has no share", r)
		}
	}
}
