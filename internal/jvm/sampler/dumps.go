package sampler

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

const (
	// DefaultSpacing is the minimum time between two thread dumps.
	DefaultSpacing = 100 * time.Millisecond
	// dumpPart bounds the share of time that dumps take to 1/dumpPart: a dump of 10 ms is followed
	// by a pause of 190 ms. All threads are stopped during a dump.
	dumpPart = 20
	// waitSpacing is the minimum time between two dumps that show only waiting threads.
	waitSpacing = 250 * time.Millisecond
)

// A dumper takes thread dumps until it is closed.
type dumper struct {
	jvm    jvm
	every  time.Duration
	reader *dumpReader
	clock  *clock    // nil if waiting threads are not included
	dumped time.Time // the end of the last dump
	cancel context.CancelFunc
	ended  chan struct{}

	lock    sync.Mutex
	samples []jfr.Sample
	dumps   int
	spacing time.Duration
	failed  error
}

// startDumper takes the first dump at once, so that it fails if the JVM takes none. With a clock,
// dumps show waiting threads, too.
func startDumper(ctx context.Context, j jvm, every time.Duration, clock *clock) (*dumper, error) {
	d := &dumper{jvm: j, every: every, reader: newDumpReader(clock != nil), clock: clock, ended: make(chan struct{}), spacing: every}
	pause, err := d.dump(ctx)
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d.cancel = cancel
	go d.run(running, pause)
	return d, nil
}

func (d *dumper) run(ctx context.Context, pause time.Duration) {
	defer close(d.ended)
	for process.Pause(ctx, pause) == nil {
		var err error
		if pause, err = d.dump(ctx); err != nil {
			d.lock.Lock()
			d.failed = err
			d.lock.Unlock()
			return
		}
	}
}

// dump takes a dump and returns the pause before the next one.
func (d *dumper) dump(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	began := time.Now()
	reply, err := d.jvm.Execute(ctx, "threaddump")
	if err != nil {
		return 0, err
	}
	took := time.Since(began)
	if reply.Code != 0 {
		return 0, &Error{PID: d.jvm.JVM().PID, Kind: ErrRefused, Detail: firstLine(reply.Text)}
	}
	samples := d.reader.read(reply.Text, time.Now())
	pause := max(d.every-took, (dumpPart-1)*took)
	for i := range samples {
		if samples[i].Source == jfr.NativeCode && d.clock != nil && d.clock.sleeps(samples[i].Thread.OSID) {
			samples[i].Source, samples[i].Wait = jfr.WallClock, nativeWait(samples[i].Stack)
		}
		if samples[i].Source == jfr.WallClock {
			samples[i].Period = time.Since(cmp.Or(d.dumped, began)) // since the last dump
		}
	}
	d.dumped = time.Now()
	d.lock.Lock()
	defer d.lock.Unlock()
	d.samples = append(d.samples, samples...)
	d.dumps++
	// Each dump stands for the time until the next one.
	d.spacing += (took + pause - d.spacing) / time.Duration(min(d.dumps, 10))
	return pause, nil
}

func (d *dumper) poll(_ context.Context, b *Batch) error {
	d.lock.Lock()
	defer d.lock.Unlock()
	b.Samples, d.samples = d.samples, nil
	b.Period = d.spacing
	return d.failed
}

func (d *dumper) remains() string { return "" }

// close waits for the end of a running dump.
func (d *dumper) close(context.Context, bool) error {
	d.cancel()
	<-d.ended
	return nil
}

// threadHead is the first line of a Java thread in a dump. A name may contain quotes, so it ends at the
// last possible quote. The words after nid say what the thread does: a thread in the state RUNNABLE may
// be waiting.
var (
	threadHead  = regexp.MustCompile(`^"(.*)" #([0-9]+)(?: \[[0-9]+\])?(?: daemon)? .*\bnid=(0x[0-9a-f]+|[0-9]+) (.*?) *(?:\[0x[0-9a-f]+\])?$`)
	threadState = regexp.MustCompile(`^   java\.lang\.Thread\.State: ([A-Z_]+)`)
	frameLine   = regexp.MustCompile(`^\tat (.+)\.([^.(]+)\(([^)]*)\)$`)
	lockLine    = regexp.MustCompile(`^\t- (locked|waiting to lock|waiting to re-lock in wait\(\)|waiting on|parking to wait for) +<([^>]+)> \(a (.+)\)$`)
)

// statePrefix begins the names of states in recordings, but not in dumps.
const statePrefix = "STATE_"

// StateRunnable is the state of a running thread in recordings.
const StateRunnable = statePrefix + "RUNNABLE"

// A dumpReader parses the thread dumps of one JVM. Samples share methods and threads.
type dumpReader struct {
	waiting bool // include waiting threads
	methods map[jfr.Method]*jfr.Method
	threads map[jfr.Thread]*jfr.Thread
}

func newDumpReader(waiting bool) *dumpReader {
	return &dumpReader{waiting: waiting, methods: map[jfr.Method]*jfr.Method{}, threads: map[jfr.Thread]*jfr.Thread{}}
}

// read returns a sample of each Java thread that runs, or is in native code without waiting for
// anything that the JVM knows of. With waiting it returns one of each thread with a stack.
func (d *dumpReader) read(text string, at time.Time) (samples []jfr.Sample) {
	var open *jfr.Sample
	runs := false                      // by the words after nid; the state may differ
	holders := map[string]jfr.Sample{} // of monitors, by address
	awaited := map[*jfr.Lock]string{}  // addresses of what threads wait for
	end := func() {
		if open != nil && len(open.Stack.Frames) > 0 && (d.waiting || runs && open.State == StateRunnable) {
			if open.Stack.Frames[0].Kind == jfr.Native {
				open.Source = jfr.NativeCode
			}
			if wait := waitOf(open, runs); d.waiting && wait != jfr.Running {
				open.Source, open.Wait = jfr.WallClock, wait
			}
			samples = append(samples, *open)
		}
		open = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if head := threadHead.FindStringSubmatch(line); head != nil {
			end()
			runs = strings.TrimSpace(head[4]) == "runnable"
			open = &jfr.Sample{At: at, Thread: d.thread(head), Stack: &jfr.Stack{}}
			continue
		}
		switch {
		case line == "":
			end()
		case open == nil:
		default:
			if state := threadState.FindStringSubmatch(line); state != nil {
				open.State = statePrefix + state[1]
			} else if frame := frameLine.FindStringSubmatch(line); frame != nil {
				open.Stack.Frames = append(open.Stack.Frames, d.frame(frame))
			} else if lock := lockLine.FindStringSubmatch(line); lock != nil {
				switch how, address := lock[1], lock[2]; {
				case how != "locked" && open.Lock == nil: // the innermost
					open.Lock = &jfr.Lock{Class: descriptor.InternalName(lock[3])}
					awaited[open.Lock] = address
				case how == "locked" && awaited[open.Lock] != address: // a thread in Object.wait does not have the monitor
					holders[address] = *open
				}
			}
		}
	}
	end()
	for _, s := range samples {
		if holder, is := holders[awaited[s.Lock]]; is && s.Wait == jfr.Monitor {
			s.Lock.Holder, s.Lock.Held = holder.Thread, holder.Stack
		}
	}
	return samples
}

// waitOf returns what a thread of a dump waits for.
func waitOf(s *jfr.Sample, runs bool) jfr.Wait {
	switch in := s.Stack.WaitIn(); {
	case s.State == statePrefix+"BLOCKED":
		return jfr.Monitor
	case in != jfr.Running:
		return in
	case !runs || s.State != StateRunnable:
		return jfr.UnknownWait
	}
	return jfr.Running
}

// ioClasses are prefixes of classes whose native methods wait for files and sockets.
var ioClasses = []string{"java/io/", "java/net/", "sun/nio/", "sun/net/", "jdk/net/"}

// jdkClasses are prefixes of the JDK's classes.
var jdkClasses = []string{"java/", "javax/", "jdk/", "sun/", "com/sun/"}

// nativeWait returns what a thread waits for that sleeps in a native method which may also work.
func nativeWait(s *jfr.Stack) jfr.Wait {
	if isOfClasses(s.Frames[0], ioClasses) {
		return jfr.IO
	}
	return jfr.UnknownWait
}

func isOfClasses(f jfr.Frame, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(f.Method.Class, prefix) })
}

func (d *dumpReader) thread(head []string) *jfr.Thread {
	t := jfr.Thread{Name: head[1]}
	// Digits that match the expression can be parsed, unless the number is too large.
	t.JavaID, _ = strconv.ParseInt(head[2], 10, 64)
	t.OSID, _ = strconv.ParseInt(head[3], 0, 64)
	if known := d.threads[t]; known != nil {
		return known
	}
	d.threads[t] = &t
	return &t
}

func (d *dumpReader) frame(parts []string) jfr.Frame {
	m := jfr.Method{Class: strings.ReplaceAll(parts[1], ".", "/"), Name: parts[2]}
	known := d.methods[m]
	if known == nil {
		known = &m
		d.methods[m] = known
	}
	frame := jfr.Frame{Method: known, BCI: -1}
	// The place may begin with a module: java.base@17.0.15/Object.java:338.
	place := parts[3][strings.LastIndexByte(parts[3], '/')+1:]
	if place == "Native Method" {
		frame.Kind = jfr.Native
	} else if _, line, found := strings.Cut(place, ":"); found {
		frame.Line, _ = strconv.Atoi(line) // 0 is none
	}
	return frame
}
