package pagetest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// callLimit bounds every wait for the browser. It is long, as a loaded machine may be
// slow; a page that works needs milliseconds.
const callLimit = 60 * time.Second

var (
	errSlow = errors.New("the browser did not answer in time")
	errGone = errors.New("the browser has ended")
)

// A wire carries the DevTools protocol: JSON objects, each followed by a zero byte.
type wire struct {
	out io.Writer

	mu      sync.Mutex
	last    int
	waiting map[int]chan message
	heard   func(message) // called for each event, in order
	gone    chan struct{}
}

// A message is a command, its reply or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

func newWire(in io.Reader, out io.Writer, heard func(message)) *wire {
	w := &wire{out: out, waiting: map[int]chan message{}, heard: heard, gone: make(chan struct{})}
	go w.listen(in)
	return w
}

// listen hands replies to whoever waits for them, until the browser closes the pipe.
func (w *wire) listen(in io.Reader) {
	defer close(w.gone)
	for from := bufio.NewReader(in); ; {
		text, err := from.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m) != nil {
			continue
		}
		if m.ID == 0 {
			w.heard(m)
			continue
		}
		w.mu.Lock()
		answer := w.waiting[m.ID]
		delete(w.waiting, m.ID)
		w.mu.Unlock()
		if answer != nil {
			answer <- m
		}
	}
}

// call sends a command and waits for its result, which is put into result unless nil.
func (w *wire) call(session, method string, params, result any) error {
	given, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	answer := make(chan message, 1)
	w.mu.Lock()
	w.last++
	text, err := json.Marshal(message{ID: w.last, Session: session, Method: method, Params: given})
	if err == nil {
		w.waiting[w.last] = answer
		_, err = w.out.Write(append(text, 0))
	}
	w.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		return nil
	case <-w.gone:
		return fmt.Errorf("%s: %w", method, errGone)
	case <-time.After(callLimit):
		return fmt.Errorf("%s: %w", method, errSlow)
	}
}
