package live_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/test/live"
)

// millionRounds is how many rounds of live.Virtual make a million threads.
const millionRounds = 100

// TestMillionVirtualThreads has a million virtual threads run through hooks: the
// first half is counted exactly, during the second hooks are switched and taken
// out.
func TestMillionVirtualThreads(t *testing.T) {
	jdk := jvmtest.Need(t, 25)
	s := stage(t, jdk, live.Attach, live.Virtual)
	s.Run(1)
	before := s.remember()
	visit := s.enter("guest")
	visit.hook(arena.Timed, "virtual.**")
	since := s.Counts()
	s.Run(millionRounds / 2)
	visit.exact(s, since)
	sum := visit.sum()
	for id, totals := range sum.Methods {
		if totals.Active != 0 {
			t.Errorf("method %x: %d calls are said to be under way", id, totals.Active)
		}
	}
	t.Logf("%d places were enough, %d bytes", sum.Threads, room(visit))
	s.StartLoad(1)
	begun := s.Rounds()
	for i := 0; s.Rounds() < begun+millionRounds/2; i++ {
		visit.switchTo([]arena.Flags{0, arena.On, arena.On | arena.Sampled, arena.On | arena.Timed | arena.Flat}[i%4], "virtual.**")
		if i%20 == 19 {
			visit.leave()
			visit = s.enter("guest")
			visit.hook(0, "virtual.**")
		}
	}
	visit.leave()
	s.StopLoad()
	s.Check()
	s.asItWas(before)
}

// room is how much of the arena is used.
func room(v *visit) (bytes int64) {
	threads, err := v.Threads()
	if err != nil {
		v.t.Fatal(err)
	}
	for _, thread := range threads {
		bytes += int64(len(thread.Nodes)) * 64
	}
	return bytes
}

// manyThreads are alive at once, inside hooked methods.
const manyThreads = 5000

// TestFiveThousandThreads has threads stand inside hooks while others are
// counted, and while the hooks are taken out: their exits come after that.
func TestFiveThousandThreads(t *testing.T) {
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Attach, live.Threads)
		s.Run(1)
		before := s.remember()
		for _, flags := range []arena.Flags{arena.Timed, 0} {
			visit := s.enter("guest")
			visit.hook(flags, "threads.**")
			since := s.Counts()
			s.Block(manyThreads)
			s.Run(2)
			visit.exact(s, since)
			for _, m := range visit.Methods() {
				totals := visit.sum().Methods[m.ID]
				// A call without room of its own is counted, and not known to be under way.
				if m.Name == "staysInside" && flags&arena.Timed != 0 && totals.Active+totals.Untimed != manyThreads {
					t.Errorf("%d calls are under way and %d had no room, of %d", totals.Active, totals.Untimed, manyThreads)
				}
			}
			visit.leave()
			s.Unblock()
			s.Check()
		}
		s.asItWas(before)
	})
}

// small is how little room the file systems of a program have: enough for an
// arena to begin, and not to grow.
const small = "18m"

// TestFullDisk lets an arena use up all the room there is: calls are still
// counted, each of them, the program does not notice, and Sonde knows.
func TestFullDisk(t *testing.T) {
	const setUp = `mount -t tmpfs -o size="$0" none /dev/shm && mount -t tmpfs -o size="$0" none /tmp && mount -t proc proc /proc && exec "$@"`
	wrap := []string{"unshare", "--pid", "--mount", "--fork", "sh", "-c", setUp, small}
	if out, err := exec.Command(wrap[0], append(wrap[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: namespaces cannot be made here (be root): %v %s", err, out)
	}
	onBothJDKs(t, func(t *testing.T, jdk jvmtest.JDK) {
		s := stage(t, jdk, live.Door{Name: "small", Wrap: wrap}, live.Threads, live.Recursion, live.Hammer)
		s.Run(1)
		visit := s.enter("guest")
		visit.hook(arena.Timed, fixtures...)
		fill(t, s)
		since := s.Counts()
		s.Block(6000)
		s.Run(2)
		eventually(t, "Sonde knows that there is no room", func() bool { return visit.Full() != nil })
		t.Log(visit.Full())
		s.Run(2)
		s.Unblock()
		visit.exact(s, since)
		spilled := uint64(0)
		for _, totals := range visit.sum().Methods {
			spilled += totals.Untimed
		}
		if spilled == 0 {
			t.Error("everything had room: the test shows nothing")
		}
		t.Logf("%d of %d calls had no room of their own", spilled, visit.calls())
		visit.leave()
		s.Check()
		s.gone()
		s.refused("there is no room", "full")
		empty(t, s)
		s.gone()
		s.enter("at last").leave()
		s.Check()
	})
}

// fill leaves no room in the program's file systems.
func fill(t *testing.T, s *scene) {
	t.Helper()
	for _, filler := range fillers(s) {
		if out, err := exec.Command("dd", "if=/dev/zero", "of="+filler, "bs=64k").CombinedOutput(); err == nil {
			t.Fatalf("%s cannot be filled: %s", filler, out)
		}
	}
}

func empty(t *testing.T, s *scene) {
	t.Helper()
	for _, filler := range fillers(s) {
		if err := os.Remove(filler); err != nil {
			t.Error(err)
		}
	}
}

func fillers(s *scene) []string {
	root := fmt.Sprintf("/proc/%d/root", s.jvm)
	return []string{root + "/tmp/filler", root + "/dev/shm/filler"}
}
