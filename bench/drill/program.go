package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
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
	arguments func(folder string, p *problem) []string
	remote    string // address of the server that it asks
}

// A running program.
type running struct {
	*harness.Program
	address string
	close   []func()
}

// kindsOfOrders is how many kinds of orders the office knows: each has four classes.
const kindsOfOrders = 110

var officeJars = []string{"h2", "tomcat10-dbcp", "tomcat10-juli"}

var office = program{name: "office", own: "office"}

func init() {
	office.compile, office.arguments = compileOffice, func(folder string, p *problem) []string {
		arguments := []string{"-cp", folder + classpath(officeJars), "office.Main", p.name}
		if p.isRemote {
			arguments = append(arguments, office.remote)
		}
		return arguments
	}
}

func classpath(jars []string) (path string) {
	for _, jar := range jars {
		path += ":" + jarFolder + jar + ".jar"
	}
	return path
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
		Files: []string{"bench/drill/java/office/*.java", "bench/drill/java/office/*/*.java"}, Generated: generated, Classpath: strings.TrimPrefix(classpath(officeJars), ":"), Flags: []string{"-g"},
	})
}

// start starts the program with a problem.
func (p *program) start(jdk jvmtest.JDK, with *problem) (*running, error) {
	r := &running{}
	folder, err := p.compile(jdk)
	if err != nil {
		return nil, err
	}
	r.close = append(r.close, func() { _ = os.RemoveAll(folder) })
	if with.isRemote {
		server, address, err := startCarrier()
		if err != nil {
			r.Close()
			return nil, err
		}
		p.remote = address
		r.close = append(r.close, func() { _ = server.Close() })
	}
	if r.Program, err = harness.Start(jdk, append(slices.Clone(with.options), p.arguments(folder, with)...)...); err != nil {
		r.Close()
		return nil, err
	}
	r.address = r.Listening
	return r, nil
}

// Close ends the program, and what it needed.
func (r *running) Close() {
	if r.Program != nil {
		r.Program.Close()
	}
	for _, end := range slices.Backward(r.close) {
		end()
	}
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
	goal time.Duration
	stop chan struct{}
	done sync.WaitGroup

	lock  sync.Mutex
	times []time.Duration
	err   error
}

func startLoad(address string, p *problem) *load {
	l := &load{goal: p.slowerThan, stop: make(chan struct{})}
	for c := range clients {
		l.done.Go(func() {
			for n := c; ; n += clients {
				select {
				case <-l.stop:
					return
				case <-time.After(thinking):
				}
				began := time.Now()
				err := get("http://" + address + p.path(n))
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
	return l
}

func get(address string) error {
	answer, err := http.Get(address)
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

// path returns what a client asks for.
func (p *problem) path(n int) string {
	o := newOrder(n)
	if p.order != nil {
		p.order(o)
	}
	return o.path()
}

func (l *load) end() {
	close(l.stop)
	l.done.Wait()
}

func (l *load) failed() error {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.err
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

// take returns what clients saw since the last call.
func (l *load) take() (s seen) {
	l.lock.Lock()
	times := l.times
	l.times = nil
	l.lock.Unlock()
	slices.Sort(times)
	first, _ := slices.BinarySearch(times, l.goal+1)
	s = seen{requests: len(times), slow: len(times) - first}
	if first > 0 {
		s.others = times[first/2]
	}
	if s.slow > 0 {
		s.slowest = times[first+s.slow/2]
	}
	return s
}
