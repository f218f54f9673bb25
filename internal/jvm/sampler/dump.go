package sampler

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
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
	methods map[jfr.Method]*jfr.Method
	threads map[jfr.Thread]*jfr.Thread
}

func newDumpReader(waiting bool) *dumpReader {
	return &dumpReader{waiting: waiting, methods: map[jfr.Method]*jfr.Method{}, threads: map[jfr.Thread]*jfr.Thread{}}
}

// read returns a sample of each Java thread that runs, or is in native code
// without waiting for anything the JVM knows of; or of each that has a stack.
func (d *dumpReader) read(text string, at time.Time) (samples []jfr.Sample) {
	var open *jfr.Sample
	runs := false // by the words of the system; the state may say otherwise
	end := func() {
		if open != nil && len(open.Stack.Frames) > 0 && (d.waiting || runs && open.State == StateRunnable) {
			if open.Stack.Frames[0].Kind == jfr.Native {
				open.Source = jfr.NativeCode
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
			}
		}
	}
	end()
	return samples
}

func (d *dumpReader) thread(head []string) *jfr.Thread {
	t := jfr.Thread{Name: head[1]}
	// What the expression lets through can be read, or is too large to be true.
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
