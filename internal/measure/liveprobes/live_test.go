package liveprobes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/spec/spectest"
	"github.com/sonde-jvm/sonde/internal/weave/probes"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A shop is the program of testdata/shop, watched.
type shop struct {
	t *testing.T
	*jvmtest.Running
	session *session.Look
	watch   *liveprobes.Probes
	looks   session.Sessions
	ended   chan liveprobes.End

	lock    sync.Mutex
	notices []string
}

func openShop(t *testing.T, jdk jvmtest.JDK) *shop {
	t.Helper()
	sources, err := filepath.Glob("testdata/shop/*.java")
	if err != nil {
		t.Fatal(err)
	}
	dir := jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources, Flags: []string{"--release", "17", "-g", "-Xlint:none"}})
	s := &shop{t: t, ended: make(chan liveprobes.End, 1)}
	s.Running = jvmtest.Start(t, jdk, jvmtest.Launch{Brief: true, Args: []string{"-cp", dir, "shop.Main"}})
	s.do("web 3", "done web 3")
	if s.session, err = session.Open(t.Context(), s.PID, session.Settings{Command: "a test", In: &s.looks}); err != nil {
		t.Fatal(err)
	}
	s.watch = liveprobes.New(s.session, liveprobes.Options{
		Flags: arena.Spreads, Ended: func(e liveprobes.End) { s.ended <- e },
		Notice: func(text string) {
			s.lock.Lock()
			defer s.lock.Unlock()
			s.notices = append(s.notices, text)
		},
	})
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- s.watch.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
		if _, err := s.session.Close(context.Background()); err != nil {
			t.Error(err)
		}
		_ = s.session.Release()
		s.watch.Close()
	})
	return s
}

func (s *shop) do(order, answer string) {
	s.t.Helper()
	if _, err := fmt.Fprintln(s.Stdin, order); err != nil {
		s.t.Fatal(err)
	}
	s.Await(s.t, answer)
}

func (s *shop) apply(set *probeset.Set) *liveprobes.Report {
	s.t.Helper()
	report, err := s.watch.Apply(s.t.Context(), set)
	if err != nil {
		s.t.Fatal(err)
	}
	return report
}

// row is what a probe has measured of a method.
func (s *shop) row(probe, method string) (all arena.Totals) {
	s.t.Helper()
	results, err := s.watch.Results()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range results.Rows {
		if r.Probe == probe && r.Class+"."+r.Name == method {
			all.Calls += r.Calls
			all.Timed += r.Timed
		}
	}
	return all
}

func (s *shop) expect(probe, method string, calls, timed uint64) {
	s.t.Helper()
	if got := s.row(probe, method); got.Calls != calls || got.Timed != timed {
		s.t.Errorf("%s of %s: %d calls, %d timed; want %d, %d", method, probe, got.Calls, got.Timed, calls, timed)
	}
}

// TestSeveralLooks: sets with the same methods, sequences and names begin and end in random
// order in one JVM, and each counts exactly the calls of its own time.
func TestSeveralLooks(t *testing.T) {
	charge := probeset.Probe{Name: "p", Methods: spectest.Patterns("shop.Pay.charge"), Level: probeset.Count}
	gold, below, grouped, handle := charge, charge, charge, charge
	gold.Within, gold.When, gold.Level = spectest.Sequences("shop.Order.place >"), spectest.Expr(`$1.getTier() == "gold"`), probeset.Time
	below.Within = spectest.Sequences("shop.Web.handle >>")
	grouped.Within, grouped.Context = spectest.Sequences("shop.Web.handle >>"), 1
	handle.Methods, handle.Level = spectest.Patterns("shop.Web.handle"), probeset.Time
	kinds := []probeset.Probe{charge, gold, below, grouped, handle}
	type look struct {
		*liveprobes.Probes
		session *session.Look
		per     uint64 // calls of a round
		want    uint64
	}
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			s := openShop(t, jdk)
			random := rand.New(rand.NewPCG(2, uint64(jdk.Major)))
			var looks []*look
			end := func(at int) {
				l := looks[at]
				looks = slices.Delete(looks, at, at+1)
				l.Close()
				if _, err := l.session.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				results, err := l.Results()
				if err != nil {
					t.Fatal(err)
				}
				calls := uint64(0)
				for _, row := range results.Rows {
					calls += row.Calls
				}
				if calls != l.want {
					t.Errorf("a look counted %d calls, want %d: %+v", calls, l.want, results.Rows)
				}
				if err := l.session.Release(); err != nil {
					t.Fatal(err)
				}
			}
			for range jvmtest.Times(40, 400) {
				switch {
				case len(looks) > 0 && random.IntN(3) == 0:
					end(random.IntN(len(looks)))
				case len(looks) < 6:
					joined, err := session.Open(t.Context(), s.PID, session.Settings{Command: "another test", In: &s.looks})
					if err != nil {
						t.Fatal(err)
					}
					l := &look{session: joined}
					l.Probes = liveprobes.New(l.session, liveprobes.Options{})
					kind := kinds[random.IntN(len(kinds))]
					if l.per = 2; kind.When != nil { // one customer of a round has gold
						l.per = 1
					}
					if _, err := l.Apply(t.Context(), &probeset.Set{Probes: []probeset.Probe{kind}}); err != nil {
						t.Fatal(err)
					}
					looks = append(looks, l)
				}
				rounds := uint64(random.IntN(3))
				s.do(fmt.Sprintf("web %d", rounds), fmt.Sprintf("done web %d", rounds))
				for _, l := range looks {
					l.want += rounds * l.per
				}
			}
			for len(looks) > 0 {
				end(0)
			}
		})
	}
}

// TestProbesAreApplied: hooks are there when classes load, levels are switched, probes end,
// and a condition that a class makes wrong is asked no more.
func TestProbesAreApplied(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			s := openShop(t, jdk)
			gold := probeset.Probe{Name: "gold", Methods: spectest.Patterns("shop.*.charge"), Within: spectest.Sequences("shop.Order.place >"), When: spectest.Expr(`$1.getTier() == "gold"`), Level: probeset.Time}
			few := probeset.Probe{Name: "few", Methods: spectest.Patterns("shop.Web.handle"), Level: probeset.Count, Calls: 30}
			report := s.apply(&probeset.Set{Probes: []probeset.Probe{gold, few}})
			if report.Woven != 3 || report.Installation == nil {
				t.Errorf("%+v", report)
			}
			s.do("web 10", "done web 10")
			s.expect("gold", "shop/Pay.charge", 10, 10)
			s.do("mock 5", "done mock 5")
			s.expect("gold", "shop/Mock.charge", 5, 5)
			if err := s.watch.SetLevel(t.Context(), "gold", probeset.Count); err != nil {
				t.Fatal(err)
			}
			s.do("web 10", "done web 10")
			s.expect("gold", "shop/Pay.charge", 20, 10)
			ended := <-s.ended
			if ended.Probe != "few" || ended.Why != liveprobes.EndedByCalls {
				t.Errorf("%+v, want the end of few by its calls", ended)
			}
			s.expect("few", "shop/Web.handle", 30, 0)
			if report := s.apply(&probeset.Set{Probes: []probeset.Probe{s.watch.Set().Probes[0]}}); report.Installation != nil || report.Woven+report.Removed != 0 {
				t.Errorf("%+v", report)
			}
			s.do("vip 7", "done vip 7 asked 7") // what asks is the program, and nobody else
			s.do("web 10", "done web 10")
			s.expect("gold", "shop/Pay.charge", 20, 10)
			s.expect("few", "shop/Web.handle", 30, 0)
			s.lock.Lock()
			defer s.lock.Unlock()
			if len(s.notices) != 2 || !strings.Contains(s.notices[0], "class shop.Vip was loaded") {
				t.Errorf("%q", s.notices)
			}
		})
	}
}

// TestLimitsAreExact lets eight threads call methods as fast as they can: probes with a limit count exactly as many calls, each
// its own, and then nothing, and have no hooks any more.
func TestLimitsAreExact(t *testing.T) {
	const most = 30
	probe := func(name, method string, level probeset.Level, more func(p *probeset.Probe)) probeset.Probe {
		p := probeset.Probe{Name: name, Methods: spectest.Patterns(method), Level: level, Calls: most}
		if more != nil {
			more(&p)
		}
		return p
	}
	limited := []probeset.Probe{
		probe("count", "shop.Web.handle", probeset.Count, nil),
		probe("fewer", "shop.Web.handle", probeset.Time, func(p *probeset.Probe) { p.Calls = 7 }),
		probe("condition", "shop.Pay.charge", probeset.Time, func(p *probeset.Probe) {
			p.Within, p.When = spectest.Sequences("shop.Order.place >"), spectest.Expr(`$1.getTier() == "gold"`)
		}),
		probe("exit", "shop.Pay.check", probeset.Count, func(p *probeset.Probe) { p.When = spectest.Expr("$return") }),
		probe("slow", "shop.Pay.check", probeset.Time, func(p *probeset.Probe) { p.SlowerThan = 1 }),
		probe("callers", "shop.Audit.write", probeset.Count, func(p *probeset.Probe) { p.Context = 1 }),
		probe("trace", "shop.Order.place", probeset.Trace, nil),
		probe("nested", "shop.Main.nest", probeset.Time, nil),
		probe("several", "shop.Order.*", probeset.Count, func(p *probeset.Probe) { p.Calls = 1000 }),
	}
	all := probeset.Probe{Name: "all", Methods: spectest.Patterns("shop.Web.handle"), Level: probeset.Count}
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			s := openShop(t, jdk)
			s.do("storm 8", "done storm 8")
			s.apply(&probeset.Set{Probes: append([]probeset.Probe{all}, limited...)})
			for range limited {
				if ended := <-s.ended; ended.Why != liveprobes.EndedByCalls {
					t.Errorf("%+v, want the end by calls", ended)
				}
			}
			calls := func() map[string]uint64 {
				results, err := s.watch.Results()
				if err != nil {
					t.Fatal(err)
				}
				calls := make(map[string]uint64)
				for _, row := range results.Rows {
					calls[row.Probe] += row.Calls
				}
				return calls
			}
			got := calls()
			for _, p := range limited {
				if got[p.Name] != p.Calls {
					t.Errorf("probe %s counted %d calls, want %d", p.Name, got[p.Name], p.Calls)
				}
			}
			var hooked []string
			for _, m := range s.session.Methods() {
				hooked = append(hooked, m.Class+"."+m.Name)
			}
			if !slices.Equal(hooked, []string{"shop/Web.handle"}) {
				t.Errorf("methods with hooks: %q, want that of the probe without a limit", hooked)
			}
			s.do("web 10", "done web 10")
			after := calls()
			if after["all"] < got["all"]+20 {
				t.Errorf("the probe without a limit counted %d calls, then %d", got["all"], after["all"])
			}
			if delete(after, "all"); len(after) != len(limited) {
				t.Errorf("probes %v, want %d", after, len(limited))
			}
			for name, n := range after {
				if n != got[name] {
					t.Errorf("probe %s counted %d calls after its end", name, n-got[name])
				}
			}
		})
	}
}

// records are what was traced: depths and names of calls, and values as name=text.
func (s *shop) records() string {
	s.t.Helper()
	rings, err := s.session.Rings()
	if err != nil {
		s.t.Fatal(err)
	}
	names := s.watch.Names()
	var words []string
	for _, ring := range rings {
		err := ring.Read(func(r arena.Record) {
			spot := names.Spots[r.ID]
			if r.Kind == arena.CallRecord {
				words = append(words, fmt.Sprintf("%d:%s", r.Depth, spot.Name))
				return
			}
			for _, c := range spot.Captures {
				if int(r.Index) == c.Index&^probes.ExitCapture && r.AtExit == (c.Index&probes.ExitCapture != 0) {
					text := r.Text
					if c.Redacted {
						text = probes.Redacted + fmt.Sprint(r.Null)
					}
					words = append(words, c.Text+"="+text)
				}
			}
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return strings.Join(words, " ")
}

// TestTraced: the calls below a root are written down, as deep as was asked for.
func TestTraced(t *testing.T) {
	for _, jdk := range jvmtest.OneJDK(t) {
		t.Run(fmt.Sprintf("jdk%d", jdk.Major), func(t *testing.T) {
			t.Parallel()
			s := openShop(t, jdk)
			report := s.apply(&probeset.Set{Probes: []probeset.Probe{{
				Name: "web", Methods: spectest.Patterns("shop.Web.handle"), When: spectest.Expr(`$1.tier == "gold" && $return == true`), Level: probeset.Capture, Levels: 2,
				Captures: spectest.Exprs("$2", "$1.password", "$return"),
			}}})
			if got := report.Probes[0]; got.Traced != 5 || len(got.Redacted) != 1 {
				t.Errorf("%+v", got)
			}
			s.do("web 3", "done web 3")
			// Inner calls come first. What is deeper, and who is not gold, is not there; what
			// is redacted was not even read.
			var want []string
			for i := range 3 {
				want = append(want, fmt.Sprintf("$2=%d $1.password=(redacted)true 1:<init> 2:charge 2:note 1:place $return=true 0:handle", i))
			}
			if got := s.records(); got != strings.Join(want, " ") {
				t.Errorf("%s", got)
			}
		})
	}
}

// TestRulesInAJVM: classes have hooks when their rule says so, and lose and get them when
// rules change.
func TestRulesInAJVM(t *testing.T) {
	s := openShop(t, jvmtest.Need(t, 17))
	set := &probeset.Set{
		Probes: []probeset.Probe{{Name: "pay", Methods: spectest.Patterns("shop.*.charge"), Level: probeset.Count}},
		Weave:  []probeset.Rule{{Classes: spectest.Classes("shop.Pay"), When: probeset.Never}, {Classes: spectest.Classes("shop.Mock"), When: probeset.Dynamic}},
	}
	if report := s.apply(set); report.Woven != 0 || len(report.Probes[0].LeftOut) != 1 {
		t.Errorf("%+v", report)
	}
	s.do("web 10", "done web 10")
	s.do("mock 5", "done mock 5")
	s.expect("pay", "shop/Pay.charge", 0, 0)
	s.expect("pay", "shop/Mock.charge", 0, 0)
	if report := s.apply(set); report.Woven != 1 { // it has loaded, and this is the next
		t.Errorf("%+v", report)
	}
	s.do("mock 5", "done mock 5")
	s.expect("pay", "shop/Mock.charge", 5, 0)
	set.Weave = []probeset.Rule{{Classes: spectest.Classes("shop.Mock"), When: probeset.Never}}
	if report := s.apply(set); report.Woven != 1 || report.Removed != 1 {
		t.Errorf("%+v", report)
	}
	s.do("web 10", "done web 10")
	s.do("mock 5", "done mock 5")
	s.expect("pay", "shop/Pay.charge", 20, 0)
	s.expect("pay", "shop/Mock.charge", 5, 0)
}
