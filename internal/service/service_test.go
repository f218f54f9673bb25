package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/sonde-jvm/sonde/internal/jvm/doctor"
)

// TestEvents: all readers see the same events in order, the look first and the end last.
func TestEvents(t *testing.T) {
	s := serve(t)
	stream, a := s.post()
	messages, report := a.Messages(), a.Report(true)
	write := func(to io.Writer, text string) {
		if _, err := io.WriteString(to, text); err != nil {
			t.Error(err)
		}
	}
	write(messages, "one\ntw")
	a.Emit(EventReady, struct{}{})
	write(messages, "o\n")
	write(report, "{\"calls\":1}\n\n{\"ca")
	early := read(t, stream, 5)
	late := s.watch(a)
	write(report, "lls\":2}\n")
	write(messages, "rest")
	write(a.Report(false), "a <b> & c\nd\n")
	a.end(0, "")
	want := `look running
message {"text":"one\n"}
ready {}
message {"text":"two\n"}
document {"calls":1}
document {"calls":2}
text {"text":"a <b> & c\nd\n"}
message {"text":"rest"}
end ended`
	if have := text(t, append(early, read(t, stream, 0)...)); have != want {
		t.Errorf("the first reader has\n%s\nwant\n%s", have, want)
	}
	if have := text(t, read(t, late, 0)); have != want {
		t.Errorf("the late reader has\n%s\nwant\n%s", have, want)
	}
}

// TestFailure: the exit code of a look and the reason are in its last event and its description.
func TestFailure(t *testing.T) {
	s := serve(t)
	stream, a := s.post()
	a.end(3, "no such class")
	events := read(t, stream, 0)
	if last := string(events[len(events)-1].Data); !strings.Contains(last, `"exit":3,"error":"no such class"`) {
		t.Errorf("the last event is %s", last)
	}
	var about Description
	s.mustCall(http.MethodGet, a.path(""), "", &about)
	if about.State != Ended || about.Exit != 3 || about.Error != "no such class" || about.Ended == nil || about.Client != os.Getpid() {
		t.Errorf("the look is %+v", about)
	}
	_, err := s.client.Fetch(t.Context(), a.path("/result"))
	if err == nil || err.Error() != fmt.Sprintf("look %d has no result: no such class", a.Number()) {
		t.Errorf("the result is refused with %v", err)
	}
}

// TestEndedLookLetsGo: a look that has ended, and is still watched, keeps nothing of its command.
func TestEndedLookLetsGo(t *testing.T) {
	s := serve(t)
	stream, a := s.post()
	classes := new([1 << 20]byte)
	kept := weak.Make(classes)
	a.SetCost(func() *Cost { return &Cost{Calls: uint64(classes[0])} })
	a.Handle("probes", func(http.ResponseWriter, *http.Request) { classes[0]++ })
	a.end(0, "")
	runtime.GC()
	if kept.Value() != nil {
		t.Error("what the command had read is kept")
	}
	read(t, stream, 0)
	runtime.KeepAlive(a)
}

// TestClientGoes: a client that closes its connection ends its look, but not a look in the
// background, nor one that another client has asked for.
func TestClientGoes(t *testing.T) {
	s := serve(t)
	background := s.postBackground()
	watcher, other := s.watch(background), s.watch(background)
	read(t, watcher, 1)
	read(t, other, 1)
	_ = watcher.Close()
	stream, a := s.post()
	read(t, stream, 1)
	_ = stream.Close()
	within(t, a.ctx.Done())
	within(t, a.over)

	// A body of unknown length ends with a chunk of its own.
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://sonde/v1/looks/count", io.MultiReader(strings.NewReader(aCount)))
	if err != nil {
		t.Fatal(err)
	}
	chunked, err := s.client.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	a = s.next()
	cancel()
	_ = chunked.Body.Close()
	within(t, a.ctx.Done())
	within(t, a.over)

	until(t, "only one watcher of the look in the background is left", func() bool {
		s.lock.Lock()
		defer s.lock.Unlock()
		return s.active == 2 // the look, and the other watcher
	})
	if background.ctx.Err() != nil {
		t.Error("the look in the background has ended with a client")
	}
	background.end(0, "")
	read(t, other, 0)
}

// TestEnd: the answer to a request to end a look comes when the look has ended, and its result
// is there.
func TestEnd(t *testing.T) {
	s := serve(t)
	s.isPatient = true
	stream, a := s.post()
	ended := make(chan Description)
	go func() {
		defer close(ended)
		var about Description
		if err := s.client.Call(t.Context(), http.MethodPost, a.path("/end"), nil, &about); err != nil {
			t.Error(err)
		}
		ended <- about
	}()
	within(t, a.ctx.Done())
	var about Description
	s.mustCall(http.MethodGet, a.path(""), "", &about)
	checkRefusal(t, "result of a running look", s.ask(http.MethodGet, a.path("/result"), nil), http.StatusConflict, "is still running")
	select {
	case <-ended:
		t.Error("the answer comes before the look has ended")
	default:
	}
	if about.State != Running {
		t.Errorf("the look is %s before its command has ended", about.State)
	}
	a.keep("json", "{}")
	a.outcomes <- outcome{}
	if about = within(t, ended); about.State != Ended || strings.Join(about.Formats, " ") != "json" {
		t.Errorf("the look has ended as %+v", about)
	}
	var service About
	if s.mustCall(http.MethodGet, "/v1/service", "", &service); service.Looks != 0 {
		t.Errorf("%d looks run when the only one has ended", service.Looks)
	}
	s.fetch(a, "json", "{}")
	read(t, stream, 0)
}

// TestResultAtTheEnd: when a client reads that a look has ended, its result can be fetched.
func TestResultAtTheEnd(t *testing.T) {
	s := serve(t)
	for range 50 {
		stream, a := s.post()
		a.keep("json", "{}")
		a.outcomes <- outcome{}
		read(t, stream, 0)
		s.fetch(a, "json", "{}")
		_ = stream.Close()
	}
}

func (s *stage) fetch(a *acted, format, want string) {
	s.Helper()
	have, err := s.client.Fetch(s.Context(), a.path("/result?format="+format))
	if err != nil || string(have) != want {
		s.Errorf("the result of look %d in the format %s is %q, %v; want %q", a.Number(), format, have, err, want)
	}
}

func (s *stage) ask(method, path string, body io.Reader, header ...string) answer {
	s.Helper()
	return ask(s.T, &s.client.http, method, "http://sonde"+path, body, header...)
}

func TestKeysAndTerminal(t *testing.T) {
	s := serve(t)
	var about Description
	s.mustCall(http.MethodPost, "/v1/looks/hot", `{"pid": 1, "background": true, "terminal": {"width": 80, "height": 24, "colours": true}}`, &about)
	a := s.next()
	if have := a.Terminal(); have != (Terminal{80, 24, true}) {
		t.Errorf("the terminal is %+v", have)
	}
	s.mustCall(http.MethodPut, a.path("/terminal"), `{"width": 100, "height": 30}`, nil)
	if have := a.Terminal(); have != (Terminal{100, 30, false}) {
		t.Errorf("the terminal is %+v after its size has changed", have)
	}
	s.mustCall(http.MethodPost, a.path("/keys"), `{"keys": "aé"}`, nil)
	for _, want := range "aé" {
		if have := within(t, a.Keys()); have != want {
			t.Errorf("key %q, want %q", have, want)
		}
	}
	// Keys that nobody reads do not block a client.
	s.mustCall(http.MethodPost, a.path("/keys"), `{"keys": "`+strings.Repeat("x", 1000)+`"}`, nil)
	if count := s.postBackground(); count.Terminal() != (Terminal{}) {
		t.Errorf("a look without a terminal has %+v", count.Terminal())
	}
}

// TestFrames: a reader gets the frame that is shown now, not those before, and none twice.
func TestFrames(t *testing.T) {
	s := serve(t)
	a := s.postBackground()
	for i := range 3 {
		a.Draw(Frame{Lines: []string{fmt.Sprint("frame ", i)}})
	}
	stream := s.watch(a)
	if have, want := text(t, read(t, stream, 2)), "look running\nframe {\"lines\":[\"frame 2\"]}"; have != want {
		t.Errorf("have\n%s\nwant\n%s", have, want)
	}
	a.Emit(EventMessage, Text{"between"})
	if have, want := text(t, read(t, stream, 1)), `message {"text":"between"}`; have != want {
		t.Errorf("have\n%s\nwant\n%s", have, want)
	}
	a.Draw(Frame{})
	if have, want := text(t, read(t, stream, 1)), `frame {"lines":[]}`; have != want {
		t.Errorf("have\n%s\nwant\n%s", have, want)
	}
	a.end(0, "")
	read(t, stream, 0)
	var at reader
	if events, _ := a.next(&at); names(events) != "look message frame end" {
		t.Errorf("a reader that has seen nothing gets %s, want the end last", names(events))
	}
}

// TestLog: the events that are kept have a bound, and a late reader gets the look and the newest.
func TestLog(t *testing.T) {
	s := serve(t)
	a := s.postBackground()
	for i := range 100 {
		a.Emit(EventMessage, Text{fmt.Sprintf("%03d%s", i, strings.Repeat("x", 100_000))})
	}
	size := 0
	for _, event := range a.log {
		size += len(event.Data)
	}
	if size > mostLog || size < mostLog/2 {
		t.Errorf("%d bytes of events are kept, want up to %d", size, mostLog)
	}
	for range mostLog / eventBytes {
		a.Emit(EventReady, struct{}{})
	}
	if len(a.log) > mostLog/eventBytes {
		t.Errorf("%d small events are kept", len(a.log))
	}
	for i := range 30 {
		a.Emit(EventMessage, Text{fmt.Sprintf("%03d%s", i, strings.Repeat("x", 200_000))})
	}
	stream := s.watch(a)
	a.end(0, "")
	events := read(t, stream, 0)
	if n := len(events); n < 10 || events[0].Name != EventLook || events[n-1].Name != EventEnd || !bytes.HasPrefix(events[n-2].Data, []byte(`{"text":"029x`)) {
		t.Errorf("a late reader gets %s", names(events))
	}
}

// TestClientSleeps: a client that does not read keeps neither its look from ending nor the
// service.
func TestClientSleeps(t *testing.T) {
	s := serve(t)
	s.patience = time.Millisecond
	_, a := s.post()
	for range 30 {
		a.Emit(EventMessage, Text{strings.Repeat("x", 100_000)})
	}
	a.end(0, "")
	until(t, "the service has nothing to do", func() bool { return s.activity() == 0 })
}

// TestPart: a command can answer requests for parts of its look while it runs.
func TestPart(t *testing.T) {
	s := serve(t)
	a := s.postBackground()
	checkRefusal(t, "no probes", s.ask(http.MethodGet, a.path("/probes"), nil), http.StatusConflict, "has no probes")
	a.Handle("probes", func(w http.ResponseWriter, r *http.Request) {
		Answer(w, func() (any, error) {
			if r.Method == http.MethodPut {
				return nil, errors.New("line 1: no probes")
			}
			return counted{7}, nil
		})
	})
	if have := s.ask(http.MethodGet, a.path("/probes"), nil); have.status != http.StatusOK || string(have.body) != "{\"calls\":7}\n" {
		t.Errorf("GET probes: %d %s", have.status, have.body)
	}
	checkRefusal(t, "wrong probes", s.ask(http.MethodPut, a.path("/probes"), strings.NewReader("x")), http.StatusBadRequest, "line 1: no probes")
	a.end(0, "")
	checkRefusal(t, "probes of a look that has ended", s.ask(http.MethodGet, a.path("/probes"), nil), http.StatusConflict, "has ended")
}

func TestRefusals(t *testing.T) {
	s := serve(t)
	const looks, count = "/v1/looks", "/v1/looks/count"
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		why                      string
	}{
		{"unknown kind", "POST", looks + "/dance", aCount, 404, `no look of the kind "dance"`},
		{"number as kind", "POST", looks + "/1", aCount, 404, `no look of the kind "1"`},
		{"no body", "POST", count, "", 400, "it is empty"},
		{"not JSON", "POST", count, "pid=1", 400, "the body of the request"},
		{"half a body", "POST", count, `{"pid": 1, `, 400, "the body of the request"},
		{"array", "POST", count, "[1]", 400, "array is not expected"},
		{"null", "POST", count, "null", 400, "pid is missing"},
		{"two values", "POST", count, aCount + aCount, 400, "there is more text after the JSON value"},
		{"no pid", "POST", count, `{"methods": ["a.B.c"]}`, 400, "pid is missing"},
		{"pid null", "POST", count, `{"pid": null, "methods": ["a.B.c"]}`, 400, "pid is missing"},
		{"pid 0", "POST", count, `{"pid": 0, "methods": ["a.B.c"]}`, 400, "pid is missing"},
		{"a value that the command refuses", "POST", count, `{"pid": 1, "sort": "beauty", "methods": ["a.B.c"]}`, 400, "--sort"},
		{"pid text", "POST", count, `{"pid": "1", "methods": ["a.B.c"]}`, 400, "pid must be of the type integer"},
		{"pid fraction", "POST", count, `{"pid": 1.5, "methods": ["a.B.c"]}`, 400, "pid must be of the type integer"},
		{"background text", "POST", count, `{"pid": 1, "background": "yes", "methods": ["a.B.c"]}`, 400, "background must be of the type boolean"},
		{"terminal with more", "POST", count, `{"pid": 1, "terminal": {"depth": 1}, "methods": ["a.B.c"]}`, 400, "terminal must be of the type object"},
		{"no methods", "POST", count, `{"pid": 1}`, 400, "methods is missing"},
		{"methods null", "POST", count, `{"pid": 1, "methods": null}`, 400, "methods is missing"},
		{"methods text", "POST", count, `{"pid": 1, "methods": "a.B.c"}`, 400, "methods must be of the type array"},
		{"top text", "POST", count, `{"pid": 1, "methods": [], "top": "1"}`, 400, "top must be of the type integer"},
		{"left number", "POST", count, `{"pid": 1, "methods": [], "left": 1}`, 400, "left must be of the type boolean"},
		{"sort number", "POST", count, `{"pid": 1, "methods": [], "sort": 1}`, 400, "sort must be of the type string"},
		{"unknown property", "POST", count, `{"pid": 1, "methods": [], "colour": 1}`, 400, `count has no property "colour"`},
		{"too long", "POST", count, `{"pid": 1, "methods": ["` + strings.Repeat("x", mostRequest) + `"]}`, 413, "too large"},
		{"too long by spaces", "POST", count, aCount + strings.Repeat(" ", mostRequest), 413, "too large"},
		{"no such look", "GET", looks + "/99", "", 404, "there is no look 99"},
		{"no number", "GET", looks + "/last", "", 404, `"last" is not the number of a look`},
		{"events of no look", "GET", looks + "/99/events", "", 404, "there is no look 99"},
		{"end of no look", "POST", looks + "/99/end", "", 404, "there is no look 99"},
		{"result of no look", "GET", looks + "/99/result", "", 404, "there is no look 99"},
		{"result outside", "GET", looks + "/99/result?format=../../x", "", 404, "there is no look 99"},
		{"keys of no look", "POST", looks + "/99/keys", `{"keys": "a"}`, 404, "there is no look 99"},
		{"unknown path", "GET", "/v1/dance", "", 404, "GET /v1/dance is not a request"},
		{"unknown version", "GET", "/v2/looks", "", 404, "GET /v2/looks is not a request"},
		{"wrong method", "DELETE", looks, "", 405, "DELETE /v1/looks is not a request"},
	} {
		checkRefusal(t, c.name, s.ask(c.method, c.path, strings.NewReader(c.body)), c.status, c.why)
	}
	var list List
	if s.mustCall(http.MethodGet, looks, "", &list); len(list.Looks) > 0 || len(s.begun) > 0 {
		t.Errorf("requests that were refused have begun looks: %+v", list.Looks)
	}
	a := s.postBackground()
	for _, c := range []struct{ name, method, part, body, why string }{
		{"wrong keys", "POST", "/keys", `{"key": "a"}`, "unknown field"},
		{"keys of another type", "POST", "/keys", `{"keys": 1}`, "number is not expected at keys"},
		{"wrong terminal", "PUT", "/terminal", `{"width": "wide"}`, "string is not expected at width"},
	} {
		checkRefusal(t, c.name, s.ask(c.method, a.path(c.part), strings.NewReader(c.body)), http.StatusBadRequest, c.why)
	}
	a.end(0, "")
	for _, c := range []struct{ method, part string }{{"GET", "/events"}, {"POST", "/end"}, {"POST", "/keys"}, {"PUT", "/terminal"}, {"GET", "/status"}} {
		checkRefusal(t, c.method+c.part+" of a look that has ended", s.ask(c.method, a.path(c.part), strings.NewReader("{}")), http.StatusConflict, "has ended")
	}
}

// TestOptions: options that are null are as good as missing, and the others are passed on.
func TestOptions(t *testing.T) {
	s := serve(t)
	s.mustCall(http.MethodPost, "/v1/looks/count", `{"pid": 12, "background": true, "text": true, "methods": ["a"], "top": 3, "sort": null, "terminal": null}`, &Description{})
	r := s.next().request
	if r.Kind != "count" || r.PID != 12 || !r.Background || !r.Text || r.Terminal != nil || len(r.Options) != 2 ||
		string(r.Options["methods"]) != `["a"]` || string(r.Options["top"]) != "3" {
		t.Errorf("the request is %+v", r)
	}
}

// TestTCP: at an address every request needs the token, also one for which there is no route.
func TestTCP(t *testing.T) {
	const token = "0123456789abcdef"
	s := serve(t, func(s *Settings) { s.Token = token })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.listen(listener)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	url := "http://" + listener.Addr().String()
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer x", "Bearer " + token[1:], "Bearer " + token + "0", "Basic " + token, token} {
		for _, c := range s.everyCall() {
			have := ask(t, client, c.method, url+c.path, strings.NewReader(aCount), "Authorization", header)
			checkRefusal(t, fmt.Sprintf("%s %s with %q", c.method, c.path, header), have, http.StatusUnauthorized, "the token is missing or wrong")
		}
	}
	if have := ask(t, client, "GET", url+"/v1/service", nil, "Authorization", "Bearer "+token); have.status != http.StatusOK {
		t.Errorf("with the token: %d %s", have.status, have.body)
	}
	checkRefusal(t, "no route", ask(t, client, "GET", url+"/", nil, "Authorization", "Bearer "+token), http.StatusNotFound, "is not a request")
	s.isUntouched()

	// A service without a token answers nobody at an address.
	none := serve(t)
	if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	none.listen(listener)
	checkRefusal(t, "no token", ask(t, client, "GET", "http://"+listener.Addr().String()+"/v1/service", nil, "Authorization", "Bearer "), http.StatusUnauthorized, "token")
}

// A sent call is a method and a path.
type sentCall struct{ method, path string }

// everyCall returns all calls of the API, with names filled in.
func (s *stage) everyCall() (all []sentCall) {
	for _, c := range s.calls() {
		path := strings.NewReplacer("{kind}", "count", "{number}", "1").Replace(c.path)
		all = append(all, sentCall{c.method, path})
	}
	return append(all, sentCall{"GET", "/"}, sentCall{"POST", "/v1/nothing"})
}

// isUntouched checks that no request has had an effect.
func (s *stage) isUntouched() {
	s.Helper()
	if len(s.begun) > 0 || len(s.history.all()) > 0 {
		s.Error("a request that was refused has begun a look")
	}
	select {
	case <-s.Over():
		s.Error("a request that was refused has ended the service")
	default:
	}
}

// TestOrigin: a page of a browser cannot use the socket.
func TestOrigin(t *testing.T) {
	s := serve(t)
	for _, c := range s.everyCall() {
		have := s.ask(c.method, c.path, strings.NewReader(aCount), "Origin", "http://localhost")
		checkRefusal(t, c.method+" "+c.path, have, http.StatusForbidden, "not allowed from a web page")
	}
	s.isUntouched()
}

func TestList(t *testing.T) {
	s := serve(t)
	if have := s.ask(http.MethodGet, "/v1/looks", nil); string(have.body) != "{\"looks\":[]}\n" {
		t.Errorf("without looks the list is %s", have.body)
	}
	first, second := s.postBackground(), s.postBackground()
	first.SetCost(func() *Cost { return &Cost{Calls: 5} })
	first.Emit(EventReady, struct{}{})
	second.end(0, "")
	var list List
	s.mustCall(http.MethodGet, "/v1/looks", "", &list)
	if len(list.Looks) != 2 || list.Looks[0].Number != second.Number() || list.Looks[0].State != Ended || list.Looks[0].Cost != nil ||
		list.Looks[1].Number != first.Number() || list.Looks[1].State != Running || list.Looks[1].Cost == nil || list.Looks[1].Cost.Calls != 5 ||
		list.Looks[1].Command != "sonde count 1" || list.Looks[0].Ready || !list.Looks[1].Ready {
		t.Errorf("the list is %+v, want the newest first", list.Looks)
	}
	var about About
	s.mustCall(http.MethodGet, "/v1/service", "", &about)
	if about.Version != "1" || about.PID != os.Getpid() || about.User != uint32(os.Geteuid()) || about.Looks != 1 || about.Results != s.State {
		t.Errorf("the service is %+v", about)
	}
}

func isOver(s *Service) bool {
	select {
	case <-s.Over():
		return true
	default:
		return false
	}
}

// TestIdle: a service ends when it has had nothing to do for a while.
func TestIdle(t *testing.T) {
	s := serve(t, func(s *Settings) { s.Idle = time.Hour })
	a := s.postBackground()
	until(t, "only the look is active", func() bool { return s.activity() == 1 })
	s.endIdle() // as if the time were over
	if isOver(s.Service) {
		t.Fatal("the service has ended while a look was running")
	}
	conn, err := net.Dial("unix", s.client.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "POST /v1/looks/count HTTP/1.1\r\nHost: sonde\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	until(t, "the request is under way", func() bool { return s.activity() == 2 })
	a.end(0, "")
	until(t, "only the request is active", func() bool { return s.activity() == 1 })
	s.endIdle()
	if isOver(s.Service) {
		t.Fatal("the service has ended while a request was under way")
	}
	s.lock.Lock()
	s.Idle = time.Nanosecond
	s.lock.Unlock()
	_ = conn.Close()
	within(t, s.Over())
	if err := s.client.Call(t.Context(), http.MethodGet, "/v1/service", nil, nil); !errors.Is(err, ErrNone) && !errors.Is(err, ErrEnding) {
		t.Errorf("a service that has ended answers %v", err)
	}
	if _, err := s.Start(Request{Kind: "hot", PID: 1}, 0); !errors.Is(err, ErrEnding) {
		t.Errorf("a service that has ended begins a look: %v", err)
	}
}

func (s *Service) activity() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.active
}

// TestNeverUsed: a service that nobody uses ends too, and one without a limit does not.
func TestNeverUsed(t *testing.T) {
	s, err := New(Settings{Runner: &fake{}, State: t.TempDir(), Idle: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	within(t, s.Over())
	forever, err := New(Settings{Runner: &fake{}, State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if forever.idle.Stop() {
		t.Error("a service without a limit waits for its end")
	}
}

// TestStop: the request to end the service ends its looks, and removes the socket.
func TestStop(t *testing.T) {
	s := serve(t)
	s.isPatient = true
	stream, a := s.post()
	background := s.postBackground()
	var about About
	s.mustCall(http.MethodDelete, "/v1/service", "", &about)
	within(t, a.ctx.Done())
	within(t, background.ctx.Done())
	until(t, "nobody finds the service", func() bool {
		_, err := s.place.Find(t.Context())
		return errors.Is(err, ErrNone)
	})
	a.outcomes <- outcome{}
	background.outcomes <- outcome{}
	if events := read(t, stream, 0); names(events) != "look end" {
		t.Errorf("the client of the look has read %s", names(events))
	}
	if _, err := os.Lstat(s.client.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket: %v, want none", err)
	}
}

// TestCloseWhileStarting: no look runs any more when Close returns, nor begins then.
func TestCloseWhileStarting(t *testing.T) {
	f := &fake{begun: make(chan *acted, 100)}
	s, err := New(Settings{Runner: f, State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(Request{Kind: "hot", PID: 1}, 0); err != nil {
		t.Fatal(err)
	}
	f.beginning = s.Close
	if _, err := s.Start(Request{Kind: "hot", PID: 2}, 0); !errors.Is(err, ErrEnding) {
		t.Errorf("a look that begins while the service closes: %v, want that it ends", err)
	}
	if all := s.history.all(); len(all) != 1 || all[0].State != Ended || all[0].PID != 1 || s.activity() > 0 {
		t.Errorf("after Close there are %+v", all)
	}
}

// TestUnanswered: a request that a service did not answer because it ended can be sent again.
func TestUnanswered(t *testing.T) {
	path := filepath.Join(newPlace(t).Temp, "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_ = conn.Close()
		}
	}()
	err = newClient(path, uint32(os.Geteuid())).Call(t.Context(), http.MethodPost, "/v1/looks/count", []byte(aCount), nil)
	if !errors.Is(err, ErrEnding) || !errors.Is(err, ErrGone) {
		t.Errorf("a connection that was closed: %v", err)
	}
}

// TestHost: a client answers about JVMs as the host of its service does.
func TestHost(t *testing.T) {
	s := serve(t)
	look, err := s.Start(Request{Kind: "hot", PID: 7}, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if all, err := s.client.JVMs(ctx); err != nil || len(all.JVMs) != 1 || all.JVMs[0].PID != 4711 {
		t.Errorf("JVMs: %+v, %v", all, err)
	}
	for pid, looks := range map[int]int{7: 1, 8: 0} {
		if status, err := s.client.Status(ctx, pid); err != nil || status.PID != pid || len(status.Looks) != looks || status.Looks == nil {
			t.Errorf("Status of %d: %+v, %v; want %d looks", pid, status, err, looks)
		}
	}
	if found, err := s.client.Doctor(ctx, 7, Examination{Deep: true, Methods: []string{"a.**"}}); err != nil || found.Worst != doctor.Warn || len(found.Notes) != 1 {
		t.Errorf("Doctor: %+v, %v", found, err)
	}
	if done, err := s.client.Undo(ctx, 7); err != nil || done.PID != 7 || len(done.Removed) != 1 {
		t.Errorf("Undo: %+v, %v", done, err)
	}
	for state, want := range map[State]int{Running: 1, Ended: 0, "": 1} {
		if looks, err := s.client.Looks(ctx, state); err != nil || len(looks) != want {
			t.Errorf("looks in the state %q: %+v, %v; want %d", state, looks, err, want)
		}
	}
	look.cancel()
	for _, tt := range []struct {
		method, path, body string
		status             int
		why                string
	}{
		{"GET", "/v1/jvms/404", "", http.StatusNotFound, "process 404: no such process"},
		{"GET", "/v1/jvms/x", "", http.StatusNotFound, "not a process number"},
		{"POST", "/v1/jvms/7/doctor", `{"methods":["a.**"]}`, http.StatusBadRequest, "patterns need deep"},
		{"POST", "/v1/jvms/7/doctor", `{"beauty":true}`, http.StatusBadRequest, "beauty"},
		{"GET", "/v1/looks?state=beautiful", "", http.StatusBadRequest, "not a state"},
	} {
		have := ask(t, &s.client.http, tt.method, "http://sonde"+tt.path, strings.NewReader(tt.body))
		checkRefusal(t, tt.method+" "+tt.path, have, tt.status, tt.why)
	}
}
