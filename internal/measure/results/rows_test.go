package results

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/arena/arenatest"
)

const (
	pay, charge, idle = uint32(70_000), uint32(70_001), uint32(70_002)
	gold, silver      = uint32(8193), uint32(8194)
)

var methods = []arena.Method{{ID: pay, Name: "a.Order.pay(I)V"}, {ID: charge, Name: "a.Pay.charge()V"}, {ID: idle, Name: "a.Order.idle()V"}}

// shop has two threads that pay with three labels, one of which is unknown.
func shop(t *testing.T) *arenatest.File {
	t.Helper()
	f := arenatest.Make(t, filepath.Join(t.TempDir(), "shop.arena"), arena.Owner{Target: 4711, Opened: time.Now(), Command: "pack /x/shop.pack"}, methods...)
	f.SetOpenedNanos(arena.Monotonic())
	f.AddLabel(gold, "T0=gold\n1")
	first := f.Thread(1)
	byGold := first.Add(first.Add(0, arenatest.Node{ID: gold}), arenatest.Node{ID: pay, Calls: 3, Timed: 2, Nanos: 200, Self: 150, Max: 120, Threw: 1, Distribute: []uint64{80, 120}})
	first.Add(first.Add(0, arenatest.Node{ID: silver}), arenatest.Node{ID: pay, Calls: 5, Timed: 5, Nanos: 50, Self: 50, Max: 10})
	first.Add(0, arenatest.Node{ID: charge, Calls: 8, Timed: 8, Nanos: 80, Self: 80, Max: 20})
	first.Enter(byGold, arena.Monotonic()-int64(time.Second))
	second := f.Thread(2)
	second.Add(second.Add(0, arenatest.Node{ID: gold}), arenatest.Node{ID: pay, Calls: 7, Timed: 7, Nanos: 700, Self: 700, Max: 300})
	second.Add(second.Add(0, arenatest.Node{ID: arena.LabelOther}), arenatest.Node{ID: pay, Calls: 1, Timed: 1, Nanos: 1, Self: 1, Max: 1, Undecided: 2})
	f.Account(4, 1, 0, 1, "differs a/B\nfailed a/C\n")
	return f
}

func readerOf(t *testing.T, path string) *Reader {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := read(file, file.Name())
	if err != nil {
		t.Fatal(err)
	}
	l.State = Measuring
	t.Cleanup(l.Close)
	return l
}

func texts(t *testing.T, l *Reader) (rows []string, results *Results) {
	t.Helper()
	results, err := l.Results()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results.Rows {
		rows = append(rows, strings.Join([]string{r.Probe, r.Class + "." + r.Name + r.Descriptor, r.Label.String(), number(r.Calls), number(r.Nanos), number(r.Max), number(r.Active)}, " "))
	}
	return rows, results
}

func number(n uint64) string { return time.Duration(n).String() }

func TestRowsByLabel(t *testing.T) {
	f := shop(t)
	l := readerOf(t, f.Path)
	rows, results := texts(t, l)
	want := []string{
		" a.Order.idle()V  0s 0s 0s 0s",
		" a.Order.pay(I)V (other) 1ns 1ns 1ns 0s",
		" a.Order.pay(I)V (unknown) 5ns 50ns 10ns 0s",
		" a.Order.pay(I)V tag1=gold tag2=(null) 10ns 900ns 300ns 1ns",
		" a.Pay.charge()V  8ns 80ns 20ns 0s",
	}
	if !slices.Equal(rows, want) {
		t.Errorf("%q", rows)
	}
	if results.Threads != 2 || results.Rows[3].Running < uint64(time.Second) || results.Rows[3].Spread.Count() != 2 || results.Rows[1].Undecided != 2 {
		t.Errorf("%+v", results)
	}
	f.AddLabel(silver, "T")
	names := []pack.Name{{ID: pay, Class: "a.Order", Method: "pay", Descriptor: "(I)V", Probe: "paying", Sequence: "x.Y.z >", Groups: []string{"tier", "kind", "more"}}}
	if err := l.identify(names, []string{"tier", "kind", "more"}); err != nil {
		t.Fatal(err)
	}
	again, _ := texts(t, l)
	want = []string{
		" a.Order.idle()V  0s 0s 0s 0s", " a.Pay.charge()V  8ns 80ns 20ns 0s",
		"paying a.Order.pay(I)V (other) 1ns 1ns 1ns 0s",
		"paying a.Order.pay(I)V tier=(none) kind=(none) more=(none) 5ns 50ns 10ns 0s",
		"paying a.Order.pay(I)V tier=gold kind=(null) more=(none) 10ns 900ns 300ns 1ns",
	}
	if !slices.Equal(again, want) {
		t.Errorf("%q", again)
	}
	if account, has, err := l.Account(); err != nil || !has || account.Woven != 4 || len(account.Left) != 2 {
		t.Errorf("%+v, %v, %v", account, has, err)
	}
}

func TestNamesOfAnotherArena(t *testing.T) {
	l := readerOf(t, shop(t).Path)
	for _, name := range []pack.Name{{ID: pay, Class: "a.Order", Method: "pay", Descriptor: "()V"}, {ID: 99_999, Class: "a.Order", Method: "pay", Descriptor: "(I)V"}} {
		if err := l.identify([]pack.Name{name}, nil); !errors.Is(err, ErrOtherNames) {
			t.Errorf("%v", err)
		}
	}
	if rows, _ := texts(t, l); len(rows) != 5 {
		t.Errorf("%q", rows)
	}
}

// TestRowsOfAJVMThatHasEnded has running calls whose time is unknown.
func TestRowsOfAJVMThatHasEnded(t *testing.T) {
	l := readerOf(t, shop(t).Path)
	l.State = Ended
	_, results := texts(t, l)
	if row := results.Rows[3]; row.Active != 1 || row.Running != 0 || l.Now() != 0 {
		t.Errorf("%+v", row)
	}
}

// TestSourceOfIntervals has the numbers of rows, and nothing that is no method's call.
func TestSourceOfIntervals(t *testing.T) {
	f := shop(t)
	calibrating := f.Thread(3)
	calibrating.Enter(calibrating.Add(0, arenatest.Node{ID: arena.CalibrationID, Calls: 9}), 5)
	l := readerOf(t, f.Path)
	sum, err := l.Sum()
	if err != nil {
		t.Fatal(err)
	}
	var calls uint64
	for _, totals := range sum.Methods {
		calls += totals.Calls
	}
	threads, err := l.Stacks()
	if err != nil {
		t.Fatal(err)
	}
	var under []uint32
	for _, thread := range threads {
		for _, frame := range thread.Stack {
			under = append(under, frame.ID)
		}
	}
	_, results := texts(t, l)
	if calls != 24 || len(under) != 1 || under[0] != results.Rows[3].Number {
		t.Errorf("%d calls, running %v, rows %+v", calls, under, results.Rows)
	}
}

// TestDamageIsReported reads damaged arenas.
func TestDamageIsReported(t *testing.T) {
	for name, spoil := range map[string]func(f *arenatest.File){
		"blocks":     func(f *arenatest.File) { f.Spoil("blocks", 1<<30) },
		"a block":    func(f *arenatest.File) { f.Damage("blocks", 40, 0xff, 0xff, 0xff, 0x7f) },
		"its circle": func(f *arenatest.File) { f.Damage("blocks", 0, f.Self("blocks")...) },
		"spill":      func(f *arenatest.File) { f.Damage("spill", 4, 0xff, 0xff, 0xff, 0xff) },
		"arrivals":   func(f *arenatest.File) { f.Spoil("arrivals", 1<<31) },
	} {
		t.Run(name, func(t *testing.T) {
			f := shop(t)
			spoil(f)
			l := readerOf(t, f.Path)
			if _, err := l.Results(); !errors.Is(err, arena.ErrDamaged) {
				t.Errorf("%v", err)
			}
		})
	}
	for name, spoil := range map[string]func(f *arenatest.File){
		"directory": func(f *arenatest.File) { f.Spoil("directory", 1<<31) },
		"a name":    func(f *arenatest.File) { f.Damage("directory", 64, 'x') },
	} {
		t.Run(name, func(t *testing.T) {
			f := shop(t)
			spoil(f)
			file, err := os.Open(f.Path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = file.Close() }()
			if _, err := read(file, file.Name()); !errors.Is(err, arena.ErrDamaged) || !strings.HasPrefix(err.Error(), f.Path) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestAFileCutShortWhileItIsRead is an error, not the end of the process.
func TestAFileCutShortWhileItIsRead(t *testing.T) {
	f := shop(t)
	l := readerOf(t, f.Path)
	if err := os.Truncate(f.Path, 4096); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Results(); !errors.Is(err, arena.ErrDamaged) {
		t.Errorf("%v", err)
	}
	file, err := os.Open(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := read(file, file.Name()); !errors.Is(err, arena.ErrNotArena) {
		t.Errorf("%v", err)
	}
}

func TestWhatIsNoFile(t *testing.T) {
	file, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := read(file, file.Name()); !errors.Is(err, arena.ErrNotArena) {
		t.Errorf("%v", err)
	}
}

func TestClockAhead(t *testing.T) {
	now := arena.Monotonic()
	for _, of := range []struct {
		reading int64
		at      time.Time
		ahead   time.Duration
	}{
		{now, time.Now(), 0},
		{now - int64(10*time.Hour), time.Now().Add(-10 * time.Hour), 0},
		{now - int64(10*time.Hour) + int64(time.Second), time.Now().Add(-10 * time.Hour), 0},
		{now + int64(40*time.Hour), time.Now().Add(-10 * time.Hour), 50 * time.Hour},
	} {
		if got := time.Duration(arena.Ahead(of.reading, of.at)).Round(time.Minute); got != of.ahead {
			t.Errorf("%v, want %v", got, of.ahead)
		}
	}
}

// TestClockJustRead takes a reading of later than now for another clock's, by however little.
func TestClockJustRead(t *testing.T) {
	now := arena.Monotonic()
	for _, ahead := range []time.Duration{0, -time.Second} {
		if got := arena.AheadNow(now + int64(ahead)); got != 0 {
			t.Errorf("%v: %d", ahead, got)
		}
	}
	for _, ahead := range []time.Duration{50 * time.Second, time.Hour, -time.Hour} {
		before := arena.Monotonic()
		got := arena.AheadNow(before + int64(ahead))
		if passed := arena.Monotonic() - before; got > int64(ahead) || got < int64(ahead)-passed {
			t.Errorf("%v: %v", ahead, time.Duration(got))
		}
	}
}
