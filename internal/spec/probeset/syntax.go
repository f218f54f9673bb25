package probeset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
