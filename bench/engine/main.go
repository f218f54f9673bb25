// Engine measures Sonde's class-file engine side by side with ASM 9, in one run:
// all classes of java.base in memory, one thread, both sides warm, rounds of
// both sides alternating, so that whatever else the machine does falls on both.
//
//	go run ./bench/engine [--rounds N] [--warm N] [--json] [--gate=false]
//
// It ends with exit code 1 when a bar is not met.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/bench/spread"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

type options struct {
	rounds, warm int
	json, gate   bool
	sources      string // folder with asm/ and template/
	jars         string // folder with ASM's jars
	peak         string // set in the child processes that measure peak memory
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 15, "measured rounds of each kind")
	flag.IntVar(&o.warm, "warm", 12, "rounds of each kind before the first measured one")
	flag.BoolVar(&o.json, "json", false, "print JSON instead of tables")
	flag.BoolVar(&o.gate, "gate", true, "exit with code 1 when a bar is not met")
	flag.StringVar(&o.sources, "sources", "bench", "folder that holds asm/ and template/")
	flag.StringVar(&o.jars, "jars", "/usr/share/java", "folder that holds asm.jar and asm-commons.jar")
	flag.StringVar(&o.peak, "peak", "", "do one thing and print this process's peak memory: load, lift or weave")
	flag.Parse()
	met, err := run(o)
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench/engine: %v\n", err)
		os.Exit(2)
	}
	if o.gate && !met {
		os.Exit(1)
	}
}

// run measures and prints; it tells whether all bars were met.
func run(o options) (bool, error) {
	jdk, err := findJDK()
	if err != nil {
		return false, err
	}
	classes, err := loadModule(jdk, "java.base")
	if err != nil {
		return false, err
	}
	if o.peak != "" {
		return true, printPeak(o.peak, classes)
	}
	java, err := startASM(jdk, o)
	if err != nil {
		return false, err
	}
	defer java.close()
	if java.classes != len(classes) {
		return false, fmt.Errorf("ASM's side reads %d classes, ours %d: they must be the same", java.classes, len(classes))
	}
	likeForLike, err := compiledTemplate(java.folder, "EnterExit")
	if err != nil {
		return false, err
	}
	probe, err := builtinTemplate("probe")
	if err != nil {
		return false, err
	}
	results, err := alternate(java, classes, likeForLike, probe, o)
	if err != nil {
		return false, err
	}
	r := report{
		JDK: jdk.Version, CPUs: runtime.NumCPU(), Classes: len(classes), Bytes: sizeOf(classes),
		Proofs: java.proofs, Results: results, Bars: judge(results),
	}
	if r.LeftAlone, r.Methods, err = leftAlone(classes, likeForLike); err != nil {
		return false, err
	}
	if r.Scaling, err = scaling(classes, likeForLike, o); err != nil {
		return false, err
	}
	r.Peaks = peaks(java)
	if o.json {
		err = r.printJSON(os.Stdout)
	} else {
		r.print(os.Stdout)
	}
	return r.allMet(), err
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

// perCPUSecond tells less about speed and more under noise: what other programs
// take away does not count.
func (s sample) perCPUSecond() float64 { return float64(s.classes) / (float64(max(s.cpu, 1)) / 1e9) }

// result is all rounds of one way.
type result struct {
	Name            string
	Median          float64 // classes per second
	Least, Most     float64
	PerCPUSecond    float64   // classes per second of processor time, median
	ObjectsPerClass float64   `json:",omitempty"`
	BytesPerClass   float64   `json:",omitempty"`
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
func alternate(java *asmSide, classes [][]byte, likeForLike, probe *weave.Template, o options) ([]result, error) {
	ways := []way{
		{asmVisit, func() (sample, error) { return java.round("visit") }},
		{ourLift, func() (sample, error) { return liftRound(classes) }},
		{asmPlain, func() (sample, error) { return java.round("plain") }},
		{ourWeave, func() (sample, error) { return weaveRound(classes, likeForLike, 1) }},
		{asmAdvice, func() (sample, error) { return java.round("advice") }},
		{ourProbe, func() (sample, error) { return weaveRound(classes, probe, 1) }},
	}
	return runRounds(ways, o)
}

func runRounds(ways []way, o options) ([]result, error) {
	samples := make([][]sample, len(ways))
	for round := range o.warm + o.rounds {
		progress(round, o)
		for i, w := range ways {
			s, err := w.once()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			if round >= o.warm {
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
func progress(round int, o options) {
	if !watched() {
		return
	}
	if round < o.warm {
		fmt.Fprintf(os.Stderr, "\rwarming up: round %d of %d   ", round+1, o.warm)
	} else {
		fmt.Fprintf(os.Stderr, "\rmeasuring: round %d of %d    ", round-o.warm+1, o.rounds)
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
	r.Median, r.Least, r.Most = spread.Median(r.Rounds), slices.Min(r.Rounds), slices.Max(r.Rounds)
	r.PerCPUSecond = spread.Median(r.CPURounds)
	r.ObjectsPerClass, r.BytesPerClass = objects/classes, bytes/classes
	return r
}

func watched() bool {
	info, err := os.Stderr.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// bar is a ratio that has to be reached. The ratio is the median over rounds of
// ours to theirs in the same round, run one after the other.
type bar struct {
	Ours, Theirs string
	Least        float64
	Ratio        float64
	Low, High    float64 // of single rounds
	CPURatio     float64 // the same by processor time; it decides nothing
	Met          bool
}

func judge(results []result) []bar {
	bars := []bar{
		{Ours: ourLift, Theirs: asmVisit, Least: 1.5},
		{Ours: ourWeave, Theirs: asmPlain, Least: 2},
		{Ours: ourWeave, Theirs: asmAdvice, Least: 3},
	}
	for i := range bars {
		b := &bars[i]
		ours, theirs := find(results, b.Ours), find(results, b.Theirs)
		ratios := paired(ours.Rounds, theirs.Rounds)
		b.Ratio, b.Low, b.High = spread.Median(ratios), slices.Min(ratios), slices.Max(ratios)
		b.CPURatio = spread.Median(paired(ours.CPURounds, theirs.CPURounds))
		b.Met = b.Ratio >= b.Least
	}
	return bars
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

// scaling weaves on 1, 2, … goroutines, in turn within each round.
func scaling(classes [][]byte, template *weave.Template, o options) ([]result, error) {
	var ways []way
	for workers := 1; workers <= runtime.NumCPU(); workers++ {
		ways = append(ways, way{fmt.Sprint(workers), func() (sample, error) {
			return weaveRound(classes, template, workers)
		}})
	}
	o.warm = 1
	return runRounds(ways, o)
}

// report is everything a run found.
type report struct {
	JDK       string
	CPUs      int
	Classes   int
	Bytes     int
	Proofs    map[string]string
	LeftAlone int
	Methods   int
	Results   []result
	Bars      []bar
	Scaling   []result
	Peaks     []peakMemory
}

func (r report) allMet() bool {
	return !slices.ContainsFunc(r.Bars, func(b bar) bool { return !b.Met })
}

func (r report) printJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

func (r report) print(w io.Writer) {
	fmt.Fprintf(w, "java.base of JDK %s: %d classes, %.1f MB in memory; %d CPUs\n\n",
		r.JDK, r.Classes, float64(r.Bytes)/1e6, r.CPUs)

	fmt.Fprintf(w, "%-30s %10s %9s %9s %14s %14s %12s\n", "one thread, warm", "classes/s", "least", "most", "per CPU second", "objects/class", "bytes/class")
	for _, m := range r.Results {
		fmt.Fprintf(w, "%-30s %10.0f %9.0f %9.0f %14.0f", m.Name, m.Median, m.Least, m.Most, m.PerCPUSecond)
		if m.ObjectsPerClass > 0 {
			fmt.Fprintf(w, " %14.1f %12.0f", m.ObjectsPerClass, m.BytesPerClass)
		}
		fmt.Fprintln(w)
	}

	fmt.Fprintf(w, "\n%-54s %7s %16s %8s %7s\n", "ratio, median of paired rounds", "ratio", "single rounds", "by CPU", "bar")
	for _, b := range r.Bars {
		verdict := "met"
		if !b.Met {
			verdict = "NOT MET"
		}
		fmt.Fprintf(w, "%-54s %6.2fx %7.2f to %5.2f %7.2fx %6.1fx  %s\n",
			b.Ours+" / "+b.Theirs, b.Ratio, b.Low, b.High, b.CPURatio, b.Least, verdict)
	}

	fmt.Fprintf(w, "\n%-30s %12s %12s\n", "weave, enter/exit, goroutines", "classes/s", "of one")
	for _, m := range r.Scaling {
		fmt.Fprintf(w, "%-30s %12.0f %11.2fx\n", m.Name, m.Median, m.Median/r.Scaling[0].Median)
	}

	fmt.Fprintf(w, "\npeak resident memory (VmHWM of a process of its own)\n")
	for _, p := range r.Peaks {
		if p.KiB == 0 {
			fmt.Fprintf(w, "%-10s unknown on this system\n", p.What)
			continue
		}
		fmt.Fprintf(w, "%-10s %8.1f MiB  %s\n", p.What, float64(p.KiB)/1024, p.Note)
	}

	fmt.Fprintf(w, "\nwhat was woven: ours left alone %d of %d methods\n", r.LeftAlone, r.Methods)
	for _, way := range slices.Sorted(maps.Keys(r.Proofs)) {
		fmt.Fprintf(w, "ASM %-7s its own classes woven, loaded and run: %s\n", way, r.Proofs[way])
	}
}
