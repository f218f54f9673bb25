package recorder

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/flight"
)

// threadHead begins what a dump tells of a Java thread. A name may hold quotes,
// so it ends at the last that can end it. The words behind its number of the
// system say what the thread does: a thread that the JVM calls RUNNABLE may wait.
var (
	threadHead  = regexp.MustCompile(`^"(.*)" #([0-9]+)(?: \[[0-9]+\])?(?: daemon)? .*\bnid=(0x[0-9a-f]+|[0-9]+) (.*?) *(?:\[0x[0-9a-f]+\])?$`)
	threadState = regexp.MustCompile(`^   java\.lang\.Thread\.State: ([A-Z_]+)`)
	frameLine   = regexp.MustCompile(`^\tat (.+)\.([^.(]+)\(([^)]*)\)$`)
)

// statePrefix is what dumps leave out of a state's name for the recorder.
const statePrefix = "STATE_"

// StateRunnable is the state of a thread that runs, as the recorder calls it.
const StateRunnable = statePrefix + "RUNNABLE"

// A dumpReader reads thread dumps of one JVM. Methods and stacks that come again
// are the same ones.
type dumpReader struct {
	waiting bool // threads that wait are told as well
	methods map[flight.Method]*flight.Method
	threads map[flight.Thread]*flight.Thread
}

func newDumpReader(waiting bool) *dumpReader {
	return &dumpReader{waiting: waiting, methods: map[flight.Method]*flight.Method{}, threads: map[flight.Thread]*flight.Thread{}}
}

// read returns a sample of each Java thread that runs, or is in native code
// without waiting for anything the JVM knows of; or of each that has a stack.
func (d *dumpReader) read(text string, at time.Time) (samples []flight.Sample) {
	var open *flight.Sample
	runs := false // by the words of the system; the state may say otherwise
	end := func() {
		if open != nil && len(open.Stack.Frames) > 0 && (d.waiting || runs && open.State == StateRunnable) {
			if open.Stack.Frames[0].Kind == flight.Native {
				open.Source = flight.NativeCode
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
			open = &flight.Sample{At: at, Thread: d.thread(head), Stack: &flight.Stack{}}
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
			}
		}
	}
	end()
	return samples
}

func (d *dumpReader) thread(head []string) *flight.Thread {
	t := flight.Thread{Name: head[1]}
	// What the expression lets through can be read, or is too large to be true.
	t.JavaID, _ = strconv.ParseInt(head[2], 10, 64)
	t.OSID, _ = strconv.ParseInt(head[3], 0, 64)
	if known := d.threads[t]; known != nil {
		return known
	}
	d.threads[t] = &t
	return &t
}

func (d *dumpReader) frame(parts []string) flight.Frame {
	m := flight.Method{Class: strings.ReplaceAll(parts[1], ".", "/"), Name: parts[2]}
	known := d.methods[m]
	if known == nil {
		known = &m
		d.methods[m] = known
	}
	frame := flight.Frame{Method: known, BCI: -1}
	// The place may begin with a module: java.base@17.0.15/Object.java:338.
	place := parts[3][strings.LastIndexByte(parts[3], '/')+1:]
	if place == "Native Method" {
		frame.Kind = flight.Native
	} else if _, line, found := strings.Cut(place, ":"); found {
		frame.Line, _ = strconv.Atoi(line) // 0 is none
	}
	return frame
}
