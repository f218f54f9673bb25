package jdk

import (
	"cmp"
	"errors"
	"testing"
)

func TestParseVersion(t *testing.T) {
	for _, test := range []struct {
		text string
		want [4]int
		ea   bool
	}{
		{"17.0.15", [4]int{17, 0, 15, 0}, false},
		{"25.0.3+9-LTS", [4]int{25, 0, 3, 0}, false},
		{"17.0.15+6-Ubuntu-0ubuntu124.04", [4]int{17, 0, 15, 0}, false},
		{"21", [4]int{21, 0, 0, 0}, false},
		{"21-ea", [4]int{21, 0, 0, 0}, true},
		{"26-ea+12-1234", [4]int{26, 0, 0, 0}, true},
		{"9-internal+0-2017-01-01", [4]int{9, 0, 0, 0}, true},
		{"17.0.20-beta+3-202601", [4]int{17, 0, 20, 0}, true},
		{"17-LTS", [4]int{17, 0, 0, 0}, false},
		{"11.0.20.1", [4]int{11, 0, 20, 1}, false},
		{"11.0.9.1.2", [4]int{11, 0, 9, 1}, false},
		{"1.8.0_402", [4]int{8, 0, 402, 0}, false},
		{"1.8.0_402-b06", [4]int{8, 0, 402, 0}, false},
		{"1.8.0_202-ea", [4]int{8, 0, 202, 0}, true},
		{"1.8.0", [4]int{8, 0, 0, 0}, false},
		{" 17.0.1\n", [4]int{17, 0, 1, 0}, false},
	} {
		v, err := ParseVersion(test.text)
		if got := [4]int{v.Feature, v.Interim, v.Update, v.Patch}; err != nil || got != test.want || v.Early != test.ea {
			t.Errorf("%q: got %v, early %v, %v; want %v, early %v", test.text, got, v.Early, err, test.want, test.ea)
		}
	}
	for _, text := range []string{"", "x", "17..1", "17.0.1x", "1.", "-ea", "17.", "99999999999999999999", "1.8.0_", "_1", "1.8.0_1_2"} {
		var wrong *VersionError
		if v, err := ParseVersion(text); !errors.As(err, &wrong) {
			t.Errorf("%q was taken for %+v, %v", text, v, err)
		}
	}
}

func TestVersionsAreOrdered(t *testing.T) {
	ordered := []string{"1.8.0", "1.8.0_402", "9", "11.0.9", "11.0.20", "11.0.20.1", "17", "17.0.9", "17.0.15", "21-ea", "21"}
	for i := range ordered {
		for k := range ordered {
			a, _ := ParseVersion(ordered[i])
			b, _ := ParseVersion(ordered[k])
			if got, want := a.Compare(b), cmp.Compare(i, k); got != want {
				t.Errorf("%s against %s: %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestFeature(t *testing.T) {
	for version, want := range map[string]int{"": 0, "1.8.0_402": 8, "17": 17, "17.0.15": 17, "22-ea": 22, "x": 0, "9-internal+0": 9} {
		if got := Feature(version); got != want {
			t.Errorf("%q: %d, want %d", version, got, want)
		}
	}
}

func FuzzVersion(f *testing.F) {
	for _, text := range []string{"17.0.15", "25.0.3+9-LTS", "26-ea+12", "11.0.20.1", "1.8.0_402-b06", "1.8.0_ea", "9-internal"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseVersion(text)
		if err != nil {
			var bad *VersionError
			if !errors.As(err, &bad) || Feature(text) != 0 {
				t.Errorf("%q: %v, feature %d", text, err, Feature(text))
			}
			return
		}
		again, err := ParseVersion(v.String())
		if err != nil || again != v || v.Feature < 1 || again.Compare(v) != 0 {
			t.Errorf("%q is %+v, and its text %q is %+v, %v", text, v, v, again, err)
		}
		Bugs(v)
	})
}
