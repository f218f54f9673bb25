package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sonde-jvm/sonde/bench/twin"
	"github.com/sonde-jvm/sonde/internal/jvm/cost"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// A subject is a program to be observed.
type subject struct {
	name string
	// prepare builds it below a folder, and gives how it is started.
	prepare func(jdk jvmtest.JDK, folder string) (starter, error)
}

// A starter starts a program, and what gives it something to do.
type starter func(folder string) (*program, error)

var subjects = []subject{{"H2", prepareH2}, {"shop", prepareShop}, {"Tomcat", prepareTomcat}}

// A program is one that runs. It ends with its input.
type program struct {
	process *exec.Cmd
	in      io.Closer
	errors  bytes.Buffer // to be read when it has ended
	url     string       // where it serves, if it does
	done    func() (float64, error)
	ends    []func() // what ends with it, before it

	meter *cost.Meter
	first cost.Reading
}

// startProgram runs java and waits until the program is ready.
func startProgram(jdk jvmtest.JDK, arguments ...string) (*program, *bufio.Reader, error) {
	p := &program{process: exec.Command(jdk.Tool("java"), arguments...)}
	in, err := p.process.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	p.in, p.process.Stderr = in, &p.errors
	if err := p.process.Start(); err != nil {
		return nil, nil, err
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			p.Close()
			return nil, nil, fmt.Errorf("the program ended before it was ready: %s", bytes.TrimSpace(p.errors.Bytes()))
		}
		if url, is := strings.CutPrefix(line, "listening "); is {
			p.url = strings.TrimSpace(url)
		}
		if strings.TrimSpace(line) == "ready" {
			break
		}
	}
	if err := p.measure(); err != nil {
		p.Close()
		return nil, nil, err
	}
	return p, lines, nil
}

// measure begins to account for its processor time.
func (p *program) measure() error {
	jvm, err := process.Local.Inspect(p.pid())
	if err != nil {
		return err
	}
	p.meter = cost.Watch(jvm)
	p.first, err = p.meter.Read()
	return err
}

func (p *program) pid() int { return p.process.Process.Pid }

var errNoClock = errors.New("the processor time of the program is not known")

// Progress is how far it is, by the processor time of all threads but compilers and the
// JVM's own.
func (p *program) Progress() (twin.Progress, error) {
	done, err := p.done()
	if err != nil {
		return twin.Progress{}, err
	}
	now, err := p.meter.Read()
	if err != nil {
		return twin.Progress{}, err
	}
	since := p.first.Until(now)
	if !since.Known.Process || !since.Known.Compilers {
		return twin.Progress{}, errNoClock
	}
	return twin.Progress{Done: done, CPU: since.Rest}, nil
}

// closeLimit bounds how long a program may take to end.
const closeLimit = 10 * time.Second

// Close ends it.
func (p *program) Close() {
	for _, end := range p.ends {
		end()
	}
	if p.meter != nil {
		p.meter.Close()
	}
	_ = p.in.Close() // which ends it
	kill := time.AfterFunc(closeLimit, func() { _ = p.process.Process.Kill() })
	_ = p.process.Wait() // how it ends does not matter any more
	kill.Stop()
}

// compileJava compiles sources into a folder.
func compileJava(jdk jvmtest.JDK, folder, classpath string, sources ...string) error {
	arguments := append([]string{"-nowarn", "-d", folder, "-cp", classpath}, sources...)
	out, err := exec.Command(jdk.Tool("javac"), arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("javac (run from the top of the repository, after .ci/setup live): %w\n%s", err, out)
	}
	return nil
}

const jars = "/usr/share/java"

// classpath is made of jars by their names.
func classpath(names ...string) string {
	var paths []string
	for _, name := range names {
		paths = append(paths, filepath.Join(jars, name+".jar"))
	}
	return strings.Join(paths, ":")
}

// heap is what programs have, so that collections come as often with probes as without.
var heap = []string{"-Xms384m", "-Xmx384m", "-XX:+UseSerialGC"}

// prepareH2 is a database in memory under a mix of SQL, in a thread of the same program.
func prepareH2(jdk jvmtest.JDK, folder string) (starter, error) {
	err := compileJava(jdk, folder, classpath("h2"), "test/realprograms/testdata/RealProgram.java", "test/realprograms/testdata/H2Work.java", "bench/walk/java/Paced.java")
	if err != nil {
		return nil, err
	}
	arguments := append(heap[:len(heap):len(heap)], "-cp", folder+":"+classpath("h2"), "Paced", "H2Work",
		"org/h2/jdbc/JdbcPreparedStatement.executeQuery()Ljava/sql/ResultSet;", "org/h2/jdbc/JdbcPreparedStatement.executeUpdate()I")
	return func(string) (*program, error) {
		p, answers, err := startProgram(jdk, arguments...)
		if err != nil {
			return nil, err
		}
		ask := p.in.(io.Writer)
		p.done = func() (done float64, err error) {
			var cpu float64
			if _, err = fmt.Fprintln(ask, "now"); err == nil {
				_, err = fmt.Fscanf(answers, "now %g %g\n", &done, &cpu)
			}
			return done, err
		}
		return p, nil
	}, nil
}

// prepareShop is the demo's shop with its own customers, in a program of their own.
func prepareShop(jdk jvmtest.JDK, _ string) (starter, error) {
	build := exec.Command("demo/shop/build")
	build.Env = append(os.Environ(), "JAVA_HOME="+jdk.Home)
	out, err := build.Output()
	if err != nil {
		return nil, fmt.Errorf("demo/shop/build: %w", err)
	}
	classpath := strings.TrimSpace(string(out))
	return func(string) (*program, error) {
		p, said, err := startProgram(jdk, append(heap[:len(heap):len(heap)], "-cp", classpath, "shop.Main")...)
		if err != nil {
			return nil, err
		}
		go drain(said)
		load := exec.Command(jdk.Tool("java"), "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classpath, "load.Main", p.url, "1000000")
		in, err := load.StdinPipe()
		if err == nil {
			err = load.Start()
		}
		if err != nil {
			p.Close()
			return nil, err
		}
		p.ends = append(p.ends, func() {
			_ = in.Close()
			_ = load.Wait()
		})
		p.done = func() (float64, error) { return shopRequests(p.url) }
		return p, nil
	}, nil
}

func drain(r *bufio.Reader) { _, _ = io.Copy(io.Discard, r) }

// shopRequests is what the shop has counted.
func shopRequests(shop string) (float64, error) {
	response, err := client.Get(shop + "stats")
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	var stats struct{ Requests float64 }
	err = json.NewDecoder(response.Body).Decode(&stats)
	return stats.Requests, err
}

var client = http.Client{Timeout: 30 * time.Second}

// prepareTomcat is a Tomcat with what comes with it, asked from here.
func prepareTomcat(jdk jvmtest.JDK, folder string) (starter, error) {
	jars := classpath("tomcat10-catalina", "tomcat10-coyote", "tomcat10-util", "tomcat10-util-scan", "tomcat10-juli", "tomcat10-api", "tomcat10-servlet-api",
		"tomcat10-jsp-api", "tomcat10-el-api", "tomcat10-jasper", "tomcat10-jasper-el", "tomcat10-annotations-api", "tomcat10-jni", "tomcat10-jaspic-api", "eclipse-jdt-core")
	if err := compileJava(jdk, folder, jars, "bench/observe/java/Web.java"); err != nil {
		return nil, err
	}
	return func(place string) (*program, error) {
		p, said, err := startProgram(jdk, append(heap[:len(heap):len(heap)], "-cp", folder+":"+jars, "Web", place)...)
		if err != nil {
			return nil, err
		}
		go drain(said)
		v := visit(p.url)
		p.ends = append(p.ends, v.end)
		p.done = func() (float64, error) { return float64(v.answered.Load()), v.failed() }
		return p, nil
	}, nil
}

// A visitors are clients that ask a server, again and again.
type visitors struct {
	answered atomic.Int64
	stopping chan struct{}
	wait     sync.WaitGroup
	lock     sync.Mutex
	err      error
}

// atOnce is how many ask at a time.
const atOnce = 2

func visit(server string) *visitors {
	v := &visitors{stopping: make(chan struct{})}
	text := url.QueryEscape(strings.Repeat("one two three two one ", 8))
	paths := []string{"file.txt", "page.jsp?text=" + text, "page.jsp?text=short", "missing.html"}
	for range atOnce {
		// Who brings no cookie gets a new session each time: they would fill the heap.
		cookies, _ := cookiejar.New(nil) // without options it cannot fail
		own := &http.Client{Timeout: client.Timeout, Transport: &http.Transport{}, Jar: cookies}
		v.wait.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-v.stopping:
					return
				default:
				}
				if err := ask(own, server+paths[i%len(paths)]); err != nil {
					v.fail(err)
					return
				}
				v.answered.Add(1)
			}
		})
	}
	return v
}

func ask(client *http.Client, url string) error {
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("%s was answered %s", url, response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

func (v *visitors) fail(err error) {
	v.lock.Lock()
	defer v.lock.Unlock()
	v.err = err
}

func (v *visitors) failed() error {
	v.lock.Lock()
	defer v.lock.Unlock()
	return v.err
}

func (v *visitors) end() {
	close(v.stopping)
	v.wait.Wait()
}

// placeFor is a folder of its own for a program.
func placeFor(folder, name string) (string, error) {
	place := filepath.Join(folder, name)
	return place, os.MkdirAll(place, 0o755)
}
