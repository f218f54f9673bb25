// Package sampler makes a JVM sample itself: with its flight recorder, or with thread dumps where the
// recorder cannot be used or would slow the program. Both are requested over the attach socket; no
// agent is loaded.
//
// A recording that Sonde starts is named after the process that started it, so that the recordings of a killed
// Sonde can be distinguished from those in use. It holds nothing but samples, keeps little on disk,
// and ends by itself if it is not renewed. Recordings of others are never stopped, changed or
// dumped to a file.
package sampler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// Options configure a Sampler. The zero value is the default of `sonde hot`.
type Options struct {
	Period  time.Duration // between two samples of a thread; 0 for DefaultPeriod, or DefaultSpacing of thread dumps
	CPUTime bool          // sample by processor time, which the JVM calls experimental
	Source  Source
	Waiting bool // thread dumps only: include waiting threads, with their state
}

// A Source is where samples come from.
type Source int

// The sources of samples.
const (
	// Undisturbed is the flight recorder, or thread dumps if it cannot be used or if starting
	// it would disturb the program (discardsCode).
	Undisturbed Source = iota
	FlightRecorder
	ThreadDumps
)

// discardsCode reports whether starting the flight recorder makes a JVM discard all compiled code, so
// that samples show the interpreter for many seconds: the recorder redefines classes, and before
// JDK 21 HotSpot does not record which compiled code depends on them. A JVM that has recorded before
// has done that already.
func discardsCode(j *process.JVM) bool {
	version := jdk.Feature(j.Version)
	return version >= oldest && version < 21 && !hasRecorder(j.PID)
}

const discards = "before JDK 21 starting the flight recorder discards all compiled code and slows the program for many seconds; --recorder starts it anyway"

// A Batch holds the samples since the last Poll.
type Batch struct {
	At      time.Time
	Samples []jfr.Sample
	Period  time.Duration           // that one sample of a thread stands for
	Times   map[int64]time.Duration // processor time of each thread since its start, by its number in the JVM's namespace
	Notes   []string                // messages to the user, each reported once
}

// A Sampler makes one JVM sample itself. It is not safe for concurrent use.
type Sampler struct {
	conn    *attach.Conn
	clock   *clock
	samples samples
	bias    string
	checked time.Time // when the JVM was last known to be alive
	ended   bool      // the JVM has ended
}

// samples are the samples of a running recording or of thread dumps.
type samples interface {
	// poll adds the samples and notes since the last call to a batch, without waiting for more.
	poll(ctx context.Context, b *Batch) error
	// remains describes the files that a JVM has left which was killed; "" for none.
	remains() string
	// close stops sampling, in the JVM too unless that has ended.
	close(ctx context.Context, ended bool) error
}

// Start starts to sample a JVM. Thread dumps replace a flight recorder that cannot be used. The caller
// must call Close.
func Start(ctx context.Context, pid int, options Options) (*Sampler, error) {
	conn, err := attach.Open(ctx, pid)
	if err != nil {
		return nil, err
	}
	s := &Sampler{conn: conn, clock: newClock(conn.JVM())}
	if err := s.start(ctx, options); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

func (s *Sampler) start(ctx context.Context, options Options) (err error) {
	var why string
	switch {
	case options.Source == ThreadDumps:
		why = "as requested"
	case options.Source == Undisturbed && discardsCode(s.conn.JVM()):
		why = discards
	default:
		recorded, err := startRecording(ctx, s.conn, cmp.Or(options.Period, DefaultPeriod), options.CPUTime)
		var refusal *Error
		if err == nil {
			s.samples = recorded
			return nil
		}
		if !errors.Is(err, ErrNoRecorder) || !errors.As(err, &refusal) {
			return err
		}
		why = refusal.Detail
	}
	s.bias = fmt.Sprintf("by thread dumps, which show threads only at safepoints, and show threads that wait for a processor as running (%s)", why)
	dumps, err := startDumper(ctx, s.conn, cmp.Or(options.Period, DefaultSpacing), options.Waiting)
	s.samples = dumps
	return err
}

// JVM returns the JVM that is sampled.
func (s *Sampler) JVM() *process.JVM { return s.conn.JVM() }

// Bias describes how the samples are biased; "" if they are not.
func (s *Sampler) Bias() string { return s.bias }

// aliveEvery is the interval of checks whether the JVM is alive.
const aliveEvery = time.Second

// Poll returns the samples since the last call, without waiting for more. The error is ErrEnded if the
// JVM has ended.
func (s *Sampler) Poll(ctx context.Context) (Batch, error) {
	b := Batch{At: time.Now(), Times: s.clock.read()}
	err := s.samples.poll(ctx, &b)
	ended := isGone(err)
	if b.At.Sub(s.checked) >= aliveEvery {
		s.checked = b.At
		ended = ended || !isAlive(s.conn.JVM())
	}
	if ended {
		s.ended = true
		err = &Error{PID: s.conn.JVM().PID, Kind: ErrEnded, Detail: s.samples.remains()}
	}
	return b, err
}

// closeLimit bounds the time of leaving a JVM.
const closeLimit = 15 * time.Second

// Close leaves the JVM, even if ctx is done: it stops the recording, which removes its files.
func (s *Sampler) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	defer s.conn.Close()
	return s.samples.close(ctx, s.ended)
}

// isGone reports whether an error means that the JVM has ended.
func isGone(err error) bool {
	return errors.Is(err, attach.ErrGone) || errors.Is(err, attach.ErrNoProcess)
}

// The kinds of errors.
var (
	// ErrNoRecorder is a JVM whose flight recorder cannot be used, so that only thread dumps remain.
	ErrNoRecorder = errors.New("it has no flight recorder that Sonde can use")
	// ErrRefused is a failed command of the recorder.
	ErrRefused = errors.New("the flight recorder refused")
	// ErrEnded is a JVM that has ended.
	ErrEnded = errors.New("it has ended")
)

// An Error is one line: the process, the problem and the reason. It wraps one of the errors above.
type Error = process.Obstacle
