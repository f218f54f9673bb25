package instrument

import (
	"bytes"
	"math"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

func TestMethodsThatShareAnIDGetTheirOwn(t *testing.T) {
	var b ids
	b.init()
	natural := uint32(weave.MethodID(classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}))
	// Others have what would be its id, and the one behind that.
	b.methods[natural], b.methods[natural+1] = classfile.MethodRef{Name: "one"}, classfile.MethodRef{Name: "two"}
	got := uint32(b.of(classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}))
	if got == natural || got == natural+1 || arena.ReservedID(got) {
		t.Errorf("id %#x, taken are %#x and the next", got, natural)
	}
	if again := uint32(b.of(classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"})); again != got {
		t.Errorf("id %#x, asked again %#x", got, again)
	}
	if b.methods[got].String() != "a.B.m()V" {
		t.Errorf("id %#x is %s", got, b.methods[got])
	}
}

// TestNoMethodHasAReservedID finds a method whose id is among the last, and has
// others have all that come behind: the search begins anew, past what is reserved.
func TestNoMethodHasAReservedID(t *testing.T) {
	const last = 1 << 12
	name, natural := "", uint32(0)
	for i := 0; natural <= math.MaxUint32-last; i++ {
		name = "m" + strconv.Itoa(i)
		natural = uint32(weave.MethodID(classfile.MethodRef{Class: "a/B", Name: name, Descriptor: "()V"}))
	}
	var b ids
	b.init()
	for id := natural; id != 0; id++ {
		b.methods[id] = classfile.MethodRef{Name: "z"}
	}
	if !arena.ReservedID(0) || !arena.ReservedID(arena.CalibrationID) {
		t.Error("no id, or that of calibration, is not reserved")
	}
	if got := uint32(b.of(classfile.MethodRef{Class: "a/B", Name: name, Descriptor: "()V"})); arena.ReservedID(got) || got >= natural {
		t.Errorf("id %#x where all from %#x on are taken", got, natural)
	}
}

func TestIDsAreTheSameInEverySession(t *testing.T) {
	var one, other ids
	one.init()
	other.init()
	other.of(classfile.MethodRef{Class: "c/D", Name: "n", Descriptor: "()V"})
	if a, b := one.of(classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "(I)V"}), other.of(classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "(I)V"}); a != b {
		t.Errorf("ids %#x and %#x", a, b)
	}
}

// cachedWeaver is a weaver for method m of a/B that keeps what it weaves in a directory.
func cachedWeaver(t *testing.T, dir string, notice func(string)) *Weaver {
	t.Helper()
	kept := cache.Open(cache.Options{Dir: filepath.Join(dir, "cache")}, func(err error) { t.Error(err) })
	t.Cleanup(func() { _ = kept.Close(t.Context()) })
	w, err := NewWeaver(Settings{Cache: kept, Notice: notice})
	if err != nil {
		t.Fatal(err)
	}
	w.AddHook(Hook{MethodRef: classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}})
	return w
}

// smallClass is a/B with a method m that does nothing.
func smallClass() []byte {
	b := classtest.NewBuilder(61, "a/B")
	b.AddMethod(1, "m", "()V", classtest.NewAssembler().Op("return").Code(b, 0, 1))
	return b.Bytes()
}

func weaveSmall(t *testing.T, w *Weaver) *Outcome {
	t.Helper()
	out, err := w.Weave(t.Context(), smallClass())
	if err != nil || len(out.Bytes) == 0 {
		t.Fatalf("nothing is woven: %v", err)
	}
	return out
}

// TestCacheLeavesOtherIDsAlone has two methods share an id, so that one has another
// than the cached class.
func TestCacheLeavesOtherIDsAlone(t *testing.T) {
	dir := t.TempDir()
	first := cachedWeaver(t, dir, nil)
	natural := weaveSmall(t, first).Bytes
	if err := first.settings.Cache.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := cachedWeaver(t, dir, nil)
	if cached := weaveSmall(t, again).Bytes; !bytes.Equal(cached, natural) || again.Weavings().Cached != 1 {
		t.Errorf("the class is not cached: %+v", again.Weavings())
	}
	w := cachedWeaver(t, dir, nil)
	w.ids.methods[uint32(weave.MethodID(classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}))] = classfile.MethodRef{Name: "another"}
	if other := weaveSmall(t, w).Bytes; bytes.Equal(other, natural) || w.Weavings().Cached != 0 {
		t.Errorf("a class with other ids was taken from the cache: %+v", w.Weavings())
	}
}

// TestFingerprintsTellAllApart changes one field of a step at a time.
func TestFingerprintsTellAllApart(t *testing.T) {
	s := cachedWeaver(t, t.TempDir(), nil)
	seen := make(map[string]weave.Step)
	for _, step := range []weave.Step{
		{}, {Do: weave.DoLocal}, {Op: opcode.Nop + 1}, {Value: 1}, {Kind: 'J'}, {Live: []weave.Variable{{Slot: 1, Descriptor: "I"}}}, {Stack: []string{"I"}},
		{Stack: []string{"I", "I"}}, {Const: weave.Constant{Text: "a\" b"}}, {Const: weave.Constant{Text: "a\xed b"}}, {Const: weave.Constant{Text: "a\xee b"}},
		{Const: weave.Constant{Name: "a"}}, {Const: weave.Constant{Descr: "a"}}, {Const: weave.Constant{Raw: "\x01"}}, {Const: weave.Constant{Raw: "\x02"}},
	} {
		print := s.fingerprint([]weave.Lowered{fixed{step}})
		if other, is := seen[print]; is || print != s.fingerprint([]weave.Lowered{fixed{step}}) {
			t.Errorf("%+v has the fingerprint of %+v, or two", step, other)
		}
		seen[print] = step
	}
	if len(seen[s.fingerprint([]weave.Lowered{nil, fixed{}})].Stack) != 0 || s.fingerprint([]weave.Lowered{nil, fixed{}}) == s.fingerprint([]weave.Lowered{fixed{}}) {
		t.Error("a condition's number makes no difference")
	}
}

// fixed is code of one step.
type fixed struct{ step weave.Step }

func (f fixed) Lower(weave.Moment) (*weave.Fragment, error) {
	return &weave.Fragment{Steps: []weave.Step{f.step}}, nil
}

// TestSlowCacheIsNotReadAgain goes on without, and reports that once.
func TestSlowCacheIsNotReadAgain(t *testing.T) {
	var notices []string
	w := cachedWeaver(t, t.TempDir(), func(text string) { notices = append(notices, text) })
	w.disableCache()
	w.disableCache()
	weaveSmall(t, w)
	if w.Weavings() != (Weavings{Woven: 1}) || len(notices) != 1 {
		t.Errorf("%+v, %q", w.Weavings(), notices)
	}
}

// TestEveryHandOffHasItsTemplate and no other method has one.
func TestEveryHandOffHasItsTemplate(t *testing.T) {
	w, err := NewWeaver(Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range handOffMethods {
		h := &handOffMethods[i]
		method := classfile.MethodRef{Class: h.class, Name: h.name, Descriptor: h.descriptor}
		if w.handOffTemplate(method) == nil || w.handOffTemplate(classfile.MethodRef{Class: h.class, Name: "no" + h.name}) != nil {
			t.Errorf("%s has no template, or others have", h)
		}
	}
}

// TestQuotaChangesOnlyTheHookOfItsSpot: a spot with a quota is in the table of spots with its number; others keep their hooks.
func TestQuotaChangesOnlyTheHookOfItsSpot(t *testing.T) {
	w, err := NewWeaver(Settings{Live: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name       string
		spot       Spot
		isSwitched bool
		template   *weave.Template
		word       uint64
		isRefused  bool
	}{
		{name: "no quota", spot: Spot{}, isSwitched: true, template: w.templates.live, word: arena.WatchPure},
		{name: "a quota", spot: Spot{Quota: 3}, template: w.templates.spots.plain, word: arena.WatchPure | 3<<arena.QuotaShift},
		{name: "by callers", spot: Spot{Quota: 4, Context: 2}, template: w.templates.spots.plain, word: arena.WatchPure | 4<<arena.QuotaShift | 2<<32},
		{name: "in a context", spot: Spot{Quota: 5, Below: 1}, template: w.templates.spots.watch, word: arena.WatchPure | 5<<arena.QuotaShift},
		{name: "at the exit", spot: Spot{Quota: arena.MostQuotas, Form: Late}, template: w.templates.spots.late, word: arena.WatchPure | arena.MostQuotas<<arena.QuotaShift},
		{name: "too many", spot: Spot{Quota: arena.MostQuotas + 1}, isRefused: true},
	} {
		tt.spot.MethodRef, tt.spot.Key = classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}, tt.name
		placed, _ := w.Place(&tt.spot)
		if tt.isRefused {
			if placed.IsActive() {
				t.Errorf("%s: quota %d was accepted", tt.name, tt.spot.Quota)
			}
			continue
		}
		template, _ := w.templates.of(&tt.spot, true)
		if got := placed.Entry().Words[2]; got != tt.word || placed.IsSwitched() != tt.isSwitched || template != tt.template {
			t.Errorf("%s: word %#x, in the switch table: %t, want %#x, %t, and the template of that", tt.name, got, placed.IsSwitched(), tt.word, tt.isSwitched)
		}
	}
}
