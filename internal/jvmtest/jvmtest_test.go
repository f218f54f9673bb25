package jvmtest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestOpenReadsTheReleaseFile(t *testing.T) {
	for _, test := range []struct {
		version string
		major   int
	}{
		{"1.8.0_402", 8},
		{"9", 9},
		{"17.0.15", 17},
		{"25.0.3", 25},
	} {
		home := fakeJDK(t, test.version)
		jdk, ok := open(home)
		if !ok || jdk.Major != test.major || jdk.Version != test.version {
			t.Errorf("version %s: got %+v, %v; want major %d", test.version, jdk, ok, test.major)
		}
	}
}

func TestOpenRefusesWhatIsNoJDK(t *testing.T) {
	if _, ok := open(t.TempDir()); ok {
		t.Error("an empty directory was taken for a JDK")
	}
	home := fakeJDK(t, "17.0.1")
	if err := os.Remove(filepath.Join(home, "bin", "javac")); err != nil {
		t.Fatal(err)
	}
	if _, ok := open(home); ok {
		t.Error("a runtime without javac was taken for a JDK")
	}
}

func TestOlderComparesNumbers(t *testing.T) {
	if !older(JDK{Version: "17.0.9"}, JDK{Version: "17.0.15"}) {
		t.Error("17.0.9 should be older than 17.0.15")
	}
}

func TestCompileOnceAndRun(t *testing.T) {
	source := filepath.Join(t.TempDir(), "Hello.java")
	text := `class Hello { public static void main(String[] a) {
		System.out.print("out " + a[0]); System.err.print("err"); System.exit(3); } }`
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, jdk := range JDKs(t) {
		first := Compile(t, jdk, Fixture{Sources: []string{source}})
		if again := Compile(t, jdk, Fixture{Sources: []string{source}}); again != first {
			t.Errorf("JDK %d: compiled again into %s, had %s", jdk.Major, again, first)
		}
		want := Outcome{"out x", "err", 3}
		if got := Run(t, jdk, "-cp", first, "Hello", "x"); got != want {
			t.Errorf("JDK %d: got %+v, want %+v", jdk.Major, got, want)
		}
	}
}

func fakeJDK(t *testing.T, version string) string {
	t.Helper()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"release":   "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"" + version + "\"\n",
		"bin/javac": "",
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func TestTurnsCoverEachCaseOnce(t *testing.T) {
	t.Setenv("SONDE_SOAK", "")
	jdks := JDKs(t)
	for _, cases := range []int{1, 2, 5} {
		for i := range cases {
			runs := 0
			for _, jdk := range jdks {
				if Turn(t, jdk, i, cases) {
					runs++
				}
			}
			want := 1
			if cases == 1 {
				want = len(jdks)
			}
			if len(jdks) > 0 && runs != want {
				t.Errorf("case %d of %d runs with %d JDKs, want %d", i, cases, runs, want)
			}
		}
	}
	if one := OneJDK(t); len(jdks) > 0 && len(one) != 1 {
		t.Errorf("one JDK is %v", one)
	}
	if newest := NewestJDK(t); len(jdks) > 0 && (len(newest) != 1 || newest[0] != jdks[len(jdks)-1]) {
		t.Errorf("the newest JDK of %v is %v", jdks, newest)
	}
	if one := OneOf(t, []int{1, 2, 3}); len(one) != 1 || !slices.Equal(one, OneOf(t, []int{1, 2, 3})) {
		t.Errorf("one of three is %v, want the same one each time", one)
	}
	t.Setenv("SONDE_SOAK", "1")
	if all := OneOf(t, []int{1, 2, 3}); len(all) != 3 {
		t.Errorf("in a soak one of three is %v, want all", all)
	}
	if all := OneJDK(t); len(all) != len(jdks) {
		t.Errorf("in a soak one JDK is %v, want all of %v", all, jdks)
	}
	for _, jdk := range jdks {
		if !Turn(t, jdk, 0, 2) || !Turn(t, jdk, 1, 2) || Times(1, 7) != 7 {
			t.Errorf("JDK %d does not run everything in a soak", jdk.Major)
		}
	}
}
