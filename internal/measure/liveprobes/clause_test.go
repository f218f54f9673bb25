package liveprobes

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

func TestSplit(t *testing.T) {
	text := func(c *clause) string {
		if c == nil {
			return ""
		}
		return c.expr.Text()
	}
	for _, test := range []struct {
		condition   string
		slower      time.Duration
		entry, exit string
	}{
		{"", 0, "", ""},
		{"$1 > 3", 0, "$1 > 3", ""},
		{"$elapsed > 5ms", 0, "", "$elapsed > 5ms"},
		{`$1 > 3 && $elapsed > 5ms && $2 == "a && $return"`, 0, `$1 > 3  &&  $2 == "a && $return"`, "$elapsed > 5ms"},
		{`$1 > 3 || $return == null`, 0, "", "$1 > 3 || $return == null"},
		{`$1 > 3 || $2 > 3`, time.Millisecond, "$1 > 3 || $2 > 3", "$elapsed >= 1000000ns"},
		{`$1 > 3 || $return == null`, time.Millisecond, "", "$elapsed >= 1000000ns && ($1 > 3 || $return == null)"},
		{`($1 > 3 && $return == null) && $2 == 1`, 0, "$2 == 1", "($1 > 3 && $return == null)"},
		{"", time.Second, "", "$elapsed >= 1000000000ns"},
	} {
		entry, exit, err := split(test.condition, test.slower)
		if err != nil {
			t.Errorf("%s: %v", test.condition, err)
			continue
		}
		if condensed(text(entry)) != condensed(test.entry) || condensed(text(exit)) != condensed(test.exit) {
			t.Errorf("%s: %q and %q", test.condition, text(entry), text(exit))
		}
	}
}

func condensed(s string) string { return strings.ReplaceAll(s, " ", "") }

// TestErrorsPointIntoTheWhole: what is wrong with a part stands where the user wrote it.
func TestErrorsPointIntoTheWhole(t *testing.T) {
	const text = `$1 > 3 && $elapsed > 5ms && $2.tier == 1`
	entry, _, err := split(text, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	err = entry.locate(&condition.Error{Text: entry.expr.Text(), Offset: strings.Index(entry.expr.Text(), "tier"), Length: 4, Detail: "no"})
	var bad *condition.Error
	if !errors.As(err, &bad) || bad.Text != text || bad.Offset != strings.Index(text, "tier") {
		t.Errorf("%+v", bad)
	}
	if _, _, err := split("$1 = 3", 0); err == nil {
		t.Error("= was taken for ==")
	}
}
