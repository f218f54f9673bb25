package service

import (
	"bufio"
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

	"github.com/sonde-jvm/sonde/internal/report/document"
)

// ErrNone says that no service is running.
var ErrNone = errors.New("no service of this user and this version of Sonde is running")

// A Client sends requests to the service of this user.
type Client struct {
	Socket string
	http   http.Client
}

// Find finds the service. The error is [ErrNone] if none is running.
func (p Place) Find(ctx context.Context) (*Client, error) {
	uid := uint32(os.Geteuid())
	for _, dir := range p.dirs(uid) {
		path := p.socket(dir)
		if len(path) > longestPath || checkPrivate(dir, uid) != nil {
			continue
		}
		if _, err := os.Lstat(path); err == nil && answers(ctx, path) {
			return newClient(path, uid), nil
		}
	}
	return nil, ErrNone
}

func newClient(path string, uid uint32) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		dialer := net.Dialer{Timeout: dialPatience}
		conn, err := dialer.DialContext(ctx, "unix", path)
		if err != nil {
			return nil, err
		}
		pid, owner, err := peerOf(conn.(*net.UnixConn))
		if err == nil && owner != uid && owner != 0 {
			err = &StrangerError{pid, owner, path}
		}
		if err != nil {
			_ = conn.Close()
			return nil, err
		}
		return conn, nil
	}
	return &Client{Socket: path, http: http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// ErrGone says that the service ended before it answered.
var ErrGone = errors.New("the service has ended; the agents in its JVMs remove its hooks by themselves")

// An unansweredError says that the service ended before it began to answer: it was about to
// end when the request came, or was killed. It is [ErrGone], and [ErrEnding] because the
// request can be sent again to the next service.
type unansweredError struct{ why error }

func (e *unansweredError) Error() string        { return fmt.Sprintf("%v (%v)", ErrGone, e.why) }
func (e *unansweredError) Is(target error) bool { return target == ErrGone || target == ErrEnding }
func (e *unansweredError) Unwrap() error        { return e.why }

// A StrangerError names a process of another user that listens where the service should.
type StrangerError struct {
	PID    int
	User   uint32
	Socket string
}

func (e *StrangerError) Error() string {
	return fmt.Sprintf("process %d of user %d, no service of this user, listens at %s: end it, or remove the socket", e.PID, e.User, e.Socket)
}

// Call sends a request and reads the answer. body and into may be nil.
func (c *Client) Call(ctx context.Context, method, path string, body, into any) error {
	answer, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		return errors.Join(ErrGone, err)
	}
	return nil
}

// send sends a request. An answer that reports a failure is an error.
func (c *Client) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader
	switch body := body.(type) {
	case nil:
	case []byte:
		content = bytes.NewReader(body)
	default:
		content = bytes.NewReader(encode(body))
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://sonde"+path, content)
	if err != nil {
		return nil, err
	}
	answer, err := c.http.Do(request)
	var stranger *StrangerError
	var dialing *net.OpError
	switch {
	case errors.As(err, &stranger):
		return nil, stranger
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && isDead(err):
		return nil, ErrNone
	case errors.As(err, &dialing) && dialing.Op == "dial":
		return nil, fmt.Errorf("the service cannot be reached: %w", dialing)
	case err != nil:
		return nil, &unansweredError{err}
	case answer.StatusCode < http.StatusBadRequest:
		return answer, nil
	}
	defer func() { _ = answer.Body.Close() }()
	var problem Problem
	if err := json.NewDecoder(io.LimitReader(answer.Body, mostRequest)).Decode(&problem); err != nil {
		problem.Error = answer.Status
	}
	if answer.StatusCode == http.StatusServiceUnavailable {
		return nil, ErrEnding
	}
	return nil, errors.New(problem.Error)
}

// Events sends a request whose answer is events.
func (c *Client) Events(ctx context.Context, method, path string, body any) (*Stream, error) {
	answer, err := c.send(ctx, method, path, body) //nolint:bodyclose // Stream.Close closes it
	if err != nil {
		return nil, err
	}
	return &Stream{body: answer.Body, lines: bufio.NewReader(answer.Body)}, nil
}

// A Stream is the events of a look.
type Stream struct {
	body  io.ReadCloser
	lines *bufio.Reader
}

// Close ends the look that the stream was the answer to, unless it has ended.
func (s *Stream) Close() error { return s.body.Close() }

// Next waits for an event. The error is [ErrGone] if the service has ended.
func (s *Stream) Next() (event Event, err error) {
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return event, fmt.Errorf("%w (%w)", ErrGone, err)
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case name == "event":
			event.Name = value
		case name == "data":
			event.Data = json.RawMessage(value)
		case line == "" && event.Name != "":
			return event, nil
		}
	}
}

// Fetch returns an answer that is a file.
func (c *Client) Fetch(ctx context.Context, path string) ([]byte, error) {
	answer, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrGone, err)
	}
	return data, nil
}

// Looks returns the looks in a state; all of them if it is empty.
func (c *Client) Looks(ctx context.Context, state State) ([]Description, error) {
	var list List
	err := c.Call(ctx, http.MethodGet, "/v1/looks?state="+string(state), nil, &list)
	return list.Looks, err
}

// JVMs implements [Host].
func (c *Client) JVMs(ctx context.Context) (all JVMs, err error) {
	err = c.Call(ctx, http.MethodGet, "/v1/jvms", nil, &all)
	return all, err
}

// Status implements [Host].
func (c *Client) Status(ctx context.Context, pid int) (status Status, err error) {
	err = c.Call(ctx, http.MethodGet, jvmPath(pid, ""), nil, &status)
	return status, err
}

// Doctor implements [Host].
func (c *Client) Doctor(ctx context.Context, pid int, how Examination) (found document.Doctor, err error) {
	err = c.Call(ctx, http.MethodPost, jvmPath(pid, "/doctor"), how, &found)
	return found, err
}

// Undo implements [Host].
func (c *Client) Undo(ctx context.Context, pid int) (done document.Undone, err error) {
	err = c.Call(ctx, http.MethodPost, jvmPath(pid, "/undo"), nil, &done)
	return done, err
}

func jvmPath(pid int, part string) string { return fmt.Sprintf("/v1/jvms/%d%s", pid, part) }
