// Engine measures Sonde's class-file engine side by side with ASM 9, in one run:
// all classes of java.base in memory, one thread, both sides warm, rounds of
// both sides alternating, so that whatever else the machine does falls on both.
//
//	go run ./bench/engine [-rounds N] [-warm N]
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

var (
	rounds     = flag.Int("rounds", 15, "measured rounds of each kind")
	warmRounds = flag.Int("warm", 12, "rounds of each kind before the first measured one")
	jars       = flag.String("jars", "/usr/share/java", "folder that holds asm.jar and asm-commons.jar")
	peak       = flag.String("peak", "", "do one thing and print this process's peak memory: load, lift or weave")
)

func main() { harness.Main("engine", run) }

func run(_ context.Context, r *harness.Report) error {
	jdk, err := findJDK()
	if err != nil {
		return err
	}
	classes, err := loadModule(jdk, "java.base")
	if err != nil {
		return err
	}
	if *peak != "" {
		return printPeak(*peak, classes)
	}
	java, err := startASM(jdk)
	if err != nil {
		return err
	}
	defer java.close()
	if theirs, err := java.One("classes"); err != nil || int(theirs) != len(classes) {
		return fmt.Errorf("ASM's side reads %v classes, ours %d: they must be the same (%w)", theirs, len(classes), err)
	}
	likeForLike, err := compiledTemplate(java.folder, "EnterExit")
	if err != nil {
		return err
	}
	probe, err := builtinTemplate("probe")
	if err != nil {
		return err
	}
	results, err := alternate(java, classes, likeForLike, probe)
	if err != nil {
		return err
	}
	r.Note("java.base of JDK %s: %d classes, %.1f MB in memory; one thread, warm.", jdk.Version, len(classes), float64(sizeOf(classes))/1e6)
	addResults(r, results)
	judge(r, results)
	if err := addScaling(r, classes, likeForLike); err != nil {
		return err
	}
	addPeaks(r, java)
	left, methods, err := leftAlone(classes, likeForLike)
	if err != nil {
		return err
	}
	r.Note("What was woven: ours left alone %d of %d methods.", left, methods)
	for _, way := range slices.Sorted(maps.Keys(java.proofs)) {
		r.Note("ASM %s, its own classes woven, loaded and run: %s.", way, java.proofs[way])
	}
	return nil
}

// benchJDK is the JDK whose classes are read, the one the bars were set on.
const benchJDK = 17

func findJDK() (jvmtest.JDK, error) {
	for _, jdk := range jvmtest.Installed() {
		if jdk.Major == benchJDK {
			return jdk, nil
		}
	}
	return jvmtest.JDK{}, fmt.Errorf("no JDK %d found: apt-get install openjdk-%d-jdk-headless", benchJDK, benchJDK)
}

// loadModule copies the class files of a module into memory, so that no round
// touches the image.
func loadModule(jdk jvmtest.JDK, module string) ([][]byte, error) {
	image, err := jimage.Open(jdk.Image())
	if err != nil {
		return nil, err
	}
	var classes [][]byte
	err = image.Each(func(of, path string, data []byte) error {
		if of == module && strings.HasSuffix(path, ".class") {
			classes = append(classes, bytes.Clone(data))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return classes, image.Close()
}

func sizeOf(classes [][]byte) int {
	total := 0
	for _, data := range classes {
		total += len(data)
	}
	return total
}

// sample is one round: all classes through one way, once.
type sample struct {
	classes        int
	nanos          int64
	cpu            int64  // processor time of the whole process, collector and compilers included
	objects, bytes uint64 // allocated; ours only
}

func (s sample) perSecond() float64 { return float64(s.classes) / (float64(s.nanos) / 1e9) }

// perCPUSecond says less about speed but is steadier under noise: what other programs
// take away does not count.
func (s sample) perCPUSecond() float64 { return float64(s.classes) / (float64(max(s.cpu, 1)) / 1e9) }

// result is all rounds of one way.
type result struct {
	Name            string
	Median          float64 // classes per second
	Least, Most     float64
	PerCPUSecond    float64 // classes per second of processor time, median
	ObjectsPerClass float64
	BytesPerClass   float64
	Rounds          []float64 // in the order they were run, so that two results can be paired
	CPURounds       []float64 // likewise, by processor time
}

// way is something that can be done to all classes.
type way struct {
	name string
	once func() (sample, error)
}

// The names of the ways; bars refer to them.
const (
	asmVisit  = "ASM full visit"
	asmPlain  = "ASM visitor, COMPUTE_MAXS"
	asmAdvice = "ASM AdviceAdapter"
	ourLift   = "Sonde parse + lift"
	ourWeave  = "Sonde weave, enter/exit"
	ourProbe  = "Sonde weave, built-in probe"
)

// alternate runs all ways in turn, round by round.
func alternate(java *asmSide, classes [][]byte, likeForLike, probe *weave.Template) ([]result, error) {
	ways := []way{
		{asmVisit, func() (sample, error) { return java.round("visit") }},
		{ourLift, func() (sample, error) { return liftRound(classes) }},
		{asmPlain, func() (sample, error) { return java.round("plain") }},
		{ourWeave, func() (sample, error) { return weaveRound(classes, likeForLike, 1) }},
		{asmAdvice, func() (sample, error) { return java.round("advice") }},
		{ourProbe, func() (sample, error) { return weaveRound(classes, probe, 1) }},
	}
	return runRounds(ways, *warmRounds)
}

func runRounds(ways []way, warm int) ([]result, error) {
	samples := make([][]sample, len(ways))
	for round := range warm + *rounds {
		progress(round, warm)
		for i, w := range ways {
			s, err := w.once()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			if round >= warm {
				samples[i] = append(samples[i], s)
			}
		}
	}
	if watched() {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
	results := make([]result, len(ways))
	for i, w := range ways {
		results[i] = summarise(w.name, samples[i])
	}
	return results, nil
}

// progress shows how far the run is, to a person only.
func progress(round, warm int) {
	if watched() {
		fmt.Fprintf(os.Stderr, "\rround %d of %d, the first %d to warm up   ", round+1, warm+*rounds, warm)
	}
}

func summarise(name string, samples []sample) result {
	r := result{Name: name}
	var objects, bytes, classes float64
	for _, s := range samples {
		r.Rounds = append(r.Rounds, s.perSecond())
		r.CPURounds = append(r.CPURounds, s.perCPUSecond())
		objects += float64(s.objects)
		bytes += float64(s.bytes)
		classes += float64(s.classes)
	}
	r.Median, r.Least, r.Most = harness.Median(r.Rounds), slices.Min(r.Rounds), slices.Max(r.Rounds)
	r.PerCPUSecond = harness.Median(r.CPURounds)
	r.ObjectsPerClass, r.BytesPerClass = objects/classes, bytes/classes
	return r
}

func watched() bool {
	info, err := os.Stderr.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// judge compares ratios of ours to theirs, medians over pairs of rounds that were run one
// after the other, with their bars. Ratios by processor time decide nothing.
func judge(r *harness.Report, results []result) {
	table := r.Table("ratio, median of paired rounds", "ratio", "by processor time")
	for _, b := range []struct {
		ours, theirs string
		least        float64
	}{{ourLift, asmVisit, 1.5}, {ourWeave, asmPlain, 2}, {ourWeave, asmAdvice, 3}} {
		ours, theirs := find(results, b.ours), find(results, b.theirs)
		ratio := harness.SpreadOf(paired(ours.Rounds, theirs.Rounds))
		name := b.ours + " / " + b.theirs
		table.Row(name, ratio.Text("%.2f"), fmt.Sprintf("%.2f", harness.Median(paired(ours.CPURounds, theirs.CPURounds))))
		r.Bar(harness.Judge(ratio.Median >= b.least), "%s: %.2f (at least %.1f)", name, ratio.Median, b.least)
	}
}

func paired(ours, theirs []float64) []float64 {
	ratios := make([]float64, len(ours))
	for round := range ours {
		ratios[round] = ours[round] / theirs[round]
	}
	return ratios
}

func find(results []result, name string) result {
	for _, r := range results {
		if r.Name == name {
			return r
		}
	}
	panic(fmt.Sprintf("bench/engine: nothing measured is called %q", name))
}

// addScaling weaves on 1, 2, … goroutines, in turn within each round.
func addScaling(r *harness.Report, classes [][]byte, template *weave.Template) error {
	var ways []way
	for workers := 1; workers <= runtime.NumCPU(); workers++ {
		ways = append(ways, way{fmt.Sprint(workers), func() (sample, error) {
			return weaveRound(classes, template, workers)
		}})
	}
	results, err := runRounds(ways, 1)
	if err != nil {
		return err
	}
	table := r.Table("weave, enter/exit, goroutines", "classes a second", "relative to one")
	for _, m := range results {
		table.Row(m.Name, fmt.Sprintf("%.0f", m.Median), fmt.Sprintf("%.2f", m.Median/results[0].Median))
	}
	return nil
}

func addResults(r *harness.Report, results []result) {
	table := r.Table("one thread, warm", "classes a second", "least", "most", "per CPU second", "objects a class", "bytes a class")
	for _, m := range results {
		cells := []any{m.Name}
		for _, number := range []float64{m.Median, m.Least, m.Most, m.PerCPUSecond} {
			cells = append(cells, fmt.Sprintf("%.0f", number))
		}
		if m.ObjectsPerClass > 0 {
			cells = append(cells, fmt.Sprintf("%.1f", m.ObjectsPerClass), fmt.Sprintf("%.0f", m.BytesPerClass))
		}
		table.Row(cells...)
	}
}

func addPeaks(r *harness.Report, java *asmSide) {
	table := r.Table("peak resident memory (VmHWM of a process of its own)", "MiB", "")
	for _, p := range peaks(java) {
		size := "unknown on this system"
		if p.KiB > 0 {
			size = fmt.Sprintf("%.1f", float64(p.KiB)/1024)
		}
		table.Row(p.What, size, p.Note)
	}
}
