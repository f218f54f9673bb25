package main

import (
	"bufio"
	"encoding/json"
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

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

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
