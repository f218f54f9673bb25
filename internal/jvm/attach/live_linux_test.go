package attach

import (
	"archive/zip"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// start starts a program that waits, with these options of the JVM.
func start(t *testing.T, jdk jvmtest.JDK, wrap []string, options ...string) *jvmtest.Running {
	t.Helper()
	classpath, mainClass := jvmtest.Waiting(t, jdk)
	args := append([]string{"-Xmx64m", "-XX:TieredStopAtLevel=1"}, options...)
	return jvmtest.Start(t, jdk, jvmtest.Launch{Wrap: wrap, Args: append(args, "-cp", classpath, mainClass)})
}

func mustOpen(t *testing.T, pid int) *Conn {
	t.Helper()
	c, err := Open(t.Context(), pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func execute(t *testing.T, c *Conn, command string, args ...string) string {
	t.Helper()
	reply, err := c.Execute(t.Context(), command, args...)
	if err != nil || reply.Code != 0 {
		t.Fatalf("%s: %+v, %v", command, reply, err)
	}
	return reply.Text
}

// onOneJDK runs a test on one JDK, in a soak on each.
func onOneJDK(t *testing.T, test func(t *testing.T, jdk jvmtest.JDK)) {
	t.Helper()
	jvmtest.OnEach(t, jvmtest.OneJDK(t), test)
}

// TestCommands runs on each JDK: the protocol depends on it.
func TestCommands(t *testing.T) {
	jvmtest.OnEach(t, jvmtest.JDKs(t), func(t *testing.T, jdk jvmtest.JDK) {
		jvm := start(t, jdk, nil)
		c := mustOpen(t, jvm.PID)
		if text := execute(t, c, "properties"); !strings.Contains(text, "java.version="+jdk.Version) {
			t.Errorf("properties: %s", text)
		}
		if text := execute(t, c, "jcmd", "VM.version"); !strings.Contains(text, "JDK "+jdk.Version) {
			t.Errorf("VM.version: %s", text)
		}
		reply, err := c.Execute(t.Context(), "nonsense")
		if err != nil || reply.Code == 0 || !strings.Contains(reply.Text, "not recognized") {
			t.Errorf("nonsense: %+v, %v", reply, err)
		}
		// More than version 1 carries: JDK 24 and later understand.
		long := "VM.version " + strings.Repeat(" ", longestWordV1)
		reply, err = c.Execute(t.Context(), "jcmd", long)
		if known := jdk.Major >= 24; known != (err == nil) || !known && !errors.Is(err, ErrTooLong) {
			t.Errorf("long command: %+v, %v", reply, err)
		}
		if strings.Contains(jvm.Stdout(), "thread dump") {
			t.Errorf("threads were dumped: %s", jvm.Stdout())
		}
		noNote(t, jvm.PID, jvm.PID)
	})
}

// noNote makes sure that nothing of ours stays in the JVM's /tmp.
func noNote(t *testing.T, pid, namespacePID int) {
	t.Helper()
	for _, dir := range []string{"root/tmp", "cwd"} {
		note := fmt.Sprintf("/proc/%d/%s/.attach_pid%d", pid, dir, namespacePID)
		if _, err := os.Lstat(note); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", note, err)
		}
	}
}

// TestAttachSwitchedOff proves that no signal is sent: the only dump of threads
// is the one this test asks for.
func TestAttachSwitchedOff(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		for _, more := range []string{"-XX:+UsePerfData", "-XX:-UsePerfData"} {
			jvm := start(t, jdk, nil, "-XX:+DisableAttachMechanism", more)
			if _, err := Open(t.Context(), jvm.PID); !errors.Is(err, ErrDisabled) || !strings.Contains(err.Error(), "DisableAttachMechanism") {
				t.Errorf("%s: %v", more, err)
			}
			if strings.Contains(jvm.Stdout(), "Full thread dump") {
				t.Errorf("%s: threads were dumped", more)
			}
			if err := syscall.Kill(jvm.PID, syscall.SIGQUIT); err != nil {
				t.Fatal(err)
			}
			jvm.Await(t, "Full thread dump")
			_ = jvm.Stdin.Close()
			<-jvm.Ended()
			if n := strings.Count(jvm.Stdout(), "Full thread dump"); n != 1 {
				t.Errorf("%s: threads were dumped %d times", more, n)
			}
		}
	})
}

// TestReducedSignals: such a JVM dies of SIGQUIT, and listens without it.
func TestReducedSignals(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		jvm := start(t, jdk, nil, "-Xrs")
		execute(t, mustOpen(t, jvm.PID), "properties")
		if err := os.Remove(fmt.Sprintf("/tmp/.java_pid%d", jvm.PID)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), jvm.PID); !errors.Is(err, ErrDisabled) || !strings.Contains(err.Error(), "-Xrs") {
			t.Errorf("without its socket: %v", err)
		}
		survives(t, jvm, "read ")
	})
}

// survives makes sure that a program still answers. A deadly signal would have
// been acted on before it reads.
func survives(t *testing.T, program *jvmtest.Running, prefix string) {
	t.Helper()
	if _, err := fmt.Fprintln(program.Stdin, "hello"); err != nil {
		t.Fatal(err)
	}
	program.Await(t, prefix+"hello")
}

func TestSocketRemoved(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		jvm := start(t, jdk, nil)
		c := mustOpen(t, jvm.PID)
		if err := os.Remove(fmt.Sprintf("/tmp/.java_pid%d", jvm.PID)); err != nil {
			t.Fatal(err)
		}
		execute(t, c, "properties")
		if strings.Contains(jvm.Stdout(), "thread dump") {
			t.Errorf("threads were dumped: %s", jvm.Stdout())
		}
	})
}

func TestNoJVM(t *testing.T) {
	cat := jvmtest.StartCommand(t, jvmtest.Launch{}, "sh", "-c", "echo ready; exec cat")
	if _, err := Open(t.Context(), cat.PID); !errors.Is(err, ErrNotJVM) {
		t.Errorf("cat: %v", err)
	}
	survives(t, cat, "")
	if _, err := Open(t.Context(), 1<<30); !errors.Is(err, ErrNoProcess) {
		t.Errorf("nothing: %v", err)
	}
}

func TestStoppedAndGone(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		jvm := start(t, jdk, nil)
		if err := syscall.Kill(jvm.PID, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		// The signal stops it by and by; waiting for that is waitpid's business.
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(jvm.PID, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
			t.Fatalf("%v, %v", status, err)
		}
		if _, err := Open(t.Context(), jvm.PID); !errors.Is(err, ErrDisabled) || !strings.Contains(err.Error(), "stopped") {
			t.Errorf("stopped: %v", err)
		}
		if err := syscall.Kill(jvm.PID, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		survives(t, jvm, "read ")
		c := mustOpen(t, jvm.PID)
		_ = jvm.Stdin.Close()
		<-jvm.Ended()
		if _, err := c.Execute(t.Context(), "properties"); !errors.Is(err, ErrGone) {
			t.Errorf("gone: %v", err)
		}
	})
}

// TestOtherUsers: nobody may not attach to this user's JVM, while root may to
// nobody's, and is root again after that.
func TestOtherUsers(t *testing.T) {
	const variable = "SONDE_TEST_OTHER_USERS_PID"
	if text := os.Getenv(variable); text != "" {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), pid); !errors.Is(err, ErrPermission) || !strings.Contains(err.Error(), "root") {
			t.Errorf("as nobody: %v", err)
		}
		return
	}
	nobody := jvmtest.AsNobody(t)
	jdk := jvmtest.Need(t, jvmtest.Supported[0])
	ours := start(t, jdk, nil)
	jvmtest.AgainAsNobody(t, fmt.Sprintf("%s=%d", variable, ours.PID))
	survives(t, ours, "read ")
	for _, jdk := range jvmtest.OneJDK(t) {
		theirs := start(t, jdk, nobody)
		jar := agentJar(t, jdk)
		if err := mustOpen(t, theirs.PID).LoadAgent(t.Context(), jar, "x"); err != nil {
			t.Error(err)
		}
		theirs.Await(t, "agent with x")
		noNote(t, theirs.PID, theirs.PID)
		allThreadsAre(t, os.Geteuid())
	}
}

// allThreadsAre makes sure that no thread of ours is left with another identity.
func allThreadsAre(t *testing.T, euid int) {
	t.Helper()
	threads, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(threads) == 0 {
		t.Fatal(threads, err)
	}
	for _, thread := range threads {
		status, err := os.ReadFile(thread)
		if err != nil {
			continue // it ended
		}
		want := fmt.Sprintf("Uid:\t%d\t%d\t", euid, euid)
		if !strings.Contains(string(status), want) {
			t.Errorf("%s: no %q in %s", thread, want, status)
		}
	}
}

func TestOtherNamespaces(t *testing.T) {
	for _, mount := range []string{"rw", "noexec"} {
		wrap := jvmtest.OtherNamespaces(t, mount)
		t.Run(mount, func(t *testing.T) {
			onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
				for name, wrap := range map[string][]string{"root": wrap, "nobody": append(wrap, jvmtest.AsNobody(t)...)} {
					outer := start(t, jdk, wrap)
					pid := outer.Child(t)
					c := mustOpen(t, pid)
					if c.JVM().NamespacePID != 1 {
						t.Errorf("%s: %+v", name, c.JVM())
					}
					if err := c.LoadAgent(t.Context(), agentJar(t, jdk), name); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					outer.Await(t, "agent with "+name)
					noNote(t, pid, 1)
					allThreadsAre(t, os.Geteuid())
				}
			})
		})
	}
}

func TestReadOnlyTmp(t *testing.T) {
	wrap := jvmtest.OtherNamespaces(t, "ro")
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		outer := start(t, jdk, wrap)
		if _, err := Open(t.Context(), outer.Child(t)); !errors.Is(err, ErrReadOnlyTmp) {
			t.Error(err)
		}
		survives(t, outer, "read ")
		if strings.Contains(outer.Stdout(), "thread dump") {
			t.Error("threads were dumped")
		}
	})
}

// TestUserNamespace: in one of its own, as in a container without root, nobody
// is root inside and nobody outside.
func TestUserNamespace(t *testing.T) {
	wrap := append(jvmtest.AsNobody(t), "unshare", "--user", "--map-root-user", "--pid", "--fork")
	if out, err := exec.Command(wrap[0], append(wrap[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: nobody may make no user namespaces here: %v %s", err, out)
	}
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		outer := start(t, jdk, wrap)
		execute(t, mustOpen(t, outer.Child(t)), "properties")
	})
}

// TestImpostor: a socket of the JVM's name that another process listens on.
func TestImpostor(t *testing.T) {
	jdk := jvmtest.Need(t, jvmtest.Supported[0])
	jvm := start(t, jdk, nil)
	listener, err := net.Listen("unix", fmt.Sprintf("/tmp/.java_pid%d", jvm.PID))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if _, err := Open(t.Context(), jvm.PID); !errors.Is(err, ErrImpostor) {
		t.Error(err)
	}
}

// TestNoSocket: something of the socket's name that is none is named at once.
func TestNoSocket(t *testing.T) {
	jdk := jvmtest.Need(t, jvmtest.Supported[0])
	jvm := start(t, jdk, nil)
	name := fmt.Sprintf("/tmp/.java_pid%d", jvm.PID)
	for what, create := range map[string]func() error{
		"a dangling link":  func() error { return os.Symlink("/nonexistent", name) },
		"a pipe":           func() error { return syscall.Mkfifo(name, 0o600) },
		"a file":           func() error { return os.WriteFile(name, nil, 0o600) },
		"a link to a sock": func() error { return os.Symlink("/run/other.sock", name) },
	} {
		if err := create(); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), jvm.PID)
		if !errors.Is(err, ErrImpostor) || !strings.Contains(err.Error(), "is not a socket; remove that file") {
			t.Errorf("%s: %v, want %v", what, err, ErrImpostor)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// agentJar compiles a tiny agent that prints a line, or throws if its option says so.
func agentJar(t *testing.T, jdk jvmtest.JDK) string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "Agent.java")
	const text = `public class Agent { public static void agentmain(String options) {
		if ("throw".equals(options)) throw new IllegalStateException("as requested");
		System.out.println("agent with " + options); } }`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	classes := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{source}, Flags: []string{"--release", "8"}})
	class, err := os.ReadFile(filepath.Join(classes, "Agent.class"))
	if err != nil {
		t.Fatal(err)
	}
	jar := filepath.Join(jvmtest.PublicDirectory(t), "agent.jar")
	file, err := os.Create(jar)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	for _, entry := range []struct{ name, text string }{
		{"META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nAgent-Class: Agent\n\n"}, {"Agent.class", string(class)},
	} {
		w, err := archive.Create(entry.name)
		if err == nil {
			_, err = w.Write([]byte(entry.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), file.Close(), os.Chmod(jar, 0o644)); err != nil {
		t.Fatal(err)
	}
	return jar
}

func TestLoadAgent(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		jar := agentJar(t, jdk)
		jvm := start(t, jdk, nil)
		c := mustOpen(t, jvm.PID)
		for _, options := range []string{"a=b,c d", "again"} {
			if err := c.LoadAgent(t.Context(), jar, options); err != nil {
				t.Fatal(err)
			}
			if line := jvm.Await(t, "agent with"); line != "agent with "+options {
				t.Errorf("agent printed %q", line)
			}
		}
		if err := c.LoadAgent(t.Context(), jar+".none", ""); !errors.Is(err, ErrAgent) || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("no jar: %v", err)
		}
		if err := c.LoadAgent(t.Context(), jar, "throw"); !errors.Is(err, ErrAgent) || !strings.Contains(err.Error(), "threw") {
			t.Errorf("agent that throws: %v", err)
		}
	})
}

// TestLoadAgentAsAJVMStarts enters JVMs that can only just be entered, before they have
// their modules.
func TestLoadAgentAsAJVMStarts(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		jar := agentJar(t, jdk)
		classpath, mainClass := jvmtest.Waiting(t, jdk)
		command := exec.Command(jdk.Tool("java"), "-Xmx64m", "-cp", classpath, mainClass)
		stdin, err := command.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stdout strings.Builder
		command.Stdout = &stdout
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		const hangs = time.Minute
		c, err := Open(t.Context(), command.Process.Pid)
		for began := time.Now(); err != nil && time.Since(began) < hangs; {
			c, err = Open(t.Context(), command.Process.Pid) // it is no JVM yet, or does not listen
		}
		if err == nil {
			err = c.LoadAgent(t.Context(), jar, "early")
			c.Close()
		}
		_ = stdin.Close()
		if waited := command.Wait(); err != nil || waited != nil || !strings.Contains(stdout.String(), "agent with early") {
			t.Errorf("%v; it ended with %v and printed %q", err, waited, stdout.String())
		}
	})
}

func TestAgentsSwitchedOff(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		jar := agentJar(t, jdk)
		jvm := start(t, jdk, nil, "-XX:-EnableDynamicAgentLoading")
		c := mustOpen(t, jvm.PID)
		if err := c.LoadAgent(t.Context(), jar, ""); !errors.Is(err, ErrAgentsOff) {
			t.Errorf("known beforehand: %v", err)
		}
		// The same from the JVM's mouth.
		c.jvm.Agents = process.Verdict{Answer: process.Unknown}
		if err := c.LoadAgent(t.Context(), jar, ""); !errors.Is(err, ErrAgentsOff) {
			t.Errorf("said by the JVM: %v", err)
		}
	})
}

// TestAttachersTogether: many processes that attach at once ask the JVM to listen only once. It would answer each
// further signal by a thread dump in the output of the program.
func TestAttachersTogether(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		jvm := start(t, jdk, nil)
		var all sync.WaitGroup
		for range 30 { // more than wait in the queue of the socket
			all.Go(func() {
				c, err := Open(t.Context(), jvm.PID)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				if reply, err := c.Execute(t.Context(), "properties"); err != nil || reply.Code != 0 {
					t.Errorf("%+v, %v", reply, err)
				}
			})
		}
		all.Wait()
		survives(t, jvm, "read ")
		if strings.Contains(jvm.Stdout(), "thread dump") {
			t.Errorf("threads were dumped: %s", jvm.Stdout())
		}
		noNote(t, jvm.PID, jvm.PID)
	})
}

const nobody = 65534

// TestNotesInTheWay: a file of the note's name that is there already.
func TestNotesInTheWay(t *testing.T) {
	jvmtest.AsNobody(t) // or skip
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		for _, owner := range []int{0, nobody} {
			jvm := start(t, jdk, nil)
			note := fmt.Sprintf("/tmp/.attach_pid%d", jvm.PID)
			if err := errors.Join(os.WriteFile(note, nil, 0o600), os.Chown(note, owner, owner)); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Remove(note) })
			execute(t, mustOpen(t, jvm.PID), "properties")
			if _, err := os.Lstat(note); err != nil {
				t.Errorf("a note of user %d, not ours, is gone: %v", owner, err)
			}
			if _, err := os.Lstat(fmt.Sprintf("/proc/%d/cwd/.attach_pid%d", jvm.PID, jvm.PID)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("ours is left: %v", err)
			}
		}
	})
}

// openCounting is Open, and counts the signals that were sent.
func openCounting(t *testing.T, pid int) (signals int, err error) {
	t.Helper()
	jvm, err := preflight(process.Local, pid)
	if err != nil {
		return 0, err
	}
	l, err := newLive(process.Local, jvm)
	if err != nil {
		return 0, err
	}
	send := l.signal
	l.signal = func() error {
		signals++
		return send()
	}
	c, err := open(t.Context(), jvm, l)
	if err == nil {
		c.Close()
	}
	return signals, err
}

// A JVM is signalled once in its life: from then on it listens.
func TestOneSignal(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		jvm := start(t, jdk, nil)
		for i, want := range []int{1, 0, 0} {
			if signals, err := openCounting(t, jvm.PID); err != nil || signals != want {
				t.Errorf("time %d: %d signals, %v", i+1, signals, err)
			}
		}
	})
}

// What could not make its socket anyway is not signalled, nor what dies of it.
func TestNoSignalInVain(t *testing.T) {
	onOneJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		reduced := start(t, jdk, nil, "-Xrs")
		if signals, err := openCounting(t, reduced.PID); err != nil || signals != 0 {
			t.Errorf("-Xrs: %d signals, %v", signals, err)
		}
		outer := start(t, jdk, jvmtest.OtherNamespaces(t, "ro"))
		if signals, err := openCounting(t, outer.Child(t)); !errors.Is(err, ErrReadOnlyTmp) || signals != 0 {
			t.Errorf("read-only /tmp: %d signals, %v", signals, err)
		}
	})
}
