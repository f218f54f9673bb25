package hotspot

import (
	"io"
	"strings"
	"testing"
	"time"
)

// TestSearchAfterLoad looks for code in a library that is loaded after the mappings were listed.
func TestSearchAfterLoad(t *testing.T) {
	const line = "5000-6000 r-xp 00000000 08:01 3670 /usr/lib/libzip.so\n"
	clock, lists, maps := time.Unix(0, 0), 0, ""
	l := &libraries{
		now: func() time.Time { clock = clock.Add(time.Millisecond); return clock },
		list: func() (io.ReadCloser, error) {
			lists++
			return io.NopCloser(strings.NewReader(maps)), nil
		},
		known: map[string]opened{}, missed: map[uint64]bool{},
	}
	library := &Mapped{Name: "libzip.so"}
	l.known["5000 08:01 3670 /usr/lib/libzip.so"] = opened{[]part{{0x5000, 0x6000, 0}}, library}
	if err := l.refresh(); err != nil {
		t.Fatal(err)
	}
	maps = line
	if found := l.Find(0x5010); found != nil || lists != 1 {
		t.Errorf("Find listed %d times and found %v, want one listing, and nothing", lists, found)
	}
	clock = clock.Add(soonPart * time.Millisecond)
	if found := l.Search(0x5010); found != library || lists != 2 {
		t.Errorf("Search listed %d times and found %v, want two, and the library", lists, found)
	}
	for range 3 {
		clock = clock.Add(soonPart * time.Millisecond)
		if found := l.Search(0x9000); found != nil || lists != 3 {
			t.Errorf("Search listed %d times and found %v, want three for code in no library", lists, found)
		}
	}
}
