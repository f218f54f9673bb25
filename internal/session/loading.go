package session

import (
	"context"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/weave/instrument"
	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// A Follower is asked about every class that loads, while a thread of the program waits.
type Follower struct {
	// Excludes are prefixes of internal names of classes that are not shown.
	Excludes []string
	// Loading returns the hooks that the class makes necessary.
	Loading func(class string, file []byte) Request
}

// Follow shows classes that load from now on to a follower.
func (s *Session) Follow(ctx context.Context, follower Follower) error {
	s.state.lock.Lock()
	s.state.follower = &follower
	s.state.lock.Unlock()
	return s.showLoading(ctx)
}

// loadingSpots provides the spots of classes that load.
type loadingSpots struct {
	excludes []string
	spots    func(class string, file []byte) []instrument.Spot
}

// OnLoading asks f for the spots of every class that loads from now on, while a thread of
// the program waits. Classes whose internal names have one of the excluded prefixes are
// not shown. Several threads may call f at once. Spots in classes that are loaded already
// become pending (HasPending): UpdateSpots puts them in, also with an empty request. f
// replaces the function of the call before; nil asks nobody.
func (s *Session) OnLoading(ctx context.Context, excludes []string, f func(class string, file []byte) []instrument.Spot) error {
	var provider *loadingSpots
	if f != nil {
		provider = &loadingSpots{excludes, f}
	}
	s.state.lock.Lock()
	s.state.loading = provider
	s.state.lock.Unlock()
	return s.showLoading(ctx)
}

// showLoading sends the agent the filters of classes to show while they load.
func (s *Session) showLoading(ctx context.Context) error {
	filters, excludes := s.filters()
	return s.explain(s.peer.Watch(ctx, filters, excludes))
}

// askAboutLoading shows a class that is loading to the follower and the provider of spots.
func (s *Session) askAboutLoading(class control.Transform) {
	if class.Handle != 0 || instrument.Exemption(class.Name) != "" {
		return
	}
	s.state.lock.Lock()
	follower, loading := s.state.follower, s.state.loading
	s.state.lock.Unlock()
	isFollowed := follower != nil && !isExcluded(class.Name, follower.Excludes)
	hasSpots := loading != nil && !isExcluded(class.Name, loading.excludes)
	if !isFollowed && !hasSpots {
		return
	}
	s.state.lock.Lock()
	isOnly := s.state.classes.show(class.Name, class.Bytes)
	s.state.lock.Unlock()
	// Other classes that have to be woven for it become pending: the program must not wait
	// for them now.
	if isFollowed {
		s.addTargets(follower.Loading(class.Name, class.Bytes))
	}
	if hasSpots {
		s.addSpots(loading.spots(class.Name, class.Bytes))
	}
	if isOnly { // it is woven as it loads
		s.state.lock.Lock()
		delete(s.state.classes.pending, class.Name)
		s.state.lock.Unlock()
	}
}

// filters returns what the agent shows while it loads: a superset of the classes that
// patterns match; or, where somebody is asked about classes, all except those that nobody
// wants to see.
func (s *Session) filters() (filters []control.Filter, excludes []string) {
	for _, p := range s.weaver.Patterns() {
		for _, pattern := range p.Methods.Includes() {
			prefix, suffix := pattern.ClassBounds()
			filters = append(filters, control.Filter{Prefix: prefix, Suffix: suffix})
		}
	}
	for _, class := range s.weaver.HandingOff() {
		filters = append(filters, control.Filter{Prefix: slashed(class)})
	}
	s.state.lock.Lock()
	follower, loading := s.state.follower, s.state.loading
	s.state.lock.Unlock()
	switch {
	case follower == nil && loading == nil:
		return filters, nil
	case loading == nil:
		excludes = follower.Excludes
	case follower == nil:
		excludes = loading.excludes
	default:
		excludes = intersection(follower.Excludes, loading.excludes)
	}
	for _, filter := range filters {
		excludes = sparing(excludes, filter.Prefix)
	}
	return []control.Filter{{}}, excludes
}

func isExcluded(class string, excludes []string) bool {
	return slices.ContainsFunc(excludes, func(prefix string) bool { return strings.HasPrefix(class, prefix) })
}

// slashed returns a name as the agent's filters compare it: a $ counts as a /.
func slashed(class string) string { return strings.ReplaceAll(class, "$", "/") }

// intersection returns prefixes for what both lists exclude.
func intersection(a, b []string) (both []string) {
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

// sparing returns excludes that do not exclude names with a prefix, and otherwise exclude
// the same names, or slightly fewer. An exclude that covers the prefix is split, package
// by package, by the first letter of its members:
//
//	sparing {"java/"}, "java/util/Map":  java/a … java/t, java/v … java/util/A … java/util/L …
func sparing(excludes []string, prefix string) (spared []string) {
	for _, exclude := range excludes {
		switch {
		case strings.HasPrefix(exclude, prefix):
			// Everything it excludes is spared.
		case !strings.HasPrefix(prefix, exclude):
			spared = append(spared, exclude)
		default:
			spared = appendAround(spared, exclude, prefix)
		}
	}
	return spared
}

func appendAround(spared []string, exclude, prefix string) []string {
	for from := len(exclude); from < len(prefix); {
		for i := range len(letters) {
			if letters[i] != prefix[from] {
				spared = append(spared, prefix[:from]+letters[i:i+1])
			}
		}
		slash := strings.IndexByte(prefix[from:], '/')
		if slash < 0 {
			break
		}
		from += slash + 1
	}
	return spared
}
