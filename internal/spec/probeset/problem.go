package probeset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Problem is one thing that is wrong with a set.
type Problem struct {
	File   string // empty for a set that was not read from one
	Line   int    // 0 where it has none
	Where  string // such as "probe checkout, when"; may be empty
	Detail string
	Remedy string // may be empty
}

// String is one line: probes.yaml:12: probe checkout, when: …; write ==.
func (p Problem) String() string {
	var s strings.Builder
	switch {
	case p.Line > 0:
		fmt.Fprintf(&s, "%s:%d: ", p.File, p.Line)
	case p.File != "":
		fmt.Fprintf(&s, "%s: ", p.File)
	}
	if p.Where != "" {
		s.WriteString(p.Where + ": ")
	}
	s.WriteString(p.Detail)
	if p.Remedy != "" {
		s.WriteString("; " + p.Remedy)
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s.String())
}

// Error is all that is wrong with a set, in the order of its lines; at least one.
type Error struct{ Problems []Problem }

// Error is a line for each problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// mostProblems bounds what is told of one file: who reads a thousand lines of a wrong
// one has more to do than they say.
const mostProblems = 100

// failure is the error for problems, nil for none.
func failure(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Line - b.Line })
	if more := len(problems) - mostProblems; more > 0 {
		problems = append(problems[:mostProblems:mostProblems], Problem{
			File: problems[0].File, Detail: fmt.Sprintf("and %d more problems", more),
		})
	}
	return &Error{Problems: problems}
}

// MostBytes is how long the text of a set may be.
const MostBytes = 1 << 20

// document reads the text as YAML: the one node it holds, nil where it is empty.
func document(text []byte, file string) (*yaml.Node, *Problem) {
	if len(text) > MostBytes {
		return nil, &Problem{File: file, Detail: fmt.Sprintf("longer than %d bytes", MostBytes), Remedy: "state less, or patterns instead of methods"}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	if err := decoder.Decode(&first); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, syntaxProblem(text, file, err)
	}
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
		return first.Content[0], nil
	case err != nil:
		return nil, syntaxProblem(text, file, err)
	}
	return nil, &Problem{File: file, Line: second.Line, Detail: "a second document begins here", Remedy: "one file states one set: take the --- out"}
}

var saidLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func syntaxProblem(text []byte, file string, err error) *Problem {
	line, content := brokenLine(text)
	detail := saidLine.ReplaceAllString(strings.Join(strings.Fields(err.Error()), " "), "")
	return &Problem{File: file, Line: line, Detail: "not YAML: " + detail, Remedy: syntaxRemedy(content)}
}

// mostLines bounds the search for the line that is wrong.
const mostLines = 1000

// brokenLine finds the line with which a text stops being YAML: the one behind the
// longest beginning that still is. The library tells where the innermost mapping
// begins instead, or nothing. 0 where the text is too long to search.
func brokenLine(text []byte) (line int, content string) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines) > mostLines {
		return 0, ""
	}
	end := len(text)
	for i := len(lines) - 1; i >= 0; i-- {
		end -= len(lines[i])
		if reads(text[:end]) {
			return i + 1, string(lines[i])
		}
	}
	return 1, string(lines[0])
}

func reads(text []byte) bool {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var n yaml.Node
		if err := decoder.Decode(&n); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

var (
	reserved = regexp.MustCompile("(?:^|[-:\\[,] *)[*&@`%!]")
	opening  = regexp.MustCompile(`(?:- |: )["']`)
)

// syntaxRemedy guesses what was meant by what the line looks like.
func syntaxRemedy(line string) string {
	switch blanks := line[:len(line)-len(strings.TrimLeft(line, " \t"))]; {
	case strings.Contains(blanks, "\t"):
		return "indent with blanks, not with tabs"
	case reserved.MatchString(line):
		return quoteRemedy
	case opening.MatchString(line):
		return "put the whole text in single quotes, as in '$1.tier == \"gold\"'"
	case strings.Count(line, ": ") > 1:
		return "put a text that holds ': ' in single quotes"
	}
	return "each line is 'key: value' or '- value', indented like its neighbours"
}

const quoteRemedy = "put a text that begins with * ! & @ ` or % in single quotes, as in '**.Service.*'"

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
