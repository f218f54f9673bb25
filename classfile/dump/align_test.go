package dump

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

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
