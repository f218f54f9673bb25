package agent_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// long is as long as a test waits: who is let go earlier was let go by something
// else than the clock.
const long = patience

// begin has the guest do something that it does not come back from by itself.
func (g *guest) begin(what string) {
	g.t.Helper()
	if _, err := fmt.Fprintln(g.target.Stdin, what, 1); err != nil {
		g.t.Fatal(err)
	}
}

// arrivals waits for a number of arrivals after a ticket.
func (g *guest) arrivals(a *arena.Arena, after uint64, count int) []arena.Arrival {
	g.t.Helper()
	var got []arena.Arrival
	await(g.t, fmt.Sprintf("%d arrivals beyond %d", count, after), func() bool {
		var err error
		if got, err = a.Arrivals(after); err != nil {
			g.t.Fatal(err)
		}
		return len(got) >= count
	})
	if len(got) != count {
		g.t.Fatalf("arrivals %+v, want %d", got, count)
	}
	return got
}

// nodeOf is that of an id, which is in one context of one thread only.
func nodeOf(t *testing.T, a *arena.Arena, id uint32) (found arena.Node) {
	t.Helper()
	threads, err := a.Threads()
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		for _, node := range thread.Nodes {
			if node.ID == id {
				found = node
			}
		}
	}
	return found
}

// away are the innermost calls of threads that wait for Sonde.
func away(t *testing.T, a *arena.Arena) (ids []uint32) {
	t.Helper()
	threads, err := a.Stacks()
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		if thread.Away {
			ids = append(ids, thread.Stack[len(thread.Stack)-1].ID)
		}
	}
	return ids
}

// isParked reports whether a thread dump shows main in a park, or after one
// that did not happen.
func isParked(dump string) bool {
	_, main, _ := strings.Cut(dump, "\"main\"")
	main, _, _ = strings.Cut(main, "\n\n")
	return strings.Contains(main, "Unsafe.park(") || strings.Contains(main, "Thread.yield")
}

func TestCallsWaitForTheirCallees(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		g.tell("work", 1)
		a, _ := g.mapArena()
		if err := a.MakeArrivals(); err != nil {
			t.Fatal(err)
		}
		a.SetWait(long)
		g.hook()
		id := uint32(weave.MethodID(classfile.MethodRef{Class: "Guest$Work", Name: "next", Descriptor: "(I)I"}))
		discover := arena.Probe{ID: id, Flags: arena.On | arena.Timed | arena.Discover}
		g.set(discover)

		// A call waits until it is answered, and does by then what it is set to.
		g.begin("work")
		if got := g.arrivals(a, 0, 1)[0]; got != (arena.Arrival{Ticket: 1, ID: id}) {
			t.Errorf("%+v", got)
		}
		if got := nodeOf(t, a, id).Calls; got != 0 {
			t.Errorf("%d calls while the first waits", got)
		}
		g.switchOn(int32(id))
		a.Answer(1)
		g.target.Await(t, "work 1")
		if got := nodeOf(t, a, id); got.Calls != 1 || got.Timed != 0 || got.Missed != 0 || got.Born == 0 {
			t.Errorf("%+v", got)
		}
		if got := nodeOf(t, a, arena.AdjustmentID); got.Calls != 1 || got.Nanos == 0 || int64(got.Nanos) != got.Self {
			t.Errorf("the adjustment is %+v", got)
		}

		// A call without an answer continues and is counted; later calls do not wait.
		a.SetWait(time.Millisecond)
		g.set(discover)
		g.tell("work", 1)
		a.SetWait(long)
		g.tell("work", 3)
		if got := nodeOf(t, a, id); got.Calls != 5 || got.Timed != 4 || got.Missed != 4 || got.Max == 0 || got.Squares != 0 {
			t.Errorf("%+v", got)
		}
		last := g.arrivals(a, 1, 4)[3].Ticket
		a.Answer(last)

		// What a thread waits by is the program's, and is there for it afterwards.
		for _, what := range []string{"interrupted", "permit"} {
			g.begin(what)
			last = g.arrivals(a, last, 1)[0].Ticket
			// One that is answered before it has parked proves nothing.
			await(t, "main in park", func() bool { return isParked(jcmd(t, g.target, "Thread.print")) })
			a.Answer(last)
			g.target.Await(t, what+" 1")
		}

		// Threads that come to it later wait the same way, virtual ones too.
		g.begin("threads")
		last = g.arrivals(a, last, 2)[1].Ticket
		a.Answer(last)
		g.target.Await(t, "threads 2")

		// One that waits is marked, so that what stops it then is not taken from
		// its caller as well.
		g.weaveInto("Guest", g.live, func(m weave.MethodInfo) bool { return m.Name == "call" })
		caller := uint32(weave.MethodID(classfile.MethodRef{Class: "Guest", Name: "call", Descriptor: "(Ljava/lang/String;I)I"}))
		g.set(discover, arena.Probe{ID: caller, Flags: arena.On | arena.Timed})
		g.begin("work")
		last = g.arrivals(a, last, 1)[0].Ticket
		if got := away(t, a); !slices.Equal(got, []uint32{caller}) {
			t.Errorf("in %d a thread waits, not in %d", got, caller)
		}
		a.Answer(last)
		g.target.Await(t, "work 1")
		if got := away(t, a); len(got) != 0 {
			t.Errorf("calls %d are marked as waiting, although no thread waits", got)
		}

		// Undo lets everyone go.
		g.begin("work")
		g.arrivals(a, last, 1)
		g.ask(restore, nil)
		if answer := g.reply(restored); answer.u64() == 0 || answer.u32() != 2 || answer.u8() != 1 || answer.u32() != 0 {
			t.Errorf("not all was restored: %q", answer.body)
		}
		g.target.Await(t, "work 1")
		if got := calls(t, a, "Guest$Work"); got != 10 || a.ArrivalsLost() != 0 {
			t.Errorf("%d calls, %d arrivals lost", got, a.ArrivalsLost())
		}
		g.leave()
		isGone(t, g.target)
	})
}

// A ring that is not read becomes full; what finds no room in it is
// counted.
func TestArrivalsThatFindNoRoom(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		g.tell("work", 1)
		a, _ := g.mapArena()
		g.hook()
		id := uint32(weave.MethodID(classfile.MethodRef{Class: "Guest$Work", Name: "next", Descriptor: "(I)I"}))
		g.set(arena.Probe{ID: id, Flags: arena.On | arena.Discover | arena.Flat})
		g.tell("work", 1) // there is no ring yet
		if err := errors.Join(a.MakeArrivals(), a.MakeArrivals()); err != nil {
			t.Fatal(err)
		}
		g.tell("work", 300) // no call may wait
		got, err := a.Arrivals(0)
		if err != nil || len(got) != 256 || a.ArrivalsLost() != 0 { // they are missed, and reported by the next call
			t.Fatalf("%d arrivals, %d lost, %v", len(got), a.ArrivalsLost(), err)
		}
		a.Answer(got[255].Ticket)
		g.tell("work", 2)
		if got := g.arrivals(a, 256, 2); got[1].Ticket != 258 {
			t.Errorf("%+v", got)
		}
		if got := nodeOf(t, a, id); got.Calls != 303 || got.Missed != 303 {
			t.Errorf("%+v", got)
		}
		g.leave()
	})
}

// Members are reported once each, while a context is open, when they are about to be
// called.
func TestMembersAreFollowed(t *testing.T) {
	everyGuest(t, func(t *testing.T, g *guest) {
		sum := g.tell("mirror", 1)
		a, _ := g.mapArena()
		if err := a.MakeArrivals(); err != nil {
			t.Fatal(err)
		}
		reflect, handle := compileTemplate(t, agent.ReflectTemplate), compileTemplate(t, agent.HandleTemplate)
		g.weaveInto("java/lang/reflect/Method", reflect, func(m weave.MethodInfo) bool { return m.Name == "invoke" })
		g.weaveInto("java/lang/reflect/Constructor", reflect, func(m weave.MethodInfo) bool { return m.Name == "newInstanceWithCaller" })
		g.weaveInto("java/lang/invoke/DirectMethodHandle", handle, func(m weave.MethodInfo) bool {
			return m.Name == "make" && strings.HasPrefix(m.Descriptor, "(BLjava/lang/Class;Ljava/lang/invoke/MemberName;Ljava/lang/Class;)")
		})
		g.weaveInto("Guest$Mirror", g.live, func(m weave.MethodInfo) bool { return m.Name == "next" })
		root := uint32(weave.MethodID(classfile.MethodRef{Class: "Guest$Mirror", Name: "next", Descriptor: "(I)I"}))
		g.ask(followMembers, []byte{1})
		g.reply(done)
		a.SetWait(long)
		g.tell("mirror", 1) // outside every context
		g.set(arena.Probe{ID: root, Flags: arena.On | arena.Timed | arena.Root})
		g.begin("mirror")
		var told []string
		for ticket := uint64(1); len(told) < 3; ticket++ {
			got := g.arrivals(a, ticket-1, 1)[0]
			if got.ID != 0 || got.Ticket != ticket {
				t.Errorf("%+v", got)
			}
			if strings.HasPrefix(got.Text, "Guest") {
				told = append(told, strings.TrimPrefix(got.Text, "Guest$Work."))
			}
			a.Answer(ticket)
		}
		if got := strings.Join(told, " "); got != "next(I)I <init>([Ljava/lang/String;J)V other(I)I" {
			t.Errorf("reported: %s", got)
		}
		a.SetWait(0)
		if got := g.target.Await(t, "mirror "); got != sum {
			t.Errorf("%s, want %s", got, sum)
		}
		before := nodeOf(t, a, arena.AdjustmentID)
		g.tell("mirror", 10)
		node, took := nodeOf(t, a, root), nodeOf(t, a, arena.AdjustmentID)
		if took.Calls < before.Calls+10 { // handles are known by the reports about them, which take time
			t.Errorf("%d adjustments, then %d", before.Calls, took.Calls)
		}
		if got := away(t, a); len(got) != 0 {
			t.Errorf("calls %d are marked as waiting, although no thread waits", got)
		}
		if node.Calls != 11 || took.Parent != node.Ref || uint64(node.Self)+took.Nanos != node.Nanos {
			t.Errorf("%+v, adjusted by %+v", node, took)
		}
		got, err := a.Arrivals(0)
		if err != nil {
			t.Fatal(err)
		}
		for i, arrival := range got {
			for _, other := range got[:i] {
				if other.Text == arrival.Text && strings.HasPrefix(other.Text, "Guest") {
					t.Errorf("%s was reported twice", arrival.Text)
				}
			}
		}
		g.leave()
		isGone(t, g.target)
	})
}
