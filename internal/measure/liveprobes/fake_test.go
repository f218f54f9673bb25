package liveprobes

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A fake is a session without a JVM: it has class files, and notes what is asked of it.
type fake struct {
	image    string
	files    map[string][]byte
	absent   []string // classes that are not loaded
	follower session.Follower
	requests []session.Change
	switched []map[uint32]arena.Probe
	spots    map[string]instrument.Spot
	ids      map[string]uint32
	sum      *arena.Summary
	threads  []arena.Thread
	arrivals []arena.Arrival
	levels   uint32
	opened   uint64            // transactions
	most     map[uint16]uint64 // calls of quotas
	taken    map[uint16]uint64
}

// late are the classes of the fixture that load when a test says so.
var late = []string{"shop/Vip", "shop/Mock", "far/Late"}

func newFake(t *testing.T) *fake {
	t.Helper()
	jdk := jvmtest.Need(t, 17)
	dir := compileShop(t, jdk)
	f := &fake{
		image: jdk.Image(), files: make(map[string][]byte), absent: late, spots: make(map[string]instrument.Spot), ids: make(map[string]uint32),
		sum: &arena.Summary{Methods: make(map[uint32]*arena.Totals)}, most: make(map[uint16]uint64), taken: make(map[uint16]uint64),
	}
	compiled, err := filepath.Glob(filepath.Join(dir, "*/*.class"))
	if err != nil || len(compiled) == 0 {
		t.Fatalf("no classes: %v", err)
	}
	for _, path := range compiled {
		if strings.HasPrefix(filepath.Base(path), "Main") {
			continue
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f.files[filepath.Base(filepath.Dir(path))+"/"+strings.TrimSuffix(filepath.Base(path), ".class")] = file
	}
	return f
}

func compileShop(t *testing.T, jdk jvmtest.JDK) string {
	t.Helper()
	sources, err := filepath.Glob("testdata/shop/*.java")
	if err != nil {
		t.Fatal(err)
	}
	wide, err := filepath.Glob("testdata/wide/*/*.java")
	if err != nil {
		t.Fatal(err)
	}
	sources = append(sources, wide...)
	return jvmtest.Compile(t, jdk, jvmtest.Fixture{Sources: sources, Flags: []string{"--release", "17", "-g", "-Xlint:none"}})
}

// watch applies probes to the fake. Messages for the user are added to notices.
func (f *fake) watch(t *testing.T, notices *[]string) *Probes {
	t.Helper()
	w := newProbes(f, theLibrary(f.image), newShared(), Options{Notice: func(text string) {
		if notices != nil {
			*notices = append(*notices, text)
		}
	}})
	return w
}

// theLibrary is opened once: that takes a while.
func theLibrary(image string) *jimage.Image {
	libraries.Lock()
	defer libraries.Unlock()
	if libraries.opened[image] == nil {
		libraries.opened[image] = jimage.OpenLibrary(image)
	}
	return libraries.opened[image]
}

var libraries = struct {
	sync.Mutex
	opened map[string]*jimage.Image
}{opened: make(map[string]*jimage.Image)}

var bootClasses = []string{"java/lang/Object", "java/lang/String", "java/lang/Integer", "java/lang/Number", "java/lang/Comparable", "java/util/function/Function", "java/util/Iterator"}

func (f *fake) classes(wanted func(class string) bool) (loaded []universe.Loaded) {
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		if wanted(name) && !slices.Contains(f.absent, name) {
			loaded = append(loaded, universe.Loaded{Name: name, Loader: 1, File: f.files[name]})
		}
	}
	return loaded
}

func (f *fake) Prefetch(_ context.Context, wanted, _ func(class string) bool) ([]universe.Loaded, error) {
	return f.classes(wanted), nil
}

func (f *fake) Survey(_ context.Context, wanted func(class string) bool) ([]universe.Loaded, error) {
	loaded := f.classes(wanted)
	for _, c := range f.classes(func(class string) bool { return !wanted(class) }) {
		c.File = nil
		loaded = append(loaded, c)
	}
	for _, name := range bootClasses {
		loaded = append(loaded, universe.Loaded{Name: name})
	}
	return loaded, nil
}

func (f *fake) Restart() {}

func (f *fake) RingCounters() (session.RingCounters, error) {
	f.opened += exploreCalls // each reading sees as many as are waited for
	return session.RingCounters{Opened: f.opened}, nil
}

func (f *fake) HasPending() bool { return false }

func (f *fake) Known(context.Context) ([]universe.Loaded, error) { return nil, nil }

func (f *fake) Follow(_ context.Context, follower session.Follower) error {
	f.follower = follower
	return nil
}

// load has a class loaded, and gives the spots it gets, by name.
func (f *fake) load(class string) (names []string) {
	for _, s := range f.follower.Loading(class, f.files[class]).Spots {
		f.spots[s.FullName()] = s
		names = append(names, s.FullName())
	}
	f.absent = slices.DeleteFunc(slices.Clone(f.absent), func(name string) bool { return name == class })
	slices.Sort(names)
	return names
}

func (f *fake) Update(_ context.Context, change session.Change) (*session.Installation, error) {
	f.requests = append(f.requests, change)
	for _, s := range change.Remove.Spots {
		delete(f.spots, s.FullName())
	}
	for _, s := range change.Add.Spots {
		f.spots[s.FullName()] = s
	}
	return &session.Installation{}, nil
}

func (f *fake) SwitchSpots(_ context.Context, changes map[uint32]arena.Probe) error {
	f.switched = append(f.switched, changes)
	for name, s := range f.spots {
		if change, is := changes[f.SpotID(s)]; is {
			s.Flags, s.Period = change.Flags, change.Period
			f.spots[name] = s
		}
	}
	return nil
}

func (f *fake) TagsClass() string { return instrument.TagsClass() }

func (f *fake) SpotID(s instrument.Spot) uint32 {
	name := s.FullName()
	if f.ids[name] == 0 {
		f.ids[name] = uint32(100_000 + len(f.ids))
	}
	return f.ids[name]
}

// spot is the one of a method whose key begins as said.
func (f *fake) spot(t *testing.T, member, key string) instrument.Spot {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(f.spots)) {
		s := f.spots[name]
		if s.Class+"."+s.Name == member && strings.HasPrefix(s.Key, key) {
			return s
		}
	}
	t.Fatalf("%s has no spot %s; there are %q", member, key, slices.Sorted(maps.Keys(f.spots)))
	return instrument.Spot{}
}

// with are the methods, as class.Name, that have a spot whose key begins as said.
func (f *fake) with(key string) (members []string) {
	for _, s := range f.spots {
		if strings.HasPrefix(s.Key, key) {
			members = append(members, s.Class+"."+s.Name)
		}
	}
	slices.Sort(members)
	return slices.Compact(members)
}

func (f *fake) Discover(time.Duration) error                { return nil }
func (f *fake) Answer(uint64)                               {}
func (f *fake) Sum() (*arena.Summary, error)                { return f.sum, nil }
func (f *fake) Threads() ([]arena.Thread, error)            { return f.threads, nil }
func (f *fake) Now() int64                                  { return 1_000_000 }
func (f *fake) ContextLosses() (ambiguous, contexts uint64) { return 3, 4 }

func (f *fake) MakeQuota(number uint16) error {
	f.most[number], f.taken[number] = 0, 0
	return nil
}

func (f *fake) SetQuota(number uint16, most uint64) { f.most[number] = most }
func (f *fake) IsUsedUp(number uint16) bool         { return f.taken[number] >= f.most[number] }

func (f *fake) SetRings(_, levels uint32) error {
	f.levels = levels
	return nil
}

func (f *fake) Arrivals(after uint64) (new []arena.Arrival, err error) {
	for _, a := range f.arrivals {
		if a.Ticket > after {
			new = append(new, a)
		}
	}
	return new, nil
}
