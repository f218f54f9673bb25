package dump

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
)

func TestQuote(t *testing.T) {
	for _, test := range []struct{ modified, want string }{
		{"", `""`},
		{"say \"hi\"\\", `"say \"hi\"\\"`},
		{"\n\r\t\x01\x7f", `"\n\r\t\u0001\u007f"`},
		{"\xC0\x80", `"\u0000"`},
		{"\u00e9\u200b\u2028", `"é\u200b\u2028"`},
		{"\xED\xA0\xBD\xED\xB8\x80", `"😀"`},
		{"\xED\xAF\xBF\xED\xBF\xBF", `"\U0010ffff"`},
		{"\xED\xA0\xBD!", `"\ud83d!"`},
		{"\xED\xB8\x80", `"\ude00"`},
		{"\xFF\xED\xA0", `"\xff\xed\xa0"`},
	} {
		if got := quote([]byte(test.modified)); got != test.want {
			t.Errorf("%x: %s, want %s", test.modified, got, test.want)
		}
	}
}

func TestWord(t *testing.T) {
	for _, test := range []struct{ modified, want string }{
		{"<init>", "<init>"},
		{"a/b/C$1", "a/b/C$1"},
		{"größe", "größe"},
		{"", `""`},
		{"two words", `"two words"`},
		{`a"b`, `"a\"b"`},
		{"line\nbreak", `"line\nbreak"`},
		{"\xED\xA0\xBD", `"\ud83d"`},
	} {
		if got := word([]byte(test.modified)); got != test.want {
			t.Errorf("%x: %s, want %s", test.modified, got, test.want)
		}
	}
}

func TestNumbersAreExact(t *testing.T) {
	float := func(v float32) string { return floatText(float64(v), 32, uint64(math.Float32bits(v))) }
	double := func(v float64) string { return floatText(v, 64, math.Float64bits(v)) }
	for _, test := range []struct{ got, want string }{
		{float(0.1), "0.1"},
		{float(math.MaxFloat32), "3.4028235e+38"},
		{float(math.SmallestNonzeroFloat32), "1e-45"},
		{float(float32(math.Inf(-1))), "-Inf"},
		{float(math.Float32frombits(0x7fc00001)), "NaN 0x7fc00001"},
		{double(math.Copysign(0, -1)), "-0"},
		{double(1.0 / 3), "0.3333333333333333"},
		{double(math.Float64frombits(0xfff8000000000000)), "NaN 0xfff8000000000000"},
	} {
		if test.got != test.want {
			t.Errorf("%s, want %s", test.got, test.want)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{classFlags.text(0), ""},
		{classFlags.text(0xFFFF), "public 0x0002 0x0004 0x0008 final super 0x0040 0x0080 0x0100 interface abstract 0x0800 synthetic annotation enum module "},
		{methodFlags.text(classfile.AccSynchronized | classfile.AccBridge), "synchronized bridge "},
		{fieldFlags.text(classfile.AccVolatile), "volatile "},
		{requireFlags.text(classfile.AccTransitive | classfile.AccStaticPhase), "transitive static "},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

// TestAlignFindsTheMost compares with the textbook's longest common subsequence.
func TestAlignFindsTheMost(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		a, b := letters(random, random.IntN(30), 4), letters(random, random.IntN(30), 4)
		if got, want := checkAlignment(t, a, b), longestCommon(a, b); got != want {
			t.Fatalf("%v and %v: %d in common, want %d", a, b, got, want)
		}
	}
}

// TestAlignFarApart goes beyond what the exact search bears.
func TestAlignFarApart(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	a, b := letters(random, 6000, 1000000), letters(random, 6000, 1000000)
	var inA, inB []string
	for i := range a {
		inA, inB = append(inA, a[i]), append(inB, b[i])
		if i%100 == 0 {
			inA, inB = append(inA, fmt.Sprint("both ", i)), append(inB, fmt.Sprint("both ", i))
		}
	}
	if got := checkAlignment(t, inA, inB); got < 60 {
		t.Errorf("%d in common, want 60 at least", got)
	}
	if got := checkAlignment(t, letters(random, 9000, 2), letters(random, 3, 2)); got > 3 {
		t.Errorf("%d in common of 3", got)
	}
}

func letters(random *rand.Rand, n, kinds int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(random.IntN(kinds))
	}
	return list
}

// checkAlignment demands that matches are equal and in order, and counts them.
func checkAlignment(t *testing.T, a, b []string) (matches int) {
	t.Helper()
	last := -1
	for j, i := range align(a, b) {
		if i < 0 {
			continue
		}
		if i <= last || a[i] != b[j] {
			t.Fatalf("b[%d] is matched with a[%d], after a[%d]", j, i, last)
		}
		last = i
		matches++
	}
	return matches
}

func longestCommon(a, b []string) int {
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			above := row[j+1]
			if a[i] == b[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}
