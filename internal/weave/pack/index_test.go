package pack

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestHashesAreJavas has values that Java gives.
func TestHashesAreJavas(t *testing.T) {
	for name, want := range map[string]int32{
		"":                         0,
		"a":                        97,
		"hello":                    99162322,
		"java/lang/Object":         2080463411,
		"polygenelubricants":       -2147483648,
		"\xc3\xa4\xc3\xb6":         7314,
		"\xe4\xb8\xad":             20013,
		"\xed\xa0\xbd\xed\xb8\x80": 1772899,
		"\xc0\x80":                 0,
	} {
		all, err := units(name)
		if have := int32(hash(all)); err != nil || have != want {
			t.Errorf("%q: %d, not %d (%v)", name, have, want, err)
		}
	}
}

func TestTextsComeBack(t *testing.T) {
	for _, text := range []string{"", "a/B", "\xc0\x80", "\xc3\xbf", "\xc4\x80", "\xed\xa0\xbd\xed\xb8\x80", "a\xe4\xb8\xad"} {
		all, err := units(text)
		if err != nil {
			t.Fatal(err)
		}
		encoded, length := encodeText(all)
		if uint64(len(encoded)) != textSize(length) || decodeText(encoded, length) != text {
			t.Errorf("%q: %q, %#x", text, encoded, length)
		}
	}
}

// TestNamesThatShareAHash are told apart, and found.
func TestNamesThatShareAHash(t *testing.T) {
	var classes []Class
	for n := range 64 { // Aa and BB hash alike
		name := "p/"
		for i := range 6 {
			name += []string{"Aa", "BB"}[n>>i&1]
		}
		classes = append(classes, classOf(name, "class "+name, "woven "+name))
	}
	p := opened(t, written(t, &Content{Classes: classes[:60]}))
	wantClasses(t, p, classes[:60])
	for _, c := range classes[60:] {
		if p.Has(c.Entry.Class) {
			t.Errorf("%s is there", c.Entry.Class)
		}
	}
}

// TestNamesChosenToBeAlike: whoever makes names of one hash is not waited for.
func TestNamesChosenToBeAlike(t *testing.T) {
	records := make([]record, 100_000)
	if _, err := makeIndex(records[:1000]); err != nil {
		t.Error(err)
	}
	if _, err := makeIndex(records); !errors.Is(err, ErrAlike) {
		t.Error(err)
	}
	for i := range records {
		records[i][recordHash] = uint32(i) * 31
	}
	if _, err := makeIndex(records); err != nil {
		t.Error(err)
	}
}

// TestAMissCostsOneLook counts what names take that are not in a pack.
func TestAMissCostsOneLook(t *testing.T) {
	records := make([]record, 3000)
	names := make([]string, len(records))
	for i := range names {
		names[i] = fmt.Sprintf("com/acme/shop/%s/Order%d", strings.Repeat("x", i%7), i)
	}
	if _, err := link(records, names); err != nil {
		t.Fatal(err)
	}
	index, err := makeIndex(records)
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	const misses = 10_000
	for i := range misses {
		all, err := units(fmt.Sprintf("org/other/pieces/of/Program$%d", i))
		if err != nil {
			t.Fatal(err)
		}
		for at := slotOf(hash(all), len(index)); ; at = (at + 1) % len(index) {
			looks++
			if index[at] == 0 {
				break
			}
		}
	}
	if mean := float64(looks) / misses; mean > 1.3 {
		t.Errorf("a miss takes %.2f looks", mean)
	}
}
