// Package spectest parses patterns, sequences and expressions for tests. Its functions
// panic where a text is wrong.
package spectest

import (
	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

func all[T any](parse func(string) (T, error), texts []string) (list []T) {
	for _, text := range texts {
		parsed, err := parse(text)
		if err != nil {
			panic(err)
		}
		list = append(list, parsed)
	}
	return list
}

// Pattern parses a pattern of methods.
func Pattern(text string) *pattern.Pattern { return all(pattern.Parse, []string{text})[0] }

// Patterns parses patterns of methods.
func Patterns(texts ...string) []*pattern.Pattern { return all(pattern.Parse, texts) }

// Classes parses patterns of classes.
func Classes(texts ...string) []*pattern.ClassPattern { return all(pattern.ParseClass, texts) }

// Sequences parses sequences.
func Sequences(texts ...string) []*pattern.Sequence { return all(pattern.ParseSequence, texts) }

// Expr parses an expression.
func Expr(text string) *expr.Expr { return all(expr.Parse, []string{text})[0] }

// Exprs parses expressions.
func Exprs(texts ...string) []*expr.Expr { return all(expr.Parse, texts) }
