// Package sampler samples a JVM. The kernel interrupts the running threads, and their stacks are walked
// from outside: nothing in the JVM changes. Where the kernel does not permit that, the JVM samples
// itself: with its flight recorder, or with thread dumps where the recorder cannot be used or would
// slow the program. Both are requested over the attach socket; no agent is loaded.
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
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// Options configure a Sampler. The zero value is the default of `sonde hot`.
type Options struct {
	Period time.Duration // between two samples of a thread; 0 for the default of the source
	// WalkEvery is the longest time between a sample of the kernel and the walk over its stack, and the shortest between two looks at
	// waiting threads; 0 for short ones. Code that changes in between is unknown, and each round of walks costs Sonde about a millisecond.
	WalkEvery time.Duration
	CPUTime   bool // the recorder samples by processor time, which the JVM calls experimental; the kernel always does
	Source    Source
	Waiting   bool // include waiting threads; the flight recorder needs thread dumps for that
	// Accounts adds the processor time of the JVM's own threads as samples without a stack. Only
	// the kernel samples these threads.
	Accounts bool
	// Traced makes the flight recorder trace methods and take no samples; nil for samples.
	Traced *Traced
}

// Steady returns options for samples that are taken as long as a program is measured. All samplers of a JVM with these options share
// the samples, and what taking them costs.
func Steady(waiting bool) Options {
	return Options{Source: Kernel, Period: 20 * time.Millisecond, WalkEvery: 500 * time.Millisecond, Waiting: waiting}
}

// A Source is where samples come from.
type Source int

// The sources of samples.
const (
	// Auto is the kernel. Where it cannot be used, it is the flight recorder, or thread dumps if
	// that cannot be used either or if starting it would disturb the program: it redefines classes.
	Auto Source = iota
	Kernel
	FlightRecorder
	ThreadDumps
)

func (s Source) String() string {
	return []string{"best sampler", "kernel", "flight recorder", "thread dumps"}[s]
}

// Limits says in a few words what samples of a source do not show, or how they are biased.
func (s Source) Limits() string {
	switch s {
	case FlightRecorder:
		return "Java frames only"
	case ThreadDumps:
		return "BIASED: Java frames only, at safepoints"
	}
	return ""
}

const discards = "before JDK 21 starting the flight recorder discards all compiled code and slows the program for many seconds; --sampler recorder starts it anyway"

// A Batch holds the samples since the last Poll.
type Batch struct {
	At      time.Time
	Samples []jfr.Sample
	Period  time.Duration           // that one sample of a thread stands for
	Times   map[int64]time.Duration // processor time of each thread since its start, by its number in the JVM's namespace
	Ready   map[int64]time.Duration // likewise, how long it was ready to run and had no processor
	Lost    int                     // samples that were taken and could not be kept
	// Allocation is what the program has allocated; known if the kernel samples, and waiting threads are included.
	Allocation Allocation
	Calls      []jfr.Call   // of traced methods
	Timings    []jfr.Timing // likewise
	Notes      []string     // messages to the user, each reported once
}

// An Allocation is how many bytes the program's threads have allocated from the first look at them until a later one. What
// threads that have ended allocated after the last look is missing.
type Allocation struct {
	Bytes uint64
	At    time.Time // of the look
}

// A Sampler samples one JVM. It is not safe for concurrent use.
type Sampler struct {
	jvm     *process.JVM
	conn    *attach.Conn // nil if the kernel samples
	clock   *clock
	samples samples
	waits   *dumper // for waiting threads, which the flight recorder does not show; nil if not needed
	source  Source
	bias    string
	account bool
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

// Start starts to sample a JVM. The caller must call Close.
func Start(ctx context.Context, pid int, options Options) (*Sampler, error) {
	var refusal *Error
	if options.Source == Auto || options.Source == Kernel {
		s, err := startOutside(ctx, pid, options)
		if err == nil || options.Source == Kernel {
			return s, err
		}
		if !errors.As(err, &refusal) {
			refusal = nil // attaching says it better
		}
	}
	s, err := startInside(ctx, pid, options)
	if err == nil && refusal != nil {
		s.bias = fmt.Sprintf("%s; the kernel does not sample it because %s", cmp.Or(s.bias, "by the flight recorder, which sees Java code only"), refusal.Detail)
	}
	if errors.Is(err, attach.ErrDisabled) && (refusal != nil || options.Source != Auto) {
		err = withoutAttaching(pid, err, refusal)
	}
	return s, err
}

// withoutAttaching explains that a JVM whose options forbid attaching cannot sample itself. refusal is why the kernel does not
// sample it; nil if that was not tried.
func withoutAttaching(pid int, err error, refusal *Error) error {
	jvm, unknown := process.Local.Inspect(pid)
	if unknown != nil || jvm.Attach.Answer != process.No {
		return err
	}
	why, _, _ := strings.Cut(jvm.Attach.Reason, "; ")
	if refusal == nil {
		return &Error{PID: pid, Kind: attach.ErrDisabled, Detail: why + "; --sampler kernel needs no attaching"}
	}
	return &Error{PID: pid, Kind: ErrNoKernel, Detail: refusal.Detail + "; nor can it sample itself, because " + why}
}

// TryKernel reports why the kernel cannot sample a JVM; nil if it can.
func TryKernel(ctx context.Context, pid int) error {
	s, err := Start(ctx, pid, Options{Source: Kernel})
	if err != nil {
		return err
	}
	return s.Close(ctx)
}

// startInside lets the JVM sample itself.
func startInside(ctx context.Context, pid int, options Options) (*Sampler, error) {
	conn, err := attach.Open(ctx, pid)
	if err != nil {
		return nil, err
	}
	s := &Sampler{jvm: conn.JVM(), conn: conn, clock: newClock(conn.JVM()), account: options.Accounts}
	if err := s.start(ctx, options); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

// startOutside lets the kernel sample.
func startOutside(ctx context.Context, pid int, options Options) (*Sampler, error) {
	jvm, err := process.Local.Inspect(pid)
	if err != nil {
		return nil, err
	}
	samples, err := startKernel(ctx, jvm, options)
	if err != nil {
		return nil, err
	}
	return &Sampler{jvm: jvm, clock: newClock(jvm), samples: samples, source: Kernel}, nil
}

func (s *Sampler) start(ctx context.Context, options Options) (err error) {
	var why string
	switch {
	case options.Source == ThreadDumps:
		why = "as requested"
	case options.Source == Auto && jdk.Feature(s.jvm.Version) >= oldest && process.Local.DiscardsAll(s.jvm):
		why = discards
	default:
		recorded, err := startRecording(ctx, s.conn, options)
		var refusal *Error
		if err == nil {
			s.samples, s.source = recorded, FlightRecorder
			if options.Waiting {
				if s.waits, err = startDumper(ctx, s.conn, waitSpacing, s.dumpClock(options)); err != nil {
					return errors.Join(err, recorded.close(ctx, false))
				}
			}
			return nil
		}
		if options.Traced != nil || !errors.Is(err, ErrNoRecorder) || !errors.As(err, &refusal) {
			return err
		}
		why = refusal.Detail
	}
	s.bias = fmt.Sprintf("by thread dumps, which show threads only at safepoints, and show threads that wait for a processor as running (%s)", why)
	dumps, err := startDumper(ctx, s.conn, cmp.Or(options.Period, DefaultSpacing), s.dumpClock(options))
	s.samples, s.source = dumps, ThreadDumps
	return err
}

// dumpClock returns a clock for thread dumps that show waiting threads, which run on a goroutine of
// their own; nil for others.
func (s *Sampler) dumpClock(options Options) *clock {
	if !options.Waiting {
		return nil
	}
	return newClock(s.conn.JVM())
}

// JVM returns the JVM that is sampled.
func (s *Sampler) JVM() *process.JVM { return s.jvm }

// Source returns where the samples come from; never Auto.
func (s *Sampler) Source() Source { return s.source }

// Bias describes how the samples are biased; "" if they are not.
func (s *Sampler) Bias() string { return s.bias }

// aliveEvery is the interval of checks whether the JVM is alive.
const aliveEvery = time.Second

// Poll returns the samples since the last call, without waiting for more. The error is ErrEnded if the
// JVM has ended.
func (s *Sampler) Poll(ctx context.Context) (Batch, error) {
	b := Batch{At: time.Now(), Times: s.clock.read(), Ready: s.clock.ready}
	err := s.samples.poll(ctx, &b)
	if s.waits != nil && err == nil {
		var dumped Batch
		err = s.waits.poll(ctx, &dumped)
		b.Samples = append(b.Samples, slices.DeleteFunc(dumped.Samples, func(s jfr.Sample) bool { return s.Source != jfr.WallClock })...)
	}
	if s.account {
		b.Samples = append(b.Samples, s.clock.account(b.At, b.Times)...)
	}
	b.Samples = slices.DeleteFunc(b.Samples, func(s jfr.Sample) bool { return s.Thread != nil && s.Thread.IsSondes() })
	ended := isGone(err) || errors.Is(err, ErrEnded)
	if b.At.Sub(s.checked) >= aliveEvery {
		s.checked = b.At
		ended = ended || !isAlive(s.jvm)
	}
	if ended {
		s.ended = true
		err = &Error{PID: s.jvm.PID, Kind: ErrEnded, Detail: s.samples.remains()}
	}
	return b, err
}

// Trace changes which methods the flight recorder traces.
func (s *Sampler) Trace(ctx context.Context, traced Traced) error {
	r, is := s.samples.(*recording)
	if !is {
		return errors.New("no recording is running")
	}
	r.traced = &traced
	return r.renew(ctx)
}

// closeLimit bounds the time of leaving a JVM.
const closeLimit = 15 * time.Second

// Close leaves the JVM, even if ctx is done: it stops the recording, which removes its files.
func (s *Sampler) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	if s.conn != nil {
		defer s.conn.Close()
	}
	if s.waits != nil {
		_ = s.waits.close(ctx, s.ended) // always nil
	}
	return s.samples.close(ctx, s.ended)
}

// isGone reports whether an error means that the JVM has ended.
func isGone(err error) bool {
	return errors.Is(err, attach.ErrGone) || errors.Is(err, attach.ErrNoProcess)
}

// The kinds of errors.
var (
	// ErrNoKernel is a JVM that the kernel does not sample for this user.
	ErrNoKernel = errors.New("the kernel cannot sample it")
	// ErrNoRecorder is a JVM whose flight recorder cannot be used, so that only thread dumps remain.
	ErrNoRecorder = errors.New("it has no flight recorder that Sonde can use")
	// ErrRefused is a failed command of the recorder.
	ErrRefused = errors.New("the flight recorder refused")
	// ErrEnded is a JVM that has ended.
	ErrEnded = errors.New("it has ended")
)

// An Error is one line: the process, the problem and the reason. It wraps one of the errors above.
type Error = process.Obstacle
