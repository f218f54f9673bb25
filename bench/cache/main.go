// Cache compares finding a class in the cache with weaving it again, including everything
// a session does for it: parsing the class, selecting its methods, computing its key,
// reading and checking the entry or weaving the class, and recording the result.
//
//	go run ./bench/cache [-jar FILE] [-rounds N] [-classes N]
//
// The classes are those of a jar, with a hook in one method and with hooks in all methods.
// In each round a session without a cache weaves each class and a session with a cache
// finds it, in an order that changes with the round. The files are in the page cache.
// Time is processor time of the thread; a class is represented by its medians over the
// rounds.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/weave/instrument"
)

var (
	jar    = flag.String("jar", "/usr/share/java/h2.jar", "jar whose classes are woven")
	rounds = flag.Int("rounds", 41, "measurements per class and way")
	most   = flag.Int("classes", 0, "use a sample of about this many classes of all sizes; 0 for all")
)

func main() { harness.Main("cache", run) }

func run(ctx context.Context, r *harness.Report) error {
	classes, err := load(ctx, *jar, *most)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sonde-bench-cache")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r.Note("%s: %d classes, %d rounds. Microseconds of a session for a class, medians.", filepath.Base(*jar), len(classes), *rounds)
	for _, scope := range []scope{oneMethod, allMethods} {
		found, err := measure(ctx, classes, scope, filepath.Join(dir, scope.String()), *rounds)
		if err != nil {
			return fmt.Errorf("hooks in %s: %w", scope, err)
		}
		found.report(r, len(classes))
	}
	return nil
}

// A class is one with methods that can have hooks.
type class struct {
	name  string
	file  []byte
	hooks []session.Hook
}

// A scope is which methods of a class get hooks.
type scope int

const (
	oneMethod scope = iota
	allMethods
)

func (s scope) String() string { return [...]string{"one method", "all methods"}[s] }

func (c *class) hooksOf(s scope) []session.Hook {
	if s == oneMethod {
		return c.hooks[:1]
	}
	return c.hooks
}

// hooksIn are those of the methods that could be woven.
func hooksIn(class string, result *weave.Result) (hooks []session.Hook) {
	for _, r := range result.Methods {
		if r.Woven {
			hooks = append(hooks, session.Hook{MethodRef: classfile.MethodRef{Class: class, Name: strings.Clone(r.Name), Descriptor: strings.Clone(r.Descriptor)}})
		}
	}
	return hooks
}

// load reads the classes of a jar that can have hooks, the smallest first; about that many
// where not all are wanted.
func load(ctx context.Context, jar string, most int) (classes []class, err error) {
	live, err := weave.CompileTemplate(agent.LiveTemplate())
	if err != nil {
		return nil, err
	}
	weaver := weave.NewWeaver()
	names := make(map[string]bool)
	err = archive.Walk(ctx, jar, func(e archive.Entry) error {
		c := class{file: bytes.Clone(e.Data)}
		result, err := weaver.Weave(c.file, func(m weave.MethodInfo) []*weave.Template {
			c.name = strings.Clone(m.Class)
			return []*weave.Template{live}
		})
		if err == nil && !names[c.name] { // else it is no class, or that of another Java release
			c.hooks = hooksIn(c.name, result)
			names[c.name] = true
		}
		if len(c.hooks) > 0 {
			classes = append(classes, c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(classes) == 0 {
		return nil, fmt.Errorf("%s has no class that could have a hook", jar)
	}
	slices.SortStableFunc(classes, func(a, b class) int { return len(a.file) - len(b.file) })
	if step := len(classes) / max(most, 1); most > 0 && step > 1 {
		some := classes[:0]
		for i := 0; i < len(classes); i += step {
			some = append(some, classes[i])
		}
		classes = some
	}
	return classes, nil
}

// The ways in which a session comes by a woven class.
const (
	woven = iota
	found
	ways
)

// times are what a class took, in nanoseconds: by way, round by round.
type times [ways][]float64

// measure has all classes in all ways, by turns.
func measure(ctx context.Context, classes []class, s scope, dir string, rounds int) (result hooked, err error) {
	stands, err := prepare(ctx, classes, s, dir)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, stands.close(ctx)) }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	all := make([]times, len(classes))
	for round := range rounds + 1 {
		for i := range classes {
			for turn := range ways {
				way := (turn + round) % ways
				nanos, err := stands.have(ctx, way, &classes[i])
				if err != nil {
					return result, err
				}
				if round > 0 { // the first round reads the files for the first time
					all[i][way] = append(all[i][way], nanos)
				}
			}
		}
	}
	for way, stand := range stands {
		if n := stand.Weavings(); way != woven && n.Woven > 0 {
			return result, fmt.Errorf("%d classes were woven that should have been found", n.Woven)
		}
	}
	result = judge(classes, s, all)
	result.Once, err = opening(ctx, filepath.Join(dir, fmt.Sprint(found)), rounds)
	return result, err
}

// opening is what a session with a cache takes besides, once: to open and to close it, in
// nanoseconds.
func opening(ctx context.Context, dir string, rounds int) (harness.Spread, error) {
	var took []float64
	for range rounds {
		began := time.Now()
		if err := openCache(dir).Close(ctx); err != nil {
			return harness.Spread{}, err
		}
		took = append(took, float64(time.Since(began).Nanoseconds()))
	}
	return micros(took), nil
}

// openCache opens a cache with room for all.
func openCache(dir string) *cache.Cache {
	return cache.Open(cache.Options{Dir: dir, Bound: 4 << 30}, nil)
}

// stands are weavers, one for each way.
type stands [ways]*stand

type stand struct {
	*instrument.Weaver
	kept *cache.Cache // may be nil
}

// prepare fills a cache and makes both weavers.
func prepare(ctx context.Context, classes []class, s scope, dir string) (made stands, err error) {
	for way := range made {
		place := filepath.Join(dir, fmt.Sprint(way))
		if way != woven {
			if err := fill(ctx, classes, s, place); err != nil {
				return made, err
			}
		}
		if made[way], err = newStand(classes, s, place, way != woven); err != nil {
			return made, err
		}
	}
	return made, nil
}

func fill(ctx context.Context, classes []class, s scope, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	filling, err := newStand(classes, s, dir, true)
	if err != nil {
		return err
	}
	for i := range classes {
		if _, err := filling.Weave(ctx, classes[i].file); err != nil {
			return err
		}
	}
	return filling.kept.Close(ctx)
}

func newStand(classes []class, s scope, dir string, hasCache bool) (*stand, error) {
	made := &stand{}
	if hasCache {
		made.kept = openCache(dir)
	}
	var err error
	if made.Weaver, err = instrument.NewWeaver(instrument.Settings{Cache: made.kept}); err != nil {
		return nil, err
	}
	for i := range classes {
		for _, h := range classes[i].hooksOf(s) {
			made.AddHook(h)
		}
	}
	return made, nil
}

// have returns how long a weaver takes for a class.
func (s *stands) have(ctx context.Context, way int, c *class) (nanos float64, err error) {
	began := threadTime()
	out, err := s[way].Weave(ctx, c.file)
	took := threadTime() - began
	if err == nil && len(out.Bytes) == 0 {
		err = errors.New("nothing of it is woven")
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c.name, err)
	}
	return float64(took), nil
}

// threadTime is what this thread has had of a processor: what others on the machine take
// is not in it, but for what they leave in the processor's caches.
func threadTime() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		panic(err) // every system has it
	}
	return now.Nano()
}

func (s *stands) close(ctx context.Context) (err error) {
	for _, one := range s {
		if one.kept != nil {
			err = errors.Join(err, one.kept.Close(ctx))
		}
	}
	return err
}

// hooked is the result with hooks in some methods of each class.
type hooked struct {
	In     string         // which methods
	Sizes  []sized        // a fifth of the classes each
	Share  harness.Spread // time of a hit relative to weaving, for all classes, by round
	Slower int            // number of classes for which a hit takes longer than weaving, by medians
	Worst  []compared     // the classes for which a hit saves least
	Once   harness.Spread // microseconds to open and close the cache
}

// sized is a group of classes of similar size: medians of the classes' medians, in
// microseconds.
type sized struct {
	Bytes        int // of the average class file
	Woven, Found float64
}

// compared is one class.
type compared struct {
	Class        string
	Bytes        int
	Woven, Found harness.Spread // microseconds
}

// judge summarizes the times of all classes.
func judge(classes []class, s scope, all []times) hooked {
	h := hooked{In: s.String()}
	medians := make([][ways]float64, len(all))
	order := make([]int, len(all))
	for i := range all {
		order[i] = i
		for way := range ways {
			medians[i][way] = harness.Median(all[i][way]) / 1000
		}
		if medians[i][found] > medians[i][woven] {
			h.Slower++
		}
	}
	const parts = 5
	for part := range parts {
		from, to := part*len(all)/parts, (part+1)*len(all)/parts
		if from < to {
			h.Sizes = append(h.Sizes, sizeUp(classes[from:to], medians[from:to]))
		}
	}
	h.Share = shares(all)
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Compare(medians[b][found]-medians[b][woven], medians[a][found]-medians[a][woven])
	})
	for _, i := range order[:min(3, len(order))] {
		h.Worst = append(h.Worst, compared{classes[i].name, len(classes[i].file), micros(all[i][woven]), micros(all[i][found])})
	}
	return h
}

func micros(nanos []float64) harness.Spread { return harness.SpreadOf(nanos).Times(1e-3) }

func sizeUp(classes []class, medians [][ways]float64) (s sized) {
	var by [ways][]float64
	for i := range classes {
		s.Bytes += len(classes[i].file)
		for way := range ways {
			by[way] = append(by[way], medians[i][way])
		}
	}
	s.Bytes /= len(classes)
	s.Woven, s.Found = harness.Median(by[woven]), harness.Median(by[found])
	return s
}

// shares compares the sums over all classes, round by round.
func shares(all []times) harness.Spread {
	var shares []float64
	for round := range all[0][found] {
		var hit, weaving float64
		for i := range all {
			hit += all[i][found][round]
			weaving += all[i][woven][round]
		}
		shares = append(shares, hit/weaving)
	}
	return harness.SpreadOf(shares)
}

func (h *hooked) report(r *harness.Report, classes int) {
	header, woven, found := []string{"hooks in " + h.In}, []any{"woven"}, []any{"found in the cache"}
	for _, s := range h.Sizes {
		header = append(header, fmt.Sprintf("%.1f KB", float64(s.Bytes)/1000))
		woven = append(woven, fmt.Sprintf("%.1f", s.Woven))
		found = append(found, fmt.Sprintf("%.1f", s.Found))
	}
	table := r.Table(header...)
	table.Row(woven...)
	table.Row(found...)
	r.Note("A hit takes %s of the time of weaving; it takes longer for %d of %d classes (%.1f %%). To open and close the cache, once a session: %s.",
		h.Share.Text("%.2f"), h.Slower, classes, 100*float64(h.Slower)/float64(classes), h.Once.Text("%.0f"))
	worst := r.Table("classes for which a hit saves least", "bytes", "woven", "found")
	for _, d := range h.Worst {
		worst.Row(d.Class, d.Bytes, d.Woven.Text("%.1f"), d.Found.Text("%.1f"))
	}
}
