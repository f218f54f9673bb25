package calls

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

var sondePath string

func TestMain(m *testing.M) { os.Exit(jvmtest.WithSonde(&sondePath, m.Run)) }

// A server answers the requests of customers.
type server struct {
	name, main, source string
	jars               []string // globs
}

var servers = []server{
	{"Tomcat", "shop.TomcatShop", "tomcat/TomcatShop.java", []string{"/usr/share/java/tomcat10-*.jar"}},
	{"Spring Boot", "shop.SpringShop", "spring/SpringShop.java", []string{"../../.tools/spring/*.jar"}},
}

const (
	h2Jar         = "/usr/share/java/h2.jar"
	postgreSQLJar = "/usr/share/java/postgresql.jar"
	loadTime      = "5s"
)

// TestLogs: routes, statements, their number and which request made them are those of the access log and of the statement log.
func TestLogs(t *testing.T) {
	if os.Getenv("SONDE_CALLS") == "" {
		t.Skip("make calls runs it")
	}
	for _, jdk := range jvmtest.JDKs(t) {
		for _, s := range servers {
			for _, database := range []string{"H2", "PostgreSQL"} {
				t.Run(fmt.Sprintf("jdk%d %s %s", jdk.Major, s.name, database), func(t *testing.T) {
					url, log := "jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1;USER=sa", ""
					if database == "PostgreSQL" {
						url, log = startPostgreSQL(t)
					}
					compareLogs(t, jdk, s, url, log)
				})
			}
		}
	}
}

// compareLogs lets customers work while sonde calls looks at a server.
func compareLogs(t *testing.T, jdk jvmtest.JDK, s server, url, statements string) {
	t.Helper()
	jars := []string{h2Jar, postgreSQLJar}
	for _, glob := range s.jars {
		found, err := filepath.Glob(glob)
		if err != nil || len(found) == 0 {
			t.Skipf("NOT TESTED: %s is missing: run .ci/setup shops", glob)
		}
		for _, jar := range found {
			whole, err := filepath.Abs(jar)
			if err != nil {
				t.Fatal(err)
			}
			jars = append(jars, whole)
		}
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/common/Database.java", "testdata/" + s.source}, Classpath: jars})
	folder := t.TempDir()
	p := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-Xmx256m", "-cp", strings.Join(append(jars, classes), ":"), s.main, url, folder}})
	_, port, _ := strings.Cut(p.Stdout(), "listening ")
	port, _, _ = strings.Cut(port, "\n")
	requests := filepath.Join(folder, "access.log")
	load(t, port, requests) // classes are loaded, and connections are open
	before := [2]int{len(read(t, requests)), len(read(t, statements))}

	sonde := exec.Command(sondePath, "calls", strconv.Itoa(p.PID), "--json", "--by", "caller", "--category", "db,web")
	var out, messages bytes.Buffer
	sonde.Stdout, sonde.Stderr = &out, &watcher{to: &messages, want: "hooks in ", seen: make(chan struct{})}
	if err := sonde.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- sonde.Wait() }()
	select {
	case <-sonde.Stderr.(*watcher).seen:
	case err := <-ended:
		t.Fatalf("%v: %s", err, messages.String())
	}
	load(t, port, requests)
	if err := sonde.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v: %s", err, messages.String())
	}
	if strings.Contains(out.String()+messages.String(), "hunter2") {
		t.Error("the output has a value of a statement")
	}
	want, sent := fromAccessLog(t, read(t, requests)[before[0]:])
	got := fromSonde(t, out.Bytes())
	if statements != "" {
		logged := fromStatementLog(read(t, statements)[before[1]:])
		if n := logged[check]; n > 0 {
			want[check], sent[check] = n, n
		}
		compare(t, "access log", logged, sent)
	}
	compare(t, "logs", got, want)
	total := uint64(0)
	for _, n := range got {
		total += n
	}
	t.Logf("%d requests and statements in %d rows", total, len(got))
}

// compare compares numbers of calls.
func compare(t *testing.T, what string, got, want map[string]uint64) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			t.Errorf("%s: %d, and according to the %s %d", key, got[key], what, want[key])
		}
	}
	for key, n := range got {
		if want[key] == 0 {
			t.Errorf("%s: %d, and according to the %s none", key, n, what)
		}
	}
}

// load lets customers work, and waits until the server has answered them all.
func load(t *testing.T, port, log string) {
	t.Helper()
	out, err := exec.Command("wrk", "-t2", "-c4", "-d"+loadTime, "-s", "testdata/shop.lua", "http://127.0.0.1:"+port).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("Non-2xx")) {
		t.Fatalf("wrk: %v\n%s", err, out)
	}
	for before := -1; ; { // requests that were under way when wrk ended
		now := len(read(t, log))
		if now == before {
			return
		}
		before = now
		time.Sleep(time.Second)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	if path == "" {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The statements of the shop, without values.
const (
	askOrder = "SELECT customer FROM orders WHERE id = ?"
	askItem  = "SELECT name FROM items WHERE id = ?"
	findItem = "SELECT id FROM items WHERE name = ? OR id = ?"
	addVisit = "INSERT INTO visits (customer) VALUES (?)"
	check    = "SELECT ?" // by which a pool finds out whether a connection lives
)

// fromAccessLog returns the number of requests by route, of statements by route, and of statements.
func fromAccessLog(t *testing.T, log []byte) (all, statements map[string]uint64) {
	t.Helper()
	all, statements = make(map[string]uint64), make(map[string]uint64)
	for line := range strings.Lines(string(log)) {
		var method, path string
		var status int
		if _, err := fmt.Sscan(line, &method, &path, &status); err != nil || status != 200 {
			t.Fatalf("the access log has %q", line)
		}
		number, err := strconv.Atoi(path[strings.LastIndexByte(path, '/')+1:])
		route := method + " " + path
		if err == nil {
			route = method + " " + path[:strings.LastIndexByte(path, '/')+1] + "{}"
		}
		all[route]++
		sends := func(statement string, n int) {
			all[route+": "+statement] += uint64(n)
			statements[statement] += uint64(n)
		}
		switch route {
		case "GET /orders/{}":
			sends(askOrder, 1)
			sends(askItem, number%3+1)
		case "GET /items/{}":
			sends(findItem, 1)
		default:
			sends(addVisit, 1)
		}
	}
	return all, statements
}

// fromSonde returns the same numbers according to Sonde.
func fromSonde(t *testing.T, out []byte) map[string]uint64 {
	t.Helper()
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var final document.Monitor
	if err := json.Unmarshal(lines[len(lines)-1], &final); err != nil || !final.Final {
		t.Fatalf("the last object is not the final one: %v", err)
	}
	all := make(map[string]uint64)
	for _, row := range final.Rows {
		key := row.Tags["method"] + " " + row.Tags["path"]
		switch statement := row.Tags["statement"]; {
		case statement == check:
			key = check
		case row.Category == "db":
			key += ": " + statement
		}
		all[key] += row.Calls
	}
	return all
}

var (
	executed = regexp.MustCompile(`(?m)^LOG: +(?:execute [^:]*|statement): ((?:SELECT|INSERT) .*)$`)
	values   = regexp.MustCompile(`\$\d+|'[^']*'|\b\d+\b`)
)

func fromStatementLog(log []byte) map[string]uint64 {
	all := make(map[string]uint64)
	for _, found := range executed.FindAllSubmatch(log, -1) {
		all[values.ReplaceAllString(string(found[1]), "?")]++
	}
	return all
}

// startPostgreSQL starts a database, and returns its URL and its log.
func startPostgreSQL(t *testing.T) (url, log string) {
	t.Helper()
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well formed
	if len(programs) == 0 || os.Geteuid() != 0 {
		t.Skip("NOT TESTED: PostgreSQL is missing, or this is not root: run .ci/setup shops")
	}
	folder := jvmtest.PublicDirectory(t)
	data := filepath.Join(folder, "data")
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	as := func(words ...string) *exec.Cmd {
		c := exec.Command("runuser", append([]string{"-u", "postgres", "--"}, words...)...)
		c.Dir = "/"
		return c
	}
	if out, err := as(filepath.Join(programs[0], "initdb"), "-D", data, "-A", "trust", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	free.Close()
	log = filepath.Join(folder, "log")
	control := filepath.Join(programs[0], "pg_ctl")
	options := "-p " + port + " -k " + folder + " -c listen_addresses=127.0.0.1 -c log_statement=all -c log_line_prefix= -c fsync=off"
	if out, err := as(control, "-D", data, "-l", log, "-o", options, "-w", "start").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := as(control, "-D", data, "-m", "immediate", "stop").CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	return "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=postgres", log
}

// A watcher tells when a text was written.
type watcher struct {
	to   *bytes.Buffer
	want string
	seen chan struct{}
	was  bool
}

func (w *watcher) Write(data []byte) (int, error) {
	_, _ = w.to.Write(data) // it never fails
	if !w.was && strings.Contains(w.to.String(), w.want) {
		w.was = true
		close(w.seen)
	}
	return len(data), nil
}
