package jfluid

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const printed = "Profiler Agent: Initialized\n" +
	"# attach 1000\n# instrument 1500\n# results 1700\n# woven 4000\n# fetch 9000\n" +
	"# hooks 3\n# rounds 2\n# hotswap 700\n" +
	"a.B.c\t(I)V\t12\t5000\t9000\n" +
	"# remove 9100\n# detached 9900\n"

func TestParse(t *testing.T) {
	got, err := parse(printed)
	if err != nil {
		t.Fatal(err)
	}
	want := Method{"a.B.c", "(I)V", 12, 5 * time.Microsecond, 9 * time.Microsecond}
	if len(got.Methods) != 1 || got.Methods[0] != want {
		t.Errorf("methods %+v, want %+v", got.Methods, want)
	}
	if got.Hooks != 3 || got.Rounds != 2 || got.HotSwap != 700 {
		t.Errorf("got %+v", got)
	}
	if moments := [5]time.Duration{got.Began, got.Woven, got.Fetched, got.Removing, got.Gone}; moments != [5]time.Duration{1000, 4000, 9000, 9100, 9900} {
		t.Errorf("moments %v", moments)
	}
}

func TestParseRefusesWhatIsCutShort(t *testing.T) {
	for _, out := range []string{"", printed[:strings.Index(printed, "# detached")], strings.Replace(printed, "\t12\t", "\tx\t", 1)} {
		if got, err := parse(out); err == nil {
			t.Errorf("%q: %+v", out, got)
		}
	}
}

func TestRefusalNamesAnUnknownJDK(t *testing.T) {
	said := "Since the application you are trying to profile runs on 25.0.3 VM not supported by the Profiler, profiling will STOP now."
	if err := refusal(said); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v", err)
	}
	if err := refusal("Target JVM inactive"); errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}
