package sampler

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

// A Blocked is a thread that waits for an object.
type Blocked struct {
	Thread string
	Frames []jfr.Frame // the innermost first
	Object string      // class of what it waits for, with dots
	Parked bool        // it waits in java.util.concurrent or in Object.wait, not to enter a monitor
	Holder string      // thread that has the monitor; "" if that is not known
	// Holding are the frames of the holder.
	Holding []jfr.Frame
}

// Locks takes a thread dump, for which the JVM stops all threads shortly, and returns the threads that wait.
func Locks(ctx context.Context, pid int) ([]Blocked, error) {
	conn, err := attach.Open(ctx, pid)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	reply, err := conn.Execute(ctx, "threaddump")
	if err != nil {
		return nil, err
	}
	if reply.Code != 0 {
		return nil, &Error{PID: pid, Kind: ErrRefused, Detail: firstLine(reply.Text)}
	}
	return readLocks(reply.Text), nil
}

// lockLine is a line of a dump about an object.
var lockLine = regexp.MustCompile(`^\t- (locked|waiting to lock|waiting to re-lock in wait\(\)|waiting on|parking to wait for) +<([^>]+)> \(a (.+)\)$`)

// A lockingThread is a thread of a dump with its objects.
type lockingThread struct {
	jfr.Sample
	waits, object string // address and class of what it waits for
	parked        bool
	locked        map[string]bool // addresses of the monitors that it has
}

// readLocks returns the threads of a dump that wait, with the holders of monitors.
func readLocks(text string) (blocked []Blocked) {
	threads := readThreads(text)
	for _, t := range threads {
		if t.waits == "" || t.Thread.IsSondes() {
			continue
		}
		b := Blocked{Thread: t.Thread.Name, Frames: t.Stack.Frames, Object: t.object, Parked: t.parked}
		for _, other := range threads {
			if other != t && other.locked[t.waits] && other.waits != t.waits {
				b.Holder, b.Holding = other.Thread.Name, other.Stack.Frames
				break
			}
		}
		blocked = append(blocked, b)
	}
	return blocked
}

func readThreads(text string) (threads []*lockingThread) {
	reader := newDumpReader(true)
	var open *lockingThread
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if head := threadHead.FindStringSubmatch(line); head != nil {
			open = &lockingThread{Sample: jfr.Sample{At: time.Now(), Thread: reader.thread(head), Stack: &jfr.Stack{}}, locked: map[string]bool{}}
			threads = append(threads, open)
			continue
		}
		if line == "" || open == nil {
			open = nil
			continue
		}
		if frame := frameLine.FindStringSubmatch(line); frame != nil {
			open.Stack.Frames = append(open.Stack.Frames, reader.frame(frame))
		} else if lock := lockLine.FindStringSubmatch(line); lock != nil {
			open.add(lock[1], lock[2], lock[3])
		}
	}
	return threads
}

func (t *lockingThread) add(how, address, class string) {
	switch {
	case how == "locked":
		t.locked[address] = true
	case t.waits == "": // the innermost
		t.waits, t.object, t.parked = address, class, strings.HasPrefix(how, "parking") || how == "waiting on"
	}
}
