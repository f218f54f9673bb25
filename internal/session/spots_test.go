package session

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/classfile/opcode"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// TestSpotsStandInTheirOrder weaves several around one method, beside its own hook:
// each has its id, and they stand as is promised, whatever they were asked for in.
func TestSpotsStandInTheirOrder(t *testing.T) {
	spots := []instrument.Spot{
		spotOf("m", instrument.Anchors, "anchor"), spotOf("m", instrument.Watches, "b", always{}),
		spotOf("m", instrument.Watches, "a"), spotOf("m", instrument.Tags, "tag"),
	}
	wanted := func(s *Session) []uint32 {
		return []uint32{
			s.ID(classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}), s.SpotID(spots[3]), s.SpotID(spots[2]), s.SpotID(spots[1]), s.SpotID(spots[0]),
		}
	}
	var first []byte
	for turn := range spots {
		s := bareSession(t)
		s.addTargets(Request{Hooks: []Hook{{MethodRef: classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}}}})
		s.addSpots(append(slices.Clone(spots[turn:]), spots[:turn]...))
		woven := s.weaveOwn(t)
		if have := idsIn(t, woven, "m"); !slices.Equal(have, wanted(s)) {
			t.Errorf("ids %#x, want %#x", have, wanted(s))
		}
		if first == nil {
			first = woven
		}
		if !bytes.Equal(first, woven) || !bytes.Equal(first, s.weaveOwn(t)) {
			t.Error("the same spots are woven to other bytes")
		}
	}
}

// TestSpotsHaveIDsOfTheirOwn which are the same in every session.
func TestSpotsHaveIDsOfTheirOwn(t *testing.T) {
	one, other := bareSession(t), bareSession(t)
	a, b := spotOf("m", instrument.Watches, "a"), spotOf("m", instrument.Watches, "b")
	other.SpotID(b)
	if one.SpotID(a) != other.SpotID(a) || one.SpotID(a) == one.SpotID(b) || one.SpotID(a) == one.ID(classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}) {
		t.Errorf("ids %#x, %#x and %#x, %#x", one.SpotID(a), one.SpotID(b), other.SpotID(a), other.SpotID(b))
	}
	if one.SpotID(a) != uint32(weave.MethodID(classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V#a"})) {
		t.Errorf("id %#x is not that of its name", one.SpotID(a))
	}
}

// TestSpotsThatCannotBeAreNamed asks for spots where none can stand, and for code that
// no hook can have. Methods beside them, and spots beside one that is bad, are woven.
func TestSpotsThatCannotBeAreNamed(t *testing.T) {
	s := bareSession(t)
	surplus := spotOf("m", instrument.Watches, "surplus", always{}, always{})
	distant := spotOf("other", instrument.Watches, "distant")
	distant.Below = 1 << arena.MostPositions
	s.addSpots([]instrument.Spot{
		distant,
		spotOf("m", instrument.Watches, "good", always{}),
		spotOf("m", instrument.Watches, "bad", always{fails: true}),
		surplus,
		spotOf("native", instrument.Watches, "a"), spotOf("abstract", instrument.Anchors, "a"), spotOf("bridge", instrument.Watches, "a"),
		spotOf("none", instrument.Watches, "a"),
	})
	woven := s.weaveOwn(t)
	if have := idsIn(t, woven, "m"); !slices.Equal(have, []uint32{s.SpotID(spotOf("m", instrument.Watches, "good"))}) {
		t.Errorf("ids %#x stand in m", have)
	}
	want := []string{
		"abstract()V: it is abstract", "bridge()V: it is a bridge", "m()V: its hook has no place for condition 1",
		"m()V: template ", "native()V: it is native", "none()V: the class has no such method",
		"other()V: no spot, anchor or tag point can have ID ",
	}
	left := s.leftAlone()
	for i, l := range left {
		if i >= len(want) || !strings.HasPrefix(l.Method+": "+l.Reason, want[i]) || l.Class != "a/B" {
			t.Errorf("left alone: %+v", l)
		}
	}
	if len(left) != len(want) {
		t.Errorf("%d are left alone, want %d", len(left), len(want))
	}
	for _, p := range s.Spots() {
		if p.Woven != (p.Key == "good") {
			t.Errorf("%s#%s is woven: %t", p.Name, p.Key, p.Woven)
		}
	}
}

// TestAMethodKeepsItsHooksWhereItsConditionIsTooLong weaves it without.
func TestAMethodKeepsItsHooksWhereItsConditionIsTooLong(t *testing.T) {
	s := bareSession(t)
	s.addTargets(Request{Hooks: []Hook{{MethodRef: classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}}}})
	long := spotOf("m", instrument.Watches, "long", always{steps: 1 << 16})
	s.addSpots([]instrument.Spot{long, spotOf("m", instrument.Anchors, "anchor"), spotOf("other", instrument.Watches, "a", always{})})
	woven := s.weaveOwn(t)
	want := []uint32{s.ID(classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}), s.SpotID(spotOf("m", instrument.Anchors, "anchor"))}
	if have := idsIn(t, woven, "m"); !slices.Equal(have, want) {
		t.Errorf("ids %#x, want %#x", have, want)
	}
	if have := idsIn(t, woven, "other"); len(have) != 1 {
		t.Errorf("ids %#x stand in the other method", have)
	}
	if left := s.leftAlone(); len(left) != 1 || left[0].Method != "m()V" || !strings.Contains(left[0].Reason, "large") {
		t.Errorf("left alone: %v", left)
	}
}

// TestOnlyNewCodeIsWoven asks again for a spot, with another setting and with another
// condition.
func TestOnlyNewCodeIsWoven(t *testing.T) {
	s := bareSession(t)
	for _, test := range []struct {
		name string
		spot instrument.Spot
		owed bool
	}{
		{"new", spotOf("m", instrument.Watches, "a", always{}), true},
		{"the same", spotOf("m", instrument.Watches, "a", always{}), false},
		{"another condition", spotOf("m", instrument.Watches, "a", always{steps: 1}), true},
		{"no condition", spotOf("m", instrument.Watches, "a"), true},
		{"another kind", spotOf("m", instrument.Anchors, "a"), true},
		{"another setting", instrument.Spot{MethodRef: classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}, Key: "a", Kind: instrument.Anchors, First: 2}, false},
		{"one that cannot be", instrument.Spot{MethodRef: classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}, Key: "a", Kind: instrument.Anchors, First: 1 << 31}, true},
		{"it again", instrument.Spot{MethodRef: classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}, Key: "a", Kind: instrument.Anchors, First: 1 << 31}, false},
		{"one that can", instrument.Spot{MethodRef: classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}, Key: "a", Kind: instrument.Anchors, First: 2}, true},
	} {
		s.addSpots([]instrument.Spot{test.spot})
		if owed := len(s.state.classes.takePending(time.Now())) == 1; owed != test.owed {
			t.Errorf("%s: owed %t", test.name, owed)
		}
	}
	if entry := s.state.spots.entries[s.SpotID(spotOf("m", instrument.Anchors, "a"))]; entry.Words[0] != 2<<32 {
		t.Errorf("the setting is %+v", entry)
	}
}

// TestASpotThatIsTakenOutLeavesOthers beside it, and the class only when it is bare.
func TestASpotThatIsTakenOutLeavesOthers(t *testing.T) {
	s := bareSession(t)
	hook := Hook{MethodRef: classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}}
	s.addTargets(Request{Hooks: []Hook{hook}})
	a, b := spotOf("m", instrument.Watches, "a"), spotOf("m", instrument.Watches, "b")
	s.addSpots([]instrument.Spot{a, b})
	s.weaveOwn(t)
	s.state.classes.takePending(time.Now())
	s.removeTargets(Request{Spots: []instrument.Spot{a, spotOf("m", instrument.Watches, "unknown")}})
	if have := idsIn(t, s.weaveOwn(t), "m"); !slices.Equal(have, []uint32{s.ID(classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"}), s.SpotID(b)}) {
		t.Errorf("ids %#x stand in m", have)
	}
	s.removeTargets(Request{Spots: []instrument.Spot{b}})
	if have := idsIn(t, s.weaveOwn(t), "m"); !slices.Equal(have, []uint32{s.ID(classfile.MethodRef{Class: "a/B", Name: "m", Descriptor: "()V"})}) || s.state.classes.named("a/B").emptied {
		t.Errorf("ids %#x stand in m", have)
	}
	s.removeTargets(Request{Hooks: []Hook{hook}})
	if !s.state.classes.named("a/B").emptied || s.weaver.Names("a/B") || s.wovenClasses() != 0 || len(s.Spots()) != 0 {
		t.Errorf("the class is not bare: %v", s.Spots())
	}
	if debts := s.state.classes.takePending(time.Now()); len(debts) != 1 || debts["a/B"] == nil {
		t.Errorf("owed is %v", debts)
	}
}

// TestAClassThatLoadsGetsItsSpots asks what it is to have, and owes what it asks for
// elsewhere.
func TestAClassThatLoadsGetsItsSpots(t *testing.T) {
	s := bareSession(t)
	asked := 0
	s.look(Settings{}).follower = &Follower{Excludes: []string{"java/"}, Loading: func(class string, file []byte) Request {
		asked++
		elsewhere := spotOf("m", instrument.Anchors, "anchor")
		elsewhere.Class = "c/D"
		return Request{Spots: []instrument.Spot{spotOf("m", instrument.Watches, "a"), elsewhere}}
	}}
	s.askAboutLoading(control.Transform{Name: "java/util/List"})
	s.askAboutLoading(control.Transform{Name: "a/B", Handle: 7})
	if asked != 0 {
		t.Error("asked about a class that is excluded, or loaded")
	}
	s.askAboutLoading(control.Transform{Name: "a/B", Bytes: ownClass()})
	if debts := s.state.classes.takePending(time.Now()); asked != 1 || len(debts) != 1 || debts["c/D"] == nil {
		t.Errorf("asked %d times; owed is %v", asked, debts)
	}
	if have := idsIn(t, s.weaveOwn(t), "m"); len(have) != 1 {
		t.Errorf("ids %#x stand in m", have)
	}
	if s.state.installing > 0 || !s.state.spots.differs() {
		t.Error("its spot is on before a table was sent")
	}
}

// TestATableHasWhatHooksRead also tells whom positions belong to.
func TestATableHasWhatHooksRead(t *testing.T) {
	s := bareSession(t)
	watched := spotOf("m", instrument.Watches, "a", always{calls: "java/lang/String"})
	watched.Below, watched.Direct, watched.Groups, watched.Context = 4, 8, 3, 2
	watched.Flags, watched.Period = arena.On|arena.Sampled, 5
	anchor := spotOf("other", instrument.Anchors, "a")
	anchor.First, anchor.Below, anchor.Direct = 1, 2, 4
	tag := spotOf("m", instrument.Tags, "a")
	tag.Key, tag.Tag = "tag", 7
	s.addSpots([]instrument.Spot{watched, anchor, tag})
	for _, test := range []struct {
		spot instrument.Spot
		want [3]uint64
	}{
		{watched, [3]uint64{4 | 8<<32, 0, 3 | 2<<32}},
		{anchor, [3]uint64{2 | 1<<32, 4, 0}},
		{tag, [3]uint64{7, 0, 0}},
	} {
		id := s.SpotID(test.spot)
		want := arena.WatchEntry{Probe: arena.Probe{ID: id, Flags: test.spot.Flags | arena.On, Period: test.spot.Period}, Words: test.want}
		if have := s.state.spots.entries[id]; have != want {
			t.Errorf("%s: %+v, want %+v", test.spot.Key, have, want)
		}
	}
	pure := spotOf("m", instrument.Watches, "pure", always{})
	s.addSpots([]instrument.Spot{pure})
	if have := s.state.spots.entries[s.SpotID(pure)].Words[2]; have != arena.WatchPure {
		t.Errorf("a condition that calls nothing has %#x", have)
	}
	table, err := instrument.SpotTable(s.state.spots.entries, s.state.spots.spots, nil)
	if err != nil || len(table.Anchors) != 1 || table.Anchors[0] != (control.Anchor{Member: "a/B.other()V", Positions: 7}) {
		t.Errorf("anchors %v, %v", table.Anchors, err)
	}
}

// A spotWoven is a spot and whether it has its hook.
type spotWoven struct {
	instrument.Spot
	ID    uint32
	Woven bool // its hook is in a loaded class
}

// Spots returns all spots, by name.
func (s *Session) Spots() []spotWoven {
	s.state.lock.Lock()
	defer s.state.lock.Unlock()
	var all []spotWoven
	for id, p := range s.state.spots.spots {
		all = append(all, spotWoven{p.Spot, id, s.state.spots.woven[id]})
	}
	slices.SortFunc(all, func(a, b spotWoven) int { return strings.Compare(a.FullName(), b.FullName()) })
	return all
}

// bareSession is one without a JVM: it can choose and weave.
func bareSession(t testing.TB) *Session {
	t.Helper()
	return weavingSession(t, nil)
}

// weavingSession is bareSession with a cache.
func weavingSession(t testing.TB, c *cache.Cache) *Session {
	t.Helper()
	s := &Session{}
	s.looks.used = make(map[uint32]*Look)
	s.state.init()
	var err error
	s.weaver, err = instrument.NewWeaver(instrument.Settings{Cache: c, Notice: func(text string) {
		if s.settings.Notice != nil {
			s.settings.Notice(text)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ownClass is a/B, with methods of several kinds.
func ownClass() []byte {
	b := classtest.NewBuilder(61, "a/B")
	b.Access |= uint16(classfile.AccAbstract)
	body := func() []byte { return classtest.NewAssembler().Op("return").Code(b, 0, 1) }
	b.AddMethod(1, "m", "()V", body())
	b.AddMethod(1, "other", "()V", body())
	b.AddMethod(uint16(classfile.AccBridge|classfile.AccPublic), "bridge", "()V", body())
	b.AddMethod(uint16(classfile.AccNative|classfile.AccPublic), "native", "()V")
	b.AddMethod(uint16(classfile.AccAbstract|classfile.AccPublic), "abstract", "()V")
	return b.Bytes()
}

// weaveOwn weaves a/B as it would be in a JVM.
func (s *Session) weaveOwn(t *testing.T) []byte {
	t.Helper()
	woven, _, err := s.weaveBytes(t.Context(), "a/B", ownClass())
	if err != nil {
		t.Fatal(err)
	}
	return woven
}

// spotOf is a spot in a method of a/B.
func spotOf(method string, kind instrument.SpotKind, key string, codes ...weave.Lowered) instrument.Spot {
	return instrument.Spot{MethodRef: classfile.MethodRef{Class: "a/B", Name: method, Descriptor: "()V"}, Key: key, Kind: kind, Code: codes}
}

// always is a condition that holds, or fails to be made.
type always struct {
	steps int    // that do nothing
	calls string // a class of which it calls a method, as far as can be seen
	fails bool
}

func (a always) Lower(weave.Moment) (*weave.Fragment, error) {
	if a.fails {
		return nil, errors.New("it cannot be")
	}
	f := &weave.Fragment{MaxStack: 1}
	if a.calls != "" {
		f.Steps = append(f.Steps, weave.Step{
			Do: weave.DoConstant, Op: opcode.Invokestatic,
			Const: weave.Constant{Tag: classfile.TagMethodref, Text: a.calls, Name: "call", Descr: "()V"},
		})
	}
	f.Steps = append(f.Steps, slices.Repeat([]weave.Step{{Op: opcode.Nop}}, a.steps)...)
	f.Steps = append(f.Steps, weave.Step{Op: opcode.Iconst1})
	return f, nil
}

// idsIn are the ids that a method's hooks have, in the order they are first used.
func idsIn(t *testing.T, class []byte, method string) (ids []uint32) {
	t.Helper()
	c, err := classfile.Parse(class)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Methods {
		name, _, err := c.MemberName(&c.Methods[i])
		if err != nil || string(name) != method {
			continue
		}
		body, err := code.Lift(c, &c.Methods[i])
		if err != nil {
			t.Fatal(err)
		}
		for n := body.First(); n != nil; n = n.Next() {
			if !n.Is(opcode.Ldc) || c.Pool.Tag(n.Index()) != classfile.TagInteger {
				continue
			}
			if id, err := c.Pool.Int(n.Index()); err == nil && !slices.Contains(ids, uint32(id)) {
				ids = append(ids, uint32(id))
			}
		}
	}
	return ids
}
