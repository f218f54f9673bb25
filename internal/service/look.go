package service

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/internal/report/format"
)

// State is how far a look is.
type State string

// The states of a look.
const (
	Running State = "running"
	Ended   State = "ended"
	Lost    State = "lost" // the service that ran it was killed
)

var states = []State{Running, Ended, Lost}

// A Description is a look as clients see it.
type Description struct {
	Number     int        `json:"number"`
	Kind       string     `json:"kind"`    // the command, such as count
	Command    string     `json:"command"` // the command line, for people
	PID        int        `json:"pid"`     // the JVM
	State      State      `json:"state"`
	Ready      bool       `json:"ready"` // it has begun to measure
	Background bool       `json:"background"`
	Client     int        `json:"client,omitempty"` // the process that asked for it
	Began      time.Time  `json:"began"`
	Ended      *time.Time `json:"ended,omitempty"`
	Exit       int        `json:"exit"`            // the exit code of its command, when it has ended
	Error      string     `json:"error,omitempty"` // why it has no result
	Cost       *Cost      `json:"cost,omitempty"`
	Formats    []string   `json:"formats,omitempty"` // of its result, when it has ended
}

// A Cost is what the hooks of a look cost its JVM.
type Cost struct {
	Calls     uint64  `json:"calls"`
	PerSecond float64 `json:"callsPerSecond"`
	Share     float64 `json:"share"` // part of one processor
}

// A Terminal is the terminal of a client. Without one, or if its height is 0, nothing is drawn.
type Terminal struct {
	Width   int  `json:"width"`
	Height  int  `json:"height"`
	Colours bool `json:"colours,omitempty"`
}

// The names of events.
const (
	EventLook     = "look"     // a Description: the first event
	EventMessage  = "message"  // a Text for people: progress, notes, errors
	EventReady    = "ready"    // it has begun to measure
	EventFrame    = "frame"    // a Frame: replaces the one before
	EventText     = "text"     // a Text: a part of the report
	EventDocument = "document" // a part of the result, as the command writes it with --json
	EventQuestion = "question" // a Text: the look waits for the key y or n
	EventEnd      = "end"      // a Description: the last event
)

// A Text is the data of an event for people.
type Text struct {
	Text string `json:"text"`
}

// A Frame is what a terminal shows while a look runs: lines, and below them a table. A frame
// without lines ends the showing.
type Frame struct {
	PID    int          `json:"pid,omitempty"` // the JVM that rows are about
	Lines  []string     `json:"lines"`
	Titles string       `json:"titles,omitempty"`
	Rows   []format.Row `json:"rows,omitempty"`
	Foot   []string     `json:"foot,omitempty"` // below the rows
	Sort   string       `json:"sort,omitempty"` // the order of the rows
	Keys   string       `json:"keys,omitempty"` // the look acts on those in brackets: [s]elf [t]otal
}

// An Event is something that happened in a look.
type Event struct {
	Name string
	Data json.RawMessage
}

// mostLog bounds the bytes of the events that are kept for clients which come later. An event
// also costs eventBytes.
const (
	mostLog    = 4 << 20
	eventBytes = 64
)

// A Look is a command that the service runs. It is safe for use by several goroutines.
type Look struct {
	number  int
	cancel  context.CancelFunc
	over    chan struct{} // closed when the command has ended and its result is kept
	keys    chan rune
	history *history
	unlock  func() // of the look's directory in the history

	lock     sync.Mutex
	about    Description
	terminal Terminal
	log      []Event
	first    int // the number of the first event in the log
	logged   int // bytes
	writers  []*LineWriter
	frame    json.RawMessage
	frames   int           // how many there were
	changed  chan struct{} // closed, and replaced, at each change
	cost     func() *Cost
	calls    map[string]http.HandlerFunc
}

// newLook returns a look whose command has not started.
func newLook(about Description, terminal *Terminal, history *history, unlock func(), cancel context.CancelFunc) *Look {
	l := &Look{
		number: about.Number, about: about, history: history, unlock: unlock, cancel: cancel, over: make(chan struct{}), keys: make(chan rune, 64), changed: make(chan struct{}),
	}
	if terminal != nil {
		l.terminal = *terminal
	}
	return l
}

// Terminal returns the terminal of the client; its width is 0 if there is none.
func (l *Look) Terminal() Terminal {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.terminal
}

// Keys returns the keys that the client's user presses.
func (l *Look) Keys() <-chan rune { return l.keys }

// Number returns the number by which users name the look.
func (l *Look) Number() int { return l.number }

// SetCost sets the function that returns what the look costs. It may return nil.
func (l *Look) SetCost(cost func() *Cost) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.cost = cost
}

// Handle sets what answers PUT and GET of a part of the look, such as its probes.
func (l *Look) Handle(part string, answer http.HandlerFunc) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.calls == nil {
		l.calls = make(map[string]http.HandlerFunc)
	}
	l.calls[part] = answer
}

func (l *Look) handler(part string) http.HandlerFunc {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.calls[part]
}

// Describe returns the look as it is now.
func (l *Look) Describe() Description {
	l.lock.Lock()
	about, cost := l.about, l.cost
	l.lock.Unlock()
	if cost != nil && about.State == Running {
		about.Cost = cost()
	}
	return about
}

// Draw replaces what the client's terminal shows.
func (l *Look) Draw(frame Frame) {
	if frame.Lines == nil {
		frame.Lines = []string{}
	}
	data := encode(frame)
	l.lock.Lock()
	defer l.lock.Unlock()
	l.frame = data
	l.frames++
	l.wake()
}

// Emit adds an event.
func (l *Look) Emit(name string, data any) {
	encoded := encode(data)
	l.lock.Lock()
	defer l.lock.Unlock()
	l.about.Ready = l.about.Ready || name == EventReady
	l.log = append(l.log, Event{name, encoded})
	l.logged += len(encoded) + eventBytes
	for l.logged > mostLog && len(l.log) > 1 {
		l.logged -= len(l.log[0].Data) + eventBytes
		l.log, l.first = l.log[1:], l.first+1
	}
	l.wake()
}

// wake wakes those who wait for a change. The lock is held.
func (l *Look) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func encode(value any) json.RawMessage {
	if raw, is := value.(json.RawMessage); is {
		return raw
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return json.RawMessage(`{}`)
	}
	return bytes.TrimSpace(out.Bytes())
}

// Messages returns a writer of messages for people.
func (l *Look) Messages() *LineWriter { return l.lineWriter(l.emitText(EventMessage)) }

// Report returns the writer of the report. A report of documents has one on each line.
func (l *Look) Report(documents bool) *LineWriter {
	if !documents {
		return &LineWriter{emit: l.emitText(EventText), whole: true}
	}
	return l.lineWriter(func(line []byte) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			l.Emit(EventDocument, json.RawMessage(bytes.Clone(line)))
		}
	})
}

func (l *Look) lineWriter(emit func([]byte)) *LineWriter {
	w := &LineWriter{emit: emit}
	l.lock.Lock()
	defer l.lock.Unlock()
	l.writers = append(l.writers, w)
	return w
}

func (l *Look) emitText(name string) func([]byte) {
	return func(text []byte) { l.Emit(name, Text{string(text)}) }
}

// A LineWriter passes on what is written, line by line, or as it is written.
type LineWriter struct {
	emit  func([]byte)
	whole bool // pass on each write at once

	lock sync.Mutex
	rest []byte // the beginning of a line
}

func (w *LineWriter) Write(text []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.whole {
		w.emit(text)
		return len(text), nil
	}
	w.rest = append(w.rest, text...)
	if end := bytes.LastIndexByte(w.rest, '\n'); end >= 0 {
		for line := range bytes.Lines(w.rest[:end+1]) {
			w.emit(line)
		}
		w.rest = append(w.rest[:0], w.rest[end+1:]...)
	}
	return len(text), nil
}

// flush passes on a line without an end.
func (w *LineWriter) flush() {
	w.lock.Lock()
	defer w.lock.Unlock()
	if len(w.rest) > 0 {
		w.emit(w.rest)
		w.rest = nil
	}
}

// A reader is how far a client has read the events of a look.
type reader struct {
	seen   int // events of the log, with those that are not kept any more
	frames int
}

// next returns the events that a reader has not seen, with the frame if it is newer, and what
// is closed when there is more. The first event of a reader describes the look, and no event
// follows the end.
func (l *Look) next(r *reader) (events []Event, changed <-chan struct{}) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if r.seen == 0 && l.first > 0 {
		events = append(events, Event{EventLook, encode(l.about)})
	}
	events = append(events, l.log[max(0, r.seen-l.first):]...)
	if l.frames > r.frames {
		at := len(events)
		if at > 0 && events[at-1].Name == EventEnd {
			at--
		}
		events = slices.Insert(events, at, Event{EventFrame, l.frame})
	}
	r.seen, r.frames = l.first+len(l.log), l.frames
	return events, l.changed
}

// resize sets the size of the terminal.
func (l *Look) resize(terminal Terminal) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.terminal = terminal
}

// press passes keys on. Keys that nobody reads are dropped.
func (l *Look) press(keys string) {
	for _, key := range keys {
		select {
		case l.keys <- key:
		default:
		}
	}
}

// finish records the end. forget is called before clients know of the end, when the history
// has the result.
func (l *Look) finish(exit int, why string, forget func()) {
	now := time.Now().Round(time.Millisecond)
	l.lock.Lock()
	writers := l.writers
	l.lock.Unlock()
	for _, w := range writers {
		w.flush()
	}
	l.lock.Lock()
	l.about.State, l.about.Ended, l.about.Exit, l.about.Error = Ended, &now, exit, why
	l.calls, l.cost = nil, nil // they hold what the command has read
	about := l.about
	l.lock.Unlock()
	about.Formats = l.history.finish(about)
	l.unlock()
	l.lock.Lock()
	l.about = about
	l.lock.Unlock()
	forget()
	l.Emit(EventEnd, about)
	close(l.over)
}
