// Package service is the host service: one background process of each user that runs the
// looks of commands, so that they share the sessions with JVMs, go on without a terminal, and
// can be used by other programs.
//
// A client sends HTTP requests to a Unix socket in a directory of the user, mode 0700:
// $XDG_RUNTIME_DIR/sonde if that exists, otherwise /tmp/sonde-UID. Both ends check with the
// kernel that the other end belongs to the same user or to root. docs/formats/service.json
// describes the requests. The name of the socket contains the version, so that each version of Sonde has a
// service of its own.
//
// A look that is not in the background lives as long as the connection on which it was asked
// for. A service that has run no look for a while ends.
package service

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/report/document"
)

// A Runner runs the commands of looks.
type Runner interface {
	// Commands returns the commands that can be looks.
	Commands() []Command
	// Check checks the values of options, whose names and types are checked already.
	Check(request Request) error
	// Run runs a command until it ends or ctx is cancelled, and returns its exit code, and why
	// it has no result. The request is checked.
	Run(ctx context.Context, look *Look, request Request) (exit int, why string)
	Host
}

// A Host answers questions about the JVMs of this host. A [Client] is one: it asks the service.
type Host interface {
	JVMs(ctx context.Context) (JVMs, error)
	// Status returns what Sonde does in a JVM. Only a service knows its looks.
	Status(ctx context.Context, pid int) (Status, error)
	// Doctor checks whether Sonde can enter a JVM.
	Doctor(ctx context.Context, pid int, how Examination) (document.Doctor, error)
	// Undo removes everything that Sonde has put into a JVM, and files that other processes have left.
	Undo(ctx context.Context, pid int) (document.Undone, error)
}

// An Examination is how the doctor looks at a JVM. The zero value looks from outside.
type Examination struct {
	Deep       bool     `json:"deep,omitempty"`    // attach and ask the JVM
	Methods    []string `json:"methods,omitempty"` // patterns: plan hooks for them, with the agent; needs deep
	Cache      string   `json:"cache,omitempty"`   // as the options of looks
	CacheShare string   `json:"cache-share,omitempty"`
	CacheTrust []string `json:"cache-trust,omitempty"`
	NoCache    bool     `json:"no-cache,omitempty"`
}

// A Request asks for a look. In JSON, the options are properties like the others.
type Request struct {
	Kind       string
	PID        int
	Background bool
	Text       bool // the report is text, not documents
	Terminal   *Terminal
	Options    map[string]json.RawMessage
}

// The properties that every look has in addition to its options.
const (
	propertyPID        = "pid"
	propertyBackground = "background"
	propertyText       = "text"
	propertyTerminal   = "terminal"
)

// Settings configure a service.
type Settings struct {
	Version string
	Runner  Runner
	State   string        // the directory of results
	Idle    time.Duration // how long it waits for a look before it ends; 0 for ever
	Token   string        // required of clients that do not come by the Unix socket
}

// A Service runs looks.
type Service struct {
	Settings
	history  *history
	began    time.Time
	uid      uint32
	patience time.Duration // with clients that do not read the end of a look

	lock    sync.Mutex
	looks   []*Look // that run
	active  int     // looks that run, and requests
	isOver  bool
	idle    *time.Timer
	over    chan struct{} // closed when it has nothing to do any more
	running sync.WaitGroup
}

// New returns a service that does not listen yet.
func New(settings Settings) (*Service, error) {
	history, err := openHistory(settings.State)
	if err != nil {
		return nil, fmt.Errorf("the directory of results: %w", err)
	}
	history.prune()
	s := &Service{
		Settings: settings, history: history, began: time.Now(), uid: uint32(os.Geteuid()), patience: connectionPatience, over: make(chan struct{}),
	}
	s.idle = time.AfterFunc(time.Hour, s.endIdle)
	s.idle.Stop()
	s.rest()
	return s, nil
}

// Over is closed when the service has run no look for the time that it waits.
func (s *Service) Over() <-chan struct{} { return s.over }

// begin counts a look or a request, unless the service is ending.
func (s *Service) begin() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.isOver {
		return false
	}
	s.active++
	s.idle.Stop()
	return true
}

func (s *Service) done() {
	s.lock.Lock()
	s.active--
	s.lock.Unlock()
	s.rest()
}

// rest starts the time after which a service without looks ends.
func (s *Service) rest() {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.active == 0 && s.Idle > 0 && !s.isOver {
		s.idle.Reset(s.Idle)
	}
}

func (s *Service) endIdle() {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.active == 0 && !s.isOver {
		s.isOver = true
		close(s.over)
	}
}

// Close ends all looks and waits until they have left their JVMs.
func (s *Service) Close() {
	s.lock.Lock()
	if !s.isOver {
		s.isOver = true
		close(s.over)
	}
	looks := slices.Clone(s.looks)
	s.lock.Unlock()
	for _, l := range looks {
		l.cancel()
	}
	s.running.Wait()
}

// Start begins a look. It is over when its command has ended.
func (s *Service) Start(request Request, client int) (*Look, error) {
	if !s.begin() {
		return nil, ErrEnding
	}
	l, ctx, err := s.newLook(request, client)
	if err != nil {
		s.done()
		return nil, err
	}
	go func() {
		defer s.running.Done()
		defer s.done()
		defer l.cancel()
		exit, why := s.Runner.Run(ctx, l, request)
		l.finish(exit, why, func() { s.forget(l) })
	}()
	return l, nil
}

// forget removes a look from the running looks.
func (s *Service) forget(l *Look) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.looks = slices.DeleteFunc(s.looks, func(other *Look) bool { return other == l })
}

func (s *Service) newLook(request Request, client int) (*Look, context.Context, error) {
	number, unlock, err := s.history.begin()
	if err != nil {
		return nil, nil, fmt.Errorf("the directory of results: %w", err)
	}
	about := Description{
		Number: number, Kind: request.Kind, Command: s.command(request.Kind).Line(request), PID: request.PID, State: Running, Background: request.Background, Client: client,
		Began: time.Now().Round(time.Millisecond),
	}
	discard := func() {
		s.history.discard(number)
		unlock()
	}
	if err := s.history.describe(about); err != nil {
		discard()
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := newLook(about, request.Terminal, s.history, unlock, cancel)
	l.Emit(EventLook, about)
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.isOver { // since the request began
		cancel()
		discard()
		return nil, nil, ErrEnding
	}
	s.running.Add(1)
	s.looks = append(s.looks, l)
	return l, ctx, nil
}

// command returns the command of a kind of look; nil if there is none.
func (s *Service) command(kind string) *Command {
	all := s.Runner.Commands()
	i := slices.IndexFunc(all, func(c Command) bool { return c.Name == kind })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// ErrEnding says that a service takes no looks any more.
var ErrEnding = errors.New("the service is ending: try again")

// look returns a look that runs; nil if there is none with this number.
func (s *Service) look(number int) *Look {
	s.lock.Lock()
	defer s.lock.Unlock()
	i := slices.IndexFunc(s.looks, func(l *Look) bool { return l.number == number })
	if i < 0 {
		return nil
	}
	return s.looks[i]
}

// describe returns the looks that pass a filter, the newest first. Those that other services run are
// among them.
func (s *Service) describe(passes func(*Description) bool) []Description {
	chosen := []Description{}
	for _, about := range s.history.all() {
		if !passes(&about) {
			continue
		}
		if l := s.look(about.Number); l != nil {
			about = l.Describe()
		}
		chosen = append(chosen, about)
	}
	return chosen
}

// About is the service as clients see it.
type About struct {
	Version string    `json:"sondeVersion"`
	PID     int       `json:"pid"`
	User    uint32    `json:"user"`
	Began   time.Time `json:"began"`
	Looks   int       `json:"looks"`   // that run
	Results string    `json:"results"` // the directory of results
	Socket  string    `json:"socket,omitempty"`
}

func (s *Service) about() About {
	s.lock.Lock()
	defer s.lock.Unlock()
	return About{s.Version, os.Getpid(), s.uid, s.began.Round(time.Millisecond), len(s.looks), s.State, ""}
}

// Serve answers the requests of a listener until the service is closed.
func (s *Service) Serve(listener net.Listener) error {
	local, isLocal := listener.(*net.UnixListener)
	unlink := func() {}
	if isLocal {
		unlink = keepOthers(local)
	}
	server := &http.Server{
		Handler: s.handler(!isLocal), ReadHeaderTimeout: requestPatience, IdleTimeout: connectionPatience,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			if local, is := conn.(*net.UnixConn); is {
				return context.WithValue(ctx, peerKey{}, s.peer(local))
			}
			return context.WithValue(ctx, peerKey{}, peer{})
		},
	}
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		<-s.over
		unlink()
		_ = listener.Close() // nobody finds the service any more
		s.running.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), requestPatience)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil { // a client does not read
			_ = server.Close()
		}
	}()
	err := server.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		<-stop
		return nil
	}
	return err
}

// keepOthers makes sure that closing a listener does not remove the socket of another service:
// if the own one was removed, another service may listen at the same path. Call check first.
func keepOthers(listener *net.UnixListener) (check func()) {
	path := listener.Addr().String()
	own, failed := os.Lstat(path)
	return func() {
		if now, err := os.Lstat(path); failed != nil || err != nil || !os.SameFile(own, now) {
			listener.SetUnlinkOnClose(false)
		}
	}
}

// requestPatience bounds the time for reading a request, and for the last answers of a service.
const requestPatience = 5 * time.Second

// connectionPatience bounds the time between two requests of one connection, and that in which
// a client reads what it was sent last.
const connectionPatience = time.Minute

// mostRequest bounds the bytes of a request: a probe set has at most a megabyte.
const mostRequest = 8 << 20

type peerKey struct{}

// A peer is the process at the other end of a connection.
type peer struct {
	pid int
	err error
}

func (s *Service) peer(conn *net.UnixConn) peer {
	pid, uid, err := peerOf(conn)
	if err == nil && uid != s.uid && uid != 0 {
		err = fmt.Errorf("process %d belongs to user %d, the service to user %d", pid, uid, s.uid)
	}
	return peer{pid, err}
}

// handler checks who asks, and answers.
func (s *Service) handler(needsToken bool) http.Handler {
	routes := http.NewServeMux()
	for _, call := range s.calls() {
		routes.HandleFunc(call.method+" "+call.path, func(w http.ResponseWriter, r *http.Request) {
			if err := call.answer(w, r); err != nil {
				refuse(w, err)
			}
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, _ := r.Context().Value(peerKey{}).(peer)
		switch {
		case who.err != nil:
			refuse(w, &statusError{http.StatusForbidden, who.err})
			return
		case needsToken && !HasToken(r, s.Token):
			refuse(w, &statusError{http.StatusUnauthorized, ErrToken})
			return
		case r.Header.Get("Origin") != "" && !needsToken:
			refuse(w, &statusError{http.StatusForbidden, errors.New("not allowed from a web page")})
			return
		case !s.begin():
			refuse(w, &statusError{http.StatusServiceUnavailable, ErrEnding})
			return
		}
		defer s.done()
		r.Body = http.MaxBytesReader(w, r.Body, mostRequest)
		w.Header().Set("Cache-Control", "no-store")
		if err := checkRoute(routes, r); err != nil {
			refuse(w, err)
			return
		}
		routes.ServeHTTP(w, r)
	})
}

// checkRoute refuses requests that no call answers.
func checkRoute(routes *http.ServeMux, r *http.Request) error {
	answer, pattern := routes.Handler(r)
	if pattern != "" {
		return nil
	}
	refusal := &refusal{status: http.StatusNotFound, header: http.Header{}}
	answer.ServeHTTP(refusal, r)
	return &statusError{refusal.status, fmt.Errorf("%s %s is not a request of the service: /v1/openapi.json describes all requests", r.Method, r.URL.EscapedPath())}
}

// A refusal records the status of an answer.
type refusal struct {
	status int
	header http.Header
}

func (r *refusal) Header() http.Header               { return r.header }
func (r *refusal) WriteHeader(status int)            { r.status = status }
func (r *refusal) Write(content []byte) (int, error) { return len(content), nil }

// HasToken reports whether a request has a token, which is not empty.
func HasToken(r *http.Request, token string) bool {
	given, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return is && token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1
}

// ErrToken says that a request has no token, or a wrong one.
var ErrToken = errors.New("the token is missing or wrong: send it as Authorization: Bearer TOKEN")

// A statusError is an error with its HTTP status.
type statusError struct {
	status int
	error
}

func (e *statusError) Unwrap() error { return e.error }

// A Problem is the answer to a request that failed.
type Problem struct {
	Error string `json:"error"`
}

func refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	var known *statusError
	var none *NoLookError
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		status = http.StatusRequestEntityTooLarge
	case errors.As(err, &known):
		status = known.status
	case errors.As(err, &none):
		status = http.StatusNotFound
	case errors.Is(err, ErrEnding):
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(encode(Problem{err.Error()}), '\n'))
}

// Answer answers a request with a value or an error.
func Answer(w http.ResponseWriter, value func() (any, error)) {
	answer, err := value()
	if err != nil {
		refuse(w, err)
		return
	}
	_ = reply(w, http.StatusOK, answer)
}

func reply(w http.ResponseWriter, status int, value any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(encode(value), '\n')) // a client that does not read it has gone
	return nil
}

func (s *Service) getService(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, s.about())
}

// deleteService ends the service, with its looks.
func (s *Service) deleteService(w http.ResponseWriter, _ *http.Request) error {
	go s.Close() // which waits for this request
	return reply(w, http.StatusAccepted, s.about())
}

// JVMs are the JVMs of the host.
type JVMs struct {
	JVMs []document.JVM `json:"jvms"`
}

func (s *Service) getJVMs(w http.ResponseWriter, r *http.Request) error {
	all, err := s.Runner.JVMs(r.Context())
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, all)
}

// aboutJVM answers a request about one JVM with a document.
func aboutJVM[T any](ask func(r *http.Request, pid int) (T, error)) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		pid, err := strconv.Atoi(r.PathValue("pid"))
		if err != nil || pid <= 0 {
			return &statusError{http.StatusNotFound, fmt.Errorf("%q is not a process number", r.PathValue("pid"))}
		}
		answer, err := ask(r, pid)
		if errors.Is(err, process.ErrNoProcess) || errors.Is(err, process.ErrNotJVM) {
			return &statusError{http.StatusNotFound, err}
		}
		if err != nil {
			return err
		}
		return reply(w, http.StatusOK, answer)
	}
}

func (s *Service) status(r *http.Request, pid int) (Status, error) {
	status, err := s.Runner.Status(r.Context(), pid)
	status.Looks = s.describe(func(l *Description) bool { return l.State == Running && l.PID == pid })
	return status, err
}

func (s *Service) examine(r *http.Request, pid int) (document.Doctor, error) {
	var how Examination
	if r.Method == http.MethodPost {
		if err := readBody(r, &how); err != nil {
			return document.Doctor{}, err
		}
	}
	return s.Runner.Doctor(r.Context(), pid, how)
}

func (s *Service) undo(r *http.Request, pid int) (document.Undone, error) {
	return s.Runner.Undo(r.Context(), pid)
}

// A Status is what Sonde does in a JVM.
type Status struct {
	document.Status
	List
}

// A List is the looks that there are.
type List struct {
	Looks []Description `json:"looks"`
}

func (s *Service) getLooks(w http.ResponseWriter, r *http.Request) error {
	state := State(r.URL.Query().Get("state"))
	if state != "" && !slices.Contains(states, state) {
		return fmt.Errorf("%q is not a state of looks", state)
	}
	return reply(w, http.StatusOK, List{s.describe(func(l *Description) bool { return state == "" || l.State == state })})
}

// postLook begins a look. The answer is its events, until it has ended; if it is in the
// background, its description. A client that goes away ends its look.
func (s *Service) postLook(w http.ResponseWriter, r *http.Request) error {
	request, err := s.readRequest(r)
	if err != nil {
		return err
	}
	who, _ := r.Context().Value(peerKey{}).(peer)
	l, err := s.Start(request, who.pid)
	if err != nil {
		return err
	}
	if request.Background {
		return reply(w, http.StatusCreated, l.Describe())
	}
	defer l.cancel()
	l.stream(w, r, s.patience)
	return nil
}

func (s *Service) readRequest(r *http.Request) (request Request, err error) {
	command := s.command(r.PathValue("kind"))
	if command == nil {
		return request, &statusError{http.StatusNotFound, fmt.Errorf("there is no look of the kind %q", r.PathValue("kind"))}
	}
	request.Kind = command.Name
	if err := readBody(r, &request.Options); err != nil {
		return request, err
	}
	maps.DeleteFunc(request.Options, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	for _, own := range []struct {
		name, kind string
		into       any
	}{
		{propertyPID, "integer", &request.PID}, {propertyBackground, "boolean", &request.Background},
		{propertyText, "boolean", &request.Text}, {propertyTerminal, "object with width and height", &request.Terminal},
	} {
		if value, is := request.Options[own.name]; is {
			if err := decode(bytes.NewReader(value), own.into); err != nil {
				return request, fmt.Errorf("%s must be of the type %s", own.name, own.kind)
			}
			delete(request.Options, own.name)
		}
	}
	if request.PID <= 0 {
		return request, errors.New("pid is missing: the process number of the JVM")
	}
	if err := command.check(request.Options); err != nil {
		return request, err
	}
	return request, s.Runner.Check(request)
}

// readBody reads the body to its end: only then the server notices that the client has gone.
func readBody(r *http.Request, into any) error {
	if err := decode(r.Body, into); err != nil {
		return fmt.Errorf("the body of the request: %w", err)
	}
	return nil
}

func decode(text io.Reader, into any) error {
	decoder := json.NewDecoder(text)
	decoder.DisallowUnknownFields()
	var wrong *json.UnmarshalTypeError
	var long *http.MaxBytesError
	err := decoder.Decode(into)
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("%s is not expected at %s", wrong.Value, cmp.Or(wrong.Field, "its beginning"))
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case err != nil:
		return err
	}
	switch _, err := decoder.Token(); {
	case errors.As(err, &long):
		return err
	case !errors.Is(err, io.EOF):
		return errors.New("there is more text after the JSON value")
	}
	return nil
}

// number returns the number of the look that a request names.
func number(r *http.Request) (int, error) {
	text := r.PathValue("number")
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return 0, &statusError{http.StatusNotFound, fmt.Errorf("%q is not the number of a look", text)}
	}
	return n, nil
}

// runningLook returns the look that a request names, which must be running here.
func (s *Service) runningLook(r *http.Request) (*Look, error) {
	n, err := number(r)
	if err != nil {
		return nil, err
	}
	if l := s.look(n); l != nil {
		return l, nil
	}
	about, err := s.history.look(n)
	switch {
	case err != nil:
		return nil, err
	case about.State == Running:
		return nil, &statusError{http.StatusConflict, fmt.Errorf("look %d runs in a service of another version of Sonde", n)}
	}
	return nil, &statusError{http.StatusConflict, fmt.Errorf("look %d has ended: %s", n, cmp.Or(about.Error, "sonde show prints its result"))}
}

func (s *Service) getLook(w http.ResponseWriter, r *http.Request) error {
	n, err := number(r)
	if err != nil {
		return err
	}
	if l := s.look(n); l != nil {
		return reply(w, http.StatusOK, l.Describe())
	}
	about, err := s.history.look(n)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, about)
}

func (s *Service) getEvents(w http.ResponseWriter, r *http.Request) error {
	l, err := s.runningLook(r)
	if err != nil {
		return err
	}
	l.stream(w, r, s.patience)
	return nil
}

// postEnd ends a look and answers when it has ended.
func (s *Service) postEnd(w http.ResponseWriter, r *http.Request) error {
	l, err := s.runningLook(r)
	if err != nil {
		return err
	}
	l.cancel()
	select {
	case <-l.over:
		return reply(w, http.StatusOK, l.Describe())
	case <-r.Context().Done():
		return nil
	}
}

// Keys are what a user has typed.
type Keys struct {
	Keys string `json:"keys"`
}

func (s *Service) postKeys(w http.ResponseWriter, r *http.Request) error {
	l, err := s.runningLook(r)
	if err != nil {
		return err
	}
	var keys Keys
	if err := readBody(r, &keys); err != nil {
		return err
	}
	l.press(keys.Keys)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Service) putTerminal(w http.ResponseWriter, r *http.Request) error {
	l, err := s.runningLook(r)
	if err != nil {
		return err
	}
	var terminal Terminal
	if err := readBody(r, &terminal); err != nil {
		return err
	}
	l.resize(terminal)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// getResult answers with the result of a look that has ended, in one of its formats.
func (s *Service) getResult(w http.ResponseWriter, r *http.Request) error {
	n, err := number(r)
	if err != nil {
		return err
	}
	if about, err := s.history.look(n); err == nil && about.State == Running {
		return &statusError{http.StatusConflict, fmt.Errorf("look %d is still running: end it first", n)}
	}
	name, err := s.history.result(n, cmp.Or(r.URL.Query().Get("format"), "json"))
	if err != nil {
		return &statusError{http.StatusNotFound, err}
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeFile(w, r, name)
	return nil
}

// part passes a request on to the command of a look.
func (s *Service) part(name string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		l, err := s.runningLook(r)
		if err != nil {
			return err
		}
		answer := l.handler(name)
		if answer == nil {
			return &statusError{http.StatusConflict, fmt.Errorf("look %d has no %s", l.Number(), name)}
		}
		answer(w, r)
		return nil
	}
}

// stream writes the events of a look, from the first that is kept, until it has ended or the
// client has gone. When the look has ended, a client that does not read is given up after patience.
func (l *Look) stream(w http.ResponseWriter, r *http.Request, patience time.Duration) {
	const silence = 15 * time.Second // until the client hears that the service is alive
	w.Header().Set("Content-Type", eventStream)
	w.Header().Set("Connection", "close") // because of the deadline
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	written := make(chan struct{})
	defer close(written)
	go func() {
		select {
		case <-l.over:
			_ = out.SetWriteDeadline(time.Now().Add(patience))
		case <-written:
		}
	}()
	alive := time.NewTicker(silence)
	defer alive.Stop()
	var at reader
	for {
		events, changed := l.next(&at)
		for _, event := range events {
			if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event.Name, event.Data); err != nil {
				return
			}
		}
		if err := out.Flush(); err != nil {
			return
		}
		if len(events) > 0 && events[len(events)-1].Name == EventEnd {
			return
		}
		select {
		case <-changed:
		case <-alive.C:
			_, _ = io.WriteString(w, ": alive\n\n")
		case <-r.Context().Done():
			return
		}
	}
}
