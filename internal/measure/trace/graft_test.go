package trace

import (
	"encoding/hex"
	"testing"
	"time"
)

// TestGraft: a program calls a second one, which calls a third one, whose clock is late.
func TestGraft(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1000, 0)
	trace := [16]byte{1}
	span := func(n byte) string {
		id := [8]byte{n}
		return hex.EncodeToString(id[:])
	}
	call := func(method string, start, measured time.Duration, spanID string, children ...*Call) *Call {
		return &Call{Method: method, Start: start, Measured: measured, SpanID: spanID, Thread: Thread{ID: 7}, Children: children}
	}
	first := &Transaction{Sent: trace, Begin: begin, Root: call("front", 0, 100, "", call("send", 10, 80, span(1)))}
	second := &Transaction{
		Parent: Parent{trace, [8]byte{1}}, Begin: begin.Add(20), Root: call("middle", 0, 60, "", call("pass", 5, 50, span(2))),
		Parts: []*Call{call("later", 1, 2, "")},
	}
	third := &Transaction{Parent: Parent{trace, [8]byte{2}}, Begin: begin.Add(-time.Hour), Root: call("back", 0, 30, "")}
	other := &Transaction{Parent: Parent{[16]byte{2}, [8]byte{1}}, Begin: begin, Root: call("other", 0, 1, "")}
	programs := []Program{{Target{PID: 30}, []*Transaction{third, other}}, {Target{PID: 20}, []*Transaction{second}}}
	if found := Graft(Target{PID: 10}, []*Transaction{first}, programs); found != 2 {
		t.Errorf("%d transactions have a place, want 2", found)
	}
	type place struct {
		start time.Duration
		pid   int
	}
	want := map[string]place{"front": {0, 0}, "send": {10, 0}, "middle": {20, 20}, "pass": {25, 20}, "later": {21, 20}, "back": {25, 30}}
	threads := make(map[Thread]bool)
	for c := range first.All() {
		if got := (place{c.Start, c.PID}); got != want[c.Method] {
			t.Errorf("%s: %+v, want %+v", c.Method, got, want[c.Method])
		}
		delete(want, c.Method)
		threads[c.Thread] = true
	}
	if len(want) > 0 || len(threads) != 3 {
		t.Errorf("missing: %v; threads %v", want, threads)
	}
	send := first.Root.Children[0]
	if len(send.Children) != 1 || send.Children[0] != second.Root || !second.Root.Handed || second.Root.Children[0].Children[0] != third.Root {
		t.Error("they are not below the calls that have caused them")
	}
}
