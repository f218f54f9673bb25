package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
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
		for i, isWarm := range []bool{true, false} {
			if !jvmtest.Turn(t, jdk, i, 2) {
				continue
			}
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

// observeCalls lets a program work while sonde calls observes it. It returns the last object, what the program says that
// it did, and everything that was written.
func observeCalls(t *testing.T, p *monitoredProgram, rounds int, args ...string) (final document.Monitor, did, written string) {
	t.Helper()
	read, write := io.Pipe()
	var all strings.Builder
	m := startSondeTo(t, write, slices.Concat([]string{"calls", strconv.Itoa(p.PID), "--json", "--interval", "50ms"}, args)...)
	r := &monitorReader{t: t, lines: bufio.NewScanner(io.TeeReader(read, &all))}
	r.lines.Buffer(nil, 1<<20)
	r.await("the first interval", func(document.Monitor) bool { return true })
	if _, err := fmt.Fprintf(p.Stdin, "work %d\n", rounds); err != nil {
		t.Fatal(err)
	}
	did = p.Await(t, "did ")
	m.signal(t, syscall.SIGINT)
	final = r.await("the end", func(d document.Monitor) bool { return d.Final })
	if code := m.end(t); code != exitOK {
		t.Errorf("exit code %d: %s", code, m.stderr.String())
	}
	return final, did, all.String() + m.stderr.String()
}

func checkCalls(t *testing.T, p *monitoredProgram, isWarm, byCallers bool) {
	t.Helper()
	const rounds = 20
	metrics := filepath.Join(t.TempDir(), "sonde.prom")
	args := []string{"--prometheus", metrics}
	if byCallers {
		args = append(args, "--by", byCaller)
	}
	final, did, written := observeCalls(t, p, rounds, args...)
	var requests, statements uint64
	if _, err := fmt.Sscanf(did, "did %d %d", &requests, &statements); err != nil {
		t.Fatal(err)
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
	if final.Allocated == nil || *final.Allocated < 1 {
		t.Errorf("allocation is %v, want some", final.Allocated)
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
	for where, text := range map[string]string{"output": written, "metrics": string(prometheus), "history": shown} {
		if at := strings.Index(text, "hunter2"); at >= 0 {
			t.Errorf("%s has a secret: %.300s", where, text[max(0, at-200):])
		}
	}
}

func checkCallRows(t *testing.T, final document.Monitor, rounds, sent uint64, byCallers bool) {
	t.Helper()
	got := make(map[string]callRow)
	for _, r := range final.Rows {
		key := r.Category + " " + r.Direction + ": " + r.Tags["statement"] + r.Tags["host"]
		if r.Direction == "in" {
			key += r.Tags["method"] + " " + r.Tags["path"]
		} else if byCallers && r.Tags["path"] != "(none)" {
			key += " < " + r.Tags["method"] + " " + r.Tags["path"]
		}
		got[key] = callRow{got[key].calls + r.Calls, got[key].errors + r.Errors}
	}
	want := map[string]callRow{
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
		want[query+" < GET /orders/{}"], want[query+" < GET /orders/{}/items"] = callRow{3 * rounds, 0}, callRow{3 * rounds, 0}
	} else {
		want[query] = callRow{6 * rounds, 0}
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

// callJars are programs of others whose calls are observed, as Debian has them.
var (
	jmsJars = []string{
		"activemq-broker.jar", "activemq-client.jar", "activemq-openwire-legacy.jar", "geronimo-jms_1.1_spec.jar",
		"geronimo-j2ee-management-1.1-spec.jar", "hawtbuf.jar", "slf4j-api.jar", "slf4j-nop.jar",
	}
	clientJars = []string{
		"httpclient.jar", "httpcore.jar", "commons-logging.jar", "commons-codec.jar",
		"httpclient5.jar", "httpcore5.jar", "httpcore5-h2.jar", "slf4j-api.jar", "slf4j-nop.jar",
	}
	nettyJars  = []string{"netty-buffer.jar", "netty-codec.jar", "netty-codec-http.jar", "netty-common.jar", "netty-handler.jar", "netty-resolver.jar", "netty-transport.jar"}
	springJars = []string{"spring3-web.jar", "spring3-context.jar", "spring3-core.jar", "commons-logging.jar"}
)

// kafkaJar is fetched by .ci/setup calls.
const kafkaJar = "../../.tools/kafka/kafka-clients-3.9.1.jar"

// A callRow is what a row of calls is compared by.
type callRow struct{ calls, errors uint64 }

// TestCallCategoriesLive compares calls of further categories with what programs do in each round, and looks for secrets.
func TestCallCategoriesLive(t *testing.T) {
	t.Parallel()
	jdks := jvmtest.JDKs(t)
	for _, test := range []struct {
		name, category string
		isOld          bool // it does not run on every JDK
		jars           []string
		want           map[string]callRow // in a round, by category, direction and key
	}{
		{"Messages", "messaging", true, jmsJars, map[string]callRow{
			"messaging in: orders": {1, 0}, "messaging in: news": {1, 0},
			"messaging out: send orders": {1, 0}, "messaging out: send news": {1, 0}, "messaging out: send bills": {1, 0}, "messaging out: receive bills": {1, 0},
		}},
		{"Kafka", "messaging", true, []string{kafkaJar, "slf4j-api.jar", "slf4j-nop.jar"}, map[string]callRow{
			"messaging out: send orders": {1, 0}, "messaging out: receive shop": {1, 0},
		}},
		{"Clients", "web", true, clientJars, map[string]callRow{
			"web in: GET /fine": {4, 0}, "web in: GET /broken": {2, 2}, "web out: localhost": {7, 3},
		}},
		{"Netty", "web", true, nettyJars, map[string]callRow{
			"web in: GET /orders/{}": {1, 0}, "web in: POST /orders": {1, 0}, "web in: GET /broken": {1, 1},
		}},
		{"Tasks", "tasks,routes", false, springJars, map[string]callRow{
			"tasks in: calls.Tasks$Job.run": {3, 0}, "tasks in: calls.Tasks$Ask.call": {1, 0}, "tasks in: calls.Tasks$Failing.run": {1, 1},
			"tasks in: calls.Tasks.lambda": {1, 0}, "tasks in: calls.Tasks$Orders.tick": {1, 0},
			"routes in: calls.Tasks$Orders.list": {1, 0}, "routes in: calls.Tasks$Orders.broken": {1, 1},
		}},
		{"Channels", "sockets,files", false, nil, map[string]callRow{
			"sockets out: 127.0.0.1": {10, 0}, "files out: stream.bin": {2, 0}, "files out: channel.bin": {2, 0},
		}},
	} {
		for _, jdk := range jdks {
			if test.isOld && jdk.Major > 17 {
				continue
			}
			t.Run(fmt.Sprintf("%s jdk%d", test.name, jdk.Major), func(t *testing.T) {
				t.Parallel()
				jars := jarsOf(t, test.jars)
				classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/calls/" + test.name + ".java"}, Classpath: jars})
				path := strings.Join(append([]string{classes}, jars...), string(os.PathListSeparator))
				p := &monitoredProgram{t, jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", path, "calls." + test.name, t.TempDir()}})}
				checkCategory(t, p, test.category, test.want)
			})
		}
	}
}

// TestQueueTimeLive compares the time that tasks wait for a thread with the least and the most that a program measures itself.
func TestQueueTimeLive(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			const rounds = 20
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/calls/Queues.java"}})
			p := &monitoredProgram{t, jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "calls.Queues"}})}
			final, did, _ := observeCalls(t, p, rounds, "--category", "tasks")
			if final.GC == nil || final.GC.Count < 1 || final.GC.Time <= 0 {
				t.Errorf("the program has collected its garbage, but this is known: %+v", final.GC)
			}
			rows := make(map[string]document.MonitorRow)
			for _, r := range final.Rows {
				rows[strings.TrimPrefix(r.Class, "calls.Queues$")] = r
			}
			for _, text := range strings.Fields(did)[1:] {
				fields := strings.Split(text, ":")
				least, _ := strconv.ParseFloat(fields[1], 64)
				most, err := strconv.ParseFloat(fields[2], 64)
				calls := uint64(rounds)
				if fields[0] == "Executed" {
					calls *= 3
				}
				switch r := rows[fields[0]]; {
				case err != nil || r.Calls != calls || r.Queued != calls:
					t.Errorf("%s: %d calls, the queue time of %d is known, not %d: %v", fields[0], r.Calls, r.Queued, calls, err)
				case *r.Queue*float64(calls) < least || *r.Queue*float64(calls) > most:
					t.Errorf("%s: all have waited %.0f ns, but the program says %.0f to %.0f", fields[0], *r.Queue*float64(calls), least, most)
				}
			}
		})
	}
}

func checkCategory(t *testing.T, p *monitoredProgram, category string, inRound map[string]callRow) {
	t.Helper()
	const rounds = 10
	final, _, written := observeCalls(t, p, rounds, "--category", category)
	got := make(map[string]callRow)
	for _, r := range final.Rows {
		key := r.Category + " " + r.Direction + ": " + callKey(r)
		got[key] = callRow{got[key].calls + r.Calls, got[key].errors + r.Errors}
	}
	for key, w := range inRound {
		if want := (callRow{w.calls * rounds, w.errors * rounds}); got[key] != want {
			t.Errorf("%s: %+v, not %+v", key, got[key], want)
		}
		delete(got, key)
	}
	for key := range got {
		if !strings.HasPrefix(key, "files ") { // a JVM also reads its classes
			t.Errorf("a further row: %s", key)
		}
	}
	if at := strings.Index(written, "hunter2"); at >= 0 {
		t.Errorf("there is a secret: %.300s", written[max(0, at-200):])
	}
	if t.Failed() {
		t.Logf("%+v\n%s", final.Rows, p.Stderr())
	}
}

// callKey returns the key of a row; of the body of a lambda expression without its number, of a file its name.
func callKey(r document.MonitorRow) string {
	if r.Class != "" {
		name, _, _ := strings.Cut(r.Method, "$")
		return r.Class + "." + name
	}
	if file, is := r.Tags["file"]; is {
		return filepath.Base(file)
	}
	var words []string
	for _, name := range []string{"method", "path", "source", "destination", "consumer", "host", "peer"} {
		value, is := r.Tags[name]
		if is && value != "(none)" && (r.Direction == "in" || !slices.Contains([]string{"method", "path", "source"}, name)) {
			words = append(words, verbs[name]+value)
		}
	}
	return strings.Join(words, " ")
}

// jarsOf returns the paths of jars. It skips the test if one is missing.
func jarsOf(t *testing.T, names []string) (paths []string) {
	t.Helper()
	for _, name := range names {
		path := name
		if !strings.Contains(name, "/") {
			path = filepath.Join("/usr/share/java", name)
		}
		path, err := filepath.Abs(path)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			t.Skipf("NOT TESTED: %s is missing: run .ci/setup calls", name)
		}
		paths = append(paths, path)
	}
	return paths
}

// TestCategoryRootsLive traces and profiles requests without the name of a method.
func TestCategoryRootsLive(t *testing.T) {
	t.Parallel()
	jars := jarsOf(t, []string{"h2.jar"})
	for _, jdk := range jvmtest.OneJDK(t) {
		classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/calls/Calls.java"}, Classpath: jars})
		path := strings.Join(append([]string{classes}, jars...), string(os.PathListSeparator))
		p := &monitoredProgram{t, jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", path, "calls.Calls", "warm"}})}
		wants := map[string]string{
			"trace":   `"category":"web","incoming":true,"target":"GET /orders/{}","status":200`,
			"profile": `"name":"handle","descriptor":"(Lcom/sun/net/httpserver/HttpExchange;)V","category":"web"`, // a type of the program
		}
		for _, args := range [][]string{{"trace", "--limit", "1"}, {"profile", "--timing", "exact", "--calls", "3"}} {
			s := startSonde(t, slices.Concat(args[:1], []string{strconv.Itoa(p.PID), "--category", "web", "--json"}, args[1:])...)
			p.do("work 2", "did ")
			if code := s.end(t); code != exitOK {
				t.Errorf("%s: exit code %d: %s", args[0], code, s.stderr.String())
			}
			if !strings.Contains(s.out.String(), `"doFilter"`) || strings.Contains(s.stderr.String(), "no loaded class") {
				t.Errorf("%s: no request in %.1000s\n%s", args[0], s.out.String(), s.stderr.String())
			}
			if !strings.Contains(s.out.String(), wants[args[0]]) {
				t.Errorf("%s: the output does not have %s: %.2000s", args[0], wants[args[0]], s.out.String())
			}
		}
	}
}

// TestCallsShowLocks has threads wait for a monitor and for a lock of java.util.concurrent, and one for work.
func TestCallsShowLocks(t *testing.T) {
	t.Parallel()
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/locked/Locked.java"}})
			p := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", classes, "locked.Locked"}})
			read, write := io.Pipe()
			m := startSondeTo(t, write, "calls", strconv.Itoa(p.PID), "--json", "--interval", "100ms")
			r := &monitorReader{t: t, lines: bufio.NewScanner(read)}
			want := []string{
				"locked.Locked$Vault.open waits for locked.Locked$Vault held in locked.Locked$Vault.open",
				"locked.Locked.passGate waits for java.util.concurrent.locks.ReentrantLock$NonfairSync held in locked.Locked.holdGate",
			}
			locks := func(d document.Monitor) (found []string) {
				for _, place := range d.Locks {
					for _, l := range place.Locks {
						if l.Holder != nil && place.Threads > 0 {
							found = append(found, fmt.Sprintf("%s.%s waits for %s held in %v", place.Class, place.Method, l.Class, l.Holder))
						}
					}
				}
				slices.Sort(found)
				return found
			}
			r.await("the locks", func(d document.Monitor) bool { return slices.Equal(locks(d), want) })
			m.signal(t, syscall.SIGINT)
			if got := locks(r.await("the end", func(d document.Monitor) bool { return d.Final })); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			if code := m.end(t); code != exitOK {
				t.Errorf("exit code %d: %s", code, m.stderr.String())
			}
		})
	}
}
