package drill

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
)

const (
	// mostOuter is how many own methods of a stack may be where work enters the program, from the entry of
	// the thread on. The outermost ones are often loops that never return.
	mostOuter = 4
	// mostEntries is how many methods are compared.
	mostEntries = 12
)

// isHidden reports whether a class was made at run time, mostly for a lambda: it cannot have hooks.
func isHidden(class string) bool {
	return strings.Contains(class, "$$Lambda") || strings.ContainsAny(class, "+;[")
}

// isIdle are the states in which threads wait for work, or until the next time for it. One that waits for a monitor has work.
var isIdle = map[jfr.Wait]bool{jfr.Sleeping: true, jfr.Parked: true, jfr.Notification: true, jfr.IO: true}

// Entries returns the methods where work enters the program, by samples of its threads: of each stack the own methods
// nearest to the entry of the thread. An own method that itself waits, such as one that lets a loop rest, does not count then.
// Those seen most often come first.
func Entries(samples []jfr.Sample, isOwn func(class string) bool) []classfile.MethodRef {
	seen := make(map[classfile.MethodRef]int)
	for _, s := range samples {
		if s.Stack == nil || s.Thread == nil || !s.Thread.IsOfProgram() {
			continue
		}
		outer := 0
		met := make(map[classfile.MethodRef]bool)
		isOfProgram := func(f jfr.Frame) bool { return f.IsJava() && isOwn(f.Method.Class) && !isHidden(f.Method.Class) }
		frames := s.Stack.Frames
		if isIdle[s.Wait] {
			frames = frames[slices.IndexFunc(frames, isOfProgram)+1:]
		}
		for _, f := range slices.Backward(frames) {
			if !isOfProgram(f) || f.Method.Name == "main" || f.Method.Name == "<clinit>" {
				continue
			}
			if m := f.Method.Ref(); !met[m] {
				met[m] = true
				seen[m]++
			}
			if outer++; outer == mostOuter {
				break
			}
		}
	}
	found := slices.SortedFunc(maps.Keys(seen), func(a, b classfile.MethodRef) int {
		return cmp.Or(cmp.Compare(seen[b], seen[a]), a.Compare(b))
	})
	return found[:min(len(found), mostEntries)]
}
