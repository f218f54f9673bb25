// Package recorder has a JVM sample itself: by its flight recorder, or where
// there is none by thread dumps, both asked for over the attach socket. No agent
// is loaded.
//
// A recording of ours is named for the process that started it, so that what a
// killed Sonde left can be told from what a living one uses. It holds nothing but
// samples, keeps little on disk, and ends by itself when it is not renewed.
// Recordings of others are never stopped, changed or written anywhere.
package sampler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// Options say how to sample. The zero value is how `sonde hot` does.
type Options struct {
	Period  time.Duration // between two looks at a thread; where 0 DefaultPeriod, or of thread dumps DefaultSpacing
	CPUTime bool          // by processor time, which the JVM calls experimental
	Source  Source
	Waiting bool // thread dumps: also threads that wait, by their state; the recorder does not see them
}

// A Source is where samples come from.
type Source int

// The sources of samples.
const (
	// Undisturbed is the flight recorder, or thread dumps where there is none that can be
	// used or where starting it would disturb the program (discardsCode).
	Undisturbed Source = iota
	FlightRecorder
	ThreadDumps
)

// discardsCode reports whether starting the flight recorder makes a JVM discard all of its
// compiled code, so that samples show the interpreter for many seconds: the recorder
// redefines classes, and before JDK 21 HotSpot has not recorded which compiled code depends
// on them. In a JVM that has recorded already this is past.
func discardsCode(j *process.JVM) bool {
	version := jdk.Feature(j.Version)
	return version >= oldest && version < 21 && !hasRecorder(j.PID)
}

const discards = "before JDK 21 starting the flight recorder discards all compiled code and slows the program for many seconds; --recorder starts it all the same"

// A Batch is what came since the last.
type Batch struct {
	At      time.Time
	Samples []jfr.Sample
	Period  time.Duration           // for which one sample of a thread stands
	Times   map[int64]time.Duration // processor time of each thread since it began, by its number for the JVM
	Notes   []string                // what the user should know, each said once
}

// A Sampler has one JVM sample itself. It is not safe for concurrent use.
type Sampler struct {
	conn      *attach.Conn
	clock     *clock
	period    time.Duration
	recording *recording
	directory *os.File
	place     string // of the directory, for the JVM
	follower  *jfr.Follower
	dumper    *dumper
	bias      string
	notes     []string
	watched   time.Time // when the JVM was last seen to live
	ended     bool      // it was seen to have ended
}

// Start begins to sample a JVM from a source; thread dumps take the place of a flight
// recorder that cannot be used. Close must be called.
func Start(ctx context.Context, pid int, options Options) (*Sampler, error) {
	conn, err := attach.Open(ctx, pid)
	if err != nil {
		return nil, err
	}
	s := &Sampler{conn: conn, clock: newClock(conn.JVM())}
	if options.Source == ThreadDumps {
		err = s.startDumps(ctx, options, "as requested")
	} else if options.Source == Undisturbed && discardsCode(conn.JVM()) {
		err = s.startDumps(ctx, options, discards)
	} else if err = s.startRecording(ctx, options); errors.Is(err, ErrNoRecorder) {
		var why *Error
		errors.As(err, &why) // all of that kind are
		err = s.startDumps(ctx, options, why.Detail)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

func (s *Sampler) startDumps(ctx context.Context, options Options, why string) (err error) {
	s.bias = fmt.Sprintf("by thread dumps, which see threads only where they can stop and show code that waits for its turn as running (%s)", why)
	s.dumper, err = startDumper(ctx, s.conn, cmp.Or(options.Period, DefaultSpacing), options.Waiting)
	return err
}

func (s *Sampler) startRecording(ctx context.Context, options Options) error {
	s.period = cmp.Or(options.Period, DefaultPeriod)
	if err := usable(s.conn.JVM(), options.CPUTime); err != nil {
		return err
	}
	own, err := ownName(uint64(time.Now().UnixNano()))
	if err != nil {
		return err
	}
	r := &recording{jvm: s.conn, period: s.period, cpuTime: options.CPUTime, name: own}
	began := time.Now()
	if err := r.start(ctx); err != nil {
		// It may have been started all the same, as when the answer came late.
		if !errors.Is(err, ErrNoRecorder) {
			r.giveUp(ctx)
		}
		return err
	}
	if s.directory, s.place, err = r.repository(ctx); err != nil {
		r.giveUp(ctx)
		return err
	}
	s.recording = r
	s.look(ctx)
	// The directory is followed by what is held of it, so nothing that becomes of
	// its path leads elsewhere.
	s.follower = jfr.Follow(fmt.Sprintf("/proc/self/fd/%d", s.directory.Fd()))
	s.follower.Since(began)
	return nil
}

// look sees to what dead Sondes left, and tells of other recordings.
func (s *Sampler) look(ctx context.Context) {
	running, err := s.recording.check(ctx)
	if err != nil {
		s.note("which other recordings run is not known: %v", err)
		return
	}
	stopped, err := s.recording.stopDead(ctx, running)
	if len(stopped) > 0 {
		s.note("stopped what a killed Sonde left running: recording %s", strings.Join(stopped, ", "))
	}
	if err != nil {
		s.note("a recording of a killed Sonde stays: %v", err)
	}
	names := others(running)
	if len(names) == 0 {
		return
	}
	s.note("another recording runs (%s) and is left as it is; while Sonde looks it holds Sonde's samples too", strings.Join(names, ", "))
	if text, err := s.recording.command(ctx, "JFR.check verbose=true"); err == nil {
		if period := shortestPeriod(text); period > 0 {
			s.period = period
		}
	}
}

func (s *Sampler) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// JVM is what is sampled.
func (s *Sampler) JVM() *process.JVM { return s.conn.JVM() }

// Bias says in what the samples are not to be trusted; "" for nothing.
func (s *Sampler) Bias() string { return s.bias }

// aliveEvery is how often the JVM is seen to live.
const aliveEvery = time.Second

// Poll returns what came since the last call, without waiting for more. The
// error is ErrEnded where the JVM is no more.
func (s *Sampler) Poll(ctx context.Context) (Batch, error) {
	b := Batch{At: time.Now(), Period: s.period, Times: s.clock.read(), Notes: s.notes}
	s.notes = nil
	var err error
	if s.dumper != nil {
		b.Samples, b.Period, err = s.dumper.take()
	} else {
		err = s.pollRecording(ctx, &b)
	}
	ended := isGone(err)
	if b.At.Sub(s.watched) >= aliveEvery {
		s.watched = b.At
		ended = ended || !lives(s.conn.JVM())
	}
	if ended {
		s.ended = true
		err = &Error{s.conn.JVM().PID, ErrEnded, s.remains()}
	}
	return b, err
}

// lives tells whether a JVM has not ended. One that nobody has asked for its exit
// code yet has.
func lives(j *process.JVM) bool {
	ticks, err := startTicks(j.PID)
	return err == nil && ticks == j.StartTicks()
}

// remains says what a JVM that was killed has left. Its files may be others' as
// well, so they stay.
func (s *Sampler) remains() string {
	if s.directory == nil {
		return ""
	}
	names, err := s.directory.Readdirnames(-1)
	if err != nil || len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("it was killed, so its flight recorder left files in %s", s.place)
}

func (s *Sampler) pollRecording(ctx context.Context, b *Batch) error {
	if b.At.After(s.recording.renewAt) {
		if err := s.recording.renew(ctx); err != nil && !isGone(err) {
			s.note("the recording was not renewed: %v", err)
		}
	}
	batch, err := s.follower.Poll()
	b.Samples = slices.DeleteFunc(batch.Samples, isOurDoing)
	for _, loss := range batch.Losses {
		b.Notes = append(b.Notes, loss.Error())
	}
	return err
}

// isOurDoing tells of the thread of the JVM that carries out commands of the
// recorder: they are Sonde's, and no work of the program.
func isOurDoing(s jfr.Sample) bool {
	return s.Stack != nil && slices.ContainsFunc(s.Stack.Frames, func(f jfr.Frame) bool {
		return f.Method != nil && strings.HasPrefix(f.Method.Class, "jdk/jfr/internal/dcmd/")
	})
}

// closeLimit bounds leaving a JVM.
const closeLimit = 15 * time.Second

// Close leaves the JVM: the recording is stopped, and with it go its files. It
// does so also where ctx is done.
func (s *Sampler) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	defer s.conn.Close()
	if s.dumper != nil {
		s.dumper.close()
		return nil
	}
	var err error
	if !s.ended {
		err = s.recording.stop(ctx)
	}
	if isGone(err) || err != nil && !lives(s.conn.JVM()) { // one that is ending breaks off
		err = nil
	}
	return errors.Join(err, s.follower.Close(), s.directory.Close())
}

// What can be in the way of a recording.
var (
	// ErrNoRecorder is a JVM whose flight recorder cannot be used: thread dumps
	// are what remains.
	ErrNoRecorder = errors.New("it has no flight recorder that Sonde can use")
	// ErrRefused is a command of the recorder that failed.
	ErrRefused = errors.New("the flight recorder refused")
	// ErrEnded is a JVM that is no more.
	ErrEnded = errors.New("it has ended")
)

// An Error is one line: which process, what is in the way, why. It answers to
// one of the errors above.
type Error struct {
	PID    int
	Kind   error
	Detail string
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("process %d: %v", e.PID, e.Kind)
	}
	return fmt.Sprintf("process %d: %v: %s", e.PID, e.Kind, e.Detail)
}

func (e *Error) Unwrap() error { return e.Kind }
