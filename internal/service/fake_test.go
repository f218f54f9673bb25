package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/doctor"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

// patience bounds waits for something that must happen. No test depends on how long it takes.
const patience = time.Minute

// A fake runs looks that do what a test wants.
type fake struct {
	begun     chan *acted
	isPatient bool   // its looks only end when the test ends them
	beginning func() // is called while a look begins; may be nil
}

// An acted look is one that the test acts for.
type acted struct {
	*Look
	request  Request
	ctx      context.Context
	outcomes chan outcome
	t        *testing.T
}

type outcome struct {
	exit int
	why  string
}

func (f *fake) Commands() []Command {
	line := func(r Request) string {
		if f.beginning != nil {
			f.beginning()
		}
		return fmt.Sprintf("sonde %s %d", r.Kind, r.PID)
	}
	return []Command{
		{Name: "count", Summary: "Count calls", Result: counted{}, Line: line, Properties: []Property{
			{Name: "methods", Type: "array", Required: true}, {Name: "top", Type: "integer"}, {Name: "left", Type: "boolean"}, {Name: "sort", Type: "string"},
		}},
		{Name: "hot", Summary: "Find hot spots", Result: counted{}, Line: line},
	}
}

// Check refuses a word that a command would refuse.
func (f *fake) Check(request Request) error {
	if string(request.Options["sort"]) == `"beauty"` {
		return errors.New("--sort \"beauty\": must be one of calls, total")
	}
	return nil
}

type counted struct {
	Calls int `json:"calls"`
}

func (f *fake) Run(ctx context.Context, look *Look, request Request) (int, string) {
	a := &acted{Look: look, request: request, ctx: ctx, outcomes: make(chan outcome, 1)}
	f.begun <- a
	stop := ctx.Done()
	if f.isPatient {
		stop = nil
	}
	select {
	case o := <-a.outcomes:
		return o.exit, o.why
	case <-stop:
		return 0, ""
	}
}

// A stage is a service with a fake runner, and a client of it.
type stage struct {
	*testing.T
	*Service
	*fake
	place  Place
	client *Client
}

// serve starts a service on a socket.
func serve(t *testing.T, change ...func(*Settings)) *stage {
	t.Helper()
	s := &stage{T: t, fake: &fake{begun: make(chan *acted, 100)}, place: newPlace(t)}
	settings := Settings{Version: "1", Runner: s.fake, State: t.TempDir()}
	for _, one := range change {
		one(&settings)
	}
	host, err := New(settings)
	if err != nil {
		t.Fatal(err)
	}
	s.Service = host
	listener, err := s.place.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.listen(listener)
	if s.client, err = s.place.Find(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// listen makes the service answer at a listener until the test ends.
func (s *stage) listen(listener net.Listener) {
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	s.Cleanup(func() {
		s.Service.Close()
		if err := within(s.T, served); err != nil {
			s.Errorf("Serve: %v", err)
		}
	})
}

// newPlace returns a place in a directory with a short path.
func newPlace(t *testing.T) Place {
	t.Helper()
	dir, err := os.MkdirTemp("", "sonde")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return Place{Temp: dir, Version: "1"}
}

// within receives from a channel.
func within[T any](t *testing.T, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(patience):
		t.Fatal("nothing has happened for a minute")
	}
	return value
}

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute it is not so that %s", what)
		}
	}
}

const aCount = `{"pid": 1, "methods": ["a.B.c"]}`

// post begins a look in the foreground.
func (s *stage) post() (*Stream, *acted) {
	s.Helper()
	stream, err := s.client.Events(s.Context(), http.MethodPost, "/v1/looks/count", []byte(aCount))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = stream.Close() })
	return stream, s.next()
}

// postBackground begins a look in the background.
func (s *stage) postBackground() *acted {
	s.Helper()
	var about Description
	s.mustCall(http.MethodPost, "/v1/looks/count", `{"pid": 1, "methods": ["a.B.c"], "background": true}`, &about)
	a := s.next()
	if about.Number != a.Number() || about.State != Running || !about.Background {
		s.Fatalf("the answer %+v does not describe look %d, which runs in the background", about, a.Number())
	}
	return a
}

// next returns the look that has begun.
func (s *stage) next() *acted {
	s.Helper()
	a := within(s.T, s.begun)
	a.t = s.T
	return a
}

// mustCall sends a request that must not fail. body is JSON, or empty.
func (s *stage) mustCall(method, path, body string, into any) {
	s.Helper()
	var content any
	if body != "" {
		content = []byte(body)
	}
	if err := s.client.Call(s.Context(), method, path, content, into); err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
}

// path returns the path of a part of the look.
func (a *acted) path(part string) string { return fmt.Sprintf("/v1/looks/%d%s", a.Number(), part) }

// keep keeps a result in a format.
func (a *acted) keep(format, content string) {
	a.t.Helper()
	if err := a.Keep(format, func(path string) error { return os.WriteFile(path, []byte(content), 0o600) }); err != nil {
		a.t.Fatal(err)
	}
}

// end makes the command end, and waits until the service has recorded it.
func (a *acted) end(exit int, why string) {
	a.t.Helper()
	a.outcomes <- outcome{exit, why}
	within(a.t, a.over)
}

// watch opens another stream of the look's events.
func (s *stage) watch(a *acted) *Stream {
	s.Helper()
	stream, err := s.client.Events(s.Context(), http.MethodGet, a.path("/events"), nil)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = stream.Close() })
	return stream
}

// read reads n events, or all until the end if n is 0.
func read(t *testing.T, stream *Stream, n int) (events []Event) {
	t.Helper()
	for n == 0 || len(events) < n {
		event, err := stream.Next()
		if err != nil {
			t.Fatalf("after %s: %v", names(events), err)
		}
		events = append(events, event)
		if n == 0 && event.Name == EventEnd {
			if _, err := stream.Next(); !errors.Is(err, io.EOF) {
				t.Errorf("something follows the event end: %v", err)
			}
			break
		}
	}
	return events
}

func names(events []Event) string {
	var all []string
	for _, event := range events {
		all = append(all, event.Name)
	}
	return strings.Join(all, " ")
}

func text(t *testing.T, events []Event) string {
	t.Helper()
	var all []string
	for _, event := range events {
		switch event.Name {
		case EventLook, EventEnd:
			var about Description
			if err := json.Unmarshal(event.Data, &about); err != nil {
				t.Error(err)
			}
			all = append(all, fmt.Sprintf("%s %s", event.Name, about.State))
		default:
			all = append(all, event.Name+" "+string(event.Data))
		}
	}
	return strings.Join(all, "\n")
}

// An answer is an answer as any HTTP client sees it.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ask sends a request and reads the whole answer.
func ask(t *testing.T, client *http.Client, method, url string, body io.Reader, header ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	got, err := client.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer func() { _ = got.Body.Close() }()
	content, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return answer{got.StatusCode, got.Header, content}
}

// checkRefusal checks that an answer is a refusal with a status and one line that contains a text.
func checkRefusal(t *testing.T, name string, have answer, status int, why string) {
	t.Helper()
	var problem Problem
	err := json.Unmarshal(have.body, &problem)
	switch {
	case have.status != status:
		t.Errorf("%s: status %d, want %d: %s", name, have.status, status, have.body)
	case err != nil || have.header.Get("Content-Type") != "application/json" || bytes.Count(have.body, []byte("\n")) != 1:
		t.Errorf("%s: the answer is not one line of JSON: %v %q", name, have.header, have.body)
	case problem.Error == "" || strings.Contains(problem.Error, "\n") || !strings.Contains(problem.Error, why):
		t.Errorf("%s: the reason is %q, want one line with %q", name, problem.Error, why)
	}
}

// The methods of Host answer with what they were asked.

func (f *fake) JVMs(context.Context) (JVMs, error) {
	return JVMs{[]document.JVM{{PID: 4711}}}, nil
}

func (f *fake) Status(_ context.Context, pid int) (Status, error) {
	if pid == 404 {
		return Status{}, fmt.Errorf("process %d: %w", pid, process.ErrNoProcess)
	}
	return Status{Status: document.Status{PID: pid}}, nil
}

func (f *fake) Doctor(_ context.Context, pid int, how Examination) (document.Doctor, error) {
	if len(how.Methods) > 0 && !how.Deep {
		return document.Doctor{}, errors.New("patterns need deep")
	}
	return document.Doctor{PID: pid, Worst: doctor.Warn, Notes: how.Methods}, nil
}

func (f *fake) Undo(_ context.Context, pid int) (document.Undone, error) {
	return document.Undone{PID: pid, Removed: []document.Removal{{Command: "sonde serve"}}}, nil
}
