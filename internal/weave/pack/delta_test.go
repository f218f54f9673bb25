package pack

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func wantDelta(t testing.TB, d *differ, original, woven []byte) []byte {
	t.Helper()
	delta := d.diff(original, woven)
	got, ok := apply(delta, original, d.dictionary, len(woven))
	if !ok || !bytes.Equal(got, woven) {
		t.Fatalf("%.99q becomes %.99q (%v), not %.99q, by %.99x", original, got, ok, woven, delta)
	}
	return delta
}

func TestDeltas(t *testing.T) {
	const text = "the quick brown fox jumps over the lazy dog"
	const longer = text + " and runs away from all of it again"
	for _, one := range []struct{ dictionary, original, woven, want string }{
		{"", "", "", ""},
		{"", "", "abc", "\x03abc"},
		{"", text, text, "\x00\xaf\x01"}, // all, behind a copy of nothing
		{"", text, "a " + text, "\x02a \xac\x01"},
		{"", longer, longer[:40] + "X" + longer[41:], "\x00\xa3\x01\x01X\x97\x01"},
		{"", text, text[:20] + "X" + text[21:], "+" + text[:20] + "X" + text[21:]}, // copies of so little are not worth their while
		{"", text, text + text, "\x00\xaf\x01\x00\xae\x01\x2b"},
		{text, "", text[4:], "\x00\x9e\x01\x27"},
	} {
		d := differ{dictionary: []byte(one.dictionary)}
		if delta := wantDelta(t, &d, []byte(one.original), []byte(one.woven)); string(delta) != one.want {
			t.Errorf("%q to %q: %q, not %q", one.original, one.woven, delta, one.want)
		}
	}
}

// mix makes something of pieces of others, and of noise.
func mix(random *rand.Rand, pieces ...[]byte) (made []byte) {
	for range random.IntN(30) {
		from := pieces[random.IntN(len(pieces))]
		if len(from) == 0 || random.IntN(4) == 0 {
			for range random.IntN(40) {
				made = append(made, byte(random.IntN(6)))
			}
			continue
		}
		at := random.IntN(len(from))
		made = append(made, from[at:at+random.IntN(len(from)-at)]...)
	}
	return made
}

func TestDeltasOfAnything(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 800 {
		noise := mix(random, nil)
		d := differ{dictionary: mix(random, noise)}
		original := mix(random, noise, d.dictionary)
		for range 3 {
			woven := mix(random, original, d.dictionary, noise)
			wantDelta(t, &d, original, woven)
		}
	}
}

// TestDamagedDeltasAreNoFault spoils deltas, which other checks would have found before.
func TestDamagedDeltasAreNoFault(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	noise := mix(random, nil)
	for range 5_000 {
		d := differ{dictionary: noise}
		original := mix(random, noise)
		woven := mix(random, original, noise)
		delta := d.diff(original, woven)
		for i := range delta {
			if random.IntN(20) == 0 {
				delta[i] = byte(random.Uint32())
			}
		}
		if got, ok := apply(delta, original, noise, len(woven)); ok && len(got) != len(woven) {
			t.Fatalf("%d bytes, not %d", len(got), len(woven))
		}
	}
}

// FuzzDelta: what a delta was made of comes back.
func FuzzDelta(f *testing.F) {
	f.Add([]byte("dictionary"), []byte("original"), []byte("original dictionary original"))
	f.Fuzz(func(t *testing.T, dictionary, original, woven []byte) {
		wantDelta(t, &differ{dictionary: dictionary}, original, woven)
	})
}
