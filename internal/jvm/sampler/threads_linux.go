package sampler

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/hotspot"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// A threadTable knows the threads of a JVM by their numbers.
type threadTable struct {
	clock  *clock // knows the numbers in the JVM's namespace
	walker *hotspot.Walker
	listed time.Time
	java   map[int64]hotspot.Thread // by number in the JVM's namespace
	known  map[int]*jfr.Thread      // by number in ours
	tids   map[int64]int
	shared map[jfr.Thread]*jfr.Thread
}

// mostThreadNames bounds the threads that are remembered.
const mostThreadNames = 200_000

// list returns the Java threads. It reads them again at each call.
func (t *threadTable) list(now time.Time) []hotspot.Thread {
	t.refresh(now)
	return slices.Collect(maps.Values(t.java))
}

func (t *threadTable) refresh(now time.Time) {
	t.listed = now
	t.java, t.tids = map[int64]hotspot.Thread{}, map[int64]int{}
	t.known = map[int]*jfr.Thread{}
	if len(t.shared) > mostThreadNames || t.shared == nil {
		t.shared = map[jfr.Thread]*jfr.Thread{}
	}
	for _, one := range t.walker.Threads() {
		t.java[int64(one.ID)] = one
	}
	entries, _ := os.ReadDir(t.clock.tasks) // none if it has ended
	for _, entry := range entries {
		tid, err := strconv.Atoi(entry.Name())
		number, unknown := t.clock.number(entry.Name())
		if err == nil && unknown == nil {
			t.tids[number] = tid
		}
	}
}

// find returns a thread by its number here.
func (t *threadTable) find(tid int) *jfr.Thread {
	if now := time.Now(); now.Sub(t.listed) >= threadsEvery {
		t.refresh(now)
	}
	if known := t.known[tid]; known != nil {
		return known
	}
	number, err := t.clock.number(strconv.Itoa(tid))
	if err != nil {
		number = int64(tid)
	}
	found := jfr.Thread{OSID: number}
	if java, ok := t.java[number]; ok {
		found.Name, found.JavaID = java.Name, java.JavaID
	}
	if found.Name == "" {
		text, _ := os.ReadFile(filepath.Join(t.clock.tasks, strconv.Itoa(tid), "comm"))
		found.Name = strings.TrimSpace(string(text))
	}
	t.known[tid] = t.share(found)
	return t.known[tid]
}

func (t *threadTable) named(one *hotspot.Thread) *jfr.Thread { return t.find(t.tids[int64(one.ID)]) }

func (t *threadTable) share(found jfr.Thread) *jfr.Thread {
	known := t.shared[found]
	if known == nil {
		known = &found
		t.shared[found] = known
	}
	return known
}

// runs reports whether a thread has a processor or waits for one, or has ended.
func (t *threadTable) runs(one *hotspot.Thread) bool {
	if _, ok := t.tids[int64(one.ID)]; !ok {
		return true
	}
	s, err := process.ReadStat(filepath.Join(t.folder(one), "stat"))
	return err != nil || !s.Sleeps
}

// ran returns for how long a thread has run; -1 if it has ended.
func (t *threadTable) ran(one *hotspot.Thread) time.Duration {
	run, _, err := process.ReadTimes(t.folder(one))
	if err != nil {
		return -1
	}
	return run
}

func (t *threadTable) folder(one *hotspot.Thread) string {
	return filepath.Join(t.clock.tasks, strconv.Itoa(t.tids[int64(one.ID)]))
}
