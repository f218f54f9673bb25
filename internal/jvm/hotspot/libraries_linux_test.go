package hotspot

import (
	"fmt"
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

// FuzzMaps reads any text as the mappings of a process, whose memory is small.
func FuzzMaps(f *testing.F) {
	memory := make(slab, 1<<12)
	copy(memory, "\x7fELF")
	f.Add("7f0000000000-7f0000001000 r-xp 00000000 08:01 3670 /jdk/lib/server/libjvm.so\n", uint64(base))
	f.Add(fmt.Sprintf("%x-%x r--p 00000000 08:01 3670 /a b (deleted)\n%x-%x r-xp 00001000 08:01 3670 /a b (deleted)\n", base, base+256, base+256, base+4096), uint64(base+300))
	f.Fuzz(func(t *testing.T, maps string, pc uint64) {
		list := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(maps)), nil }
		_, _ = openLibraries(memory, list) // an error is no failure
		l := &libraries{memory: memory, list: list, now: time.Now, known: map[string]opened{}, missed: map[uint64]bool{}, budget: 1 << 16}
		if l.refresh() != nil {
			return
		}
		for _, m := range l.code {
			if m.begin >= m.end || len(m.file.parts) == 0 {
				t.Errorf("a mapping %+v", m)
			}
		}
		if found := l.Search(pc); found != nil && found.Library == nil {
			t.Errorf("found %+v", found)
		}
	})
}
