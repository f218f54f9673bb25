package targetfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

// isPrivate makes sure of a file's type, its owner, and that others cannot use it.
func isPrivate(t *testing.T, name string, mode os.FileMode, jvm *process.JVM) {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Error(err)
		return
	}
	stat := info.Sys().(*syscall.Stat_t)
	if info.Mode() != mode || stat.Uid != jvm.UID || stat.Gid != jvm.GID {
		t.Errorf("%s: %v of %d:%d, want %v of %d:%d", name, info.Mode(), stat.Uid, stat.Gid, mode, jvm.UID, jvm.GID)
	}
}

func isGone(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Lstat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", name, err)
	}
}

// everything makes all there is to make and returns the paths.
func everything(t *testing.T, f *Foothold) (jar, socket, session, arena string) {
	t.Helper()
	j, err := f.PlaceJar([]byte("jar of " + t.Name()))
	if err != nil || j.Remark != "" {
		t.Fatal(j, err)
	}
	l, err := f.ListenUnix()
	if err != nil {
		t.Fatal(err)
	}
	session, err = f.WriteSession(Session{Jar: j.Path, Socket: l.Socket, Token: random(32), Proof: random(32), Holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Arena(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.ListenLoopback(); err != nil {
		t.Fatal(err)
	}
	return j.Path, l.Socket, session, a.Path
}

func TestMakeAndRemove(t *testing.T) {
	for name, wrap := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			g := startGuest(t, oldest(t), wrap)
			f := mustMake(t, g.jvm)
			jar, socket, session, arena := everything(t, f)
			isPrivate(t, g.seen(f.Path()), os.ModeDir|0o700, g.jvm)
			isPrivate(t, g.seen(filepath.Dir(jar)), os.ModeDir|0o700, g.jvm)
			isPrivate(t, g.seen(socket), os.ModeSocket|0o600, g.jvm)
			isPrivate(t, g.seen(jar), os.ModeSticky|0o600, g.jvm)
			for _, file := range []string{session, arena} {
				isPrivate(t, g.seen(file), 0o600, g.jvm)
			}
			if !strings.HasPrefix(f.Path(), fmt.Sprintf("/tmp/.sonde-%d-", g.jvm.NamespacePID)) || filepath.Dir(jar) != fmt.Sprintf("/tmp/.sonde-%d", g.jvm.UID) {
				t.Error(f.Path(), jar)
			}
			for range 2 {
				if err := f.Remove(); err != nil {
					t.Error(err)
				}
			}
			for _, gone := range []string{f.Path(), arena} {
				isGone(t, g.seen(gone))
			}
			if g.alone() {
				isGone(t, g.seen(filepath.Dir(jar)))
			}
			if _, err := f.PlaceJar(nil); !errors.Is(err, ErrFiles) {
				t.Errorf("after its end: %v", err)
			}
		})
	}
}

// TestAsNobody does it all without root's power, for a JVM of one's own.
func TestAsNobody(t *testing.T) {
	const variable = "SONDE_TEST_FOOTHOLD_PID"
	if text := os.Getenv(variable); text != "" {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		f := mustMake(t, inspect(t, pid))
		_, _, _, arena := everything(t, f)
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
		for _, gone := range []string{f.Path(), arena} {
			isGone(t, gone)
		}
		if _, err := Make(&process.JVM{PID: os.Getppid(), User: "root"}); !errors.Is(err, ErrPermission) || !strings.Contains(err.Error(), "root") {
			t.Errorf("root's: %v", err)
		}
		return
	}
	g := startGuest(t, oldest(t), jvmtest.AsNobody(t))
	jvmtest.AgainAsNobody(t, fmt.Sprintf("%s=%d", variable, g.jvm.PID))
}

// TestRemoveAfterTheEnd: the target and its namespaces are gone.
func TestRemoveAfterTheEnd(t *testing.T) {
	for name, wrap := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			g := startGuest(t, oldest(t), wrap)
			tmp, err := os.Open(process.Local.Path(g.jvm.PID, "root/tmp"))
			if err != nil {
				t.Fatal(err)
			}
			defer tmp.Close()
			f := mustMake(t, g.jvm)
			jar, _, _, arena := everything(t, f)
			g.end()
			if err := f.Remove(); err != nil {
				t.Error(err)
			}
			names, err := tmp.Readdirnames(-1)
			if err != nil || slices.Contains(names, filepath.Base(f.Path())) || g.alone() && slices.Contains(names, filepath.Base(filepath.Dir(jar))) {
				t.Errorf("left: %v, %v", names, err)
			}
			isGone(t, arena) // /dev/shm is ours too
			if _, err := Make(g.jvm); !errors.Is(err, ErrGone) {
				t.Errorf("made for a process that is gone: %v", err)
			}
		})
	}
}

// TestRemoveOnlyOurs: what others put into the directory stays, and is named.
func TestRemoveOnlyOurs(t *testing.T) {
	dir := ownPlace(t)
	f, err := Make(startGuest(t, oldest(t), nil).jvm)
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(f.Path(), "foreign")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	everything(t, f)
	if err := f.Remove(); !errors.Is(err, ErrLeft) || !strings.Contains(err.Error(), f.Path()) {
		t.Error(err)
	}
	entries, err := os.ReadDir(f.Path())
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := errors.Join(os.Remove(foreign), f.Remove()); err != nil {
		t.Error(err)
	}
	noneIn(t, dir)
}

func TestPlaces(t *testing.T) {
	for options, want := range map[string]string{"rw": "/tmp/", "ro": "/dev/shm/", "mode=0777": "/dev/shm/", "mode=0755,uid=1": "/dev/shm/"} {
		g := startGuest(t, oldest(t), slices.Concat(jvmtest.OtherNamespaces(t, options), jvmtest.AsNobody(t)))
		f := mustMake(t, g.jvm)
		if jar, err := f.PlaceJar([]byte("x")); !strings.HasPrefix(f.Path(), want) || err != nil || !strings.HasPrefix(jar.Path, want) {
			t.Errorf("%s: %s, %+v, %v", options, f.Path(), jar, err)
		}
	}
}

func TestNoPlace(t *testing.T) {
	only(t, "/tmp")
	for options, kind := range map[string]error{"ro": ErrReadOnly, "mode=0777": ErrUnsafe, "mode=0755,uid=1": ErrUnsafe, "nr_inodes=1": ErrFull, "mode=0755": ErrReadOnly} {
		g := startGuest(t, oldest(t), slices.Concat(jvmtest.OtherNamespaces(t, options), jvmtest.AsNobody(t)))
		_, err := Make(g.jvm)
		if !errors.Is(err, kind) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", options, err)
		}
	}
}

// TestSessionIsRead by Java, whatever the values hold.
func TestSessionIsRead(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		g := startGuest(t, jdk, nil)
		f := mustMake(t, g.jvm)
		token, proof := random(32), random(32)
		path, err := f.WriteSession(Session{Jar: `/a b\c=d:#e!`, Port: 4711, Token: token, Proof: proof, Holder: " é\n\t𝄞 "})
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(`{holder= <233><10><9><55348><56606> , jar=/a b\c=d:#e!, port=4711, proof=%s, token=%s}`, proof, token)
		if got := g.does(t, "properties", path); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestSessionIsWhole(t *testing.T) {
	good := Session{Jar: "/j", Socket: "/s", Token: random(32), Proof: random(32)}
	for name, spoil := range map[string]func(s *Session){
		"both":       func(s *Session) { s.Port = 1 },
		"neither":    func(s *Session) { s.Socket = "" },
		"no port":    func(s *Session) { s.Socket, s.Port = "", 65536 },
		"no jar":     func(s *Session) { s.Jar = "" },
		"no token":   func(s *Session) { s.Token = "" },
		"weak proof": func(s *Session) { s.Proof = strings.Repeat("x", 32) },
	} {
		s := good
		spoil(&s)
		if text, err := s.encode(); err == nil {
			t.Errorf("%s: %s", name, text)
		}
	}
	if _, err := good.encode(); err != nil {
		t.Error(err)
	}
}

// TestLetGo removes the file by which a program is held, with its user's power, and
// no other.
func TestLetGo(t *testing.T) {
	for name, wrap := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			g := startGuest(t, oldest(t), wrap)
			if held, err := LetGo(g.jvm); held || err != nil {
				t.Errorf("nothing was held: %v, %v", held, err)
			}
			path := g.seen("/tmp/" + holdFile(g.jvm.NamespacePID))
			t.Cleanup(func() { _ = os.Remove(path) })
			if err := os.Symlink("/etc/passwd", path); err != nil {
				t.Fatal(err)
			}
			if held, err := LetGo(g.jvm); held || err == nil {
				t.Errorf("by a link: %v, %v", held, err)
			}
			if err := errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600), os.Lchown(path, int(g.jvm.UID), int(g.jvm.GID))); err != nil {
				t.Fatal(err)
			}
			if held, err := LetGo(g.jvm); !held || err != nil {
				t.Errorf("%v, %v", held, err)
			}
			if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it is still held: %v", err)
			}
		})
	}
}

func TestHoldFilesAreSwept(t *testing.T) {
	dir := ownPlace(t)
	path := filepath.Join(dir, holdFile(4194304+7)) // no process has it
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if removed := sweep(t); !slices.Equal(removed, []string{path}) {
		t.Errorf("removed %v", removed)
	}
}

// leavesTicket writes a ticket as an agent in the guest would.
func (g guest) leavesTicket(t *testing.T, text string) (path string) {
	t.Helper()
	path = g.seen("/tmp/" + process.TicketName(g.jvm.NamespacePID))
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Lchown(path, int(g.jvm.UID), int(g.jvm.GID))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
	return path
}

func TestInvite(t *testing.T) {
	for name, wrap := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			g := startGuest(t, oldest(t), wrap)
			f := mustMake(t, g.jvm)
			if err := f.Invite(t.Context(), "/s"); !errors.Is(err, ErrNoStandby) || process.Local.Waits(g.jvm) {
				t.Errorf("without a ticket: %v", err)
			}
			ticket := random(32)
			g.leavesTicket(t, ticket+"\n")
			if found, err := Find(g.jvm); err != nil || !found.Standby || !process.Local.Waits(g.jvm) || inspect(t, g.jvm.PID).Inside != process.Standby {
				t.Errorf("%+v, %v", found, err)
			}
			if _, err := fmt.Fprintln(g.Stdin, "take"); err != nil {
				t.Fatal(err)
			}
			if err := f.Invite(t.Context(), "/tmp/x/session"); err != nil {
				t.Error(err)
			}
			if got := g.Await(t, "did "); got != "did "+ticket+"|/tmp/x/session" {
				t.Error(got)
			}
			left, err := filepath.Glob(g.seen("/tmp/.sonde_invite*"))
			if err != nil || name != "ours" && name != "nobody's" && len(left) > 0 {
				t.Errorf("%v, %v", left, err)
			}
		})
	}
}

// TestInvitationsInTurn: one that is on its way is not overwritten.
func TestInvitationsInTurn(t *testing.T) {
	g := startGuest(t, oldest(t), nil)
	g.leavesTicket(t, random(32))
	results := make(chan error)
	for i := range 2 {
		f := mustMake(t, g.jvm)
		go func() { results <- f.Invite(t.Context(), fmt.Sprintf("/%d", i)) }()
	}
	first, second := g.does(t, "take"), g.does(t, "take")
	if err := errors.Join(<-results, <-results); err != nil || first[32:] == second[32:] {
		t.Errorf("%s, %s, %v", first, second, err)
	}
}

func TestNotTaken(t *testing.T) {
	g := startGuest(t, oldest(t), nil)
	f := mustMake(t, g.jvm)
	g.leavesTicket(t, random(32))
	name := filepath.Join("/tmp", invitation(g.jvm.NamespacePID))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := f.Invite(ctx, "/s"); !errors.Is(err, ErrNotTaken) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	isGone(t, name)
	// Someone else's in the way is left alone.
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(name) })
	if err := f.Invite(ctx, "/s"); !errors.Is(err, ErrNotTaken) {
		t.Errorf("%v", err)
	}
	holdsText(t, name, "x")
	if left, err := filepath.Glob(name + "-*"); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	g.end()
	if err := f.Invite(t.Context(), "/s"); !errors.Is(err, ErrGone) {
		t.Errorf("gone: %v", err)
	}
}

// TestFalseTickets: what is not the target's own, or not whole, is no ticket.
func TestFalseTickets(t *testing.T) {
	jvmtest.AsNobody(t) // or skip
	g := startGuest(t, oldest(t), nil)
	f := mustMake(t, g.jvm)
	secret := random(32)
	for name, spoil := range map[string]func(path string) error{
		"another's": func(path string) error { return os.Chown(path, nobody, nobody) },
		"open":      func(path string) error { return os.Chmod(path, 0o644) },
		"short":     func(path string) error { return os.Truncate(path, 31) },
		"long":      func(path string) error { return os.WriteFile(path, []byte(secret+"0"), 0o600) },
		"empty":     func(path string) error { return os.Truncate(path, 0) },
		"link": func(path string) error {
			return errors.Join(os.Rename(path, path+"-real"), os.Symlink(path+"-real", path))
		},
		"directory": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		path := g.leavesTicket(t, secret)
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		if err := f.Invite(t.Context(), "/s"); process.Local.Waits(g.jvm) || !errors.Is(err, ErrNoStandby) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(path + "-real")
	}
	old := g.leavesTicket(t, secret)
	before := g.jvm.Started.Add(-time.Hour)
	if err := os.Chtimes(old, before, before); err != nil || process.Local.Waits(g.jvm) {
		t.Errorf("of an earlier process: %v", err)
	}
}

// TestInviteWhereOthersCouldChangeIt: the agent would not believe it, so that nobody waits for it.
func TestInviteWhereOthersCouldChangeIt(t *testing.T) {
	g := startGuest(t, oldest(t), jvmtest.OtherNamespaces(t, "mode=0777"))
	f := mustMake(t, g.jvm)
	g.leavesTicket(t, random(32)+"\n")
	if err := f.Invite(t.Context(), "/s"); !errors.Is(err, ErrNotTaken) || !strings.Contains(err.Error(), "chmod +t") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	if left, err := filepath.Glob(g.seen("/tmp/.sonde_invite*")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

const nobody = 65534

// A guest is a JVM that does what an agent would.
type guest struct {
	*jvmtest.Running
	jvm *process.JVM
}

// startGuest starts one, where wrap leads to: if it says so, as its only child.
func startGuest(t *testing.T, jdk jvmtest.JDK, wrap []string) guest {
	t.Helper()
	compiled := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: []string{"testdata/Guest.java"}})
	public := jvmtest.PublicDirectory(t)
	if err := os.CopyFS(public, os.DirFS(compiled)); err != nil {
		t.Fatal(err)
	}
	running := jvmtest.Start(t, jdk, jvmtest.Launch{
		Wrap: wrap, Args: []string{"-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", public, "Guest"},
	})
	pid := running.PID
	if slices.Contains(wrap, "--fork") {
		pid = running.Child(t)
	}
	return guest{running, inspect(t, pid)}
}

func inspect(t *testing.T, pid int) *process.JVM {
	t.Helper()
	jvm, err := process.Local.Inspect(pid)
	if err != nil {
		t.Fatal(err)
	}
	return jvm
}

func oldest(t *testing.T) jvmtest.JDK {
	t.Helper()
	return jvmtest.Need(t, jvmtest.Supported[0])
}

// does has the guest act and returns what it says to that.
func (g guest) does(t *testing.T, command ...string) string {
	t.Helper()
	if _, err := fmt.Fprintln(g.Stdin, strings.Join(command, " ")); err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(g.Await(t, "did "), "did ")
}

// end ends the guest, and what namespaces it had.
func (g guest) end() {
	_ = g.Stdin.Close()
	<-g.Ended()
}

// seen is a path of the target's, seen from here.
func (g guest) seen(name string) string {
	return filepath.Join("/proc", strconv.Itoa(g.jvm.PID), "root", name)
}

// alone reports whether the guest has a /tmp of its own. In one for all, other
// tests may need the same directory of jars, which then outlives ours.
func (g guest) alone() bool { return g.jvm.OtherMounts }

// kinds are the targets there are: whose, and where.
func kinds(t *testing.T) map[string][]string {
	t.Helper()
	elsewhere := jvmtest.OtherNamespaces(t, "rw")
	other := jvmtest.AsNobody(t)
	return map[string][]string{
		"ours": nil, "nobody's": other, "elsewhere": elsewhere, "nobody's elsewhere": slices.Concat(elsewhere, other),
	}
}

func mustMake(t *testing.T, jvm *process.JVM) *Foothold {
	t.Helper()
	f, err := Make(jvm)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// only has footholds and arenas made, and leftovers looked for, in these places.
func only(t *testing.T, names ...string) {
	t.Helper()
	before, beforeArenas := places, arenaPlaces
	places, arenaPlaces = names, names
	t.Cleanup(func() { places, arenaPlaces = before, beforeArenas })
}

// ownPlace is a directory for all, as /tmp is, with nothing in it, and the only
// one there is.
func ownPlace(t *testing.T) string {
	t.Helper()
	dir := jvmtest.PublicDirectory(t)
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	only(t, dir)
	return dir
}

var ours = regexp.MustCompile(`^\.?sonde[-_]`)

// noneIn makes sure that nothing of ours lies in a directory.
func noneIn(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if ours.MatchString(entry.Name()) {
			t.Errorf("%s is left", filepath.Join(dir, entry.Name()))
		}
	}
}

// Path returns the path of the directory, as the target sees it.
func (f *Foothold) Path() string { return filepath.Join(f.outer.path, f.name) }
