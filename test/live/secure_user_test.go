package live_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
	"github.com/sonde-jvm/sonde/test/live"
)

// intruder names, in the environment of this binary run again as nobody, the
// process whose session it is to break into.
const intruder = "SONDE_LIVE_INTRUDER"

// TestAnotherLocalUser lets the user nobody try everything on a session of a
// program that is not its own.
func TestAnotherLocalUser(t *testing.T) {
	if target := os.Getenv(intruder); target != "" {
		intrude(t, target)
		return
	}
	jvmtest.AsNobody(t)
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.JavaAgent(agentJar(t)), live.Neighbour, live.Hammer)
		s.Run(1)
		before := s.remember()
		ticket, err := os.ReadFile(ticketOf(s.jvm))
		if err != nil {
			t.Fatal(err)
		}
		visit := s.enter("the owner's")
		visit.hook(0, "neighbour.**", "hammer.**")
		since := s.Counts()
		arenas := s.files()
		for _, path := range arenas {
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
		if !strings.Contains(strings.Join(arenas, " "), ".arena") {
			t.Errorf("no arena among %q", arenas)
		}
		c := pitch(s, (*targetfs.Foothold).ListenUnix)
		path, err := c.WriteSession(targetfs.Session{Jar: c.jar.Path, Socket: c.listener.Socket, Token: c.secrets.Token, Proof: c.secrets.Proof, Holder: "bait"})
		if err != nil {
			t.Fatal(err)
		}
		asNobody(t, fmt.Sprintf("%s=%d %s", intruder, s.jvm, path))
		c.strike()
		s.Run(2)
		visit.exact(s, since)
		if err := visit.Err(); err != nil {
			t.Error(err)
		}
		visit.leave()
		invitation := fmt.Sprintf("/tmp/.sonde_invite%d", s.jvm)
		eventually(t, "the forged invitation is thrown away", func() bool {
			_, err := os.Lstat(invitation)
			return errors.Is(err, fs.ErrNotExist)
		})
		if now, err := os.ReadFile(ticketOf(s.jvm)); err != nil || !bytes.Equal(now, ticket) {
			t.Errorf("the ticket was %q, is %q, %v", ticket, now, err)
		}
		s.enter("the owner's again").leave()
		s.Check()
		s.asItWas(before)
	})
}

func ticketOf(pid int) string { return fmt.Sprintf("/tmp/.sonde_pid%d", pid) }

// asNobody runs the top-level test of this one again as nobody.
func asNobody(t *testing.T, variable string) {
	t.Helper()
	binary := filepath.Join(jvmtest.PublicDirectory(t), "intruder.test")
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, data, 0o755); err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(t.Name(), "/")
	words := append(jvmtest.AsNobody(t), binary, "-test.run=^"+name+"$", "-test.v", "-test.timeout="+patience.String())
	again := exec.Command(words[0], words[1:]...)
	again.Env = append(os.Environ(), variable, "HOME=/nonexistent")
	again.Dir = filepath.Dir(binary)
	if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+name) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

// intrude is what nobody does. Whatever works is a failure.
func intrude(t *testing.T, target string) {
	word, path, _ := strings.Cut(target, " ")
	pid, err := strconv.Atoi(word)
	if err != nil || os.Geteuid() == 0 {
		t.Fatalf("not in a position to try: %v, user %d", err, os.Geteuid())
	}
	directory := filepath.Dir(path)
	arenas, _ := filepath.Glob(fmt.Sprintf("/dev/shm/sonde-%d-*.arena", pid))
	if len(arenas) == 0 {
		t.Error("there is no arena to try")
	}
	refused := func(what string, err error) {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", what, err)
		}
	}
	open := func(path string, flags int) {
		file, err := os.OpenFile(path, flags, 0o600)
		if err == nil {
			_ = file.Close()
		}
		refused("opening "+path, err)
	}
	for _, path := range append(arenas, path, ticketOf(pid)) {
		open(path, os.O_RDONLY)
		open(path, os.O_RDWR)
		refused("removing "+path, os.Remove(path))
		refused("renaming "+path, os.Rename(path, path+".mine"))
		refused("linking "+path, os.Link(path, path+".link"))
		refused("opening up "+path, os.Chmod(path, 0o777))
	}
	_, err = os.ReadDir(directory)
	refused("listing the foothold", err)
	open(directory+"/more", os.O_CREATE|os.O_RDWR)
	_, err = net.Dial("unix", directory+"/socket")
	refused("dialling", err)
	if _, err := session.Open(t.Context(), pid, session.Settings{Command: "nobody's"}); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a session of another user's JVM: %v", err)
	}
	// An invitation to a session of the intruder's own, with a ticket it can only guess.
	own := fmt.Sprintf("00112233445566778899aabbccddeeff\n%s\n", filepath.Join(t.TempDir(), "session"))
	if err := os.WriteFile(fmt.Sprintf("/tmp/.sonde_invite%d", pid), []byte(own), 0o644); err != nil {
		t.Error(err)
	}
}

// TestPathsAreTakenBeforeUs puts things of another user where Sonde's files go
// that have names one can know: Sonde follows none and writes to none.
func TestPathsAreTakenBeforeUs(t *testing.T) {
	const nobody = 65534
	wrap := jvmtest.OtherNamespaces(t, "rw")
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Door{Name: "own /tmp", Wrap: wrap}, live.Neighbour, live.Hammer)
		s.Run(1)
		root := fmt.Sprintf("/proc/%d/root/tmp", s.jvm)
		precious := filepath.Join(root, "precious")
		if err := os.WriteFile(precious, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		theirs := func(err error, names ...string) {
			for _, name := range names {
				err = errors.Join(err, os.Lchown(filepath.Join(root, name), nobody, nobody))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		take := map[string]func(){
			"a directory":      func() { theirs(os.Mkdir(filepath.Join(root, ".sonde-0"), 0o777), ".sonde-0") },
			"a link to a file": func() { theirs(os.Symlink("/tmp/precious", filepath.Join(root, ".sonde-0")), ".sonde-0") },
			"a link to a directory": func() {
				theirs(errors.Join(os.Mkdir(filepath.Join(root, "theirs"), 0o777), os.Symlink("/tmp/theirs", filepath.Join(root, ".sonde-0"))), "theirs", ".sonde-0")
			},
			"a ticket": func() {
				theirs(os.WriteFile(filepath.Join(root, ".sonde_pid1"), []byte(control.NewSecrets().Token+"\n"), 0o600), ".sonde_pid1")
			},
		}
		for name, prepare := range take {
			prepare()
			visit := s.enter(name)
			visit.hook(arena.Flat, "neighbour.**")
			since := s.Counts()
			s.Run(1)
			visit.exact(s, since)
			visit.leave()
			for _, left := range []string{".sonde-0", "theirs"} {
				// With a ticket alone nothing is in the way of the usual directory.
				if entries, _ := os.ReadDir(filepath.Join(root, left)); len(entries) > 0 && name != "a ticket" {
					t.Errorf("%s: something was put into %s: %v", name, left, entries)
				}
				_ = os.RemoveAll(filepath.Join(root, left))
			}
			_ = os.Remove(filepath.Join(root, ".sonde_pid1"))
		}
		// Where the usual directory was taken the jar is in the session's own, and stays with the
		// program, which has it on its class path.
		kept, _ := filepath.Glob(filepath.Join(root, ".sonde-1-*"))
		for _, directory := range kept {
			entries, err := os.ReadDir(directory)
			if err != nil || len(entries) != 2 || !strings.HasPrefix(entries[0].Name(), "agent-") || entries[1].Name() != "used-1" {
				t.Errorf("%s: %v, %v", directory, entries, err)
			}
		}
		if len(kept) != len(take)-1 {
			t.Errorf("the jar lies in %q", kept)
		}
		if content, err := os.ReadFile(precious); err != nil || string(content) != "kept" {
			t.Errorf("a file that a link led to holds %q, %v", content, err)
		}
		s.Check()
		s.gone()
	})
}
