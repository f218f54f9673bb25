package probeset

import (
	"slices"
	"strings"
)

// otherWords are words that people try for a key.
var otherWords = map[string]string{
	"method": "methods", "pattern": "methods", "patterns": "methods", "match": "methods",
	"in": "within", "sequence": "within", "sequences": "within", "callers": "context",
	"condition": "when", "if": "when", "action": "level",
	"capture": "captures", "depth": "levels", "slower": "slower-than", "threshold": "slower-than",
	"period": "sample", "by": "group-by", "by-tag": "group-by", "group": "group-by",
	"duration": "for", "end": "for", "ends": "for", "limit": "calls", "handoff": "hand-off",
	"tag": "tags", "probe": "probes", "expression": "value", "expr": "value", "where": "at", "id": "name",
	"rule": "weave", "rules": "weave", "weaving": "weave",
}

// ruleWords are those that people try for a key of a rule.
var ruleWords = map[string]string{
	"class": "classes", "package": "classes", "packages": "classes", "name": "classes", "methods": "classes", "method": "classes",
	"pattern": "classes", "patterns": "classes", "match": "classes", "mode": "when", "how": "when", "fate": "when", "weave": "when",
}

// timeWords are those that people try for when classes get hooks.
var timeWords = map[string]string{
	"pack": "static", "packed": "static", "ahead": "static", "build": "static", "ci": "static",
	"loading": "load", "loaded": "load", "on-load": "load", "at-load": "load", "start": "load", "startup": "load", "start-up": "load",
	"later": "dynamic", "lazy": "dynamic", "on-demand": "dynamic", "demand": "dynamic", "redefine": "dynamic", "attach": "dynamic", "runtime": "dynamic",
	"no": "never", "none": "never", "off": "never", "skip": "never", "exclude": "never", "ignore": "never",
}

// nearKey says which key may have been meant, else which there are.
func nearKey(key string, fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	if best := near(key, names, otherWords, ruleWords); best != "" {
		return "did you mean " + best + "?"
	}
	return "there are " + strings.Join(names, ", ")
}

// near is the name that a word may have been meant for: one that others use the word
// for, else the one that is spelt most like it; empty where none is.
func near(word string, names []string, others ...map[string]string) string {
	plain := strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(word))
	for _, words := range others {
		if slices.Contains(names, words[plain]) {
			return words[plain]
		}
	}
	best, least := "", 3
	for _, name := range names {
		if d := distance(plain, name); d < least && d < len(name) {
			best, least = name, d
		}
	}
	return best
}

// distance is how many letters have to be put in, taken out or changed to get from
// one word to another. Words that are too long to be near are far.
func distance(a, b string) int {
	const far = 100
	if len(a) > 40 {
		return far
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
