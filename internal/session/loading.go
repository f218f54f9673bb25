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
	// Loading returns the hooks that the class makes necessary. Several threads may call it
	// at once. Hooks in classes that are loaded already become pending (HasPending).
	Loading func(class string, file []byte) Request
}

// Follow shows classes that load from now on to a follower, instead of the one before.
func (s *Session) Follow(ctx context.Context, follower Follower) error {
	s.state.lock.Lock()
	s.state.follower = &follower
	s.state.lock.Unlock()
	return s.showLoading(ctx)
}

// showLoading sends the agent the filters of classes to show while they load.
func (s *Session) showLoading(ctx context.Context) error {
	filters, excludes := s.filters()
	return s.explain(s.peer.Watch(ctx, filters, excludes))
}

// askAboutLoading passes a class that is loading to the follower.
func (s *Session) askAboutLoading(class control.Transform) {
	if class.Handle != 0 || instrument.Exemption(class.Name) != "" {
		return
	}
	s.state.lock.Lock()
	follower := s.state.follower
	isFollowed := follower != nil && !isExcluded(class.Name, follower.Excludes)
	isOnly := isFollowed && s.state.classes.show(class.Name, class.Bytes)
	s.state.lock.Unlock()
	if !isFollowed {
		return
	}
	// Other classes that have to be woven for it become pending: the program must not wait
	// for them now.
	s.addTargets(follower.Loading(class.Name, class.Bytes))
	if isOnly { // it is woven as it loads
		s.state.lock.Lock()
		delete(s.state.classes.pending, class.Name)
		s.state.lock.Unlock()
	}
}

// filters returns what the agent shows while it loads: a superset of the classes that
// patterns match; or, where a follower is asked about classes, all except those that it excludes.
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
	follower := s.state.follower
	s.state.lock.Unlock()
	if follower == nil {
		return filters, nil
	}
	excludes = follower.Excludes
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
