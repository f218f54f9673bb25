package wanted

import "strings"

// otherWords are words that people try for a key.
var otherWords = map[string]string{
	"method": "methods", "pattern": "methods", "patterns": "methods", "match": "methods",
	"in": "within", "sequence": "within", "sequences": "within", "callers": "context",
	"condition": "when", "if": "when", "action": "level",
	"capture": "captures", "depth": "levels", "slower": "slower-than", "threshold": "slower-than",
	"period": "sample", "by": "group-by", "by-tag": "group-by", "group": "group-by",
	"duration": "for", "end": "for", "ends": "for", "limit": "calls", "handoff": "hand-off",
	"tag": "tags", "probe": "probes", "expression": "value", "expr": "value", "where": "at", "id": "name",
}

// nearKey says which key may have been meant, else which there are.
func nearKey(key string, fields []field) string {
	names := make([]string, len(fields))
	best, least := "", 3
	plain := strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(key))
	if isField(otherWords[plain], fields) {
		return "did you mean " + otherWords[plain] + "?"
	}
	for i, f := range fields {
		names[i] = f.name
		if d := distance(plain, f.name); d < least && d < len(f.name) {
			best, least = f.name, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	return "there are " + strings.Join(names, ", ")
}

func isField(name string, fields []field) bool {
	for _, f := range fields {
		if f.name == name {
			return true
		}
	}
	return false
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
