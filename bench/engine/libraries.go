package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/bench/harness"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// compiledTemplate reads a template that javac has put into a folder.
func compiledTemplate(folder, name string) (*weave.Template, error) {
	class, err := os.ReadFile(filepath.Join(folder, name+".class"))
	if err != nil {
		return nil, err
	}
	return weave.CompileTemplate(class, "")
}

func builtinTemplate(name string) (*weave.Template, error) {
	class, method, ok := agent.Template(name)
	if !ok {
		return nil, fmt.Errorf("there is no built-in template %q", name)
	}
	return weave.CompileTemplate(class, method)
}

// warm is what stays between rounds: the memory of the engine, as a command that
// weaves class after class has it. The JVM side keeps its heap and compiled code.
var warm = struct {
	class   classfile.Class
	lifter  code.Lifter
	weavers []*weave.Weaver
	out     [][]byte
}{}

// warmUp makes a weaver for each goroutine.
func warmUp(workers int) {
	for len(warm.weavers) < workers {
		warm.weavers = append(warm.weavers, weave.NewWeaver())
		warm.out = append(warm.out, nil)
	}
}

// liftRound parses every class and lifts every body.
func liftRound(classes [][]byte) (sample, error) {
	before := spent()
	start := time.Now()
	class, lifter := &warm.class, &warm.lifter
	for _, data := range classes {
		if err := class.Read(data); err != nil {
			return sample{}, err
		}
		for i := range class.Methods {
			if _, err := lifter.Lift(class, &class.Methods[i]); err != nil {
				return sample{}, fmt.Errorf("%s: %w", class.Name(), err)
			}
		}
	}
	return finish(len(classes), start, before), nil
}

// weaveRound parses, lifts, weaves and lowers every class on some goroutines,
// each with a weaver of its own.
func weaveRound(classes [][]byte, template *weave.Template, workers int) (sample, error) {
	templates := []*weave.Template{template}
	pick := func(weave.MethodInfo) []*weave.Template { return templates }
	errs := make([]error, workers)
	warmUp(workers)
	before := spent()
	start := time.Now()
	var next atomic.Int64
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			weaver, out := warm.weavers[worker], warm.out[worker]
			for {
				i := int(next.Add(1)) - 1
				if i >= len(classes) {
					return
				}
				result, err := weaver.Append(out[:0], classes[i], pick)
				if err != nil {
					errs[worker] = err
					return
				}
				if cap(result.Bytes) > cap(out) {
					out = result.Bytes
				}
			}
		})
	}
	group.Wait()
	s := finish(len(classes), start, before)
	for _, err := range errs {
		if err != nil {
			return sample{}, err
		}
	}
	return s, nil
}

// leftAlone counts the methods that have a body and were not woven.
func leftAlone(classes [][]byte, template *weave.Template) (left, methods int, err error) {
	templates := []*weave.Template{template}
	weaver := weave.NewWeaver()
	for _, data := range classes {
		result, err := weaver.Weave(data, func(weave.MethodInfo) []*weave.Template { return templates })
		if err != nil {
			return 0, 0, err
		}
		for _, m := range result.Methods {
			methods++
			if !m.Woven {
				left++
			}
		}
	}
	return left, methods, nil
}

// usage is what the whole process has used so far; nothing else runs in a round.
type usage struct {
	objects, bytes uint64
	cpu            int64
}

func spent() usage {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	var times syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &times); err != nil {
		panic(fmt.Sprintf("bench/engine: getrusage: %v", err)) // it fails for wrong arguments only
	}
	return usage{stats.Mallocs, stats.TotalAlloc, times.Utime.Nano() + times.Stime.Nano()}
}

func finish(classes int, start time.Time, before usage) sample {
	nanos := time.Since(start).Nanoseconds()
	after := spent()
	return sample{
		classes: classes, nanos: nanos, cpu: after.cpu - before.cpu,
		objects: after.objects - before.objects, bytes: after.bytes - before.bytes,
	}
}

// asmSide is the JVM that runs ASM's rounds.
type asmSide struct {
	*harness.Program
	folder string            // compiled classes, removed by close
	proofs map[string]string // by way of weaving: what was loaded and run
}

// startASM compiles the Java sources, starts the JVM, and lets it prove that what it
// weaves is real.
func startASM(jdk jvmtest.JDK) (_ *asmSide, err error) {
	folder, err := os.MkdirTemp("", "sonde-bench-")
	if err != nil {
		return nil, err
	}
	a := &asmSide{folder: folder, proofs: make(map[string]string)}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	runtimeJar := filepath.Join(folder, "runtime.jar")
	if err := os.WriteFile(runtimeJar, agent.RuntimeJar(), 0o644); err != nil {
		return nil, err
	}
	entries := []string{folder, runtimeJar}
	for _, name := range []string{"asm.jar", "asm-commons.jar"} {
		jar := filepath.Join(*jars, name)
		if _, err := os.Stat(jar); err != nil {
			return nil, fmt.Errorf("%w: run .ci/setup asm, or name the folder by -jars", err)
		}
		entries = append(entries, jar)
	}
	path := strings.Join(entries, string(os.PathListSeparator))
	err = harness.CompileInto(jdk, folder, harness.Source{
		Files: []string{"bench/asm/*.java", "bench/template/*.java"}, Classpath: path, Flags: []string{"-proc:none"},
	})
	if err != nil {
		return nil, err
	}
	if a.Program, err = harness.Start(jdk, "-Xmx2g", "-cp", path, "AsmRounds"); err != nil {
		return nil, err
	}
	for _, way := range []string{"plain", "advice"} {
		proof, err := a.AskWords("prove", way)
		if err != nil {
			return nil, err
		}
		a.proofs[way] = strings.Join(proof, " ")
	}
	return a, nil
}

// round runs all classes through one of ASM's ways once.
func (a *asmSide) round(way string) (sample, error) {
	answer, err := a.Ask("round", way)
	if err == nil && len(answer) != 4 {
		err = fmt.Errorf("ASM's side answered %v", answer)
	}
	if err != nil {
		return sample{}, err
	}
	return sample{classes: int(answer[0]), nanos: int64(answer[1]), cpu: int64(answer[2])}, nil
}

// close ends the JVM and removes what was compiled.
func (a *asmSide) close() {
	if a.Program != nil {
		a.Program.Close()
	}
	_ = os.RemoveAll(a.folder)
}

// peakMemory is the most memory a process held resident (VmHWM), in KiB.
type peakMemory struct {
	What string
	KiB  int
	Note string
}

// peaks runs each of our ways once in a fresh process and asks that process; the
// JVM's own peak is that of this whole run.
func peaks(java *asmSide) []peakMemory {
	var all []peakMemory
	for _, p := range []peakMemory{
		{What: "load", Note: "Sonde's side with all classes in memory, nothing done yet"},
		{What: "lift", Note: "then one round of parse + lift"},
		{What: "weave", Note: "then one round of weaving with the built-in probe"},
	} {
		p.KiB = peakOfChild(p.What)
		all = append(all, p)
	}
	return append(all, peakMemory{"JVM", residentPeak(java.PID()), "ASM's side, whole run, -Xmx2g"})
}

// peakOfChild is 0 where it cannot be known.
func peakOfChild(what string) int {
	self, err := os.Executable()
	if err != nil {
		return 0
	}
	out, err := exec.Command(self, "-peak", what).Output()
	if err != nil {
		return 0
	}
	var kib int
	if _, err := fmt.Sscan(string(bytes.TrimSpace(out)), &kib); err != nil {
		return 0
	}
	return kib
}

// printPeak is what the child does. Reading the image maps all of it, so the
// kernel's mark is set back once the classes are copied.
func printPeak(what string, classes [][]byte) error {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return err
	}
	switch what {
	case "load":
	case "lift":
		if _, err := liftRound(classes); err != nil {
			return err
		}
	case "weave":
		template, err := builtinTemplate("probe")
		if err != nil {
			return err
		}
		if _, err := weaveRound(classes, template, 1); err != nil {
			return err
		}
	default:
		return fmt.Errorf("-peak %s: load, lift or weave", what)
	}
	fmt.Println(residentPeak(os.Getpid()))
	return nil
}

func residentPeak(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib
		}
	}
	return 0
}
