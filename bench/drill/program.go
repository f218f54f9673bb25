package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// A program serves requests.
type program struct {
	name, own string // own is its package
	compile   func(jdk jvmtest.JDK) (folder string, err error)
	start     func(jdk jvmtest.JDK, classes string, with *problem) (*running, error)
}

// A running program, and the load on it.
type running struct {
	pid    int
	remote string // address of the server that the program asks
	take   func() (seen, error)
	ends   []func()
}

// close ends the program, and what it needed.
func (r *running) close() {
	for _, end := range slices.Backward(r.ends) {
		end()
	}
	r.ends = nil
}

func (r *running) atEnd(end func()) { r.ends = append(r.ends, end) }

var (
	office = program{name: "office", own: "office", compile: compileOffice, start: startOffice}
	tomcat = program{name: "Tomcat 10", own: "org.apache", compile: compileOrders, start: startTomcat}
	h2     = program{name: "H2 server", own: "org.h2", compile: compileQueries, start: startH2}
)

// kindsOfOrders is how many kinds of orders the office knows: each has four classes.
const kindsOfOrders = 110

var (
	officeJars = []string{"h2", "tomcat10-dbcp", "tomcat10-juli"}
	tomcatJars = []string{
		"h2", "tomcat10-catalina", "tomcat10-coyote", "tomcat10-util", "tomcat10-util-scan", "tomcat10-juli", "tomcat10-api", "tomcat10-dbcp", "tomcat10-jni",
		"tomcat10-servlet-api", "tomcat10-jsp-api", "tomcat10-el-api", "tomcat10-annotations-api", "tomcat10-jaspic-api", "tomcat10-jasper", "tomcat10-jasper-el",
	}
)

func classpath(jars []string) (path string) {
	for _, jar := range jars {
		path += ":" + jarFolder + jar + ".jar"
	}
	return path[1:]
}

func compileOffice(jdk jvmtest.JDK) (string, error) {
	generated := map[string]string{}
	kinds := make([]int, kindsOfOrders)
	for i := range kinds {
		kinds[i] = i
		text, err := harness.Generate("bench/drill/java/kind.tmpl", i)
		if err != nil {
			return "", err
		}
		generated[fmt.Sprintf("Kind%dHandler.java", i)] = text
	}
	text, err := harness.Generate("bench/drill/java/kinds.tmpl", kinds)
	if err != nil {
		return "", err
	}
	generated["Kinds.java"] = text
	return harness.Compile(jdk, harness.Source{
		Files: []string{"bench/drill/java/office/*.java", "bench/drill/java/office/*/*.java"}, Generated: generated, Classpath: classpath(officeJars), Flags: []string{"-g"},
	})
}

func startOffice(jdk jvmtest.JDK, classes string, with *problem) (r *running, err error) {
	r = &running{}
	arguments := append(slices.Clone(with.options), "-cp", classes+":"+classpath(officeJars), "office.Main", with.name)
	if with.isRemote {
		server, address, err := startCarrier()
		if err != nil {
			return nil, err
		}
		r.remote = address
		r.atEnd(func() { _ = server.Close() })
		arguments = append(arguments, address)
	}
	p, err := harness.Start(jdk, arguments...)
	if err != nil {
		r.close()
		return nil, err
	}
	r.atEnd(p.Close)
	r.pid = p.PID()
	r.send("http://"+p.Listening, with)
	return r, nil
}

// compileOrders makes a folder for Tomcat, with its settings and a web application.
func compileOrders(jdk jvmtest.JDK) (folder string, err error) {
	if folder, err = os.MkdirTemp("", "sonde-bench-"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(folder)
		}
	}()
	if err := os.CopyFS(folder, os.DirFS("bench/drill/tomcat")); err != nil {
		return "", err
	}
	classes := filepath.Join(folder, "webapps/ROOT/WEB-INF/classes")
	if err := errors.Join(os.MkdirAll(classes, 0o755), os.MkdirAll(filepath.Join(folder, "temp"), 0o755)); err != nil {
		return "", err
	}
	return folder, harness.CompileInto(jdk, classes, harness.Source{Files: []string{"bench/drill/java/orders/*.java"}, Classpath: classpath(tomcatJars), Flags: []string{"-g"}})
}

// awaitStart is how long a program may take until it answers.
const awaitStart = 2 * time.Minute

// launch starts a program that says nothing when it is ready, and waits until it is.
func launch(jdk jvmtest.JDK, isReady func() error, arguments ...string) (r *running, err error) {
	p := exec.Command(jdk.Tool("java"), arguments...)
	var messages bytes.Buffer
	p.Stdout, p.Stderr = &messages, &messages
	if err := p.Start(); err != nil {
		return nil, err
	}
	r = &running{pid: p.Process.Pid}
	r.atEnd(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	for end := time.Now().Add(awaitStart); ; time.Sleep(100 * time.Millisecond) {
		if err = isReady(); err == nil {
			return r, nil
		}
		if time.Now().After(end) {
			r.close()
			return nil, fmt.Errorf("the program does not answer: %w\n%s", err, messages.Bytes())
		}
	}
}

// freePort returns a port at which nobody listens.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// startTomcat starts Tomcat with a pool of connections as large as the problem says.
func startTomcat(jdk jvmtest.JDK, folder string, with *problem) (*running, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("http://127.0.0.1:%d", port)
	r, err := launch(jdk, func() error { return get(address + "/orders?customer=1") }, append(slices.Clone(with.options),
		"-Dcatalina.base="+folder, "-Dcatalina.home="+folder, "-Djava.io.tmpdir="+filepath.Join(folder, "temp"), fmt.Sprintf("-Dorders.port=%d", port),
		"-cp", classpath(tomcatJars), "org.apache.catalina.startup.Bootstrap", "start")...)
	if err == nil {
		r.send(address, with)
	}
	return r, err
}

func compileQueries(jdk jvmtest.JDK) (string, error) {
	return harness.Compile(jdk, harness.Source{Files: []string{"bench/drill/java/load/*.java"}})
}

// startH2 starts a database server, and a program with its clients.
func startH2(jdk jvmtest.JDK, classes string, with *problem) (*running, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	r, err := launch(jdk, func() error {
		connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = connection.Close()
		}
		return err
	}, "-cp", classpath([]string{"h2"}), "org.h2.tools.Server", "-tcp", "-tcpPort", strconv.Itoa(port), "-ifNotExists")
	if err != nil {
		return nil, err
	}
	clients, err := harness.Start(jdk, append([]string{"-cp", classes + ":" + classpath([]string{"h2"}), "load.Queries", fmt.Sprintf("jdbc:h2:tcp://127.0.0.1:%d/mem:shop;DB_CLOSE_DELAY=-1", port)}, with.options...)...)
	if err != nil {
		r.close()
		return nil, err
	}
	r.atEnd(clients.Close)
	r.take = func() (seen, error) {
		millis, err := clients.Ask("take")
		times := make([]time.Duration, len(millis))
		for i, m := range millis {
			times[i] = time.Duration(m * float64(time.Millisecond))
		}
		return seenOf(times, with.slowerThan), err
	}
	return r, nil
}

// startCarrier starts the server of another company, which is slow one time in twenty.
func startCarrier() (*http.Server, string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if rand.IntN(20) == 0 {
			time.Sleep(120 * time.Millisecond)
		}
		fmt.Fprintln(w, 17)
	})}
	go func() { _ = server.Serve(listener) }() // until it is closed
	return server, listener.Addr().String(), nil
}

const (
	// clients is how many send requests at the same time, and thinking how long each waits between two.
	clients  = 4
	thinking = 8 * time.Millisecond
)

// A load sends requests to a program, and notes how long they took.
type load struct {
	stop chan struct{}
	done sync.WaitGroup

	lock  sync.Mutex
	times []time.Duration
	err   error
}

// send sends requests until the program ends.
func (r *running) send(address string, p *problem) {
	l := &load{stop: make(chan struct{})}
	for c := range clients {
		l.done.Go(func() {
			for n := c; ; n += clients {
				select {
				case <-l.stop:
					return
				case <-time.After(thinking):
				}
				began := time.Now()
				err := get(address + p.path(n))
				l.lock.Lock()
				l.times = append(l.times, time.Since(began))
				if l.err == nil {
					l.err = err
				}
				l.lock.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	r.take = func() (seen, error) {
		l.lock.Lock()
		defer l.lock.Unlock()
		times := l.times
		l.times = nil
		return seenOf(times, p.slowerThan), l.err
	}
	r.atEnd(func() {
		close(l.stop)
		l.done.Wait()
	})
}

// customer gives up in the end: a server that runs out of memory may never answer.
var customer = http.Client{Timeout: time.Minute}

func get(address string) error {
	answer, err := customer.Get(address)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return err
}

// seen is what clients saw.
type seen struct {
	requests, slow  int
	slowest, others time.Duration // medians
}

func (s seen) String() string {
	if s.slow == 0 {
		return fmt.Sprintf("0 of %d; %s", s.requests, format.Duration(s.others))
	}
	return fmt.Sprintf("%d of %d; %s, %s", s.slow, s.requests, format.Duration(s.slowest), format.Duration(s.others))
}

// seenOf sums up how long requests took.
func seenOf(times []time.Duration, goal time.Duration) seen {
	slices.Sort(times)
	first, _ := slices.BinarySearch(times, goal+1)
	s := seen{requests: len(times), slow: len(times) - first}
	if first > 0 {
		s.others = times[first/2]
	}
	if s.slow > 0 {
		s.slowest = times[first+s.slow/2]
	}
	return s
}
