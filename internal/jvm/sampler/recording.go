package sampler

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
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
	version := jdk.Feature(j.Version)
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

// isGone tells an error that says that the JVM has ended.
func isGone(err error) bool {
	return errors.Is(err, attach.ErrGone) || errors.Is(err, attach.ErrNoProcess)
}

// A name is what a recording of ours is called:
//
//	sonde-<process>-<its start in ticks>-<its pid namespace>-<serial>
//
// The first three name the Sonde it belongs to for good, the last tells its
// recordings apart.
type name struct {
	process   int
	started   uint64
	namespace uint64
	serial    uint64
}

var nameForm = regexp.MustCompile(`^sonde-([0-9]{1,10})-([0-9]{1,20})-([0-9]{1,20})-([0-9]{1,20})$`)

func (n name) String() string {
	return fmt.Sprintf("sonde-%d-%d-%d-%d", n.process, n.started, n.namespace, n.serial)
}

// parseName tells names of ours from all others.
func parseName(text string) (n name, ours bool) {
	parts := nameForm.FindStringSubmatch(text)
	if parts == nil {
		return n, false
	}
	var failed [4]error
	n.process, failed[0] = strconv.Atoi(parts[1])
	n.started, failed[1] = strconv.ParseUint(parts[2], 10, 64)
	n.namespace, failed[2] = strconv.ParseUint(parts[3], 10, 64)
	n.serial, failed[3] = strconv.ParseUint(parts[4], 10, 64)
	return n, errors.Join(failed[:]...) == nil
}

// ownName is the name of a recording of this process.
func ownName(serial uint64) (name, error) {
	n := name{process: os.Getpid(), serial: serial}
	var err error
	if n.started, err = startTicks(n.process); err != nil {
		return n, fmt.Errorf("when this process started: %w", err)
	}
	if n.namespace, err = pidNamespace(); err != nil {
		return n, fmt.Errorf("the namespace of this process: %w", err)
	}
	return n, nil
}

// pidNamespace is the number of the namespace in which this process has its
// number, as in pid:[4026531836].
func pidNamespace() (uint64, error) {
	link, err := os.Readlink(filepath.Join(process.Local.Proc, "self", "ns", "pid"))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]"), 10, 64)
}

// life tells whether the Sonde of a name lives. One of another namespace, or
// where /proc does not answer, is not known to be dead.
func (n name) life() process.Answer {
	here, err := pidNamespace()
	if err != nil || here != n.namespace {
		return process.Unknown
	}
	ticks, err := startTicks(n.process)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, errEnded):
		return process.No
	case err != nil:
		return process.Unknown
	case ticks != n.started:
		return process.No
	}
	return process.Yes
}

// StopLeftovers stops the recordings that killed Sondes left running in a JVM,
// and returns their names. A JVM whose recorder was never started is not asked.
func StopLeftovers(ctx context.Context, pid int) ([]string, error) {
	if !hasRecorder(pid) {
		return nil, nil
	}
	conn, err := attach.Open(ctx, pid)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	r := &recording{jvm: conn}
	running, err := r.check(ctx)
	if errors.Is(err, ErrNoRecorder) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.stopDead(ctx, running)
}

// stopDead stops those of some recordings that are of a Sonde which is dead. One
// that is stopped already holds files until the JVM ends, and cannot be closed by
// any command; ours close when they stop.
func (r *recording) stopDead(ctx context.Context, running []Running) (stopped []string, err error) {
	var failed []error
	for _, one := range running {
		n, ours := parseName(one.Name)
		if !ours || n.life() != process.No || one.State != "running" {
			continue
		}
		if err := r.stopOne(ctx, n); err != nil {
			failed = append(failed, err)
			continue
		}
		stopped = append(stopped, one.Name)
	}
	return stopped, errors.Join(failed...)
}

// others are the recordings that are nobody's of Sonde.
func others(running []Running) (names []string) {
	for _, one := range running {
		if _, ours := parseName(one.Name); !ours && one.State == "running" {
			names = append(names, one.Name)
		}
	}
	return names
}

// A Running is a recording of the JVM, by JFR.check.
type Running struct {
	ID    int
	Name  string
	State string // such as running or stopped
}

// recordingLine begins what JFR.check says of each recording. The name may hold
// anything but a line break; what follows it has a form of its own.
var recordingLine = regexp.MustCompile(`^Recording ([0-9]+): name=(.*?)((?: (?:duration|maxsize|maxage)=\S+)*) \(([a-z]+)\)$`)

// parseCheck reads the answer to JFR.check. known is false where the answer is in
// no form that is understood: then it says nothing about what runs.
func parseCheck(text string) (running []Running, known bool) {
	known = strings.Contains(text, "No available recordings")
	for line := range strings.Lines(text) {
		parts := recordingLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if parts == nil {
			continue
		}
		id, err := strconv.Atoi(parts[1])
		if err != nil {
			continue
		}
		known = true
		running = append(running, Running{ID: id, Name: parts[2], State: parts[4]})
	}
	return running, known
}

var (
	startedLine    = regexp.MustCompile(`(?m)^Started recording ([0-9]+)\.`)
	repositoryLine = regexp.MustCompile(`(?m)^Repository path: (/.*?)\r?$`)
	settingLine    = regexp.MustCompile(`\(jdk\.(ExecutionSample|NativeMethodSample)\)\s+\[([^\]]*)\]`)
	periodSetting  = regexp.MustCompile(`(?:^|,)period=([0-9]+) ?(ns|us|ms|s)(?:,|$)`)
)

// isStarted reads the answer to JFR.start.
func isStarted(text string) bool { return startedLine.MatchString(text) }

// parseRepository reads where the recorder writes from the answer to
// JFR.configure.
func parseRepository(text string) (path string, ok bool) {
	found := repositoryLine.FindStringSubmatch(text)
	if found == nil {
		return "", false
	}
	return found[1], true
}

// shortestPeriod reads from the answer to JFR.check verbose=true how often Java
// code is sampled, 0 where it does not say. The JVM takes the shortest of all
// that any recording asks for.
func shortestPeriod(text string) (shortest time.Duration) {
	for _, setting := range settingLine.FindAllStringSubmatch(text, -1) {
		if setting[1] != "ExecutionSample" || !strings.Contains(","+setting[2]+",", ",enabled=true,") {
			continue
		}
		written := periodSetting.FindStringSubmatch(setting[2])
		if written == nil {
			continue
		}
		period, err := time.ParseDuration(written[1] + written[2])
		if err == nil && period > 0 && (shortest == 0 || period < shortest) {
			shortest = period
		}
	}
	return shortest
}

// missing says why a JVM has no recorder, by what it answers to any command of
// it; "" where nothing says so.
func missing(text string) string {
	switch {
	case strings.Contains(text, "Module jdk.jfr not found"):
		return "its run-time image lacks the module jdk.jfr: add it with jlink --add-modules jdk.jfr"
	case strings.Contains(text, "Flight Recorder is disabled"):
		return "it was switched off (-XX:-FlightRecorder): start it without that option"
	case strings.Contains(text, "Unknown diagnostic command"):
		return "it does not know the commands of one"
	case strings.Contains(text, "Flight Recorder can not be enabled"):
		return firstLine(text)
	}
	return ""
}

// firstLine is what of an answer is shown: its first line that says something.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return "no answer"
}

// openDirectory opens a directory of a process in its own mount namespace. Links
// lead nowhere but below the process's own root.
func openDirectory(pid int, path string) (*os.File, error) {
	return process.Local.OpenInside(pid, path, syscall.O_RDONLY|syscall.O_DIRECTORY)
}
