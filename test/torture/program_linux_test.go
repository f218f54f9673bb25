package torture

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A work is a program that checks its own results; see RealProgram.java in test/realprograms.
type work struct {
	name     string
	sources  []string
	jars     []string
	oldest   int      // JDK that can run it
	patterns []string // of methods that include those which it counts
	root     string   // a method below which profiles measure
}

const realPrograms = "../realprograms/testdata/"

var works = []work{
	{
		name: "TortureWork", sources: []string{"testdata/TortureWork.java", "testdata/TorturePassing.java"}, oldest: 8,
		patterns: []string{"TortureWork.*", "TortureWork$*.*", "TorturePassing.*"}, root: "TortureWork.order",
	},
	{
		name: "H2Work", sources: []string{realPrograms + "H2Work.java"}, jars: []string{"h2"}, oldest: 11,
		patterns: []string{"org.h2.jdbc.**"}, root: "org.h2.jdbc.JdbcPreparedStatement.executeQuery",
	},
	{
		name: "TomcatWork", sources: []string{realPrograms + "TomcatWork.java"}, jars: []string{
			"tomcat10-catalina", "tomcat10-coyote", "tomcat10-util", "tomcat10-util-scan", "tomcat10-juli", "tomcat10-api",
			"tomcat10-servlet-api", "tomcat10-jsp-api", "tomcat10-el-api", "tomcat10-jasper", "tomcat10-jasper-el",
			"tomcat10-annotations-api", "tomcat10-jni", "tomcat10-jaspic-api", "eclipse-jdt-core",
		}, oldest: 17,
		patterns: []string{"org.apache.catalina.**", "jakarta.servlet.**"}, root: "org.apache.catalina.connector.CoyoteAdapter.service",
	},
}

// A launch says how a program is started.
type launch struct {
	jdk       jvmtest.JDK
	work      work
	isNobody  bool
	smallDisk bool   // it has a /tmp and a /dev/shm of its own, which are small
	otel      string // path of OpenTelemetry's agent, "" for none
	library   string // path of async-profiler, "" for none
	options   []string
}

// A program is a running work.
type program struct {
	*jvmtest.Running
	t       testing.TB
	launch  launch
	outside string // its directory, as tests see it
	inside  string // as the program sees it
	first   []string
}

// smallDisk gives a command small directories for files, which no other process sees.
const smallDisk = `for i in /tmp /dev/shm; do mount -t tmpfs -o size=64m,mode=1777 none $i || exit 1; done; exec "$@"`

func compileWork(t testing.TB, compiler jvmtest.JDK, w work) (classes string, jars []string) {
	t.Helper()
	for _, jar := range w.jars {
		path := filepath.Join("/usr/share/java", jar+".jar")
		if _, err := os.Stat(path); err != nil {
			t.Skipf("NOT TESTED: %s is missing: .ci/setup jars installs it", path)
		}
		jars = append(jars, path)
	}
	return jvmtest.Compile(t, compiler, jvmtest.Fixture{
		Sources: append([]string{realPrograms + "RealProgram.java"}, w.sources...), Classpath: jars,
		Flags: []string{"--release", fmt.Sprint(w.oldest)},
	}), jars
}

// startProgram starts a work and waits until it is ready.
func startProgram(t testing.TB, compiler jvmtest.JDK, l launch) *program {
	t.Helper()
	classes, jars := compileWork(t, compiler, l.work)
	directory := jvmtest.PublicDirectory(t)
	if err := os.CopyFS(directory, os.DirFS(classes)); err != nil {
		t.Fatal(err)
	}
	for _, path := range append(jars, l.otel, l.library) {
		if path != "" {
			copyFile(t, path, filepath.Join(directory, filepath.Base(path)))
		}
	}
	p := &program{t: t, launch: l, inside: jvmtest.Visible(t, l.jdk, directory)}
	p.outside = filepath.Join(l.jdk.Root, p.inside)
	if err := os.Chmod(p.outside, 0o777); err != nil { // for reports of crashes
		t.Fatal(err)
	}
	classpath := []string{p.inside}
	for _, jar := range jars {
		classpath = append(classpath, filepath.Join(p.inside, filepath.Base(jar)))
	}
	args := append(slices.Clone(l.options), "-Xmx256m", "-XX:ErrorFile="+filepath.Join(p.inside, "hs_err_%p.log"), "-Duser.language=en")
	if l.otel != "" {
		args = append(args, "-javaagent:"+filepath.Join(p.inside, filepath.Base(l.otel)),
			"-Dotel.traces.exporter=none", "-Dotel.metrics.exporter=none", "-Dotel.logs.exporter=none")
	}
	args = append(args, "-cp", strings.Join(classpath, ":"), "RealProgram", l.work.name)
	start := jvmtest.Launch{Args: args, Nobody: l.isNobody}
	if l.smallDisk {
		start.Wrap = []string{"unshare", "--mount", "sh", "-c", smallDisk, "sh"}
	}
	p.Running = jvmtest.Start(t, l.jdk, start)
	p.first = p.round()
	return p
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (p *program) order(words string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.Stdin, words); err != nil {
		p.t.Fatalf("ordering %q: %v\n%s", words, err, p.complaints())
	}
}

// ofProfiler finds lines that async-profiler writes into the output of the program.
var ofProfiler = regexp.MustCompile(`^(Profiling |\[(WARN|INFO|ERROR)\] )`)

// until orders something, and returns the lines of the answer before its end.
func (p *program) until(order, prefix, end string) (lines []string) {
	p.t.Helper()
	p.order(order)
	for {
		line := p.Await(p.t, "")
		if ofProfiler.MatchString(line) {
			continue
		}
		if strings.HasPrefix(line, end) {
			return append(lines, line)
		}
		text, ok := strings.CutPrefix(line, prefix)
		if !ok || prefix == "" {
			p.t.Fatalf("the program answered %q to %q\n%s", line, order, p.complaints())
		}
		lines = append(lines, text)
	}
}

func (p *program) round() []string {
	p.t.Helper()
	return p.until("round", "| ", "end")
}

// load makes the program work all the time, in two threads.
func (p *program) load() {
	p.t.Helper()
	p.until("load 2", "", "loading")
	p.until("rounds 1", "", "passed")
}

// rest ends the load. Every round must have said what the first said.
func (p *program) rest() {
	p.t.Helper()
	var rounds, different int
	line := p.until("stop", "", "stopped ")[0]
	if _, err := fmt.Sscanf(line, "stopped %d %d", &rounds, &different); err != nil || different != 0 {
		p.t.Errorf("under load: %s\n%s", line, p.complaints())
	}
}

// counts returns what the program has counted, by method, and by "threw " and method.
func (p *program) counts() map[string]int64 {
	p.t.Helper()
	counts := make(map[string]int64)
	lines := p.until("counts", "count ", "end")
	for _, line := range lines[:len(lines)-1] {
		number, name, _ := strings.Cut(line, " ")
		var count int64
		if _, err := fmt.Sscan(number, &count); err != nil {
			p.t.Fatalf("%q: %v", line, err)
		}
		counts[name] = count
	}
	return counts
}

// complaints returns what the program and the JVM have said about errors.
func (p *program) complaints() string {
	text := p.Stderr()
	reports, _ := filepath.Glob(filepath.Join(p.outside, "hs_err*")) // the pattern is well formed
	for _, report := range reports {
		data, _ := os.ReadFile(report)
		text += fmt.Sprintf("%s:\n%.4000s", report, data)
	}
	return text
}

// isBroken finds errors of classes that were changed, and crashes.
var isBroken = regexp.MustCompile(`VerifyError|ClassFormatError|IncompatibleClassChange|NoClassDefFound|sonde\.agent|SondeHooks|hs_err|SIGSEGV|Exception in thread`)

// execute asks the JVM through its attach socket.
func (p *program) execute(command string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := attach.Open(ctx, p.PID)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	reply, err := conn.Execute(ctx, command, args...)
	if err == nil && reply.Code != 0 {
		err = fmt.Errorf("%s: %d %s", command, reply.Code, reply.Text)
	}
	return reply.Text, err
}
