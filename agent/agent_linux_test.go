package agent_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
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

// everyDoor runs a test on each JDK, by each door.
func everyDoor(t *testing.T, test func(t *testing.T, target *jvmtest.Running, d door)) {
	for _, jdk := range jvmtest.JDKs(t) {
		for _, d := range doors(t) {
			t.Run(fmt.Sprintf("jdk%d-%s", jdk.Major, d.name), func(t *testing.T) {
				classpath, main := jvmtest.Waiting(t, jdk)
				args := append(append([]string{}, d.args...), "-cp", classpath, main)
				test(t, jvmtest.Start(t, jdk, jvmtest.Launch{Args: args}), d)
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
	for _, jdk := range jvmtest.JDKs(t) {
		classpath, main := jvmtest.Waiting(t, jdk)
		d := doors(t)[1]
		target := jvmtest.Start(t, jdk, jvmtest.Launch{Args: append(d.args, "-cp", classpath, main)})
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
