package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/monitor"
	"github.com/sonde-jvm/sonde/internal/probe"
	"github.com/sonde-jvm/sonde/internal/session"
)

// monitorGroups are the rows of a table, and what counts in them. A pattern has one
// also where it names nothing that is loaded.
func monitorGroups(by string, set *probe.Set, methods []session.Method) *monitor.Groups {
	groups := &monitor.Groups{Of: make(map[uint32][]monitor.Key, len(methods))}
	if by == byMethod {
		for _, m := range methods {
			key := monitor.Key{Method: monitor.Method{Class: strings.ReplaceAll(m.Class, "/", "."), Name: m.Name, Descriptor: m.Descriptor}}
			groups.Keys = append(groups.Keys, key)
			groups.Of[m.ID] = []monitor.Key{key}
		}
		slices.SortFunc(groups.Keys, func(a, b monitor.Key) int {
			return cmp.Or(cmp.Compare(a.Method.Class, b.Method.Class), cmp.Compare(a.Method.Name, b.Method.Name),
				cmp.Compare(a.Method.Descriptor, b.Method.Descriptor))
		})
		return groups
	}
	for _, p := range set.Includes() {
		key := monitor.Key{Pattern: p.String()}
		if slices.Contains(groups.Keys, key) {
			continue // given twice
		}
		groups.Keys = append(groups.Keys, key)
		for _, m := range methods {
			if p.Match(m.Class, m.Name, m.Descriptor) {
				groups.Of[m.ID] = append(groups.Of[m.ID], key)
			}
		}
	}
	return groups
}

// keyRow has the name of a row's method for people.
func keyRow(key monitor.Key) methodRow {
	return methodRow{class: key.Method.Class, name: key.Method.Name, descriptor: key.Method.Descriptor}
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
		if names[key] = key.Pattern; key.Pattern == "" {
			names[key] = methods[i].shown(overloads)
		}
	}
	return names
}
