package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
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
