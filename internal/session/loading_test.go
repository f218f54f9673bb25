package session

import (
	"slices"
	"testing"
)

// TestSparingShowsAFewMore has hand-offs' classes shown though all of java/ is not.
func TestSparingShowsAFewMore(t *testing.T) {
	excludes := []string{"java/", "jdk/internal/"}
	for _, beginning := range []string{
		"java/util/concurrent/FutureTask", "java/util/concurrent/CompletableFuture/AsyncRun", "java/lang/ThreadBuilders",
	} {
		excludes = sparing(excludes, beginning)
	}
	for class, isExcludedStill := range map[string]bool{
		"java/util/concurrent/FutureTask": false, "java/lang/ThreadBuilders": false,
		"java/util/concurrent/CompletableFuture/AsyncRun": false,
		"java/util/ArrayList":                             true, "java/lang/String": true, "java/time/Instant": true,
		"java/util/concurrent/locks/Lock": true, "jdk/internal/misc/VM": true, "com/acme/Shop": false,
	} {
		if isExcluded(class, excludes) != isExcludedStill {
			t.Errorf("%s is excluded: %t", class, !isExcludedStill)
		}
	}
	if len(excludes) > 8*len(letters) {
		t.Errorf("%d excludes", len(excludes))
	}
	if left := sparing([]string{"java/", "sun/"}, "java/"); !slices.Equal(left, []string{"sun/"}) {
		t.Errorf("sparing all of java/ leaves %v", left)
	}
	if left := sparing([]string{"java/", "sun/"}, ""); len(left) != 0 {
		t.Errorf("sparing everything leaves %v", left)
	}
}
