package expr_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/spec/expr"
)

func parse(t *testing.T, text string) *expr.Expr {
	t.Helper()
	if text == "" {
		return nil
	}
	parsed, err := expr.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return parsed
}

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		condition   string
		slower      time.Duration
		entry, exit string
	}{
		{"", 0, "", ""},
		{"$1 > 3", 0, "$1 > 3", ""},
		{"$elapsed > 5ms", 0, "", "$elapsed > 5ms"},
		{`$1 > 3 && $elapsed > 5ms && $2 == "a && $return"`, 0, `$1 > 3 && $2 == "a && $return"`, "$elapsed > 5ms"},
		{`$1 > 3 || $return == null`, 0, "", "$1 > 3 || $return == null"},
		{`$1 > 3 || $2 > 3`, time.Millisecond, "$1 > 3 || $2 > 3", "$elapsed >= 1000000ns"},
		{`$1 > 3 || $return == null`, time.Millisecond, "", "$elapsed >= 1000000ns && ($1 > 3 || $return == null)"},
		{`($1 > 3 && $return == null) && $2 == 1`, 0, "$1 > 3 && $2 == 1", "$return == null"},
		{`!($1 > 3 && $return == null) && $2 == 1`, 0, "$2 == 1", "!($1 > 3 && $return == null)"},
		{"$returnCode == 4 && $elapsedTime > 3 && $exceptions == null", 0, "$returnCode == 4 && $elapsedTime > 3 && $exceptions == null", ""},
		{"$1.return == 4 && $1 == $exception && $2 in ($return)", 0, "$1.return == 4", "$1 == $exception && $2 in ($return)"},
		{"", time.Second, "", "$elapsed >= 1000000000ns"},
	} {
		entry, exit := expr.Split(parse(t, test.condition), test.slower)
		for _, part := range []struct {
			got  *expr.Expr
			want string
		}{{entry, test.entry}, {exit, test.exit}} {
			switch want := parse(t, part.want); {
			case part.got == nil || want == nil:
				if part.got != want {
					t.Errorf("%s: got %v, want %q", test.condition, part.got, part.want)
				}
			case part.got.String() != want.String() || part.got.Text() != test.condition:
				t.Errorf("%s: got %v of %q, want %v", test.condition, part.got, part.got.Text(), want)
			}
		}
	}
}

func TestReads(t *testing.T) {
	for text, want := range map[string][2]bool{ // the exit, $elapsed
		"$1":                              {false, false},
		"$return":                         {true, false},
		"$return.code":                    {true, false},
		"$returnCode":                     {false, false},
		"$elapsedTime > 3":                {false, false},
		`$1 == "$return $elapsed"`:        {false, false},
		"$1 > 3 || !($elapsed > 5ms)":     {true, true},
		`$exception is java.io.Exception`: {true, false},
		`$return matches "a*"`:            {true, false},
		"tx.return == null":               {false, false},
	} {
		e := parse(t, text)
		if got := [2]bool{e.ReadsExit(), e.ReadsElapsed()}; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// FuzzParse checks that the canonical form of an expression parses to the same form, and
// that errors point into the text.
func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("../../weave/condition/testdata/expressions.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if _, text, ok := strings.Cut(strings.TrimSpace(line), " "); ok && line[0] != '#' {
			f.Add(text)
		}
	}
	f.Add(`$1 == "` + "\xff" + `"`)
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := expr.Parse(text)
		var bad *expr.Error
		if err != nil {
			if !errors.As(err, &bad) || bad.Offset < 0 || bad.Offset > len(text) || bad.Length < 0 || bad.Detail == "" || bad.Text != text {
				t.Fatalf("%s: %+v", text, err)
			}
			_ = bad.Caret()
			return
		}
		again, err := expr.Parse(parsed.String())
		if errors.As(err, &bad) && bad.Kind == expr.TooMuch {
			return // because of the parentheses that the canonical form adds
		}
		if err != nil {
			t.Fatalf("%s has the form %s, which cannot be parsed: %v", text, parsed, err)
		}
		if again.String() != parsed.String() {
			t.Fatalf("%s has the form %s, and that has %s", text, parsed, again)
		}
	})
}
