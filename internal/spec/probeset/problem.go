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

	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// Problem is an error in a set.
type Problem struct {
	File   string // empty for a set made from flags
	Line   int    // 0 where unknown
	Where  string // such as "probe checkout, when"; may be empty
	Detail string
	Remedy string // may be empty
}

// String returns one line: probes.yaml:12: probe checkout, when: …; write ==.
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
	return pattern.OneLine(s.String())
}

// Error is the problems of a set, by line; there is at least one.
type Error struct{ Problems []Problem }

// Error returns a line for each problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems is the maximum number of problems that are reported.
const maxProblems = 100

// failure returns the error for some problems, nil for none.
func failure(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Line - b.Line })
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems:maxProblems], Problem{
			File: problems[0].File, Detail: fmt.Sprintf("and %d more problems", more),
		})
	}
	return &Error{Problems: problems}
}

// MaxBytes is the maximum length of the text of a set.
const MaxBytes = 1 << 20

func document(text []byte, file string) (*yaml.Node, *Problem) {
	if len(text) > MaxBytes {
		return nil, &Problem{File: file, Detail: fmt.Sprintf("the file is longer than %d bytes", MaxBytes), Remedy: "use patterns instead of single methods"}
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
	return nil, &Problem{File: file, Line: second.Line, Detail: "a second document begins here", Remedy: "a file has one set: remove the ---"}
}

var saidLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func syntaxProblem(text []byte, file string, err error) *Problem {
	line, content := brokenLine(text)
	detail := saidLine.ReplaceAllString(strings.Join(strings.Fields(err.Error()), " "), "")
	return &Problem{File: file, Line: line, Detail: "not YAML: " + detail, Remedy: syntaxRemedy(content)}
}

// maxSearched is the maximum number of lines in which the wrong one is searched.
const maxSearched = 1000

// brokenLine returns the line with which a text stops being YAML: the one after the longest
// prefix that is. The library reports where the innermost mapping begins instead, or
// nothing. It returns 0 where the text is too long to search.
func brokenLine(text []byte) (line int, content string) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines) > maxSearched {
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

// syntaxRemedy guesses a remedy from the look of the line.
func syntaxRemedy(line string) string {
	switch blanks := line[:len(line)-len(strings.TrimLeft(line, " \t"))]; {
	case strings.Contains(blanks, "\t"):
		return "indent with blanks, not with tabs"
	case reserved.MatchString(line):
		return quoteRemedy
	case opening.MatchString(line):
		return "put the whole text in single quotes, as in '$1.tier == \"gold\"'"
	case strings.Count(line, ": ") > 1:
		return "put a text that contains ': ' in single quotes"
	}
	return "each line must be 'key: value' or '- value', indented like its neighbours"
}

const quoteRemedy = "put a text that begins with * ! & @ ` or % in single quotes, as in '**.Service.*'"

// otherWords are words that users may try as keys.
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

// ruleWords are words that users may try as keys of a rule.
var ruleWords = map[string]string{
	"class": "classes", "package": "classes", "packages": "classes", "name": "classes", "methods": "classes", "method": "classes",
	"pattern": "classes", "patterns": "classes", "match": "classes", "mode": "when", "how": "when", "fate": "when", "weave": "when",
}

// timeWords are words that users may try for when classes get hooks.
var timeWords = map[string]string{
	"pack": "static", "packed": "static", "ahead": "static", "build": "static", "ci": "static",
	"loading": "load", "loaded": "load", "on-load": "load", "at-load": "load", "start": "load", "startup": "load", "start-up": "load",
	"later": "dynamic", "lazy": "dynamic", "on-demand": "dynamic", "demand": "dynamic", "redefine": "dynamic", "attach": "dynamic", "runtime": "dynamic",
	"no": "never", "none": "never", "off": "never", "skip": "never", "exclude": "never", "ignore": "never",
}

// nearKey returns a remedy: the key that may have been meant, or all keys.
func nearKey(key string, fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	if best := near(key, names, otherWords, ruleWords); best != "" {
		return "did you mean " + best + "?"
	}
	return "known keys are " + strings.Join(names, ", ")
}

// near returns the name that a word may stand for: by the tables of other words, or by its
// spelling; empty where there is none.
func near(word string, names []string, others ...map[string]string) string {
	plain := strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(word))
	for _, words := range others {
		if slices.Contains(names, words[plain]) {
			return words[plain]
		}
	}
	best, least := "", 3
	if len(plain) > 40 {
		return ""
	}
	for _, name := range names {
		if d := pattern.Distance(plain, name); d < least && d < len(name) {
			best, least = name, d
		}
	}
	return best
}
