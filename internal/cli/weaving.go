package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// job weaves the classes of one input, on several goroutines.
type job struct {
	patterns  *pattern.Set
	templates []*weave.Template
	used      []atomic.Bool // whether the pattern of the same index matched

	mu       sync.Mutex
	woven    int
	codeless int // methods that match but have no code to weave around
	left     []leftAlone
	modules  []string // named modules in the input
}

// leftAlone is a method, or with Method "" a whole class, that matched and was
// not woven.
type leftAlone struct {
	seq    int
	Path   string `json:"path"`
	Class  string `json:"class"`
	Method string `json:"method,omitempty"` // with its descriptor
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
}

const malformedClass = "the class file is malformed"

// name is how a person would call it: a method by its class, a class that is broken
// by the file to look at.
func (l *leftAlone) name() string {
	if l.Method == "" {
		return l.Path
	}
	return strings.ReplaceAll(l.Class, "/", ".") + "." + l.Method
}

func newJob(patterns *pattern.Set, templates []*weave.Template) *job {
	return &job{patterns: patterns, templates: templates, used: make([]atomic.Bool, len(patterns.Includes()))}
}

// newTransform makes the transform of one worker, with a weaver of its own.
func (j *job) newTransform() archive.Transform {
	w := &worker{job: j, weaver: weave.NewWeaver()}
	return func(e archive.Entry) ([]byte, error) { return w.weave(e), nil }
}

// worker is what one goroutine weaves with.
type worker struct {
	*job
	weaver *weave.Weaver
	lifter code.Lifter
}

// check finds indices that lead nowhere, which the weaver, that has no use for
// most of them, would carry over. A body that cannot be lifted is for the weaver to
// name: the other methods of its class can be woven.
func (w *worker) check(c *classfile.Class) error {
	if err := c.Check(); err != nil {
		return err
	}
	for i := range c.Methods {
		body, err := w.lifter.Lift(c, &c.Methods[i])
		if err != nil || body == nil {
			continue
		}
		if err := body.Check(); err != nil {
			return fmt.Errorf("method %d, Code, %w", i, err)
		}
	}
	return nil
}

// weave weaves one class. What cannot be woven is noted, never an error: one
// odd class does not keep the others from being instrumented.
func (w *worker) weave(e archive.Entry) []byte {
	j := w.job
	c, err := classfile.Parse(e.Data)
	if err != nil {
		j.note(leftAlone{seq: e.Seq, Path: e.Path, Kind: "the class file cannot be read", Reason: err.Error()})
		return nil
	}
	if c.Access.Has(classfile.AccModule) {
		j.noteModule(c)
		return nil
	}
	class := c.Name()
	if class != "" && !j.patterns.MatchClass(class) {
		return nil
	}
	if err := w.check(c); err != nil {
		j.note(leftAlone{seq: e.Seq, Path: e.Path, Class: class, Kind: malformedClass, Reason: err.Error()})
		return nil
	}
	codeless := 0
	result, err := w.weaver.Weave(e.Data, func(m weave.MethodInfo) []*weave.Template {
		if !j.patterns.Match(m.Class, m.Name, m.Descriptor) {
			return nil
		}
		j.markUsed(m)
		if !m.HasCode {
			codeless++
			return nil
		}
		return j.templates
	})
	if err != nil {
		j.note(leftAlone{seq: e.Seq, Path: e.Path, Class: class, Kind: malformedClass, Reason: err.Error()})
		return nil
	}
	j.record(e, class, result, codeless)
	return result.Bytes
}

func (j *job) markUsed(m weave.MethodInfo) {
	for i, p := range j.patterns.Includes() {
		if !j.used[i].Load() && p.Match(m.Class, m.Name, m.Descriptor) {
			j.used[i].Store(true)
		}
	}
}

func (j *job) record(e archive.Entry, class string, result *weave.Result, codeless int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.codeless += codeless
	for i := range result.Methods {
		m := &result.Methods[i]
		if m.Woven {
			j.woven++
			continue
		}
		kind := m.Reason.Error()
		var reason *weave.Reason
		if errors.As(m.Reason, &reason) {
			kind = string(reason.Kind)
		}
		// The names are views of the class, which need not stay in memory.
		j.left = append(j.left, leftAlone{
			seq: e.Seq, Path: e.Path, Class: class, Method: strings.Clone(m.Name) + strings.Clone(m.Descriptor),
			Kind: kind, Reason: m.Reason.Error(),
		})
	}
}

func (j *job) note(l leftAlone) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.left = append(j.left, l)
}

// noteModule remembers the name of a module, told once though versions of it are told
// for several releases.
func (j *job) noteModule(c *classfile.Class) {
	a := c.Find(c.Attributes, classfile.KindModule)
	if a == nil {
		return
	}
	contents, err := c.Decode(*a)
	m, ok := contents.(*classfile.Module)
	if err != nil || !ok {
		return
	}
	name, err := c.Pool.ModuleName(m.Name)
	if err != nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Contains(j.modules, string(name)) {
		j.modules = append(j.modules, string(name))
	}
}

// verdict decides, all classes being done, whether the output may be written.
func (j *job) verdict(input string, strict bool) error {
	j.sortLeft()
	if j.woven == 0 && j.codeless == 0 && len(j.left) > 0 && j.leftMethods() == 0 {
		return fmt.Errorf("%s: nothing written, as no class can be read; the first: %s: %s", input, j.left[0].Path, j.left[0].Reason)
	}
	if j.woven == 0 && j.codeless == 0 && len(j.left) == 0 {
		return fmt.Errorf("%s: no method matches %s: nothing written%s", input, patternList(j.patterns.Includes()), advice(j.patterns.Includes()))
	}
	if strict && len(j.left) > 0 {
		first := &j.left[0]
		return fmt.Errorf("%s: --strict, and %s cannot be woven: nothing written; the first is %s: %s",
			input, count(len(j.left), "method or class", "methods or classes"), first.name(), first.Reason)
	}
	return nil
}

// leftMethods counts the methods left alone in classes that could be read.
func (j *job) leftMethods() int {
	n := 0
	for i := range j.left {
		if j.left[i].Method != "" {
			n++
		}
	}
	return n
}

// sortLeft puts what the workers found in the order of the input.
func (j *job) sortLeft() {
	slices.SortStableFunc(j.left, func(a, b leftAlone) int { return cmp.Compare(a.seq, b.seq) })
}

// advice is for the commonest slip, a pattern that names a package's classes
// but no method.
func advice(patterns []*pattern.Pattern) string {
	for _, p := range patterns {
		if rest, ok := strings.CutSuffix(p.String(), ".*"); ok && !strings.HasSuffix(rest, "*") {
			return fmt.Sprintf(" (the last name is a method: %s.** takes every class of the package %s)", rest, rest)
		}
	}
	return ""
}

// unused are the patterns that matched nothing.
func (j *job) unused() []string {
	var names []string
	for i, p := range j.patterns.Includes() {
		if !j.used[i].Load() {
			names = append(names, p.String())
		}
	}
	return names
}

func patternList(patterns []*pattern.Pattern) string {
	names := make([]string, len(patterns))
	for i, p := range patterns {
		names[i] = p.String()
	}
	return strings.Join(names, ", ")
}
