package main

import (
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

	"github.com/sonde-jvm/sonde/bench/harness"
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
	*harness.Program
	done func() (float64, error)
	ends []func() // what ends with it, before it

	meter *cost.Meter
	first cost.Reading
}

// startProgram runs java, waits until the program is ready, and begins to account for its
// processor time.
func startProgram(jdk jvmtest.JDK, arguments ...string) (*program, error) {
	started, err := harness.Start(jdk, arguments...)
	if err != nil {
		return nil, err
	}
	p := &program{Program: started}
	jvm, err := process.Local.Inspect(p.PID())
	if err == nil {
		p.meter = cost.Watch(jvm)
		p.first, err = p.meter.Read()
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

var errNoClock = errors.New("the processor time of the program is not known")

// Progress is how far it is, by the processor time of all threads but compilers and the
// JVM's own.
func (p *program) Progress() (harness.Progress, error) {
	done, err := p.done()
	if err != nil {
		return harness.Progress{}, err
	}
	now, err := p.meter.Read()
	if err != nil {
		return harness.Progress{}, err
	}
	since := p.first.Until(now)
	if !since.Known.Process || !since.Known.Compilers {
		return harness.Progress{}, errNoClock
	}
	return harness.Progress{Done: done, CPU: since.Rest}, nil
}

// Close ends it.
func (p *program) Close() {
	for _, end := range p.ends {
		end()
	}
	if p.meter != nil {
		p.meter.Close()
	}
	p.Program.Close()
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
	err := harness.CompileInto(jdk, folder, harness.Source{
		Files:     []string{"test/realprograms/testdata/RealProgram.java", "test/realprograms/testdata/H2Work.java", "bench/walk/java/Paced.java"},
		Classpath: classpath("h2"),
	})
	if err != nil {
		return nil, err
	}
	arguments := append(heap[:len(heap):len(heap)], "-cp", folder+":"+classpath("h2"), "Paced", "H2Work",
		"org/h2/jdbc/JdbcPreparedStatement.executeQuery()Ljava/sql/ResultSet;", "org/h2/jdbc/JdbcPreparedStatement.executeUpdate()I")
	return func(string) (*program, error) {
		p, err := startProgram(jdk, arguments...)
		if err != nil {
			return nil, err
		}
		p.done = func() (float64, error) {
			progress, err := p.Program.Progress()
			return progress.Done, err
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
		p, err := startProgram(jdk, append(heap[:len(heap):len(heap)], "-cp", classpath, "shop.Main")...)
		if err != nil {
			return nil, err
		}
		go p.Drain()
		load := exec.Command(jdk.Tool("java"), "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classpath, "load.Main", p.Listening, "1000000")
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
		p.done = func() (float64, error) { return shopRequests(p.Listening) }
		return p, nil
	}, nil
}

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
	if err := harness.CompileInto(jdk, folder, harness.Source{Files: []string{"bench/observe/java/*.java"}, Classpath: jars}); err != nil {
		return nil, err
	}
	return func(place string) (*program, error) {
		p, err := startProgram(jdk, append(heap[:len(heap):len(heap)], "-cp", folder+":"+jars, "Web", place)...)
		if err != nil {
			return nil, err
		}
		go p.Drain()
		v := visit(p.Listening)
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
