package condition_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

func seeds(f *testing.F) {
	f.Helper()
	data, err := os.ReadFile("testdata/expressions.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if _, text, ok := strings.Cut(strings.TrimSpace(line), " "); ok && line[0] != '#' {
			f.Add(text)
		}
	}
	f.Add(`$1 == "` + "\xff" + `"`)
}

// FuzzParse holds that what was read is written so that it reads the same again, and
// that errors point into the text.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		expr, err := condition.Parse(text)
		if err != nil {
			located(t, text, err)
			return
		}
		again, err := condition.Parse(expr.String())
		if err != nil {
			var e *condition.Error
			if errors.As(err, &e) && e.Kind == condition.TooMuch {
				return // the parentheses it was written without
			}
			t.Fatalf("%s\nis written %s\nwhich cannot be read: %v", text, expr, err)
		}
		if again.String() != expr.String() {
			t.Fatalf("%s\nis written %s\nwhich is written %s", text, expr, again)
		}
	})
}

func located(t *testing.T, text string, err error) {
	t.Helper()
	var e *condition.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: an error of another type: %v", text, err)
	}
	if e.Offset < 0 || e.Offset > len(text) || e.Length < 0 || e.Detail == "" || e.Text != text {
		t.Fatalf("%s: %+v", text, e)
	}
	_ = e.Render()
}

// FuzzCheck holds that whatever is accepted passes the machine: it neither writes nor
// jumps back nor calls what was not proven, and no verifier has to load a class for it.
func FuzzCheck(f *testing.F) {
	seeds(f)
	fix := anyFixture(f)
	entry, exit := fix.scope(f, "Subject", "call", condition.Entry), fix.scope(f, "Subject", "name", condition.Exit)
	f.Fuzz(func(t *testing.T, text string) {
		expr, err := condition.Parse(text)
		if err != nil {
			return
		}
		for _, x := range []struct {
			scope   condition.Scope
			moments []weave.Moment
			method  string
		}{{entry, []weave.Moment{weave.AtEntry}, "call"}, {exit, []weave.Moment{weave.AtReturn, weave.AtThrow}, "name"}} {
			c, err := condition.Check(expr, x.scope)
			if err != nil {
				located(t, text, err)
				continue
			}
			for _, at := range x.moments {
				fragment, err := c.Lower(at)
				if err == nil {
					err = verifyIn(fix, "Subject", x.method, c, fragment)
				}
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
			}
		}
	})
}
