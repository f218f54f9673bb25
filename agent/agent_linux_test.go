package agent_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A door is a way for the agent into a JVM.
type door struct {
	name string
	args []string // of java, before the class path
	open func(t *testing.T, target *jvmtest.Running, f foothold)
}

func doors(t *testing.T) []door {
	jar := filepath.Join(t.TempDir(), "agent.jar")
	if err := os.WriteFile(jar, agent.AgentJar(), 0o600); err != nil {
		t.Fatal(err)
	}
	return []door{
		{"attach", nil, attachTo},
		{"start", []string{"-javaagent:" + jar}, invite},
	}
}

func attachTo(t *testing.T, target *jvmtest.Running, f foothold) {
	t.Helper()
	conn, err := attach.Open(t.Context(), target.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.LoadAgent(t.Context(), f.jar, f.session); err != nil {
		t.Fatal(err)
	}
}

// invite does what control.md says of a JVM that was started with the agent.
func invite(t *testing.T, target *jvmtest.Running, f foothold) {
	t.Helper()
	file := fmt.Sprintf("/tmp/.sonde_pid%d", target.PID)
	var ticket []byte
	await(t, "a ticket", func() bool {
		ticket, _ = os.ReadFile(file)
		return bytes.HasSuffix(ticket, []byte("\n"))
	})
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || len(ticket) != 33 {
		t.Fatalf("a ticket of %d bytes, %v, %v", len(ticket), info.Mode(), err)
	}
	invitation := fmt.Sprintf("/tmp/.sonde_invite%d", target.PID)
	if err := os.WriteFile(f.session+".invite", []byte(string(ticket)+f.session+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(f.session+".invite", invitation); err != nil {
		t.Fatal(err)
	}
}

// await asks again until it is so; the bound is for what never will be.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for start := time.Now(); !holds(); {
		if time.Since(start) > patience {
			t.Fatalf("%s: not within %v", what, patience)
		}
		time.Sleep(time.Millisecond) // only between looks
	}
}

// jcmd has the target answer for itself.
func jcmd(t *testing.T, target *jvmtest.Running, command string) string {
	t.Helper()
	conn, err := attach.Open(t.Context(), target.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reply, err := conn.Execute(t.Context(), "jcmd", command)
	if err != nil || reply.Code != 0 {
		t.Fatalf("%s: %+v, %v", command, reply, err)
	}
	return reply.Text
}

// isGone waits until nothing of a session is left: no thread, no loader.
func isGone(t *testing.T, target *jvmtest.Running) {
	t.Helper()
	await(t, "the end of the agent's threads", func() bool {
		text := strings.ReplaceAll(jcmd(t, target, "Thread.print"), `"sonde-standby"`, "")
		return !strings.Contains(text, `"sonde-`)
	})
	await(t, "the end of the agent's loader", func() bool {
		jcmd(t, target, "GC.run")
		return !strings.Contains(jcmd(t, target, "VM.classloaders"), "StubLoader")
	})
	for _, line := range strings.Split(target.Stderr(), "\n") {
		if line != "" && !strings.HasPrefix(line, "WARNING: ") {
			t.Errorf("the target's stderr: %s", line)
		}
	}
}

// everyDoor runs a test by each door, at once: an agent that was started with its
// JVM mostly waits for its next look for an invitation. Outside a soak the JDKs
// take turns at the doors.
func everyDoor(t *testing.T, test func(t *testing.T, target *jvmtest.Running, d door)) {
	t.Parallel()
	for _, jdk := range jvmtest.JDKs(t) {
		all := doors(t)
		for i, d := range all {
			if !jvmtest.Turn(t, jdk, i, len(all)) {
				continue
			}
			t.Run(fmt.Sprintf("jdk%d-%s", jdk.Major, d.name), func(t *testing.T) {
				t.Parallel()
				classpath, main := jvmtest.Waiting(t, jdk)
				args := append(append([]string{}, d.args...), "-cp", classpath, main)
				test(t, jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: args}), d)
			})
		}
	}
}

func meet(t *testing.T, target *jvmtest.Running, d door, tcp bool) *peer {
	t.Helper()
	f := newFoothold(t, tcp)
	d.open(t, target, f)
	p := f.accept(t)
	p.welcome(proof, lease)
	return p
}

func (p *peer) leave() {
	p.t.Helper()
	p.ask(bye, nil)
	p.reply(restored)
	p.ended()
}

func hasNoHooks(t *testing.T, target *jvmtest.Running) {
	t.Helper()
	if classes := jcmd(t, target, "VM.class_hierarchy"); !strings.Contains(classes, "Waiting") || strings.Contains(classes, "SondeHooks") {
		t.Error("hooks were defined that nobody asked for")
	}
}

func TestSessionFromHelloToBye(t *testing.T) {
	everyDoor(t, func(t *testing.T, target *jvmtest.Running, d door) {
		for _, tcp := range []bool{false, true} {
			p := meet(t, target, d, tcp)
			p.ask(ping, nil)
			p.reply(done)
			if !strings.Contains(jcmd(t, target, "VM.classloaders"), "StubLoader") {
				t.Error("the test does not recognise the agent's loader")
			}
			p.leave()
			isGone(t, target)
		}
		hasNoHooks(t, target)
	})
}

func TestWrongProofIsNotObeyed(t *testing.T) {
	everyDoor(t, func(t *testing.T, target *jvmtest.Running, d door) {
		f := newFoothold(t, false)
		d.open(t, target, f)
		p := f.accept(t)
		p.welcome(token, lease)
		p.ended()
		isGone(t, target)
		hasNoHooks(t, target)
		meet(t, target, d, false).leave()
	})
}

func TestSecondSondeIsRefused(t *testing.T) {
	everyDoor(t, func(t *testing.T, target *jvmtest.Running, d door) {
		first := meet(t, target, d, false)
		first.ask(ping, nil)
		first.reply(done)
		for _, tcp := range []bool{false, true} {
			second := meet(t, target, d, tcp)
			if holder := second.receive(refused).text(); holder != first.holder {
				t.Errorf("held by %q, want %q", holder, first.holder)
			}
			second.ended()
		}
		first.ask(ping, nil)
		first.reply(done)
		first.leave()
		third := meet(t, target, d, false) // at once: who has left holds nothing
		third.ask(ping, nil)
		third.reply(done)
		third.leave()
		isGone(t, target)
	})
}

func TestLineThatBreaksEndsTheSession(t *testing.T) {
	everyDoor(t, func(t *testing.T, target *jvmtest.Running, d door) {
		p := meet(t, target, d, false)
		p.ask(ping, nil)
		p.reply(done)
		p.conn.Close()
		isGone(t, target)
		p = meet(t, target, d, false)
		p.ask(99, nil)
		p.ended()
		isGone(t, target)
	})
}

func TestSilenceEndsTheSession(t *testing.T) {
	everyDoor(t, func(t *testing.T, target *jvmtest.Running, d door) {
		f := newFoothold(t, false)
		d.open(t, target, f)
		p := f.accept(t)
		p.welcome(proof, 1)
		p.ended()
		isGone(t, target)
		meet(t, target, d, false).leave()
	})
}

func TestInvitationWithoutTheTicketIsThrownAway(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		classpath, main := jvmtest.Waiting(t, jdk)
		d := doors(t)[1]
		target := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: append(d.args, "-cp", classpath, main)})
		f := newFoothold(t, false)
		invitation := fmt.Sprintf("/tmp/.sonde_invite%d", target.PID)
		if err := os.WriteFile(invitation, []byte(token+"\n"+f.session+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		await(t, "the end of the invitation", func() bool {
			_, err := os.Stat(invitation)
			return os.IsNotExist(err)
		})
		meet(t, target, d, false).leave()
		if _, err := os.Stat(f.session); err != nil {
			t.Errorf("JDK %d: the session was begun: %v", jdk.Major, err)
		}
		if err := target.Stdin.Close(); err != nil {
			t.Fatal(err)
		}
		<-target.Ended()
		if _, err := os.Stat(fmt.Sprintf("/tmp/.sonde_pid%d", target.PID)); !os.IsNotExist(err) {
			t.Errorf("JDK %d: the ticket is still there", jdk.Major)
		}
	}
}

// A guest is the fixture under way, with the agent in it.
type guest struct {
	*peer
	target  *jvmtest.Running
	classes string // directory
	weaver  *weave.Weaver
	live    *weave.Template
	epoch   uint32 // of the last arena
}

func liveTemplate(t *testing.T) *weave.Template {
	t.Helper()
	return compileTemplate(t, agent.LiveTemplate)
}

func compileTemplate(t *testing.T, source func() (class []byte, method string)) *weave.Template {
	t.Helper()
	template, err := weave.CompileTemplate(source())
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func everyGuest(t *testing.T, test func(t *testing.T, g *guest)) {
	everyProgram(t, "Guest", test)
}

// everyProgram runs a fixture, by its class, on one JDK, in a soak on each.
func everyProgram(t *testing.T, main string, test func(t *testing.T, g *guest)) {
	t.Parallel()
	live := liveTemplate(t)
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			dir := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{filepath.Join("testdata", main+".java")}})
			target := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", dir, main}})
			p := meet(t, target, door{open: attachTo}, false)
			test(t, &guest{peer: p, target: target, classes: dir, weaver: weave.NewWeaver(), live: live})
		})
	}
}

// tell sends a command to the guest and returns its answer.
func (g *guest) tell(what string, calls int) string {
	g.t.Helper()
	if _, err := fmt.Fprintln(g.target.Stdin, what, calls); err != nil {
		g.t.Fatal(err)
	}
	return g.target.Await(g.t, what+" ")
}

type listed struct {
	handle, loader uint32
	flags          byte
}

func (g *guest) list() map[string][]listed {
	g.t.Helper()
	g.ask(list, nil)
	all := make(map[string][]listed)
	for last := false; !last; {
		part := g.reply(classes)
		last = part.u8() == 1
		for range part.u32() {
			one := listed{part.u32(), part.u32(), part.u8()}
			name := part.text()
			all[name] = append(all[name], one)
		}
	}
	return all
}

func (g *guest) mapArena() (*arena.Arena, string) {
	g.t.Helper()
	return g.mapArenaOf(1 << 20)
}

func (g *guest) mapArenaOf(size int64) (*arena.Arena, string) {
	g.t.Helper()
	file, err := os.CreateTemp(g.t.TempDir(), "arena")
	if err != nil {
		g.t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(size); err != nil {
		g.t.Fatal(err)
	}
	a, err := arena.Create(file, size, arena.Owner{Target: g.target.PID, Sonde: os.Getpid(), Command: "the test"})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { a.Close() })
	if a.Epoch() == g.epoch { // it is random, and the agent refuses the same one twice in a row
		return g.mapArenaOf(size)
	}
	g.epoch = a.Epoch()
	body := binary.BigEndian.AppendUint64(text(file.Name()), uint64(a.Length()))
	g.ask(mapArena, binary.BigEndian.AppendUint32(body, a.Epoch()))
	g.reply(done)
	return a, file.Name()
}

// serve weaves the class the agent asks for, which must be this one.
func (g *guest) serve(name string, handle uint32) {
	g.t.Helper()
	question := g.receive(transform)
	if got := question.u32(); got != handle {
		g.t.Errorf("asked for class %d, want %d", got, handle)
	}
	question.u32()
	if got := question.text(); got != name || question.request%2 != 0 {
		g.t.Fatalf("request %d for %s, want %s", question.request, got, name)
	}
	changed := g.weave(question.bytes(), "next")
	file, err := os.ReadFile(filepath.Join(g.classes, name+".class"))
	if err != nil {
		g.t.Fatal(err)
	}
	g.send(woven, question.request, append(text(changed), text(string(file))...))
}

// weave gives a class with a hook in the methods of this name.
func (g *guest) weave(class []byte, method string) string {
	g.t.Helper()
	return g.weaveWith(class, g.live, func(m weave.MethodInfo) bool { return m.Name == method })
}

func (g *guest) weaveWith(class []byte, template *weave.Template, isWanted func(weave.MethodInfo) bool) string {
	g.t.Helper()
	result, err := g.weaver.Weave(class, func(m weave.MethodInfo) []*weave.Template {
		if !isWanted(m) {
			return nil
		}
		return []*weave.Template{template}
	})
	if err != nil || result.Bytes == nil {
		g.t.Fatalf("%+v, %v", result, err)
	}
	return string(result.Bytes)
}

// hook puts hooks into Guest$Work and Late, and switches them on.
func (g *guest) hook() {
	g.t.Helper()
	work := g.list()["Guest$Work"][0].handle
	g.ask(install, numbers(work))
	g.serve("Guest$Work", work)
	installedOne := g.reply(installed)
	if nanos, gone, text := installedOne.u64(), installedOne.u32(), installedOne.text(); nanos == 0 || gone != 0 || text != "" {
		g.t.Fatalf("installed in %d ns, %d gone, %s", nanos, gone, text)
	}
	g.watch("La", "te", "Lami")
	g.reply(done)
	g.switchOn(weave.MethodID(classfile.MethodRef{Class: "Guest$Work", Name: "next", Descriptor: "(I)I"}), weave.MethodID(classfile.MethodRef{Class: "Late", Name: "next", Descriptor: "(I)I"}))
}

// watch has classes shown by one filter, except those that an exclude names.
func (g *guest) watch(prefix, suffix, exclude string) {
	g.t.Helper()
	body := append(binary.BigEndian.AppendUint32(nil, 1), append(text(prefix), text(suffix)...)...)
	g.ask(watch, append(binary.BigEndian.AppendUint32(body, 1), text(exclude)...))
}

func (g *guest) switchOn(ids ...int32) {
	g.t.Helper()
	var wanted []arena.Probe
	for _, id := range ids {
		wanted = append(wanted, arena.Probe{ID: uint32(id), Flags: arena.On})
	}
	g.set(wanted...)
}

// set gives the hooks their settings.
func (g *guest) set(wanted ...arena.Probe) {
	g.t.Helper()
	table, err := arena.SwitchTable(wanted)
	if err != nil {
		g.t.Fatal(err)
	}
	body := binary.BigEndian.AppendUint32(nil, uint32(len(table)))
	for _, word := range table {
		body = binary.BigEndian.AppendUint64(body, word)
	}
	g.ask(probes, body)
	g.reply(done)
}

func calls(t *testing.T, a *arena.Arena, class string) uint64 {
	t.Helper()
	sum, err := a.Sum(0)
	if err != nil {
		t.Fatal(err)
	}
	if totals := sum.Methods[uint32(weave.MethodID(classfile.MethodRef{Class: class, Name: "next", Descriptor: "(I)I"}))]; totals != nil {
		return totals.Calls
	}
	return 0
}

func (g *guest) original(handle uint32) (found bool, content []byte) {
	g.t.Helper()
	answer := g.reply(original)
	if got := answer.u32(); got != handle {
		g.t.Fatalf("class %d, want %d", got, handle)
	}
	return answer.u8() == 1, answer.bytes()
}

// What `make soak` sets: how often each JDK is started, and a jar to try in place of this
// build's, such as one of an older build.
const (
	soakVariable    = "SONDE_SOAK"
	soakJarVariable = "SONDE_SOAK_JAR"
	thiefVariable   = "SONDE_TEST_THIEF"
)

// TestTicketsCannotBeStolen starts programs with the agent while another user tries, as fast as
// it can, to open the ticket before it is closed to others. It depends on timing, so that it
// proves little when it passes once: it is for many runs.
func TestTicketsCannotBeStolen(t *testing.T) {
	if os.Getenv(thiefVariable) != "" {
		steal()
		return
	}
	starts := 0
	if _, err := fmt.Sscan(os.Getenv(soakVariable), &starts); err != nil {
		t.Skipf("NOT TESTED: takes minutes; `make soak` runs it (%s=100)", soakVariable)
	}
	jar := filepath.Join(jvmtest.PublicDirectory(t), "agent.jar")
	content := agent.AgentJar()
	if other := os.Getenv(soakJarVariable); other != "" {
		var err error
		if content, err = os.ReadFile(other); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(jar, content, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			classpath, main := jvmtest.Waiting(t, jdk)
			caught := startThief(t)
			tickets := make(map[string]bool)
			for range starts {
				target := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-javaagent:" + jar, "-cp", classpath, main}})
				var ticket []byte
				await(t, "a ticket", func() bool {
					ticket, _ = os.ReadFile(fmt.Sprintf("/tmp/.sonde_pid%d", target.PID))
					return len(ticket) == 33
				})
				tickets[strings.TrimSpace(string(ticket))] = true
				_ = target.Stdin.Close()
				<-target.Ended()
			}
			stolen, tried := 0, 0
			for _, line := range strings.Split(caught(), "\n") {
				if strings.HasPrefix(line, "tried ") {
					tried++
				}
				if secret, is := strings.CutPrefix(line, "read "); is && tickets[secret] {
					stolen++
				}
			}
			t.Logf("%d starts, %d names tried, %d tickets stolen", starts, tried, stolen)
			if stolen > 0 || tried < starts {
				t.Errorf("%d of %d tickets were stolen, %d names tried", stolen, starts, tried)
			}
		})
	}
}

// startThief runs steal as user nobody. The returned function ends the thief and returns what it read.
func startThief(t *testing.T) (caught func() string) {
	t.Helper()
	wrap := jvmtest.AsNobody(t)
	binary := filepath.Join(jvmtest.PublicDirectory(t), "thief.test")
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, data, 0o755); err != nil {
		t.Fatal(err)
	}
	thief := exec.Command(wrap[0], append(wrap[1:], binary, "-test.run=^TestTicketsCannotBeStolen$")...)
	thief.Env = append(os.Environ(), thiefVariable+"=1")
	thief.Dir = filepath.Dir(binary)
	thief.Stderr = os.Stderr
	stdin, err := thief.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := thief.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := thief.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, 6)
	if _, err := io.ReadFull(stdout, ready); err != nil {
		t.Fatal(err)
	}
	return func() string {
		_ = stdin.Close()
		text, err := io.ReadAll(stdout)
		if err := thief.Wait(); err != nil {
			t.Error(err)
		}
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
}

var secretText = regexp.MustCompile(`^[0-9a-f]{32}$`)

// steal opens everything that is named as a ticket the moment it appears in /tmp, and whatever
// lies in a directory of such a name, until standard input ends. It keeps what it could open, as
// the secret may be written later.
func steal() {
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err == nil {
		_, err = unix.InotifyAddWatch(watch, "/tmp", unix.IN_CREATE|unix.IN_MOVED_TO)
	}
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	var opened []int
	var tried []string
	try := func(name string) bool {
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			opened = append(opened, fd)
		}
		return err == nil
	}
	buffer := make([]byte, 64<<10)
	for isOver := false; !isOver; {
		select {
		case <-ended:
			isOver = true
		default:
		}
		n, _ := unix.Read(watch, buffer) // spins: what sleeps is too late more often
		for rest := buffer[:max(0, n)]; len(rest) > 0; {
			mask, length := binary.NativeEndian.Uint32(rest[4:]), binary.NativeEndian.Uint32(rest[12:])
			name := "/tmp/" + strings.TrimRight(string(rest[16:16+length]), "\x00")
			rest = rest[16+length:]
			if !strings.HasPrefix(name, "/tmp/.sonde_pid") {
				continue
			}
			tried = append(tried, name)
			try(name)
			for attempt := 0; mask&unix.IN_ISDIR != 0 && attempt < 20_000 && !try(name+"/note"); attempt++ {
			}
		}
	}
	for _, name := range tried {
		fmt.Println("tried", name)
	}
	for _, fd := range opened {
		text := make([]byte, 64)
		n, _ := unix.Pread(fd, text, 0)
		if secret := strings.TrimSpace(string(text[:max(0, n)])); secretText.MatchString(secret) {
			fmt.Println("read", secret)
		}
	}
}

// A seenEvent is a change in a directory, as every user may watch it.
type seenEvent struct {
	mask uint32
	name string
}

// watchTmp reports the changes in /tmp since it was called.
func watchTmp(t *testing.T) (changes func() []seenEvent) {
	t.Helper()
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(watch) })
	if _, err := unix.InotifyAddWatch(watch, "/tmp", unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ATTRIB); err != nil {
		t.Fatal(err)
	}
	return func() (all []seenEvent) {
		buffer := make([]byte, 64<<10)
		for {
			n, err := unix.Read(watch, buffer)
			if errors.Is(err, unix.EAGAIN) {
				return all
			}
			if err != nil {
				t.Fatal(err)
			}
			for rest := buffer[:n]; len(rest) > 0; {
				mask, length := binary.NativeEndian.Uint32(rest[4:]), binary.NativeEndian.Uint32(rest[12:])
				if mask&unix.IN_Q_OVERFLOW != 0 {
					t.Fatal("too much happens in /tmp for this test")
				}
				all = append(all, seenEvent{mask, string(bytes.TrimRight(rest[16:16+length], "\x00"))})
				rest = rest[16+length:]
			}
		}
	}
}

// TestTicketIsNeverOpenToOthers: a file that is created in /tmp can be opened by others before
// it is closed to them. So tickets and holds must come there by rename, closed already.
func TestTicketIsNeverOpenToOthers(t *testing.T) {
	t.Parallel()
	d := doors(t)[1]
	for _, jdk := range jvmtest.OneJDK(t) {
		for _, umask := range []string{"000", "002", "022", "077"} {
			t.Run(fmt.Sprintf("jdk%d-%s", jdk.Major, umask), func(t *testing.T) {
				t.Parallel()
				classpath, main := jvmtest.Waiting(t, jdk)
				changes := watchTmp(t)
				target := jvmtest.Start(t, jdk, jvmtest.Launch{
					Brief: true,
					Wrap:  []string{"sh", "-c", "umask " + umask + ` && exec "$@"`, "sh"},
					Args:  []string{d.args[0] + "=hold=1", "-cp", classpath, main},
				})
				ticket, hold := fmt.Sprintf(".sonde_pid%d", target.PID), fmt.Sprintf(".sonde_hold%d", target.PID)
				await(t, "a ticket", func() bool {
					_, err := os.Stat("/tmp/" + ticket)
					return err == nil
				})
				if info, err := os.Lstat("/tmp/" + ticket); err != nil || info.Mode() != 0o600 {
					t.Errorf("%v, %v", info.Mode(), err)
				}
				named := make(map[string]bool)
				for _, event := range changes() {
					if !strings.HasPrefix(event.name, ticket) && !strings.HasPrefix(event.name, hold) {
						continue
					}
					if event.mask&unix.IN_CREATE != 0 && event.mask&unix.IN_ISDIR == 0 {
						t.Errorf("/tmp/%s was created where others may open it", event.name)
					}
					if event.mask&unix.IN_MOVED_TO != 0 {
						named[event.name] = true
					}
				}
				if !named[ticket] || !named[hold] || len(named) != 2 {
					t.Errorf("renamed into /tmp: %v", named)
				}
			})
		}
	}
}

// nobody is a user other than root and this one.
const nobody = 65534

// TestFilesOfOthersAreNotBelieved: besides the ticket, an invitation needs files that only this
// user, or root, can have written.
func TestFilesOfOthersAreNotBelieved(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: files of another user cannot be made here (be root)")
	}
	t.Parallel()
	d := doors(t)[1]
	chown := func(path string) error { return os.Lchown(path, nobody, nobody) }
	open := func(path string) error { return os.Chmod(path, 0o620) }
	openAll := func(path string) error { return os.Chmod(path, 0o602) }
	link := func(path string) error {
		return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
	}
	hardLink := func(path string) error { return os.Link(path, path+".second") }
	pipe := func(path string) error { return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)) }
	type part func(f foothold, invitation string) string
	invitation := func(_ foothold, invitation string) string { return invitation }
	session := func(f foothold, _ string) string { return f.session }
	jar := func(f foothold, _ string) string { return f.jar }
	directory := func(f foothold, _ string) string { return filepath.Dir(f.session) }
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			classpath, main := jvmtest.Waiting(t, jdk)
			target := jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: append(append([]string{}, d.args...), "-cp", classpath, main)})
			meet(t, target, d, false).leave()
			came := make(map[string]func() bool)
			try := func(what, how string, of part, spoil func(string) error) {
				name := what + ", " + how
				came[name] = inviteSpoiled(t, target, name, func(f foothold, invitation string) error { return spoil(of(f, invitation)) })
			}
			for what, of := range map[string]part{"invitation": invitation, "session": session, "jar": jar} {
				for how, spoil := range map[string]func(string) error{
					"another's": chown, "for the group to write": open, "for all to write": openAll,
					"link": link, "hard link": hardLink, "pipe": pipe,
				} {
					try(what, how, of, spoil)
				}
			}
			try("directory", "another's", directory, chown)
			try("directory", "for all to write", directory, func(path string) error { return os.Chmod(path, 0o777) })
			meet(t, target, d, false).leave() // it waits all the while
			isGone(t, target)                 // and nothing it began is under way
			for what, hasCome := range came {
				if hasCome() {
					t.Errorf("%s: the agent came", what)
				}
			}
		})
	}
}

// inviteSpoiled invites the agent with files that are not as they should be, and waits until it
// has looked. It returns whether the agent has called.
func inviteSpoiled(t *testing.T, target *jvmtest.Running, name string, spoil func(f foothold, invitation string) error) (hasCome func() bool) {
	t.Helper()
	f := newFoothold(t, false)
	ticket, err := os.ReadFile(fmt.Sprintf("/tmp/.sonde_pid%d", target.PID))
	if err != nil {
		t.Fatal(err)
	}
	invitation := filepath.Join(t.TempDir(), "invitation")
	if err := os.WriteFile(invitation, []byte(string(ticket)+f.session+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := spoil(f, invitation); err != nil {
		t.Fatal(err)
	}
	hasCome = func() (called bool) {
		raw, err := f.listener.(*net.UnixListener).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		err = raw.Control(func(fd uintptr) {
			n, err := 0, error(unix.EINTR)
			for errors.Is(err, unix.EINTR) { // a signal is no call
				n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			}
			called = err != nil || n > 0
		})
		return called || err != nil
	}
	named := fmt.Sprintf("/tmp/.sonde_invite%d", target.PID)
	if err := os.Rename(invitation, named); err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the invitation: "+name, func() bool {
		if hasCome() {
			t.Fatalf("%s: the agent came", name)
		}
		_, err := os.Lstat(named)
		return os.IsNotExist(err)
	})
	return hasCome
}
