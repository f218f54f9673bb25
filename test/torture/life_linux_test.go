package torture

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/report/document"
)

// A life is one program from its start to its end, with what is done to it.
type life struct {
	*torture
	*program
	t      *testing.T
	n      int
	random *rand.Rand
	launch launch
	dir    string // for the services and the results of its users
	kind   string // of the step

	descriptors []string // that were open before
}

// Users of Sonde.
const (
	root   = 0
	nobody = 65534
)

// A step is something that happens to a program.
type step struct {
	name   string
	weight int
	do     func(*life)
}

var steps = []step{
	{"measure", 8, (*life).measure},
	{"measure in the background", 3, (*life).background},
	{"ask", 3, (*life).ask},
	{"profile, trace, walk, observe", 3, (*life).analyse},
	{"kill while starting", 3, (*life).killStarting},
	{"attach storm", 2, (*life).storm},
	{"command of a stranger", 1, (*life).stranger},
	{"another clock", 1, (*life).otherClock},
	{"full disk of Sonde", 1, (*life).fullCache},
}

const stepsOfLife = 8

// run lives a life.
func (l *life) run() {
	l.dir = l.directory()
	l.program = startProgram(l.t, l.compiler, l.launch)
	l.t.Cleanup(func() { _ = syscall.Kill(l.PID, syscall.SIGCONT) }) // it may be stopped
	l.t.Cleanup(l.endServices)
	l.t.Cleanup(func() {
		if l.t.Failed() {
			l.say(l.kind, "was the last step")
		}
	})
	l.say("begin", fmt.Sprintf("process %d of user %d, %v, small disk: %v, OpenTelemetry: %v, async-profiler: %v",
		l.PID, l.owner(), l.launch.options, l.launch.smallDisk, l.launch.otel != "", l.launch.library != ""))
	l.visit()
	total := 0
	for _, s := range steps {
		total += s.weight
	}
	for range stepsOfLife {
		if time.Now().After(l.end) && os.Getenv("SONDE_LIFE") == "" || l.t.Failed() {
			break
		}
		at, i := l.random.IntN(total), 0
		for ; at >= steps[i].weight; i++ {
			at -= steps[i].weight
		}
		l.kind = steps[i].name
		steps[i].do(l)
	}
	l.kind = "end"
	l.nothingIsLeft()
}

func (l *life) owner() int {
	if l.launch.isNobody {
		return nobody
	}
	return root
}

// user returns a user who may measure the program.
func (l *life) user() int {
	if l.random.IntN(2) == 0 {
		return root
	}
	return l.owner()
}

// say writes a line into the log.
func (l *life) say(kind, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.log, "%8.1f s  life %d  jdk%d %s  %s: %s\n", time.Since(l.began).Seconds(), l.n, l.launch.jdk.Major, l.launch.work.name, kind, text)
}

// Outcomes of a step.
const (
	done    = "done"
	exact   = "exact"
	refused = "refused"
	lost    = "lost"
)

// finish counts a step.
func (l *life) finish(kind, outcome, text string) {
	l.mu.Lock()
	k := l.tally(kind)
	k.steps++
	switch outcome {
	case exact:
		k.exact++
	case refused:
		k.refused++
	case lost:
		k.lost++
	}
	l.mu.Unlock()
	l.say(kind, strings.TrimSpace(outcome+" "+text))
	if outcome == refused {
		l.refuse(text)
	}
}

// fail records a failure; the life ends after the step.
func (l *life) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.mu.Lock()
	l.tally(l.kind).failed++
	l.mu.Unlock()
	l.say(l.kind, "FAILED "+text)
	l.t.Errorf("life %d, %s: %s", l.n, l.kind, text)
}

// directory makes directories for the services of all users.
func (l *life) directory() string {
	dir, err := os.MkdirTemp("/tmp", "sonde-torture-")
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, uid := range []int{root, nobody} {
		own := filepath.Join(dir, strconv.Itoa(uid))
		if err := os.Mkdir(own, 0o700); err != nil {
			l.t.Fatal(err)
		}
		if err := os.Chown(own, uid, uid); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		l.t.Fatal(err)
	}
	return dir
}

// A client is a command of Sonde.
type client struct {
	*exec.Cmd
	words []string
	out   bytes.Buffer
	ready chan struct{} // closed when it says that its hooks are in
	over  chan struct{} // closed when it has ended

	mu     sync.Mutex
	stderr strings.Builder
}

// patience bounds every wait, and how long a command says nothing, and longest bounds a command: an exact profile changes
// thousands of classes, each of which OpenTelemetry's agent transforms, too. Nothing depends on them but how soon a hang is noticed.
const (
	patience = 3 * time.Minute
	longest  = 15 * time.Minute
)

// begin starts a command of a user, with its service or without one.
func (l *life) begin(uid int, hasService bool, wrap []string, args ...string) *client {
	l.t.Helper()
	words := slices.Concat(wrap, []string{sondePath}, args)
	c := &client{Cmd: exec.Command(words[0], words[1:]...), words: args, ready: make(chan struct{}), over: make(chan struct{})}
	own := filepath.Join(l.dir, strconv.Itoa(uid))
	c.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+own, "XDG_STATE_HOME="+own, "XDG_DATA_HOME="+own, "HOME="+own, "SONDE_CACHE="+own)
	if !hasService {
		c.Env = append(c.Env, "SONDE_SERVICE=off")
	}
	c.Dir = "/"
	if uid != root {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	c.Stdout = &c.out
	pipe, err := c.StderrPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = c.Process.Kill() }) // it may have ended
	go func() {
		defer close(c.over)
		lines := bufio.NewScanner(pipe)
		for isReady := false; lines.Scan(); {
			c.mu.Lock()
			c.stderr.WriteString(lines.Text() + "\n")
			c.mu.Unlock()
			if !isReady && strings.HasPrefix(lines.Text(), "hooks in ") {
				isReady = true
				close(c.ready)
			}
		}
		_ = c.Wait() // its exit code is judged later
	}()
	return c
}

func (c *client) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stderr.String()
}

// wait waits until a command has ended, or at least is ready. A command that takes long must say how far it is.
func (l *life) wait(c *client, ready <-chan struct{}) {
	l.t.Helper()
	for before, end := "", time.Now().Add(longest); ; {
		select {
		case <-c.over:
			return
		case <-ready:
			return
		case <-time.After(patience):
		}
		said := c.said()
		if said == before || time.Now().After(end) {
			break
		}
		before = said
	}
	_ = c.Process.Signal(syscall.SIGQUIT) // a Go program then prints what it does
	time.Sleep(time.Second)
	_ = c.Process.Kill()
	<-c.over
	l.fail("sonde %v does not end\n%s", c.words, c.said())
}

// refusal returns why a command has failed, "" if it has not. A failure must have one line with the reason.
func (l *life) refusal(c *client) string {
	l.t.Helper()
	if c.ProcessState.Success() {
		return ""
	}
	var reasons []string
	for line := range strings.Lines(c.said()) {
		if reason, ok := strings.CutPrefix(line, "sonde: "); ok {
			reasons = append(reasons, strings.TrimSpace(reason))
		}
	}
	if len(reasons) != 1 || strings.Contains(c.said(), "goroutine ") {
		l.fail("sonde %v: %v without one reason:\n%s", c.words, c.ProcessState, c.said())
		return "no reason"
	}
	return reasons[0]
}

// sonde runs a command to its end, and returns why it was refused.
func (l *life) sonde(uid int, hasService bool, args ...string) (out, refusal string) {
	l.t.Helper()
	c := l.begin(uid, hasService, nil, args...)
	l.wait(c, nil)
	return c.out.String(), l.refusal(c)
}

// visit measures without disturbance, so that the JVM has what it makes once, and looks at what is open then.
func (l *life) visit() {
	l.t.Helper()
	l.kind = "begin"
	if l.launch.library != "" {
		l.otherAgent("start,event=itimer")
		l.otherAgent("stop")
	}
	if _, refusal := l.sonde(l.owner(), false, "count", strconv.Itoa(l.PID), l.launch.work.patterns[0], "--duration", "10ms"); refusal != "" {
		l.t.Fatalf("refused: %s\n%s", refusal, l.complaints())
	}
	l.descriptors = l.open()
}

// open lists open files.
func (l *life) open() (targets []string) {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", l.PID)) // the pattern is well formed
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, "/") { // else it was closed, or is a socket
			targets = append(targets, target)
		}
	}
	slices.Sort(targets)
	return targets
}

// otherAgent gives an order to async-profiler in the program.
func (l *life) otherAgent(order string) {
	l.t.Helper()
	if _, err := l.execute("load", filepath.Join(l.inside, filepath.Base(l.launch.library)), "true", order+",file="+filepath.Join(l.inside, "profile")); err != nil {
		l.say("other agent", err.Error())
	}
}

// occupied returns what of Sonde is in the program.
func (l *life) occupied() (what []string) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", l.PID)) // the pattern is well formed
	for _, task := range tasks {
		if name, _ := os.ReadFile(task); bytes.HasPrefix(name, []byte("sonde-")) {
			what = append(what, "thread "+strings.TrimSpace(string(name)))
		}
	}
	maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", l.PID)) // empty if the program has ended
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, ".arena") {
			what = append(what, "mapping "+strings.TrimSpace(line))
		}
	}
	return what
}

// awaitLeft waits until the agent has left, which it does by itself.
func (l *life) awaitLeft() {
	l.t.Helper()
	for end := time.Now().Add(time.Minute); len(l.occupied()) > 0; time.Sleep(20 * time.Millisecond) { // only between looks
		if time.Now().After(end) {
			l.fail("the agent has not left: %q", l.occupied())
			return
		}
	}
}

// service returns the process of the service of a user, 0 if there is none.
func (l *life) service(uid int) int {
	places, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well formed
	own := "XDG_RUNTIME_DIR=" + filepath.Join(l.dir, strconv.Itoa(uid)) + "\x00"
	for _, place := range places {
		words, _ := os.ReadFile(filepath.Join(place, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(place, "environ"))
		if pid, err := strconv.Atoi(filepath.Base(place)); err == nil && strings.HasPrefix(string(words), "sonde\x00serve\x00") && strings.Contains(string(env), own) {
			return pid
		}
	}
	return 0
}

func (l *life) endServices() {
	for _, uid := range []int{root, nobody} {
		if pid := l.service(uid); pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGCONT)
			l.sonde(uid, true, "serve", "--stop")
		}
	}
}

var staysOpen = regexp.MustCompile(`sonde-agent\.jar|\.sonde-\d+/agent-|/dev/u?random`)

// nothingIsLeft ends all services, and looks what is left of Sonde.
func (l *life) nothingIsLeft() {
	l.t.Helper()
	l.endServices()
	l.awaitLeft()
	// Files of a Sonde that was killed stay until they are not new any more.
	long := time.Now().Add(-time.Hour)
	for _, file := range l.files() {
		_ = os.Chtimes(file, long, long)
	}
	if out, refusal := l.sonde(root, false, "undo", strconv.Itoa(l.PID)); refusal != "" {
		l.fail("sonde undo: %s %s", out, refusal)
	}
	if files := l.files(); len(files) > 0 {
		l.fail("files are left: %q", files)
	}
	for _, target := range l.open() {
		if !slices.Contains(l.descriptors, target) && strings.Contains(target, "sonde") && !staysOpen.MatchString(target) {
			l.fail("descriptor left: %s", target)
		}
	}
	l.collected()
	if now := l.round(); !slices.Equal(now, l.first) {
		l.fail("a round says %q, said %q", now, l.first)
	}
	if text := l.complaints(); isBroken.MatchString(text) {
		l.fail("the program complains:\n%s", text)
	}
}

// files are those of sessions with the program.
func (l *life) files() (found []string) {
	for _, pattern := range []string{"tmp/.sonde-%d-*", "tmp/.sonde_invite%d*", "tmp/.sonde_pid%d", "dev/shm/sonde-%d-*", "tmp/sonde-%d-*", "var/tmp/.sonde-%d-*"} {
		names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/root/"+pattern, l.PID, l.PID)) // the patterns are well formed
		found = append(found, names...)
	}
	return found
}

var agentObjects = regexp.MustCompile(`(?m)^.* sonde\.agent\.(StubLoader|control\..*)$`)

// collected waits until the heap has no object of the agent, so that its loader can be unloaded.
func (l *life) collected() {
	l.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) { // only between looks
		text, err := l.execute("inspectheap", "-live")
		objects := agentObjects.FindAllString(text, -1)
		if err == nil && len(objects) == 0 {
			return
		}
		if time.Now().After(end) {
			l.fail("objects of the agent are left (%v):\n%s", err, strings.Join(objects, "\n"))
			return
		}
	}
}

// A measured is the result of sonde count.
type measured struct {
	calls   map[string]int64 // by method, and by "threw " and method
	dropped uint64
	ended   string
	left    map[string]string // classes without hooks, and why
}

// read reads the last JSON object of a command.
func read(out string) (m measured, err error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var d document.Count
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &d); err != nil {
		return m, fmt.Errorf("%w in %.200q", err, out)
	}
	m = measured{calls: make(map[string]int64), dropped: d.Dropped, ended: d.Ended, left: make(map[string]string)}
	for _, row := range d.Methods {
		name := strings.ReplaceAll(row.Class, ".", "/") + "." + row.Method + row.Descriptor
		m.calls[name] += int64(row.Calls)
		m.calls["threw "+name] += int64(row.Exceptions)
	}
	for _, left := range d.LeftAlone {
		m.left[strings.ReplaceAll(left.Class, ".", "/")] = left.Reason
	}
	return m, nil
}

// compare expects that Sonde has counted what the program has, or has said that it has not. The outcome is exact only in
// the first case.
func (l *life) compare(m measured, before, after map[string]int64, wanted func(method string) bool) (outcome, text string) {
	l.t.Helper()
	same, stated := 0, ""
	for name, count := range after {
		method := strings.TrimPrefix(name, "threw ")
		if !wanted(method) {
			continue
		}
		class, _, _ := strings.Cut(method, ".")
		got, want := m.calls[name], count-before[name]
		reason, isLeft := m.left[class]
		switch {
		case got == want:
			same++
		case got < want && (isLeft || m.dropped > 0):
			stated = fmt.Sprintf(", %s: %d of %d calls, as stated: %d not counted, %s", name, got, want, m.dropped, reason)
		default:
			l.fail("%s: %d calls, the program counted %d; ended: %s", name, got, want, m.ended)
		}
	}
	text = fmt.Sprintf("%d counters agree%s", same, stated)
	if same == 0 || stated != "" {
		return done, text
	}
	return exact, text
}
