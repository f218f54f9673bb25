package torture

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/internal/service"
)

// pause waits for a random time.
func (l *life) pause(least, most time.Duration) {
	<-time.After(least + time.Duration(l.random.Int64N(int64(most-least))))
}

// pid is the program's process number.
func (l *life) pid() string { return strconv.Itoa(l.PID) }

// A disturbance happens while a command measures.
type disturbance struct {
	name  string
	loses bool // the measurement is lost, or parts of it
	fits  func(l *life, m *measuring) bool
	do    func(l *life, m *measuring)
}

// A measuring is a command that measures, of a user.
type measuring struct {
	*client
	uid        int
	hasService bool
}

// process returns the process of Sonde that has the session.
func (m *measuring) process(l *life) int {
	if m.hasService {
		return l.service(m.uid)
	}
	return m.Process.Pid
}

func always(*life, *measuring) bool { return true }

// lease is longer than an agent waits for a Sonde that does nothing.
const lease = 23 * time.Second

var disturbances = []disturbance{
	{"", false, always, func(*life, *measuring) {}},
	{"stop the program", false, always, func(l *life, _ *measuring) { l.stop(l.PID, 100*time.Millisecond, 3*time.Second) }},
	{"stop the program for long", true, always, func(l *life, _ *measuring) { l.stop(l.PID, lease, lease+3*time.Second) }},
	{"stop Sonde", false, always, func(l *life, m *measuring) { l.stop(m.process(l), 50*time.Millisecond, time.Second) }},
	{"stop the client", false, always, func(l *life, m *measuring) { l.stop(m.Process.Pid, 50*time.Millisecond, 3*time.Second) }},
	{"stop Sonde for long", true, always, func(l *life, m *measuring) { l.stop(m.process(l), lease, lease+3*time.Second) }},
	{"kill the client", true, always, func(_ *life, m *measuring) { _ = m.Process.Kill() }},
	{"kill the service", true, func(_ *life, m *measuring) bool { return m.hasService }, func(l *life, m *measuring) {
		if pid := m.process(l); pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}},
	{"undo by root", true, always, func(l *life, m *measuring) { l.tolerate(l.sonde(root, m.uid == root && m.hasService, "undo", l.pid())) }},
	{"full disk", false, func(l *life, _ *measuring) bool { return l.launch.smallDisk }, func(l *life, _ *measuring) {
		l.fill()
		l.until("rounds 1", "", "passed")
		l.empty()
	}},
	{"async-profiler", false, func(l *life, _ *measuring) bool { return l.launch.library != "" }, func(l *life, _ *measuring) {
		l.otherAgent("start,event=itimer,interval=1ms")
		l.pause(100*time.Millisecond, time.Second)
		l.otherAgent("stop")
	}},
	{"thread dumps and collections", false, always, func(l *life, _ *measuring) {
		for range 3 {
			_, _ = l.execute("threaddump")
			_, _ = l.execute("jcmd", "GC.run")
		}
	}},
	{"attach storm", false, always, func(l *life, _ *measuring) { l.attachers() }},
}

// tolerate records why a command was refused.
func (l *life) tolerate(_, refusal string) {
	if refusal != "" {
		l.refuse(refusal)
	}
}

// stop stops a process for some time.
func (l *life) stop(pid int, least, most time.Duration) {
	if pid == 0 {
		return
	}
	_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended
	l.pause(least, most)
	_ = syscall.Kill(pid, syscall.SIGCONT)
}

// full are the directories that are filled.
var full = []string{"tmp/fill", "dev/shm/fill"}

// fill takes all room in the directories of the program.
func (l *life) fill() {
	for _, name := range full {
		file, err := os.Create(filepath.Join("/proc", l.pid(), "root", name))
		if err != nil {
			l.fail("%v", err)
			return
		}
		for size := 1 << 20; size >= 512; {
			if _, err := file.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
				size /= 2
			} else if err != nil {
				l.fail("%v", err)
				break
			}
		}
		_ = file.Close()
	}
}

func (l *life) empty() {
	for _, name := range full {
		_ = os.Remove(filepath.Join("/proc", l.pid(), "root", name))
	}
}

// chosen returns methods to count, flags, and which of the program's counters they include.
func (l *life) chosen() (args []string, wanted func(method string) bool) {
	timing := []string{"exact", "sampled", "none"}[l.random.IntN(3)]
	args = append(slices.Clone(l.launch.work.patterns), "--timing", timing)
	own := l.counts()
	if len(own) > 0 && l.random.IntN(3) == 0 { // one method only
		var names []string
		for name := range own {
			if !strings.HasPrefix(name, "threw ") && !strings.Contains(name, "<init>") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		name := names[l.random.IntN(len(names))]
		method, _, _ := strings.Cut(name, "(")
		return []string{strings.ReplaceAll(method, "/", "."), "--timing", timing}, func(method string) bool { return method == name }
	}
	return args, func(string) bool { return true }
}

// measure counts calls while the program works and something happens.
func (l *life) measure() {
	args, wanted := l.chosen()
	m := &measuring{uid: l.user(), hasService: l.random.IntN(2) == 0}
	d := disturbances[l.random.IntN(len(disturbances))]
	for !d.fits(l, m) {
		d = disturbances[l.random.IntN(len(disturbances))]
	}
	if d.name != "" {
		l.kind = "measure; " + d.name
	}
	before := l.counts()
	m.client = l.begin(m.uid, m.hasService, nil, append([]string{"count", l.pid(), "--json"}, args...)...)
	l.wait(m.client, m.ready)
	select {
	case <-m.over:
		if refusal := l.refusal(m.client); refusal != "no reason" {
			l.fail("user %d, sonde %v: refused without cause: %s\n%s", m.uid, m.words, refusal, m.said())
		}
		return
	default:
	}
	l.load()
	d.do(l, m)
	l.until("rounds 1", "", "passed")
	l.rest()
	after := l.counts()
	_ = m.Process.Signal(os.Interrupt) // it may have ended
	l.wait(m.client, nil)
	what := fmt.Sprintf("user %d, service %v, %s", m.uid, m.hasService, strings.Join(args, " "))
	if d.loses {
		if m.ProcessState.ExitCode() != -1 { // -1 if it was killed
			l.tolerate("", l.refusal(m.client))
		}
		l.awaitLeft()
		l.finish(l.kind, lost, what)
		return
	}
	if refusal := l.refusal(m.client); refusal != "" {
		l.fail("%s: %s\n%s", what, refusal, m.said())
		return
	}
	result, err := read(m.out.String())
	if err != nil {
		l.fail("%s: %v", what, err)
		return
	}
	outcome, text := l.compare(result, before, after, wanted)
	l.finish(l.kind, outcome, what+": "+text)
}

// background measures by a look in the background, while other commands come and go.
func (l *life) background() {
	args, wanted := l.chosen()
	uid := l.user()
	before := l.counts()
	out, refusal := l.sonde(uid, true, append([]string{"count", l.pid(), "--background", "--json"}, args...)...)
	var look service.Description
	if refusal != "" || json.Unmarshal([]byte(out), &look) != nil {
		l.fail("user %d, sonde count --background: %s %s", uid, refusal, out)
		return
	}
	l.load()
	for range 1 + l.random.IntN(2) { // others share the session
		other, _ := l.chosenKind()
		l.tolerate(l.sonde(uid, true, other...))
	}
	l.rest()
	after := l.counts()
	out, refusal = l.sonde(uid, true, "end", strconv.Itoa(look.Number), "--json")
	result, err := read(out)
	if refusal != "" || err != nil {
		l.fail("user %d, sonde end: %s %v", uid, refusal, err)
		return
	}
	outcome, text := l.compare(result, before, after, wanted)
	l.finish(l.kind, outcome, fmt.Sprintf("user %d: %s", uid, text))
}

// chosenKind returns a command that measures for a short time.
func (l *life) chosenKind() (args []string, kind string) {
	w := l.launch.work
	commands := [][]string{
		{"count", l.pid(), w.root, "--duration", "300ms"},
		{"count", l.pid(), w.root, "--context", "3", "--duration", "300ms"},
		{"monitor", l.pid(), w.root, "--duration", "500ms"},
		{"trace", l.pid(), w.root, "--duration", "500ms", "--limit", "50", "--show", "none"},
		{"profile", l.pid(), "--root", w.root, "--duration", "1s"},
		{"profile", l.pid(), "--root", w.root, "--duration", "500ms", "--timing", "exact"},
		{"profile", l.pid(), "--root", w.root, "--duration", "500ms", "--timing", "stacks"},
		{"walk", l.pid(), "--sampling", "1s", "--duration", "4s"},
		{"observe", l.pid(), "--duration", "3s"},
		{"hot", l.pid(), "--duration", "500ms"},
	}
	args = commands[l.random.IntN(len(commands))]
	return args, args[0]
}

// analyse runs commands whose results are not exact.
func (l *life) analyse() {
	l.load()
	args, kind := l.chosenKind()
	uid := l.user()
	_, refusal := l.sonde(uid, l.random.IntN(2) == 0, args...)
	l.rest()
	l.kind = kind
	if refusal != "" {
		l.finish(l.kind, refused, refusal)
		return
	}
	l.finish(l.kind, done, fmt.Sprintf("user %d: %s", uid, strings.Join(args, " ")))
}

// ask runs commands that change nothing.
func (l *life) ask() {
	l.load()
	uid, hasService := l.user(), l.random.IntN(2) == 0
	for _, args := range [][]string{
		{"ps"}, {"status", l.pid()}, {"doctor", l.pid()}, {"looks"}, {"callees", l.pid(), l.launch.work.root}, {"status", "--service"},
	} {
		if l.random.IntN(2) == 0 {
			l.tolerate(l.sonde(uid, hasService, args...))
		}
	}
	l.rest()
	l.finish(l.kind, done, fmt.Sprintf("user %d", uid))
}

// killStarting kills the client or the service at any moment of a start.
func (l *life) killStarting() {
	l.load()
	uid, hasService := l.user(), l.random.IntN(2) == 0
	c := l.begin(uid, hasService, nil, append([]string{"count", l.pid()}, l.launch.work.patterns...)...)
	l.pause(0, 1200*time.Millisecond)
	what := "client"
	if pid := l.service(uid); hasService && pid != 0 && l.random.IntN(2) == 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		what = "service"
		l.wait(c, c.ready) // it may go on in the next service
		_ = c.Process.Signal(os.Interrupt)
	} else {
		_ = c.Process.Kill()
	}
	l.wait(c, nil)
	if what == "service" {
		l.tolerate("", l.refusal(c))
	}
	l.awaitLeft()
	l.rest()
	l.finish(l.kind, lost, "killed: "+what)
}

// attachers attach to the program at once.
func (l *life) attachers() {
	var all sync.WaitGroup
	for _, args := range [][]string{
		{"count", l.pid(), l.launch.work.root, "--duration", "100ms"}, {"status", l.pid()}, {"doctor", l.pid()},
		{"count", l.pid(), l.launch.work.patterns[0], "--duration", "100ms"},
	} {
		for _, uid := range []int{root, l.owner()} {
			hasService := l.random.IntN(2) == 0
			all.Go(func() { l.tolerate(l.sonde(uid, hasService, args...)) })
		}
	}
	for range 4 {
		all.Go(func() { _, _ = l.execute("jcmd", "VM.version") })
	}
	all.Wait()
}

func (l *life) storm() {
	l.load()
	l.attachers()
	l.awaitLeft()
	l.rest()
	l.finish(l.kind, done, "")
}

// stranger is a user who may not measure the program.
func (l *life) stranger() {
	if l.launch.isNobody {
		return
	}
	_, refusal := l.sonde(nobody, l.random.IntN(2) == 0, "count", l.pid(), l.launch.work.root, "--duration", "100ms")
	if refusal == "" {
		l.fail("a stranger may measure the program")
	}
	l.finish(l.kind, refused, refusal)
}

// otherClock measures by a Sonde whose clocks since boot are hours ahead of the program's.
func (l *life) otherClock() {
	before := l.counts()
	wrap := []string{"unshare", "--time", "--fork", "--monotonic", "7200", "--boottime", "7200", "--"}
	c := l.begin(root, false, wrap, append([]string{"count", l.pid(), "--json", "--duration", "4s"}, l.launch.work.patterns...)...)
	l.wait(c, c.ready)
	l.load()
	l.rest()
	after := l.counts()
	l.wait(c, nil)
	refusal := l.refusal(c)
	result, err := read(c.out.String())
	if refusal != "" || err != nil {
		l.fail("%s %v", refusal, err)
		return
	}
	if result.ended != "duration" {
		l.fail("it has ended: %s", result.ended)
	}
	outcome, text := l.compare(result, before, after, func(string) bool { return true })
	l.finish(l.kind, outcome, text)
}

// fullCache measures by a Sonde that can write no file of its own.
func (l *life) fullCache() {
	const mount = `mount -t tmpfs -o size=64k none "$0" && { dd if=/dev/zero of="$0/fill" bs=4k 2>/dev/null; exec "$@"; }`
	wrap := []string{"unshare", "--mount", "sh", "-c", mount, filepath.Join(l.dir, strconv.Itoa(root))}
	c := l.begin(root, false, wrap, append([]string{"count", l.pid(), "--json", "--duration", "1s"}, l.launch.work.patterns...)...)
	l.wait(c, nil)
	if refusal := l.refusal(c); refusal != "" {
		l.finish(l.kind, refused, refusal)
		return
	}
	l.finish(l.kind, done, "")
}
