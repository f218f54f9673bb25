package service

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHistory: results can be fetched in all their formats after the end, also from the next
// service.
func TestHistory(t *testing.T) {
	s := serve(t)
	a := s.postBackground()
	results := map[string]string{"json": `{"calls":1}`, "txt": "calls 1\n", "html": "<p>1</p>", "pb.gz": "\x1f\x8b\x00"}
	for format, content := range results {
		a.keep(format, content)
	}
	a.end(0, "")
	next := serve(t, func(settings *Settings) { settings.State = s.State })
	for _, service := range []*stage{s, next} {
		for format, content := range results {
			service.fetch(a, format, content)
		}
		usual := service.ask(http.MethodGet, a.path("/result"), nil)
		if string(usual.body) != results["json"] || usual.header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("without a format the result is %s, %v", usual.body, usual.header)
		}
		var about Description
		service.mustCall(http.MethodGet, a.path(""), "", &about)
		if about.State != Ended || strings.Join(about.Formats, " ") != "html json pb.gz txt" {
			t.Errorf("the look is %+v", about)
		}
		for _, format := range []string{"xml", "../look.json", "json/../txt", "/etc/passwd"} {
			checkRefusal(t, format, service.ask(http.MethodGet, a.path("/result?format="+format), nil), http.StatusNotFound, "has no result in the format")
		}
	}
	if b := next.postBackground(); b.Number() != a.Number()+1 {
		t.Errorf("after look %d comes %d", a.Number(), b.Number())
	}
}

// TestLost: a look whose service was killed is lost, not running.
func TestLost(t *testing.T) {
	h, err := openHistory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	about := Description{Number: 7, Kind: "count", Command: "sonde count 1", PID: 1, State: Running, Began: time.Now()}
	if err := os.Mkdir(h.path(about.Number), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := h.describe(about); err != nil {
		t.Fatal(err)
	}
	unlock, err := tryLockAlone(h.path(about.Number))
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, func(settings *Settings) { settings.State = h.dir })
	var have Description
	if s.mustCall(http.MethodGet, "/v1/looks/7", "", &have); have.State != Running {
		t.Errorf("while its service runs, the look is %s", have.State)
	}
	unlock()
	if s.mustCall(http.MethodGet, "/v1/looks/7", "", &have); have.State != Lost || !strings.Contains(have.Error, "was killed") {
		t.Errorf("when its service was killed, the look is %s, %q", have.State, have.Error)
	}
	// A client that asks at the same time sees that too.
	asking, err := tryLockShared(h.path(about.Number))
	if err != nil {
		t.Fatal(err)
	}
	if all, err := s.client.Looks(t.Context(), ""); err != nil || len(all) != 1 || all[0].State != Lost {
		t.Errorf("while another client asks, the list is %+v", all)
	}
	asking()
	checkRefusal(t, "result", s.ask(http.MethodGet, "/v1/looks/7/result", nil), http.StatusNotFound, "was killed")
	checkRefusal(t, "end", s.ask(http.MethodPost, "/v1/looks/7/end", nil), http.StatusConflict, "was killed")
	if a := s.postBackground(); a.Number() != 8 {
		t.Errorf("after look 7 comes %d", a.Number())
	}
}

// kept is a history in which a test makes looks.
type kept struct {
	*testing.T
	*history
}

func newKept(t *testing.T, most limits) *kept {
	t.Helper()
	h, err := openHistory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	h.limits, h.now = most, func() time.Time { return now }
	return &kept{t, h}
}

// add adds a look with a result of some size, which ended some time ago, or runs.
func (k *kept) add(state State, size int, ago time.Duration) (unlock func()) {
	k.Helper()
	number, unlock, err := k.begin()
	if err != nil {
		k.Fatal(err)
	}
	at := k.now().Add(-ago)
	about := Description{Number: number, State: state, Began: at}
	if state == Ended {
		about.Ended = &at
	}
	if err := k.describe(about); err != nil {
		k.Fatal(err)
	}
	if err := os.WriteFile(k.path(number, resultPrefix+"json"), make([]byte, size), 0o600); err != nil {
		k.Fatal(err)
	}
	if state != Running {
		unlock()
	}
	return unlock
}

func (k *kept) check(name string, want ...int) {
	k.Helper()
	k.prune()
	have, err := k.numbers()
	if err != nil || fmt.Sprint(have) != fmt.Sprint(want) {
		k.Errorf("%s: %v are kept, want %v (%v)", name, have, want, err)
	}
}

var plenty = limits{looks: 100, bytes: 1 << 30, age: time.Hour}

// TestLimits: the oldest looks are removed, but none that runs.
func TestLimits(t *testing.T) {
	most := plenty
	most.looks = 3
	k := newKept(t, most)
	defer k.add(Running, 1, 0)()
	for range 4 {
		k.add(Ended, 1, 0)
	}
	k.check("number", 1, 3, 4, 5)

	most = plenty
	most.bytes = 30_000
	k = newKept(t, most)
	k.add(Ended, 1000, 0)
	k.add(Ended, 10_000, 0)
	running := k.add(Running, 10_000, 0)
	k.add(Ended, 10_000, 0)
	k.check("size", 3, 4)
	k.add(Ended, 100_000, 0)
	k.check("a result above the limit", 3, 5)
	running()
	k.check("a lost look", 5)

	k = newKept(t, plenty)
	k.add(Ended, 1, 3*time.Hour)
	defer k.add(Running, 1, 3*time.Hour)()
	k.add(Lost, 1, 2*time.Hour)
	k.add(Ended, 1, time.Minute)
	k.add(Ended, 1, 2*time.Hour) // ended before the one above, which was begun before it
	k.check("age", 2, 4)
}

// TestHalfMade: directories that a killed service has left, or a full disk, are removed in the end.
func TestHalfMade(t *testing.T) {
	k := newKept(t, plenty)
	for _, age := range []time.Duration{0, 2 * time.Hour} {
		for _, content := range []string{"", `{"number": `} {
			number, unlock, err := k.begin()
			if err != nil {
				t.Fatal(err)
			}
			unlock()
			if content != "" {
				if err := os.WriteFile(k.path(number, aboutFile), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			at := k.now().Add(-age)
			if err := os.Chtimes(k.path(number), at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	if all := k.all(); len(all) > 0 {
		t.Errorf("the list has %+v", all)
	}
	k.check("half made", 1, 2)
}

// TestEndedIsReadOnce: a list of looks reads only descriptions that may have changed.
func TestEndedIsReadOnce(t *testing.T) {
	k := newKept(t, plenty)
	k.add(Ended, 1, time.Minute)
	k.add(Ended, 1, time.Minute)
	running := k.add(Running, 1, 0)
	states := func() (states []State) {
		for _, about := range k.all() {
			states = append(states, about.State)
		}
		return states
	}
	if have, want := states(), []State{Running, Ended, Ended}; !slices.Equal(have, want) {
		t.Errorf("the list has %v, want %v", have, want)
	}
	for number := range 3 { // in place, so that the directory does not change
		if err := os.WriteFile(k.path(number+1, aboutFile), []byte(`{"number":3,"state":"running"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	running()
	if have, want := states(), []State{Lost, Ended, Ended}; !slices.Equal(have, want) {
		t.Errorf("when one has ended, the list has %v, want %v", have, want)
	}
	later := k.now().Add(time.Hour)
	if err := errors.Join(os.Chtimes(k.path(1), later, later), os.RemoveAll(k.path(2))); err != nil {
		t.Fatal(err)
	}
	if have, want := states(), []State{Lost, Lost}; !slices.Equal(have, want) {
		t.Errorf("when another service has made one and removed one, the list has %v, want %v", have, want)
	}
}

// TestLimitsOfService: a service applies the limits when it starts and when a look ends.
func TestLimitsOfService(t *testing.T) {
	k := newKept(t, plenty)
	k.add(Ended, 1, usualLimits.age+time.Hour)
	k.add(Ended, 1, 0)
	s := serve(t, func(settings *Settings) { settings.State = k.dir })
	if all, err := s.client.Looks(t.Context(), ""); err != nil || len(all) != 1 || all[0].Number != 2 {
		t.Errorf("after the start the list is %+v", all)
	}
	s.history.limits.looks = 2
	running := s.postBackground()
	ended := s.postBackground()
	ended.end(0, "")
	if all, err := s.client.Looks(t.Context(), ""); err != nil || len(all) != 2 || all[0].Number != ended.Number() || all[1].Number != running.Number() {
		t.Errorf("after the end of a look the list is %+v", all)
	}
}
