package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/liveprobes"
	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// monitorGroups are the rows of a table, and what counts in them. A pattern has one
// also where it names nothing that is loaded.
func monitorGroups(by string, set *pattern.Set, subjects []subject) *monitor.Groups {
	groups := &monitor.Groups{Of: make(map[uint32][]monitor.Key, len(subjects))}
	if by == byMethod {
		for _, s := range subjects {
			key := s.context
			key.Method = monitor.Method{Class: strings.ReplaceAll(s.Class, "/", "."), Name: s.Name, Descriptor: s.Descriptor}
			if !slices.Contains(groups.Keys, key) {
				groups.Keys = append(groups.Keys, key)
			}
			groups.Of[s.ID] = []monitor.Key{key}
		}
		slices.SortFunc(groups.Keys, compareKeys)
		return groups
	}
	for _, p := range set.Includes() {
		if slices.ContainsFunc(groups.Keys, func(k monitor.Key) bool { return k.Pattern == p.String() }) {
			continue // given twice
		}
		groups.Keys = append(groups.Keys, patternKeys(groups, p, subjects)...)
	}
	return groups
}

// patternKeys are the rows of a pattern: one for each context in which its methods are
// called, and one without where there is none.
func patternKeys(groups *monitor.Groups, p *pattern.Pattern, subjects []subject) (keys []monitor.Key) {
	for _, s := range subjects {
		if !p.Match(s.Class, s.Name, s.Descriptor) {
			continue
		}
		key := s.context
		key.Pattern = p.String()
		if groups.Of[s.ID] = append(groups.Of[s.ID], key); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		keys = []monitor.Key{{Pattern: p.String()}}
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

func compareKeys(a, b monitor.Key) int {
	return cmp.Or(cmp.Compare(a.Method.Class, b.Method.Class), cmp.Compare(a.Method.Name, b.Method.Name),
		cmp.Compare(a.Method.Descriptor, b.Method.Descriptor), cmp.Compare(a.Within, b.Within), cmp.Compare(a.Tags, b.Tags),
		cmp.Compare(a.Callers, b.Callers))
}

// A subject is what has figures of its own: a method, or one in a context.
type subject struct {
	session.Method
	context monitor.Key // what tells it from others of the method
}

// subjects are what is watched.
func (r *monitorRun) subjects() (all []subject) {
	if !r.watching.isUsed() {
		for _, m := range r.session.Methods() {
			all = append(all, subject{Method: m})
		}
		return all
	}
	results, err := r.watching.Results()
	if err != nil {
		return nil // the end will say it
	}
	byWithin := hasSequences(r.watching.set)
	r.watched = make(map[uint32]session.Method, len(results.Rows))
	for i := range results.Rows {
		s := watchedSubject(&results.Rows[i], byWithin)
		r.watched[s.ID] = s.Method
		all = append(all, s)
	}
	return all
}

func watchedSubject(row *liveprobes.Row, byWithin bool) subject {
	s := subject{Method: session.Method{ID: row.ID, Class: row.Class, Name: row.Name, Descriptor: row.Descriptor}}
	within := ""
	if byWithin {
		within = row.Sequence
	}
	s.context = contextKey(within, row.Label)
	return s
}

// contextKey is what tells a row from others of its method, pattern or probe.
func contextKey(within string, label liveprobes.Label) monitor.Key {
	var tags, callers []string
	for _, tag := range label.Tags {
		tags = append(tags, tag.Name+"="+tag.String())
	}
	for _, caller := range label.Callers {
		name, _, _ := strings.Cut(caller, "(")
		callers = append(callers, strings.ReplaceAll(name, "/", "."))
	}
	if label.Other || label.Unknown {
		callers = append(callers, label.String())
	}
	return monitor.Key{Within: within, Tags: strings.Join(tags, "\n"), Callers: strings.Join(callers, " < ")}
}

// watchedMethod is the method of a row that was seen.
func (r *monitorRun) watchedMethod(id uint32) (session.Method, bool) {
	m, is := r.watched[id]
	return m, is
}

// keyContext is what tells a row from others of its pattern or method, for people.
func keyContext(key monitor.Key) string {
	var words []string
	if key.Within != "" {
		words = append(words, "within "+key.Within)
	}
	if key.Tags != "" {
		words = append(words, strings.ReplaceAll(key.Tags, "\n", " "))
	}
	switch {
	case strings.HasPrefix(key.Callers, "("): // they are not known
		words = append(words, key.Callers)
	case key.Callers != "":
		words = append(words, "< "+key.Callers)
	}
	return strings.Join(words, "; ")
}

// keyRow has the name of a row's method for people.
func keyRow(key monitor.Key) methodRow {
	return methodRow{class: key.Method.Class, name: key.Method.Name, descriptor: key.Method.Descriptor, context: keyContext(key)}
}

// keyNames are rows' names for people. Methods that have a name in common are told
// apart by their parameters.
func keyNames(rows []monitor.Row) map[monitor.Key]string {
	methods := make([]methodRow, len(rows))
	for i := range rows {
		methods[i] = keyRow(rows[i].Key)
	}
	overloads := overloadsOf(methods)
	names := make(map[monitor.Key]string, len(rows))
	for i := range rows {
		key := rows[i].Key
		switch names[key] = key.Pattern; {
		case key.Pattern == "":
			names[key] = methods[i].shown(overloads)
		case methods[i].context != "":
			names[key] += " [" + methods[i].context + "]"
		}
	}
	return names
}
