package agent_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

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
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			classpath, main := jvmtest.Waiting(t, jdk)
			caught := startThief(t)
			tickets := make(map[string]bool)
			for range starts {
				target := jvmtest.Start(t, jdk, jvmtest.Launch{Args: []string{"-javaagent:" + jar, "-cp", classpath, main}})
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

// startThief runs steal as nobody. What it returns ends the thief and gives what it caught.
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
