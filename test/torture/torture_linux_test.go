package torture

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

var sondePath string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	folder, err := os.MkdirTemp("/var/tmp", "sonde-torture-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	if err := os.Chmod(folder, 0o755); err != nil { // other users run it
		panic(err)
	}
	sondePath = filepath.Join(folder, "sonde")
	build := exec.Command("go", "build", "-o", sondePath, "../../cmd/sonde")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building sonde: %v\n%s", err, out)
		return 1
	}
	return jvmtest.Isolated(sondePath, m.Run)
}

// together is how many programs are tortured at the same time.
const together = 3

// TestTorture runs random commands of Sonde, by several users, against several programs on all JDKs, which work all the
// time. Meanwhile Sonde and the programs are stopped and continued, Sonde is killed, disks are full, other agents change
// the same classes, and many attach at once. The programs must go on as without Sonde, exact counts must be exact, a
// command that fails must say why, and nothing may be left at the end.
//
// It runs as long as SONDE_TORTURE says. Each program has a life of some steps, which depend on SONDE_SEED and the number
// of the life only; SONDE_LIFE runs one life again. The log is in build/torture.log.
func TestTorture(t *testing.T) {
	duration, err := time.ParseDuration(os.Getenv("SONDE_TORTURE"))
	if err != nil {
		t.Skip("make torture runs it")
	}
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: other users, chroots and full disks need root")
	}
	tt := &torture{began: time.Now(), seed: uint64(time.Now().UnixNano()), kinds: make(map[string]*tally), reasons: make(map[string]int)}
	if text := os.Getenv("SONDE_SEED"); text != "" {
		if tt.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	tt.end = tt.began.Add(duration)
	tt.jdks = jvmtest.Releases(t, 8, 11, 17, 21, 25, 26)
	tt.compiler = jvmtest.JDKs(t)[0]
	if err := os.MkdirAll("../../build", 0o755); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create("../../build/torture.log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	tt.log = io.MultiWriter(os.Stdout, log)
	fmt.Fprintf(tt.log, "seed %d, %v, JDKs", tt.seed, duration)
	for _, jdk := range tt.jdks {
		fmt.Fprintf(tt.log, " %s", jdk.Version)
	}
	fmt.Fprintln(tt.log)
	for _, w := range works { // not all at once
		compileWork(t, tt.compiler, w)
	}
	if text := os.Getenv("SONDE_LIFE"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		tt.live(t, n)
	} else {
		tt.liveAll(t)
	}
	tt.summary()
	if t.Failed() {
		fmt.Fprintf(tt.log, "FAILED; to repeat: make torture TIME=%v SEED=%d, or one life with LIFE=N\n", duration, tt.seed)
	}
}

// A torture is one run.
type torture struct {
	seed       uint64
	began, end time.Time
	jdks       []jvmtest.JDK
	compiler   jvmtest.JDK

	mu      sync.Mutex
	log     io.Writer
	kinds   map[string]*tally
	reasons map[string]int // why commands were refused
}

// A tally counts steps of one kind.
type tally struct{ steps, exact, refused, lost, failed int }

func (tt *torture) liveAll(t *testing.T) {
	t.Helper()
	var workers sync.WaitGroup
	lives := make(chan int)
	for range together {
		workers.Go(func() {
			for n := range lives {
				tt.live(t, n)
			}
		})
	}
	for n := 0; time.Now().Before(tt.end); n++ {
		lives <- n
	}
	close(lives)
	workers.Wait()
}

// live runs a life.
func (tt *torture) live(t *testing.T, n int) {
	t.Helper()
	random := rand.New(rand.NewPCG(tt.seed, uint64(n)))
	l := &life{torture: tt, n: n, random: random}
	l.launch = tt.choose(n, random)
	isSound := t.Run(fmt.Sprintf("life%d", n), func(t *testing.T) {
		l.t = t
		l.run()
	})
	outcome := "ended well"
	if !isSound {
		outcome = "FAILED"
	}
	l.say("life", outcome)
	tt.mu.Lock()
	defer tt.mu.Unlock()
	tt.tally("life").steps++
	if !isSound {
		tt.tally("life").failed++
	}
}

var collectors = []string{"-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"}

// choose chooses a program; all JDKs have their turn.
func (tt *torture) choose(n int, random *rand.Rand) launch {
	l := launch{jdk: tt.jdks[n%len(tt.jdks)]}
	fitting := slices.DeleteFunc(slices.Clone(works), func(w work) bool { return l.jdk.Major < w.oldest })
	l.work = fitting[random.IntN(len(fitting))]
	l.isNobody = random.IntN(2) == 0
	l.smallDisk = random.IntN(2) == 0 && l.jdk.Root == ""
	l.options = []string{collectors[random.IntN(len(collectors))]}
	switch random.IntN(6) {
	case 0:
		l.otel = tool("otel/*.jar")
	case 1, 2:
		l.library = tool("asyncprofiler/*/libasyncProfiler.so")
	}
	return l
}

// tool returns the path of what .ci/setup has fetched, "" if it is missing.
func tool(pattern string) string {
	found, _ := filepath.Glob("../../.tools/" + pattern) // the pattern is well formed
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// tally returns the counts of a kind of steps; the lock is held.
func (tt *torture) tally(kind string) *tally {
	if tt.kinds[kind] == nil {
		tt.kinds[kind] = new(tally)
	}
	return tt.kinds[kind]
}

var numbers = regexp.MustCompile(`\b[0-9][0-9.,]*( ?(ms|µs|s|MiB|KiB))?|[0-9a-f]{16,}`)

// refuse counts why a command was refused.
func (tt *torture) refuse(reason string) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	tt.reasons[numbers.ReplaceAllString(reason, "N")]++
}

func (tt *torture) summary() {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	fmt.Fprintf(tt.log, "\nseed %d, %v\n\n| step | steps | exact | refused | lost | failed |\n| --- | --- | --- | --- | --- | --- |\n", tt.seed, time.Since(tt.began).Round(time.Second))
	for _, kind := range slices.Sorted(maps.Keys(tt.kinds)) {
		k := tt.kinds[kind]
		fmt.Fprintf(tt.log, "| %s | %d | %d | %d | %d | %d |\n", kind, k.steps, k.exact, k.refused, k.lost, k.failed)
	}
	fmt.Fprintf(tt.log, "\n| times | refused, because |\n| --- | --- |\n")
	for _, reason := range slices.Sorted(maps.Keys(tt.reasons)) {
		fmt.Fprintf(tt.log, "| %d | %s |\n", tt.reasons[reason], strings.ReplaceAll(reason, "|", `\|`))
	}
}
