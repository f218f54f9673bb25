// Engine measures Sonde's class-file engine side by side with ASM 9, in one run:
// all classes of java.base in memory, one thread, both sides warm, rounds of
// both sides alternating, so that whatever else the machine does falls on both.
//
//	go run ./bench/engine [--rounds N] [--warm N] [--json] [--gate=false]
//
// It ends with exit code 1 when a bar is not met.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
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
