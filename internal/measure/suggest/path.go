package suggest

import (
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
)

// A Path is how running threads got where they were: the methods of a stack, the
// innermost first, and the weight of the samples that showed it.
type Path struct {
	Methods []Method
	Weight  float64
}

// pathsOf are the ways that samples show. Frames of Sonde's hooks, and of what those
// call, are no part of the program.
func pathsOf(t *hotspots.Table) (paths []Path) {
	for _, stack := range t.Stacks() {
		path := Path{Weight: stack.Weight}
		for _, m := range stack.Methods {
			path.Methods = append(path.Methods, methodOf(m))
		}
		path.Methods = path.Methods[innermost(path.Methods):]
		if len(path.Methods) > 0 {
			paths = append(paths, path)
		}
	}
	return paths
}

// innermost is where the program's own frames begin.
func innermost(methods []Method) int {
	for i := len(methods) - 1; i >= 0; i-- {
		if methods[i].isOurs() {
			return i + 1
		}
	}
	return 0
}

// above are the methods that have called the leaf of a path, each once, the innermost
// first.
func (p *Path) above() (methods []Method) {
	for _, m := range p.Methods[1:] {
		if !slices.Contains(methods, m) {
			methods = append(methods, m)
		}
	}
	return methods
}

// all are the methods of a path, each once, the innermost first.
func (p *Path) all() (methods []Method) {
	for _, m := range p.Methods {
		if !slices.Contains(methods, m) {
			methods = append(methods, m)
		}
	}
	return methods
}

// Coverage is the share of all weight whose paths have a method above their leaf that
// covers.
func Coverage(paths []Path, covers func(Method) bool) float64 {
	var covered, whole float64
	for i := range paths {
		whole += paths[i].Weight
		if len(paths[i].Methods) > 1 && slices.ContainsFunc(paths[i].Methods[1:], covers) {
			covered += paths[i].Weight
		}
	}
	if whole == 0 {
		return 0
	}
	return covered / whole
}

// ownThreads are those of the JVM and of Sonde: what they do is no work of the program.
var ownThreads = []string{
	"sonde-", "Attach Listener", "Signal Dispatcher", "JFR ", "Reference Handler", "Finalizer", "Common-Cleaner", "Notification Thread", "Service Thread",
	"Monitor Deflation Thread", "C1 CompilerThread", "C2 CompilerThread", "process reaper",
}

// isOfProgram tells threads of the program from those of the JVM and of Sonde.
func isOfProgram(s jfr.Sample) bool {
	if s.Thread == nil || s.Stack == nil || len(s.Stack.Frames) == 0 {
		return false
	}
	if slices.ContainsFunc(ownThreads, func(name string) bool { return strings.HasPrefix(s.Thread.Name, name) }) {
		return false
	}
	outermost := s.Stack.Frames[len(s.Stack.Frames)-1].Method
	return outermost == nil || !strings.HasPrefix(outermost.Class, "sonde/")
}

// inlining is how often methods were seen compiled into their callers.
type inlining map[Method]struct{ seen, inlined int }

func (in inlining) add(s jfr.Sample) {
	for _, frame := range s.Stack.Frames {
		if frame.Method == nil {
			continue
		}
		m := methodOf(frame.Method)
		n := in[m]
		n.seen++
		if frame.Kind == jfr.Inlined {
			n.inlined++
		}
		in[m] = n
	}
}

// isMostly reports whether a method is part of its callers most of the time: a hook
// would keep it from that.
func (in inlining) isMostly(m Method) bool { return 2*in[m].inlined > in[m].seen }
