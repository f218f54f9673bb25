package sampler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// A jvm executes commands: an *attach.Conn, except in tests.
type jvm interface {
	Execute(ctx context.Context, command string, args ...string) (attach.Reply, error)
	JVM() *process.JVM
}

const (
	// DefaultPeriod is the period of the JDK's own default recording, so that a running one does
	// not sample more often.
	DefaultPeriod = 20 * time.Millisecond
	// DefaultKernelPeriod is the period of the kernel's samples: of the processor time of a thread.
	DefaultKernelPeriod = 10 * time.Millisecond
	// lease is the duration of a recording that is not renewed. A killed Sonde cannot end its
	// recording, so the JVM does.
	lease = 10 * time.Minute
	// renewal is the time after which the next recording is started.
	renewal = lease / 2
	// keptSize and keptAge bound the files on disk besides the current one. A file has 12 MB by
	// the JVM's default, and the limit must not be less.
	keptSize = "13m"
	keptAge  = "30s"
	// commandLimit bounds one command. The first one makes the JVM load the recorder.
	commandLimit = 30 * time.Second
	// oldest is the first JDK that accepts events on the command line. Before 14 a running
	// recording could not be read.
	oldest = 17
	// oldestCPUTime is the first JDK that samples by processor time, oldestTraced the first that traces methods.
	oldestCPUTime = 25
	oldestTraced  = 25
	// timingsEvery is how often the recorder sums up the calls of traced methods.
	timingsEvery = "500ms"
)

// Traced says which methods the flight recorder traces. The JVM changes their classes for that, and restores them when the
// recording ends. It reports calls that take at least Threshold, and how many calls of each method there are.
type Traced struct {
	Methods   []classfile.MethodRef // their descriptors do not matter
	Threshold time.Duration
}

// Traces reports whether the flight recorder of a JVM can trace methods, by its version.
func Traces(j *process.JVM) bool { return jdk.Feature(j.Version) >= oldestTraced }

// IsTraceable reports whether the recorder can trace a method. It refuses names that are not Java's, and traces no methods that
// compilers have added, such as the bodies of lambdas.
func IsTraceable(m classfile.MethodRef) bool {
	isOther := func(r rune) bool {
		return r != '_' && r != '$' && r != '/' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	return m.Class != "" && !strings.ContainsFunc(m.Class, isOther) && !strings.HasPrefix(m.Name, "lambda$") && !strings.HasPrefix(m.Name, "access$") &&
		m.Name != "" && (m.Name == "<init>" || !strings.ContainsFunc(m.Name, isOther))
}

// words are the settings of the recording.
func (t *Traced) words() []string {
	var names []string
	for _, m := range t.Methods {
		if name := m.ClassName() + "::" + m.Name; IsTraceable(m) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	filter := strings.Join(names, ";")
	return []string{
		"+jdk.MethodTrace#enabled=true", "+jdk.MethodTrace#stackTrace=false", fmt.Sprintf("+jdk.MethodTrace#threshold=%dns", t.Threshold.Nanoseconds()),
		"+jdk.MethodTrace#filter=" + filter, "+jdk.MethodTiming#enabled=true", "+jdk.MethodTiming#period=" + timingsEvery, "+jdk.MethodTiming#filter=" + filter,
		"+jdk.DataLoss#enabled=true",
	}
}

// A recording is a recording of ours in a JVM, read from the JVM's repository.
type recording struct {
	jvm     jvm
	period  time.Duration
	cpuTime bool
	traced  *Traced // nil if it has samples
	name    name
	renewAt time.Time
	renewed int // number of names used for later recordings

	directory *process.Folder // the repository
	place     string          // its path, as the JVM sees it
	follower  *jfr.Follower
	notes     []string
}

func startRecording(ctx context.Context, conn jvm, options Options) (*recording, error) {
	if err := usable(conn.JVM(), options); err != nil {
		return nil, err
	}
	own, err := ownName(uint64(time.Now().UnixNano()))
	if err != nil {
		return nil, err
	}
	r := &recording{jvm: conn, period: cmp.Or(options.Period, DefaultPeriod), cpuTime: options.CPUTime, traced: options.Traced, name: own}
	began := time.Now()
	if err := r.start(ctx); err != nil {
		// It may have been started all the same, for example if the answer came late.
		if !errors.Is(err, ErrNoRecorder) {
			r.giveUp(ctx)
		}
		return nil, err
	}
	if err := r.openRepository(ctx); err != nil {
		r.giveUp(ctx)
		return nil, err
	}
	r.inspect(ctx)
	r.follower = jfr.Follow(r.directory)
	r.follower.Since(began)
	return r, nil
}

// inspect stops the recordings of killed Sondes, and adds notes about other recordings.
func (r *recording) inspect(ctx context.Context) {
	running, err := r.check(ctx)
	if err != nil {
		r.note("other recordings could not be listed: %v", err)
		return
	}
	stopped, err := r.stopDead(ctx, running)
	if len(stopped) > 0 {
		r.note("stopped the recording that a killed Sonde left running: %s", strings.Join(stopped, ", "))
	}
	if err != nil {
		r.note("a recording of a killed Sonde could not be stopped: %v", err)
	}
	names := others(running)
	if len(names) == 0 {
		return
	}
	r.note("another recording is running (%s) and is not changed; it also receives Sonde's samples", strings.Join(names, ", "))
	if text, err := r.command(ctx, "JFR.check verbose=true"); err == nil {
		r.period = cmp.Or(shortestPeriod(text), r.period)
	}
}

func (r *recording) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *recording) poll(ctx context.Context, b *Batch) error {
	if b.At.After(r.renewAt) {
		if err := r.renew(ctx); err != nil && !isGone(err) {
			r.note("the recording was not renewed: %v", err)
		}
	}
	batch, err := r.follower.Poll()
	b.Samples, b.Period = slices.DeleteFunc(batch.Samples, isOurDoing), r.period
	b.Calls, b.Timings = batch.Calls, batch.Timings
	b.Notes, r.notes = r.notes, nil
	for _, loss := range batch.Losses {
		b.Notes = append(b.Notes, loss.Error())
	}
	return err
}

// isOurDoing reports whether a sample shows the thread of the JVM that executes commands of the
// recorder: that is Sonde's work, not the program's.
func isOurDoing(s jfr.Sample) bool {
	return s.Stack != nil && slices.ContainsFunc(s.Stack.Frames, func(f jfr.Frame) bool {
		return f.IsJava() && strings.HasPrefix(f.Method.Class, "jdk/jfr/internal/dcmd/")
	})
}

// remains reports the repository, which stays because others may use its files as well.
func (r *recording) remains() string {
	if entries, err := r.directory.List(1); err != nil || len(entries) == 0 {
		return ""
	}
	return fmt.Sprintf("it was killed, so its flight recorder left files in %s", r.place)
}

func (r *recording) close(ctx context.Context, ended bool) error {
	var err error
	if !ended {
		err = r.stop(ctx)
	}
	if isGone(err) || err != nil && !isAlive(r.jvm.JVM()) { // a JVM that is ending breaks off
		err = nil
	}
	return errors.Join(err, r.follower.Close(), r.directory.Close())
}

// start starts the recording. A JVM that cannot, for example because its disk is full, has no usable
// recorder.
func (r *recording) start(ctx context.Context) error {
	text, err := r.command(ctx, "JFR.start "+strings.Join(r.words(), " "))
	if err == nil && !startedLine.MatchString(text) {
		err = r.refused(text)
	}
	var refusal *Error
	if errors.As(err, &refusal) && errors.Is(err, ErrRefused) {
		err = &Error{PID: refusal.PID, Kind: ErrNoRecorder, Detail: "it does not start: " + refusal.Detail}
	}
	if err != nil {
		return err
	}
	r.renewAt = time.Now().Add(renewal)
	return nil
}

// words are the arguments of JFR.start. Newer JVMs write a recording with a duration into a file when
// it ends, so a file that keeps nothing is given.
func (r *recording) words() []string {
	words := []string{
		"name=" + r.name.String(), "settings=none", "disk=true", "dumponexit=false",
		"duration=" + strconv.Itoa(int(lease/time.Minute)) + "m", "filename=/dev/null",
		"maxage=" + keptAge, "maxsize=" + keptSize,
	}
	if r.traced != nil {
		return append(words, r.traced.words()...)
	}
	period := fmt.Sprintf("%dms", r.period.Milliseconds())
	if r.cpuTime {
		return append(words, "+jdk.CPUTimeSample#enabled=true", "+jdk.CPUTimeSample#throttle="+period,
			"+jdk.CPUTimeSamplesLost#enabled=true")
	}
	return append(words, "+jdk.ExecutionSample#enabled=true", "+jdk.ExecutionSample#period="+period,
		"+jdk.NativeMethodSample#enabled=true", "+jdk.NativeMethodSample#period="+period)
}

// renew starts the next recording before it stops this one, so that no sample is missed.
func (r *recording) renew(ctx context.Context) error {
	before := r.name
	r.renewed++
	r.name.serial += uint64(r.renewed) // never the name of a recording that failed
	if err := r.start(ctx); err != nil {
		r.giveUp(ctx) // it may have been started nevertheless
		r.name = before
		r.renewAt = time.Now().Add(lease / 10)
		return err
	}
	return r.stopOne(ctx, before)
}

// giveUp stops a recording that is of no use. It ignores errors, because the recording ends by itself.
func (r *recording) giveUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	_ = r.stop(ctx)
}

func (r *recording) stop(ctx context.Context) error { return r.stopOne(ctx, r.name) }

// stopOne stops a recording by its name. It succeeds if there is none.
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

// check lists the recordings of the JVM.
func (r *recording) check(ctx context.Context) ([]listed, error) {
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

// openRepository opens the directory that the recorder writes to.
func (r *recording) openRepository(ctx context.Context) error {
	text, err := r.command(ctx, "JFR.configure")
	if err != nil {
		return err
	}
	found := repositoryLine.FindStringSubmatch(text)
	if found == nil {
		return r.refused(text)
	}
	r.place = found[1]
	r.directory, err = process.Local.OpenFolder(r.jvm.JVM(), r.place)
	return err
}

func (r *recording) command(ctx context.Context, line string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	reply, err := r.jvm.Execute(ctx, "jcmd", line)
	if err != nil {
		return "", err
	}
	if why := missing(reply.Text); why != "" {
		return "", &Error{PID: r.jvm.JVM().PID, Kind: ErrNoRecorder, Detail: why}
	}
	if reply.Code != 0 {
		return "", r.refused(reply.Text)
	}
	return reply.Text, nil
}

func (r *recording) refused(text string) error {
	return &Error{PID: r.jvm.JVM().PID, Kind: ErrRefused, Detail: firstLine(text)}
}

// usable checks that a JVM's recorder can be read while it runs.
func usable(j *process.JVM, options Options) error {
	version := jdk.Feature(j.Version)
	switch {
	case version == 0: // the JVM will report the problem
		return nil
	case version < oldest:
		return &Error{PID: j.PID, Kind: ErrNoRecorder, Detail: fmt.Sprintf("the flight recorder of JDK %d cannot be configured without files, or read while it runs", version)}
	case options.Traced != nil && !Traces(j):
		return &Error{PID: j.PID, Kind: ErrRefused, Detail: fmt.Sprintf("the flight recorder of JDK %d cannot trace methods; that of JDK %d or later can", version, oldestTraced)}
	case options.CPUTime && version < oldestCPUTime:
		return &Error{PID: j.PID, Kind: ErrRefused, Detail: fmt.Sprintf("JDK %d cannot sample by processor time, only JDK %d and later can: leave out --cpu-time", version, oldestCPUTime)}
	}
	return nil
}

// A name is the name of a recording of ours:
//
//	sonde-<process>-<its start in ticks>-<its pid namespace>-<serial>
//
// The first three numbers identify the Sonde that it belongs to, the last one the recording.
type name struct {
	process   int
	started   uint64
	namespace uint64
	serial    uint64
}

const nameForm = "sonde-%d-%d-%d-%d"

func (n name) String() string {
	return fmt.Sprintf(nameForm, n.process, n.started, n.namespace, n.serial)
}

// parseName parses the name of a recording; ours is false if it is not one of ours.
func parseName(text string) (n name, ours bool) {
	_, err := fmt.Sscanf(text, nameForm, &n.process, &n.started, &n.namespace, &n.serial)
	return n, err == nil && n.process > 0 && n.String() == text
}

// ownName returns the name of a recording of this process.
func ownName(serial uint64) (name, error) {
	n := name{process: os.Getpid(), serial: serial}
	stat, err := process.ReadStat(process.Local.Path(n.process, "stat"))
	if err != nil {
		return n, fmt.Errorf("reading the start time of this process: %w", err)
	}
	n.started = stat.Start
	if n.namespace, err = pidNamespace(); err != nil {
		return n, fmt.Errorf("reading the PID namespace of this process: %w", err)
	}
	return n, nil
}

// pidNamespace returns the number of the PID namespace of this process, as in pid:[4026531836].
func pidNamespace() (uint64, error) {
	link, err := process.Local.PIDNamespace()
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]"), 10, 64)
}

// life reports whether the Sonde of a name is alive. It is unknown for a Sonde in another namespace, or
// if /proc cannot be read.
func (n name) life() process.Answer {
	here, err := pidNamespace()
	if err != nil || here != n.namespace {
		return process.Unknown
	}
	stat, err := process.ReadStat(process.Local.Path(n.process, "stat"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return process.No
	case err != nil:
		return process.Unknown
	case stat.Ended || stat.Start != n.started:
		return process.No
	}
	return process.Yes
}

// StopLeftovers stops the recordings that killed Sondes left running in a JVM, and returns their names.
// It does not contact a JVM whose recorder was never started.
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

// stopDead stops recordings of killed Sondes. A recording that is stopped already keeps its files until
// the JVM ends, and no command closes it; ours close when they stop.
func (r *recording) stopDead(ctx context.Context, running []listed) (stopped []string, err error) {
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

// others returns the names of running recordings that do not belong to any Sonde.
func others(running []listed) (names []string) {
	for _, one := range running {
		if _, ours := parseName(one.Name); !ours && one.State == "running" {
			names = append(names, one.Name)
		}
	}
	return names
}

// A listed is a recording as JFR.check lists it.
type listed struct {
	Name  string
	State string // such as running or stopped
}

// recordingLine is the first line of JFR.check for each recording. The name may contain anything but a
// line break.
var recordingLine = regexp.MustCompile(`^Recording [0-9]+: name=(.*?)(?: (?:duration|maxsize|maxage)=\S+)* \(([a-z]+)\)$`)

// parseCheck parses the answer to JFR.check. known is false if the answer has an unknown form, so that
// nothing is known about the recordings.
func parseCheck(text string) (running []listed, known bool) {
	known = strings.Contains(text, "No available recordings")
	for line := range strings.Lines(text) {
		parts := recordingLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if parts != nil {
			known = true
			running = append(running, listed{Name: parts[1], State: parts[2]})
		}
	}
	return running, known
}

var (
	startedLine    = regexp.MustCompile(`(?m)^Started recording ([0-9]+)\.`)
	repositoryLine = regexp.MustCompile(`(?m)^Repository path: (/.*?)\r?$`)
	settingLine    = regexp.MustCompile(`\(jdk\.ExecutionSample\)\s+\[([^\]]*)\]`)
	periodSetting  = regexp.MustCompile(`(?:^|,)period=([0-9]+) ?(ns|us|ms|s)(?:,|$)`)
)

// shortestPeriod finds the period of samples of Java code in the answer to JFR.check verbose=true; 0 if
// there is none. The JVM uses the shortest period that any recording requests.
func shortestPeriod(text string) (shortest time.Duration) {
	for _, setting := range settingLine.FindAllStringSubmatch(text, -1) {
		written := periodSetting.FindStringSubmatch(setting[1])
		if written == nil || !strings.Contains(","+setting[1]+",", ",enabled=true,") {
			continue
		}
		period, err := time.ParseDuration(written[1] + written[2])
		if err == nil && period > 0 && (shortest == 0 || period < shortest) {
			shortest = period
		}
	}
	return shortest
}

// missing returns the reason why a JVM has no recorder, by its answer to a command of the recorder; ""
// if it has one.
func missing(text string) string {
	switch {
	case strings.Contains(text, "Module jdk.jfr not found"):
		return "its run-time image lacks the module jdk.jfr: add it with jlink --add-modules jdk.jfr"
	case strings.Contains(text, "Flight Recorder is disabled"):
		return "it was switched off (-XX:-FlightRecorder): start it without that option"
	case strings.Contains(text, "Unknown diagnostic command"):
		return "the JVM does not know the recorder's commands"
	case strings.Contains(text, "Flight Recorder can not be enabled"):
		return firstLine(text)
	}
	return ""
}

// firstLine returns the first line of an answer that is not blank.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return "no answer"
}
