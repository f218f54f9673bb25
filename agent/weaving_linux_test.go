package agent_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

func TestClassesAreListedFetchedAndAsked(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		all := g.list()
		for name := range all {
			if strings.HasPrefix(name, "sonde.agent") || strings.HasPrefix(name, "[") || name == "int" {
				t.Errorf("%s was listed", name)
			}
		}
		object, work, lost := all["java.lang.Object"], all["Guest$Work"], all["Lost"]
		if g.tell("work", 1); len(work) == 0 {
			work = g.list()["Guest$Work"]
		}
		if len(object) != 1 || object[0].loader != 0 || object[0].flags != 1 || len(work) != 1 || len(lost) != 3 {
			t.Fatalf("Object %v, Work %v, Lost %v", object, work, lost)
		}
		if again := g.list()["Lost"]; fmt.Sprint(again) != fmt.Sprint(lost) {
			t.Errorf("Lost was %v and is %v", lost, again)
		}
		g.ask(fetch, numbers(object[0].handle, work[0].handle, lost[0].handle, lost[1].handle, lost[2].handle, 1<<30))
		file, err := os.ReadFile(filepath.Join(g.classes, "Guest$Work.class"))
		if err != nil {
			t.Fatal(err)
		}
		if found, content := g.original(object[0].handle); !found || !bytes.HasPrefix(content, []byte("\xca\xfe\xba\xbe")) {
			t.Errorf("Object: %v, %d bytes", found, len(content))
		}
		if found, content := g.original(work[0].handle); !found || !bytes.Equal(content, file) {
			t.Errorf("Work: %v, %d bytes, want %d", found, len(content), len(file))
		}
		const tooLarge = "false the class file that its loader returns is too large"
		reasons := make(map[string]bool)
		for _, handle := range []uint32{lost[0].handle, lost[1].handle, lost[2].handle, 1 << 30} {
			found, reason := g.original(handle)
			reasons[fmt.Sprint(found, " ", string(reason))] = true
		}
		for limit := time.Now().Add(time.Minute); !reasons[tooLarge] && time.Now().Before(limit); { // on a busy machine that loader is late, too
			g.reply(done)
			g.ask(fetch, numbers(lost[0].handle, lost[1].handle, lost[2].handle))
			for _, l := range lost {
				found, reason := g.original(l.handle)
				reasons[fmt.Sprint(found, " ", string(reason))] = true
			}
		}
		for _, want := range []string{
			"false its loader did not answer in time", "false its loader has no class file for it", "false it was unloaded", tooLarge,
		} {
			if !reasons[want] {
				t.Errorf("no class that %s: %v", want, reasons)
			}
		}
		g.reply(done)
		g.ask(sees, numbers(object[0].handle, work[0].handle, lost[0].handle, lost[1].handle, lost[2].handle))
		answer := g.reply(seen)
		var blind int
		for range answer.u32() {
			handle, reason := answer.u32(), answer.text()
			if strings.HasPrefix(reason, "it does not find java.lang.SondeHooks") && handle != object[0].handle && handle != work[0].handle {
				blind++
			} else if reason != "" {
				t.Errorf("class %d: %s", handle, reason)
			}
		}
		if blind != 1 {
			t.Errorf("%d loaders do not see the hooks, want 1", blind)
		}
		g.leave()
	})
}

func TestHooksGoInAndOut(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		g.tell("work", 1)
		for range 2 {
			a, _ := g.mapArena()
			g.hook()
			g.ask(ping, nil)
			g.reply(done)
			if got := g.tell("work", 1000); got != "work 500500" {
				t.Error(got)
			}
			if got := calls(t, a, "Guest$Work"); got != 1000 {
				t.Errorf("%d calls, want 1000", got)
			}
			g.ask(restore, nil)
			answer := g.reply(restored)
			if nanos, count, unmapped, remarks := answer.u64(), answer.u32(), answer.u8(), answer.u32(); nanos == 0 || count != 1 || unmapped != 1 || remarks != 0 {
				t.Errorf("restored %d classes in %d ns, unmapped %d, %d remarks: %q", count, nanos, unmapped, remarks, answer.body)
			}
			g.tell("work", 10)
			if got := calls(t, a, "Guest$Work"); got != 1000 {
				t.Errorf("%d calls after undo", got)
			}
		}
		g.leave()
		isGone(t, g.target)
	})
}

func TestClassesAreWovenAsTheyAreLoaded(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		g.tell("work", 1)
		a, _ := g.mapArena()
		g.hook()
		// What waits for the class to be woven is timed, and the wait is not its own time.
		g.weaveInto("Guest", g.live, func(m weave.MethodInfo) bool { return m.Name == "call" })
		caller := uint32(weave.MethodID(classfile.MethodRef{Class: "Guest", Name: "call", Descriptor: "(Ljava/lang/String;I)I"}))
		late := uint32(weave.MethodID(classfile.MethodRef{Class: "Late", Name: "next", Descriptor: "(I)I"}))
		g.set(arena.Probe{ID: caller, Flags: arena.On | arena.Timed}, arena.Probe{ID: late, Flags: arena.On})
		g.tell("laminate", 1) // is not requested
		if _, err := fmt.Fprintln(g.target.Stdin, "late", 10); err != nil {
			t.Fatal(err)
		}
		await(t, "the caller, marked as one that waits", func() bool { return slices.Equal(away(t, a), []uint32{caller}) })
		g.serve("Late", 0)
		g.target.Await(t, "late 65")
		if got := away(t, a); len(got) != 0 {
			t.Errorf("calls %d are marked as waiting, although no thread waits", got)
		}
		if got := calls(t, a, "Late"); got != 10 {
			t.Errorf("%d calls, want 10", got)
		}
		node, took := nodeOf(t, a, caller), nodeOf(t, a, arena.AdjustmentID)
		if took.Parent != node.Ref || took.Calls == 0 || took.Nanos == 0 || uint64(node.Self)+took.Nanos != node.Nanos {
			t.Errorf("%+v, adjusted by %+v", node, took)
		}
		g.ask(bye, nil)
		answer := g.reply(restored)
		if answer.u64(); answer.u32() != 3 || answer.u8() != 1 || answer.u32() != 0 {
			t.Errorf("not all was restored: %q", answer.body)
		}
		g.ended()
		isGone(t, g.target)
	})
}

// The agent acts alone when Sonde is gone, and when it is asked through the
// arena.
func TestHooksAreTakenOutWithoutSonde(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		g.tell("work", 1)
		_, file := g.mapArena()
		g.hook()
		g.conn.Close()
		isGone(t, g.target)
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Error("the arena is still there")
		}
		g.tell("work", 10)

		g.peer = meet(t, g.target, door{open: attachTo}, false)
		a, file := g.mapArena()
		g.hook()
		a.AskStop()
		if text := g.receive(notice).text(); text == "" {
			t.Error("no word of it")
		}
		g.ended()
		isGone(t, g.target)
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
		g.tell("work", 10)
		if got := calls(t, a, "Guest$Work"); got != 0 {
			t.Errorf("%d calls after undo", got)
		}
	})
}

func TestWhatIsNotAnsweredIsLeftAlone(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		g.tell("work", 1)
		a, _ := g.mapArena()
		g.hook()
		if got := g.tell("late", 10); got != "late 65" {
			t.Error(got)
		}
		g.receive(transform)
		if text := g.receive(notice).text(); !strings.HasPrefix(text, "Late was left alone: ") {
			t.Error(text)
		}
		if got := calls(t, a, "Late"); got != 0 {
			t.Errorf("%d calls of what has no hook", got)
		}
		g.leave()
	})
}

func TestWhatSondeCannotWeaveIsLeftAlone(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		g.tell("work", 1)
		g.mapArena()
		g.hook()
		if _, err := fmt.Fprintln(g.target.Stdin, "late", 10); err != nil {
			t.Fatal(err)
		}
		g.send(failed, g.receive(transform).request, text("the reason"))
		if text := g.receive(notice).text(); text != "Late was left alone: the reason" {
			t.Error(text)
		}
		g.target.Await(t, "late 65")
		g.leave()
	})
}

func TestClassThatIsRefusedByTheJVM(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		g.tell("work", 1)
		work := g.list()["Guest$Work"][0].handle
		g.ask(install, numbers(work))
		if text := g.reply(failed).text(); text != "no arena is mapped" {
			t.Error(text)
		}
		g.mapArena()
		g.ask(install, numbers(work, 1<<30))
		g.send(woven, g.receive(transform).request, append(text("no class"), text("")...))
		answer := g.reply(installed)
		if answer.u64(); answer.u32() != 1 || answer.u32() != 1<<30 {
			t.Error("one class was gone")
		}
		if text := answer.text(); !strings.HasPrefix(text, "java.lang.ClassFormatError") {
			t.Errorf("error %q", text)
		}
		g.leave()
		if got := g.tell("work", 10); got != "work 55" {
			t.Error(got)
		}
	})
}

func TestThreadsAreNamed(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		g.mapArena()
		g.ask(threads, nil)
		answer := g.reply(named)
		ids := make(map[string]uint64)
		for range answer.u32() {
			id := answer.u64()
			ids[answer.text()] = id
		}
		if ids["main"] == 0 || ids["sonde-work"] == 0 || ids["sonde-read"] == 0 || ids["sonde-write"] == 0 {
			t.Errorf("threads %v", ids)
		}
		g.leave()
	})
}

// The agent's queues are of a class that gets hooks here.
func TestAgentDoesNotMeasureItself(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		a, _ := g.mapArena()
		g.hookInto("java/util/ArrayDeque", "addLast")
		g.switchOn(weave.MethodID(classfile.MethodRef{Class: "java/util/ArrayDeque", Name: "addLast", Descriptor: "(Ljava/lang/Object;)V"}))
		for range 50 {
			g.ask(ping, nil)
			g.reply(done)
		}
		g.ask(threads, nil)
		g.reply(named)
		sum, err := a.Sum(0)
		if err != nil || len(sum.Methods) != 0 {
			t.Errorf("%+v, %v", sum, err)
		}
		g.leave()
		isGone(t, g.target)
	})
}

// calibration is the body of CALIBRATE.
func calibration(rounds uint32, flags arena.Flags, body byte, steps uint32) []byte {
	asked := binary.BigEndian.AppendUint32(nil, rounds)
	asked = binary.BigEndian.AppendUint32(asked, arena.Probe{Flags: flags, Period: 1}.Setting())
	return binary.BigEndian.AppendUint32(append(asked, body), steps)
}

// Calls are made through the switch table that is there, whatever it is, and
// leave no trace in what the program's methods did.
func TestHooksAreCalibrated(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		const (
			rounds = 500
			nested = 3
		)
		g.tell("work", 1)
		a, _ := g.mapArena()
		var made uint64
		ask := func(flags arena.Flags, body byte, steps uint32) {
			t.Helper()
			g.ask(calibrate, calibration(rounds, flags, body, steps))
			answer := g.reply(calibrated)
			count := answer.u32()
			if count == 0 || count > 9 {
				t.Fatalf("%d runs", count)
			}
			made += uint64(count) * (rounds + 1)
			for range count {
				plain, hooked, measured, timed := answer.u64(), answer.u64(), answer.u64(), answer.u64()
				var want uint64
				if flags&(arena.Timed|arena.Sampled) != 0 {
					want = rounds
				}
				if flags&arena.Flat != 0 && body == nested {
					want *= 2 // the inner calls are of the same node
				}
				if plain == 0 || hooked == 0 || (measured != 0) != (want != 0) || measured >= hooked || timed != want {
					t.Errorf("flags %#x, body %d, %d steps: %d ns plain, %d hooked, %d measured of %d calls", flags, body, steps, plain, hooked, measured, timed)
				}
			}
		}
		ask(arena.On|arena.Timed, 1, 100) // all is off
		g.hook()
		for _, flags := range []arena.Flags{
			arena.Timed, arena.Timed | arena.Flat, arena.Timed | arena.Inside | arena.Discover, arena.Root, 0,
		} {
			ask(flags, 1, 100)
		}
		if got := nodeOf(t, a, arena.CalibrationID); got.Squares != 0 || got.Max == 0 || got.Born == 0 {
			t.Errorf("%+v", got)
		}
		ask(arena.Sampled, 1, 100)
		if got := nodeOf(t, a, arena.CalibrationID); got.Squares <= float64(got.Timed) {
			t.Errorf("%+v", got)
		}
		ask(arena.Timed, 0, 0)
		ask(arena.Timed, 2, 100)
		g.tell("work", 10)
		if got := calls(t, a, "Guest$Work"); got != 10 {
			t.Errorf("%d calls of the program, want 10", got)
		}
		if got := nodeOf(t, a, arena.CalibrationID).Calls; got < made {
			t.Errorf("%d calibration calls of %d that were reported", got, made)
		}
		ask(arena.Timed|arena.Flat, nested, 100)
		outer := nodeOf(t, a, arena.CalibrationID)
		ask(arena.Timed, nested, 100)
		inner := nodeOf(t, a, arena.CalibrationID)
		if inner.Parent != outer.Ref || inner.Calls == 0 || inner.Calls%rounds != 0 || inner.Timed != inner.Calls {
			t.Errorf("calls inside others are %+v, below %+v", inner, outer)
		}
		g.leave()
	})
}
