package sampler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// A jvm carries out commands: an *attach.Conn, but in tests.
type jvm interface {
	Execute(ctx context.Context, command string, args ...string) (attach.Reply, error)
	JVM() *process.JVM
}

const (
	// DefaultPeriod is how often threads are looked at: as the JDK's own default
	// recording does, so that one that runs is not made to sample more.
	DefaultPeriod = 20 * time.Millisecond
	// lease is how long a recording lasts that is not renewed. The JVM ends it
	// then, as a Sonde that was killed cannot.
	lease = 10 * time.Minute
	// renewal is when the next one is started.
	renewal = lease / 2
	// What stays on disk at most, beside the file that is written: a file has
	// 12 MB by the JVM's default, and the limit may not be less.
	keptSize = "13m"
	keptAge  = "30s"
	// commandLimit bounds one command. The first has the JVM load the recorder.
	commandLimit = 30 * time.Second
	// oldest is the first JDK that takes events from the command line. Before 14
	// nothing could be read of a recording that runs.
	oldest = 17
	// oldestCPUTime is the first that samples by processor time.
	oldestCPUTime = 25
)

// A recording is one of ours in a JVM.
type recording struct {
	jvm     jvm
	period  time.Duration
	cpuTime bool
	name    name
	renewAt time.Time
	renewed int // how often a name was taken for the next
}

// start has the JVM record. One that cannot, as where its disk is full, has no
// recorder that could be used.
func (r *recording) start(ctx context.Context) error {
	text, err := r.command(ctx, "JFR.start "+strings.Join(r.words(), " "))
	if err == nil && !isStarted(text) {
		err = r.refused(text)
	}
	var refusal *Error
	if errors.As(err, &refusal) && errors.Is(err, ErrRefused) {
		err = &Error{refusal.PID, ErrNoRecorder, "it does not start: " + refusal.Detail}
	}
	if err != nil {
		return err
	}
	r.renewAt = time.Now().Add(renewal)
	return nil
}

// words are what a recording is started with. It ends by itself, which newer
// JVMs take as a wish to keep it: into a file, unless one is named that keeps
// nothing.
func (r *recording) words() []string {
	words := []string{
		"name=" + r.name.String(), "settings=none", "disk=true", "dumponexit=false",
		"duration=" + strconv.Itoa(int(lease/time.Minute)) + "m", "filename=/dev/null",
		"maxage=" + keptAge, "maxsize=" + keptSize,
	}
	period := fmt.Sprintf("%dms", r.period.Milliseconds())
	if r.cpuTime {
		return append(words, "+jdk.CPUTimeSample#enabled=true", "+jdk.CPUTimeSample#throttle="+period,
			"+jdk.CPUTimeSamplesLost#enabled=true")
	}
	return append(words, "+jdk.ExecutionSample#enabled=true", "+jdk.ExecutionSample#period="+period,
		"+jdk.NativeMethodSample#enabled=true", "+jdk.NativeMethodSample#period="+period)
}

// renew starts the next recording before it stops this one, so that nothing is
// missed between them.
func (r *recording) renew(ctx context.Context) error {
	before := r.name
	r.renewed++
	r.name.serial += uint64(r.renewed) // none has a name that one had which failed
	if err := r.start(ctx); err != nil {
		r.giveUp(ctx) // it may have been started all the same
		r.name = before
		r.renewAt = time.Now().Add(lease / 10)
		return err
	}
	return r.stopOne(ctx, before)
}

// giveUp stops a recording that is of no use. What of it fails is not worth more
// than the error that led here: it ends by itself.
func (r *recording) giveUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	_ = r.stop(ctx)
}

// stop ends the recording, whatever became of the one it was renewed from.
func (r *recording) stop(ctx context.Context) error { return r.stopOne(ctx, r.name) }

// stopOne stops a recording by its name. One that is gone is as good.
func (r *recording) stopOne(ctx context.Context, n name) error {
	text, err := r.command(ctx, "JFR.stop name="+n.String())
	if err != nil || strings.Contains(text, "Stopped recording") {
		return err
	}
	running, err := r.check(ctx)
	if err != nil {
		return err
	}
	for _, one := range running {
		if one.Name == n.String() && one.State != "stopped" {
			return r.refused(text)
		}
	}
	return nil
}

// check lists the recordings there are.
func (r *recording) check(ctx context.Context) ([]Running, error) {
	text, err := r.command(ctx, "JFR.check")
	if err != nil {
		return nil, err
	}
	running, known := parseCheck(text)
	if !known {
		return nil, r.refused(text)
	}
	return running, nil
}

// repository opens the directory the recorder writes to, and names it as the JVM
// does.
func (r *recording) repository(ctx context.Context) (directory *os.File, place string, err error) {
	text, err := r.command(ctx, "JFR.configure")
	if err != nil {
		return nil, "", err
	}
	place, ok := parseRepository(text)
	if !ok {
		return nil, "", r.refused(text)
	}
	directory, err = openDirectory(r.jvm.JVM().PID, place)
	return directory, place, err
}

// command has the JVM carry out a command of the recorder.
func (r *recording) command(ctx context.Context, line string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	reply, err := r.jvm.Execute(ctx, "jcmd", line)
	if err != nil {
		return "", err
	}
	if why := missing(reply.Text); why != "" {
		return "", &Error{r.jvm.JVM().PID, ErrNoRecorder, why}
	}
	if reply.Code != 0 {
		return "", r.refused(reply.Text)
	}
	return reply.Text, nil
}

func (r *recording) refused(text string) error {
	return &Error{r.jvm.JVM().PID, ErrRefused, firstLine(text)}
}

// usable tells whether a JVM's recorder is one that can be read while it runs.
func usable(j *process.JVM, cpuTime bool) error {
	version := major(j.Version)
	switch {
	case version == 0: // it will say so itself
		return nil
	case version < oldest:
		return &Error{j.PID, ErrNoRecorder, fmt.Sprintf("that of JDK %d cannot be told what to record without files, or read while it runs", version)}
	case cpuTime && version < oldestCPUTime:
		return &Error{j.PID, ErrRefused, fmt.Sprintf("JDK %d does not sample by processor time, only %d and later do: leave --cpu-time out", version, oldestCPUTime)}
	}
	return nil
}

// major is the first number of a version, or the second of 1.8.0_402; 0 where
// there is none.
func major(version string) int {
	version = strings.TrimPrefix(version, "1.")
	digits := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(version)
	}
	number, err := strconv.Atoi(version[:digits])
	if err != nil {
		return 0
	}
	return number
}

// isGone tells an error that says that the JVM has ended.
func isGone(err error) bool {
	return errors.Is(err, attach.ErrGone) || errors.Is(err, attach.ErrNoProcess)
}
