package session

import (
	"context"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A loading is asked which spots a class gets, on its way in.
type loading struct {
	excludes []string
	spots    func(class string, file []byte) []Spot
}

// OnLoading has a function asked about every class that loads from now on, while a
// thread of the program waits, but for those whose internal names begin as one of
// excludes: it says which spots the class gets. It may be asked by several threads
// at once. What it asks for in classes that are loaded is owed (Owes): Watch does it,
// also with an empty request. It takes the place of the one before; nil asks nobody.
func (s *Session) OnLoading(ctx context.Context, excludes []string, f func(class string, file []byte) []Spot) error {
	var asked *loading
	if f != nil {
		asked = &loading{excludes, f}
	}
	s.book.lock.Lock()
	s.book.loading = asked
	s.book.lock.Unlock()
	return s.showLoading(ctx)
}

// showLoading tells the agent which classes to show while they load.
func (s *Session) showLoading(ctx context.Context) error {
	filters, excludes := s.filters()
	if err := s.peer.Watch(ctx, filters, excludes); err != nil {
		return s.explain(err)
	}
	return nil
}

// ask shows a class that is loading to whoever is to say what it gets.
func (s *Session) ask(class control.Transform) {
	s.book.lock.Lock()
	follower, loading := s.book.follower, s.book.loading
	s.book.lock.Unlock()
	if class.Handle != 0 || exemption(class.Name) != "" {
		return
	}
	follows := follower != nil && !isExcluded(class.Name, follower.Excludes)
	spots := loading != nil && !isExcluded(class.Name, loading.excludes)
	if !follows && !spots {
		return
	}
	isOnly := s.store.arrive(class.Name, class.Bytes)
	// Other classes that have to be woven again are not: this is no moment to wait
	// for that. They are owed.
	if follows {
		s.choices.add(&s.book, follower.Loading(class.Name, class.Bytes))
	}
	if spots {
		s.addSpots(loading.spots(class.Name, class.Bytes))
	}
	if isOnly {
		s.choices.settle(class.Name)
	}
}

func isExcluded(class string, excludes []string) bool {
	return slices.ContainsFunc(excludes, func(prefix string) bool { return strings.HasPrefix(class, prefix) })
}

// filters are what tells the agent which classes to hand over as they load: all
// that a pattern may name, and some more; or, where somebody is asked about classes,
// all but what nobody wants to see.
func (s *Session) filters() (filters []control.Filter, excludes []string) {
	s.book.lock.Lock()
	defer s.book.lock.Unlock()
	for _, w := range s.book.wanted {
		for _, pattern := range w.Methods.Includes() {
			prefix, suffix := pattern.ClassBounds()
			filters = append(filters, control.Filter{Prefix: prefix, Suffix: suffix})
		}
	}
	for _, class := range s.choices.handing() {
		filters = append(filters, control.Filter{Prefix: slashed(class)})
	}
	follower, loading := s.book.follower, s.book.loading
	switch {
	case follower == nil && loading == nil:
		return filters, nil
	case loading == nil:
		excludes = follower.Excludes
	case follower == nil:
		excludes = loading.excludes
	default:
		excludes = common(follower.Excludes, loading.excludes)
	}
	for _, filter := range filters {
		excludes = sparing(excludes, filter.Prefix)
	}
	return []control.Filter{{}}, excludes
}

// A Follower is asked about every class that loads, on its way in, while a thread
// of the program waits.
type Follower struct {
	// Excludes are beginnings of internal names: such classes are not shown.
	Excludes []string
	// Loading says what of the class gets hooks.
	Loading func(class string, file []byte) Request
}

// Follow has classes that load from now on shown to a follower.
func (s *Session) Follow(ctx context.Context, follower Follower) error {
	s.book.lock.Lock()
	s.book.follower = &follower
	s.book.lock.Unlock()
	return s.showLoading(ctx)
}

// Excludes are beginnings of internal names. As in filters, a $ counts as a /.

func slashed(class string) string { return strings.ReplaceAll(class, "$", "/") }

// common are excludes for what both of two lists exclude.
func common(a, b []string) (both []string) {
	for _, one := range a {
		for _, two := range b {
			switch {
			case strings.HasPrefix(one, two):
				both = append(both, one)
			case strings.HasPrefix(two, one):
				both = append(both, two)
			}
		}
	}
	slices.Sort(both)
	return slices.Compact(both)
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// sparing are excludes that spare all names with a beginning, and otherwise exclude
// what others do, or a little less. One that covers the beginning is split, from
// package to package, by the letter its members begin with:
//
//	sparing {"java/"}, "java/util/Map":  java/a … java/t, java/v … java/util/A … java/util/L …
func sparing(excludes []string, beginning string) (spared []string) {
	for _, exclude := range excludes {
		switch {
		case strings.HasPrefix(exclude, beginning):
			// All that it excludes is to be spared.
		case !strings.HasPrefix(beginning, exclude):
			spared = append(spared, exclude)
		default:
			spared = appendAround(spared, exclude, beginning)
		}
	}
	return spared
}

func appendAround(spared []string, exclude, beginning string) []string {
	from := len(exclude)
	for {
		if from == len(beginning) {
			return spared
		}
		for i := range len(letters) {
			if letters[i] != beginning[from] {
				spared = append(spared, beginning[:from]+letters[i:i+1])
			}
		}
		slash := strings.IndexByte(beginning[from:], '/')
		if slash < 0 {
			return spared
		}
		from += slash + 1
	}
}

// exempt are classes that hooks must never be woven into, by internal name; one
// that ends in / or * stands for all that begin so.
var exempt = []struct{ name, reason string }{
	{"java/lang/Thread", "hooks ask it which thread they run in"},
	{"java/lang/BaseVirtualThread", "a hook in it would run between two threads"},
	{"java/lang/VirtualThread*", "a hook in it would run between two threads"},
	{"java/lang/ThreadBuilders*", "a hook in it would run between two threads"},
	{"jdk/internal/vm/Continuation*", "a hook in it would run between two threads"},
	{"jdk/internal/vm/StackChunk*", "a hook in it would run between two threads"},
	{"jdk/internal/vm/ThreadContainer*", "a hook in it would run between two threads"},
	{"jdk/internal/vm/annotation/", "hooks are made of it"},
	{"jdk/internal/event/", "the JVM rewrites it for its flight recorder, and complains where that is not installed"},
	{"jdk/internal/misc/Unsafe", "hooks are made of it"},
	{"sun/misc/Unsafe", "hooks are made of it"},
	{"java/lang/Object", "every object begins with it"},
	{"sun/instrument/", "hooks are put in through it"},
	{"java/lang/instrument/", "hooks are put in through it"},
	{"sonde/agent/", "it is Sonde's own"},
}

// exemption says why a class must not be woven; "" where it may.
func exemption(class string) string {
	if isHooksClass(class) {
		return "it is Sonde's own"
	}
	for _, e := range exempt {
		prefix, isPrefix := strings.CutSuffix(e.name, "*")
		if class == e.name || (isPrefix || strings.HasSuffix(e.name, "/")) && strings.HasPrefix(class, prefix) {
			return e.reason
		}
	}
	return ""
}

func isHooksClass(class string) bool {
	return strings.HasPrefix(class, agent.HookClass()) || strings.HasPrefix(class, "java/lang/SondeHooks")
}
