// Package offline weaves templates into the classes of a jar, directory or class file,
// without a JVM.
package offline

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
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// A Job weaves the classes of one input, on several goroutines. Its fields may be read
// when all transforms are done.
type Job struct {
	patterns  *pattern.Set
	templates []*weave.Template
	used      []atomic.Bool // whether the pattern of the same index matched

	mu       sync.Mutex
	Woven    int         // methods
	Codeless int         // methods that match but have no code to weave around
	Left     []LeftAlone // in the order of the input after Verdict
	Modules  []string    // named modules in the input
}

// LeftAlone is a method, or with Method "" a whole class, that matched and was not woven.
type LeftAlone struct {
	seq    int
	Path   string `json:"path"`
	Class  string `json:"class"`
	Method string `json:"method,omitempty"` // with its descriptor
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
}

const malformedClass = "the class file is malformed"

// Name returns the name for people: that of the method, or the path of a class that
// cannot be read.
func (l *LeftAlone) Name() string {
	if l.Method == "" {
		return l.Path
	}
	return strings.ReplaceAll(l.Class, "/", ".") + "." + l.Method
}

// NewJob returns a job that weaves templates, the outermost first, around the methods that
// match.
func NewJob(patterns *pattern.Set, templates []*weave.Template) *Job {
	return &Job{patterns: patterns, templates: templates, used: make([]atomic.Bool, len(patterns.Includes()))}
}

// NewTransform returns the transform of one goroutine.
func (j *Job) NewTransform() archive.Transform {
	w := &worker{Job: j, weaver: weave.NewWeaver()}
	return func(e archive.Entry) ([]byte, error) { return w.weave(e), nil }
}

// A worker weaves on one goroutine.
type worker struct {
	*Job
	weaver *weave.Weaver
	lifter code.Lifter
}

// check finds invalid indices, which the weaver would copy because it does not use most of
// them. It skips bodies that cannot be lifted: the weaver reports these and can weave the
// other methods of the class.
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

// weave weaves one class. A class or method that cannot be woven is not an error: the
// others are woven all the same.
func (w *worker) weave(e archive.Entry) []byte {
	j := w.Job
	c, err := classfile.Parse(e.Data)
	if err != nil {
		return j.note(e, "", "the class file cannot be read", err)
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
		return j.note(e, class, malformedClass, err)
	}
	codeless := 0
	result, err := w.weaver.Weave(e.Data, func(m weave.MethodInfo) []*weave.Template {
		if !j.patterns.Match(m.MethodRef) {
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
		return j.note(e, class, malformedClass, err)
	}
	j.record(e, class, result, codeless)
	return result.Bytes
}

func (j *Job) markUsed(m weave.MethodInfo) {
	for i, p := range j.patterns.Includes() {
		if !j.used[i].Load() && p.Match(m.MethodRef) {
			j.used[i].Store(true)
		}
	}
}

func (j *Job) record(e archive.Entry, class string, result *weave.Result, codeless int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.Codeless += codeless
	for i := range result.Methods {
		m := &result.Methods[i]
		if m.Woven {
			j.Woven++
			continue
		}
		kind := m.Reason.Error()
		var reason *weave.Reason
		if errors.As(m.Reason, &reason) {
			kind = string(reason.Kind)
		}
		// The names are views of the class, which need not stay in memory.
		j.Left = append(j.Left, LeftAlone{
			seq: e.Seq, Path: e.Path, Class: class, Method: strings.Clone(m.Name) + strings.Clone(m.Descriptor),
			Kind: kind, Reason: m.Reason.Error(),
		})
	}
}

// note records a class that is left alone, and returns no woven bytes.
func (j *Job) note(e archive.Entry, class, kind string, err error) []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.Left = append(j.Left, LeftAlone{seq: e.Seq, Path: e.Path, Class: class, Kind: kind, Reason: err.Error()})
	return nil
}

// noteModule records the name of a module, once although a multi-release jar has several
// of its descriptors.
func (j *Job) noteModule(c *classfile.Class) {
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
	if !slices.Contains(j.Modules, string(name)) {
		j.Modules = append(j.Modules, string(name))
	}
}

// A NoMatchError says that no method matches the patterns.
type NoMatchError struct{ Patterns []*pattern.Pattern }

func (e *NoMatchError) Error() string {
	names := make([]string, len(e.Patterns))
	for i, p := range e.Patterns {
		names[i] = p.String()
	}
	return "no method matches " + strings.Join(names, ", ")
}

// Verdict decides, after all classes are woven, whether the output may be written. With
// strict, nothing may be left alone.
func (j *Job) Verdict(strict bool) error {
	slices.SortStableFunc(j.Left, func(a, b LeftAlone) int { return cmp.Compare(a.seq, b.seq) })
	isMethod := func(l LeftAlone) bool { return l.Method != "" }
	switch {
	case j.Woven > 0 || j.Codeless > 0 || slices.ContainsFunc(j.Left, isMethod):
	case len(j.Left) == 0:
		return &NoMatchError{j.patterns.Includes()}
	default:
		return fmt.Errorf("nothing was written because no class can be read; the first is %s: %s", j.Left[0].Path, j.Left[0].Reason)
	}
	if strict && len(j.Left) > 0 {
		first := &j.Left[0]
		return fmt.Errorf("nothing written (--strict): %s cannot be woven; the first is %s: %s",
			format.Count(len(j.Left), "method or class", "methods or classes"), first.Name(), first.Reason)
	}
	return nil
}

// Unmatched returns the patterns that matched no method.
func (j *Job) Unmatched() []string {
	var names []string
	for i, p := range j.patterns.Includes() {
		if !j.used[i].Load() {
			names = append(names, p.String())
		}
	}
	return names
}
