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
	// Only are the names of classes that are shown; nil for all.
	Only []control.Filter
	// Excludes are prefixes of internal names of classes that are not shown.
	Excludes []string
	// Loading returns the hooks that the class makes necessary. Several threads may call it
	// at once. Hooks in classes that are loaded already become pending (HasPending).
	Loading func(class string, file []byte) Request
}

// showLoading sends the agent the filters of classes to show while they load.
func (s *Session) showLoading(ctx context.Context) error {
	filters, excludes := s.filters()
	return s.explain(s.peer.Watch(ctx, filters, excludes))
}

// askAboutLoading passes a class that is loading to the followers.
func (s *Session) askAboutLoading(class control.Transform) {
	if class.Handle != 0 || instrument.Exemption(class.Name) != "" {
		return
	}
	s.looks.lock.Lock()
	followers := slices.DeleteFunc(s.looks.followers(), func(l *Look) bool { return isExcluded(class.Name, l.follower.Excludes) })
	s.looks.lock.Unlock()
	if len(followers) == 0 {
		return
	}
	s.state.lock.Lock()
	isOnly := s.state.classes.show(class.Name, class.Bytes)
	s.state.lock.Unlock()
	// Other classes that have to be woven for it become pending: the program must not wait
	// for them now.
	for _, l := range followers {
		l.load(class)
	}
	if isOnly { // it is woven as it loads
		s.state.lock.Lock()
		delete(s.state.classes.pending, class.Name)
		s.state.lock.Unlock()
	}
}

// load asks the look's follower about a class that is loading.
func (l *Look) load(class control.Transform) {
	l.looks.lock.Lock()
	follower := l.follower
	l.looks.lock.Unlock()
	if follower == nil {
		return // it was closed meanwhile
	}
	request := follower.Loading(class.Name, class.Bytes)
	idle, active := l.freshIDs(request)
	l.rebase(append(idle, active...))
	l.looks.lock.Lock()
	merged := l.want(request)
	l.looks.lock.Unlock()
	l.addTargets(merged)
}

// filters returns what the agent shows while it loads: what a follower asks for, and classes
// through which tasks are handed on.
func (s *Session) filters() (filters []control.Filter, excludes []string) {
	for _, class := range s.weaver.HandingOff() {
		filters = append(filters, control.Filter{Prefix: slashed(class)})
	}
	isAll := false
	s.looks.lock.Lock()
	for _, l := range s.looks.followers() {
		switch {
		case l.follower.Only != nil:
			filters = append(filters, l.follower.Only...)
		case isAll:
			excludes = commonExcludes(excludes, l.follower.Excludes)
		default:
			isAll, excludes = true, l.follower.Excludes
		}
	}
	s.looks.lock.Unlock()
	if !isAll {
		return filters, nil
	}
	for _, filter := range filters {
		excludes = sparing(excludes, filter.Prefix)
	}
	return []control.Filter{{}}, excludes
}

// commonExcludes returns the prefixes of names that both lists exclude.
func commonExcludes(a, b []string) (both []string) {
	for _, prefix := range a {
		if isExcluded(prefix, b) {
			both = append(both, prefix)
		}
	}
	for _, prefix := range b {
		if isExcluded(prefix, a) && !slices.Contains(both, prefix) {
			both = append(both, prefix)
		}
	}
	return both
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
