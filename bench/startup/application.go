package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A program is an application that can be started.
type program struct {
	name    string
	own     []string // internal names of its own classes begin so
	prepare func(ctx context.Context, jdk jvmtest.JDK, folder string, o options) (application, error)
}

// An application is a program made ready to be started on a JDK.
type application struct {
	program
	jdk       jvmtest.JDK
	jars      []string // with its own classes
	arguments []string // of java
	page      string   // it is ready when it has answered with a page that holds this; if "", when it says so
}

var programs = []program{
	{name: "tomcat", own: []string{"org/apache/", "org/h2/", "org/eclipse/jdt/"}, prepare: prepareTomcat},
	{name: "jruby", own: []string{"org/jruby/", "org/joni/", "org/jcodings/"}, prepare: prepareJRuby},
}

// tomcatJars are what Tomcat 10 needs, with pages, which the compiler of Eclipse compiles.
var tomcatJars = []string{
	"tomcat10-catalina", "tomcat10-coyote", "tomcat10-util", "tomcat10-util-scan", "tomcat10-juli", "tomcat10-api", "tomcat10-jni",
	"tomcat10-servlet-api", "tomcat10-jsp-api", "tomcat10-el-api", "tomcat10-annotations-api", "tomcat10-jaspic-api",
	"tomcat10-jasper", "tomcat10-jasper-el", "eclipse-jdt-core",
}

// prepareTomcat compiles the server and lays out the web application, with H2 among its libraries.
func prepareTomcat(_ context.Context, jdk jvmtest.JDK, folder string, o options) (application, error) {
	jars, err := find(o.jars, tomcatJars, "libtomcat10-java")
	if err != nil {
		return application{}, err
	}
	h2, err := find(o.jars, []string{"h2"}, "libh2-java")
	if err != nil {
		return application{}, err
	}
	webapp, server := filepath.Join(folder, "webapp"), filepath.Join(folder, "server")
	if err := os.CopyFS(webapp, os.DirFS(filepath.Join(sources, "tomcat", "webapp"))); err != nil {
		return application{}, fmt.Errorf("%w: run from the top of the repository", err)
	}
	if err := copyFile(filepath.Join(webapp, "WEB-INF", "lib", "h2.jar"), h2[0]); err != nil {
		return application{}, err
	}
	classes := filepath.Join(webapp, "WEB-INF", "classes")
	if err := compile(jdk, server, filepath.Join(sources, "tomcat", "server"), jars); err != nil {
		return application{}, err
	}
	if err := compile(jdk, classes, filepath.Join(sources, "tomcat", "classes", "stock"), append(h2, jars...)); err != nil {
		return application{}, err
	}
	path := strings.Join(append([]string{server}, jars...), string(os.PathListSeparator))
	return application{
		jdk: jdk, jars: append(h2, jars...), page: "kind 6: 28 for ",
		arguments: []string{"-cp", path, "Server", webapp},
	}, nil
}

// prepareJRuby starts what the command jruby of Debian starts, without its shell script.
func prepareJRuby(_ context.Context, jdk jvmtest.JDK, _ string, _ options) (application, error) {
	const home = "/usr/share/jruby"
	jar := filepath.Join(home, "lib", "jruby.jar")
	if _, err := os.Stat(jar); err != nil {
		return application{}, fmt.Errorf("%w: install the Debian package jruby", err)
	}
	script, err := filepath.Abs(filepath.Join(sources, "jruby", "ready.rb"))
	if err != nil {
		return application{}, err
	}
	arguments := []string{
		"-Xss2048k", "-Djava.security.egd=file:/dev/urandom", "-Djffi.boot.library.path=" + filepath.Join(home, "lib", "jni"),
		"--add-opens=java.base/java.io=ALL-UNNAMED", "--add-opens=java.base/java.nio.channels=ALL-UNNAMED",
		"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens=java.management/sun.management=ALL-UNNAMED",
		"-Djruby.openssl.load.jars=false", "-Djruby.home=" + home, "-Djruby.lib=" + filepath.Join(home, "lib"),
		"-cp", jar, "org.jruby.Main", script,
	}
	return application{jdk: jdk, jars: []string{jar}, arguments: arguments}, nil
}

// find is where jars of a folder are.
func find(folder string, names []string, debian string) ([]string, error) {
	var jars []string
	for _, name := range names {
		jar := filepath.Join(folder, name+".jar")
		if _, err := os.Stat(jar); err != nil {
			return nil, fmt.Errorf("%w: install the Debian package %s, or name the folder by -jars", err, debian)
		}
		jars = append(jars, jar)
	}
	return jars, nil
}

// compile makes the classes of all sources in one folder.
func compile(jdk jvmtest.JDK, into, sources string, path []string) error {
	return harness.CompileInto(jdk, into, harness.Source{
		Files: []string{filepath.Join(sources, "*.java")}, Classpath: strings.Join(path, string(os.PathListSeparator)),
		Flags: []string{"--release", "17", "-proc:none"},
	})
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// mostTime is what an application has to start, to answer and to end.
const mostTime = 2 * time.Minute

// A start is what one took until the application was ready.
type start struct {
	wall, cpu time.Duration
	errors    string // what it printed to its error stream until it ended
}

// start starts the application with options for java before its own, in a folder of its
// own, and ends it when it is ready.
func (a *application) start(ctx context.Context, folder string, options ...string) (s start, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return s, err
	}
	ctx, cancel := context.WithTimeout(ctx, mostTime)
	defer cancel()
	var errors bytes.Buffer
	command := exec.CommandContext(ctx, a.jdk.Tool("java"), append(options, a.arguments...)...)
	command.Dir, command.Stderr, command.Env = folder, &errors, environment()
	in, err := command.StdinPipe()
	if err != nil {
		return s, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return s, err
	}
	began := time.Now()
	if err := command.Start(); err != nil {
		return s, err
	}
	lines := bufio.NewReader(out)
	notReady := a.awaitReady(ctx, lines)
	s.wall = time.Since(began)
	cpu, noClock := processorTime(command.Process.Pid)
	s.cpu = cpu
	if notReady != nil {
		_ = command.Process.Kill() // it has done nothing of use
	}
	_ = in.Close()                    // which ends it
	_, _ = io.Copy(io.Discard, lines) // what it still has to say
	ended := command.Wait()
	s.errors = errors.String()
	switch {
	case notReady != nil:
		return s, fmt.Errorf("%s did not get ready: %w: %s", a.name, notReady, lastLines(s.errors))
	case ended != nil:
		return s, fmt.Errorf("%s: %w: %s", a.name, ended, lastLines(s.errors))
	}
	return s, noClock
}

// awaitReady reads on to the line that begins with "ready", and asks for the page where
// there is one.
func (a *application) awaitReady(ctx context.Context, lines *bufio.Reader) error {
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		said, isReady := strings.CutPrefix(line, "ready ")
		switch {
		case isReady && a.page != "":
			return visit(ctx, strings.TrimSpace(said), a.page)
		case isReady:
			return nil
		}
	}
}

// visit expects that a page is answered and holds a text.
func visit(ctx context.Context, url, text string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	request.Close = true // or the server would wait for more when it ends
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(text))) {
		err = fmt.Errorf("%s answered %s without %q: %s", url, response.Status, text, body)
	}
	return err
}

// processorTime is that of all threads a process has and had.
func processorTime(pid int) (time.Duration, error) {
	// The clock of another process, as clock_getcpuclockid(3) makes it.
	const scheduled = 2
	var spent unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &spent); err != nil {
		return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
	}
	return time.Duration(spent.Nano()), nil
}

// environment is ours, without what would change every JVM.
func environment() []string {
	var kept []string
	for _, variable := range os.Environ() {
		switch name, _, _ := strings.Cut(variable, "="); name {
		case "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH", "JRUBY_OPTS":
		default:
			kept = append(kept, variable)
		}
	}
	return kept
}

func lastLines(text string) string {
	const most = 2000
	return strings.TrimSpace(text[max(0, len(text)-most):])
}

// inFolder runs something in a new folder that does not stay.
func inFolder(parent, name string, do func(folder string) error) error {
	folder := filepath.Join(parent, name)
	defer os.RemoveAll(folder)
	return do(folder)
}
