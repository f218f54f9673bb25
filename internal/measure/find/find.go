// Package find looks up loaded classes and their methods by name.
package find

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/classes/own"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// Options say what to find.
type Options struct {
	session.Settings
	PID     int
	Queries []Query
	Files   bool   // classes have their files, and queries that find nothing are no errors
	Entered func() // called when the JVM can be asked; may be nil
}

// A Query is what a user looks for: classes, or methods.
type Query struct {
	text   string
	class  *pattern.ClassPattern // nil if it can only be a method
	method *pattern.Pattern      // nil if it can only be a class
	isWord bool                  // a name without a package: methods are looked for only if no class has it
}

// ParseQuery parses a pattern of classes or of methods. A name without a dot is that of a class in any
// package or, if there is none, of a method.
func ParseQuery(text string) (Query, error) {
	class, method := text, text
	isWord := !strings.ContainsAny(text, ".#:/(")
	name, isAnnotation := strings.CutPrefix(text, "@")
	switch {
	case isWord && isAnnotation:
		method = "@**." + name
	case isWord && text != "**":
		class, method = "**."+text, "**."+text
	}
	q := Query{text: text, isWord: isWord}
	var classErr, methodErr error
	if isAnnotation || strings.Contains(text, " ") {
		q.isWord = false
		q.method, methodErr = pattern.Parse(method)
		return q, methodErr
	}
	q.class, classErr = pattern.ParseClass(class)
	q.method, methodErr = pattern.Parse(method)
	if classErr != nil && methodErr != nil {
		return q, methodErr
	}
	return q, nil
}

// MethodQuery parses a pattern of methods. If it begins with "!", it excludes what other queries find.
func MethodQuery(text string) (Query, error) {
	method, err := pattern.Parse(text)
	return Query{text: text, method: method}, err
}

// excludes reports whether the query excludes methods.
func (q *Query) excludes() bool { return q.method != nil && q.method.Excludes() }

// A Result is what was found.
type Result struct {
	JDK, Main string
	Loaded    int // classes in the JVM
	Classes   []Class
	Lacks     []string // sentences about methods without code that no loaded class implements, or about queries that find nothing
}

// A Class is a loaded class.
type Class struct {
	Name     string // internal
	Loader   uint32
	Module   string   // of the JDK; empty for other classes
	Places   []string // jars and folders that have a class of this name, in the order of the class path
	Methods  []Method // the methods that match, or all if the class matches
	Fileless bool     // its class file is not found, so its methods are not known
	File     []byte   // its class file, with Options.Files
}

// A Method is a method of a class.
type Method struct {
	classfile.MethodRef
	Access classfile.Access
}

// HasCode reports whether the method can have a hook.
func (m Method) HasCode() bool {
	return !m.Access.Has(classfile.AccAbstract) && !m.Access.Has(classfile.AccNative)
}

// nothingFound returns the error for a query that nothing matches. near are similar names.
func nothingFound(lack string, near []string) error {
	if len(near) > 0 {
		return fmt.Errorf("%s; similar: %s", lack, strings.Join(near, ", "))
	}
	return fmt.Errorf("%s; a class that is not loaded yet is not found", lack)
}

// Look asks a JVM which classes it has loaded. It changes no class.
func Look(ctx context.Context, o Options) (*Result, error) {
	jvm, err := process.Local.Inspect(o.PID)
	if err != nil {
		return nil, &session.NoSuchJVM{PID: o.PID, Cause: err}
	}
	library := jimage.OfJVM(jvm)
	defer func() { _ = library.Close() }()
	look, err := session.Open(ctx, o.PID, o.Settings)
	if err != nil {
		return nil, err
	}
	defer func() { _ = look.Release() }()
	if o.Entered != nil {
		o.Entered()
	}
	f := &finder{library: library, queries: o.Queries, hasFiles: o.Files, result: &Result{JDK: look.JDK().String(), Main: jvm.Main}}
	err = f.find(ctx, look)
	_, closing := look.Close(ctx)
	if err := errors.Join(err, closing); err != nil {
		return nil, err
	}
	var places *own.Places
	for i := range f.result.Classes {
		if c := &f.result.Classes[i]; c.Module == "" {
			if places == nil {
				places = own.FindPlaces(jvm)
			}
			c.Places = places.Of(c.Name)
		}
	}
	return f.result, nil
}

type finder struct {
	library  *jimage.Image
	queries  []Query
	hasFiles bool
	result   *Result
}

// find lists the loaded classes, and reads the files of classes that may match.
func (f *finder) find(ctx context.Context, look *session.Look) error {
	listed, err := look.Survey(ctx, func(string) bool { return false })
	if err != nil {
		return err
	}
	listed = slices.DeleteFunc(listed, func(c universe.Loaded) bool { return universe.IsSondes(c.Name) })
	f.result.Loaded = len(listed)
	matches := make([]func(class string) bool, len(f.queries)) // which classes are read for a query
	wanted := make(map[string]bool)
	for i := range f.queries {
		q := &f.queries[i]
		matches[i] = q.reads(listed)
		for _, c := range listed {
			if matches[i](c.Name) && !f.library.Has(c.Name) {
				wanted[c.Name] = true
			}
		}
	}
	if err := f.read(ctx, look, listed, wanted); err != nil {
		return err
	}
	if err := f.learn(ctx, look, listed); err != nil {
		return err
	}
	found := make([]bool, len(f.queries))
	for _, c := range listed {
		f.add(c, matches, found)
	}
	slices.SortFunc(f.result.Classes, func(a, b Class) int { return strings.Compare(a.Name, b.Name) })
	for i, is := range found {
		q := &f.queries[i]
		isByType := q.method != nil && !q.method.IsByName()
		lack := "no loaded class or method matches " + q.text
		var nothing error
		switch {
		case q.excludes():
		case !is && isByType:
			nothing = nothingFound(cmp.Or(q.method.Lack(), lack), q.method.Similar())
		case !is && q.method != nil:
			nothing = nothingFound(lack, q.method.Near(namesOf(listed)))
		case !is:
			nothing = nothingFound(lack, nil)
		case isByType && !q.method.IsMet():
			f.result.Lacks = append(f.result.Lacks, q.method.Lack())
		}
		switch {
		case nothing == nil:
		case !f.hasFiles:
			return nothing
		default:
			f.result.Lacks = append(f.result.Lacks, nothing.Error())
		}
	}
	return nil
}

// read gets the files of some classes.
func (f *finder) read(ctx context.Context, look *session.Look, listed []universe.Loaded, wanted map[string]bool) error {
	if len(wanted) == 0 {
		return nil
	}
	read, err := look.Survey(ctx, func(class string) bool { return wanted[class] })
	if err != nil {
		return err
	}
	files := make(map[string][]universe.Loaded)
	for _, c := range read {
		if c.File != nil || c.Supers != nil {
			files[c.Name] = append(files[c.Name], c)
		}
	}
	for i := range listed {
		for _, with := range files[listed[i].Name] {
			if with.Loader == listed[i].Loader {
				listed[i].File, listed[i].Supers = with.File, with.Supers
			}
		}
	}
	return nil
}

// learn shows classes to patterns that depend on what classes contain. It reads more classes if one
// selects methods by type.
func (f *finder) learn(ctx context.Context, look *session.Look, listed []universe.Loaded) error {
	var patterns []*pattern.Pattern
	for i := range f.queries {
		if m := f.queries[i].method; m != nil && m.Learns() {
			patterns = append(patterns, m)
		}
	}
	if len(patterns) == 0 {
		return nil
	}
	pattern.LearnAll(universe.Of(f.library, listed), patterns)
	wanted := make(map[string]bool)
	for i := range listed {
		c := &listed[i]
		isRead := slices.ContainsFunc(patterns, func(p *pattern.Pattern) bool { return p.ReadsClass(c.Name) })
		if isRead && c.File == nil && !f.library.Has(c.Name) {
			wanted[c.Name] = true
		}
	}
	if err := f.read(ctx, look, listed, wanted); err != nil || len(wanted) == 0 {
		return err
	}
	pattern.LearnAll(universe.Of(f.library, listed), patterns)
	return nil
}

// reads returns which classes must be read for a query.
func (q *Query) reads(listed []universe.Loaded) func(class string) bool {
	isClass := func(class string) bool { return q.class != nil && q.class.Match(class) }
	if q.isWord {
		if slices.ContainsFunc(listed, func(c universe.Loaded) bool { return isClass(c.Name) }) {
			q.method = nil
		} else {
			q.class = nil
		}
	}
	return func(class string) bool {
		return isClass(class) || q.method != nil && !q.excludes() && q.method.MatchClass(class)
	}
}

// add adds a class if it or a method of it matches, and notes which queries have found something.
func (f *finder) add(loaded universe.Loaded, matches []func(class string) bool, found []bool) {
	if !slices.ContainsFunc(matches, func(match func(string) bool) bool { return match(loaded.Name) }) {
		return
	}
	c := Class{Name: loaded.Name, Loader: loaded.Loader, Module: f.library.Module(loaded.Name)}
	file := loaded.File
	if file == nil {
		file = f.library.Class(loaded.Name)
	}
	methods, ok := MethodsOf(file, loaded.Name)
	if c.Fileless = !ok; ok && f.hasFiles {
		c.File = file
	}
	isClass := false
	for i := range f.queries {
		if q := &f.queries[i]; q.class != nil && q.class.Match(loaded.Name) {
			isClass, found[i] = true, true
		}
	}
	for _, m := range methods {
		isWanted := isClass
		for i := range f.queries {
			if q := &f.queries[i]; q.method != nil && !q.excludes() && q.method.Match(m.MethodRef) {
				isWanted, found[i] = true, true
			}
		}
		if slices.ContainsFunc(f.queries, func(q Query) bool { return q.excludes() && q.method.Match(m.MethodRef) }) {
			continue
		}
		if isWanted {
			c.Methods = append(c.Methods, m)
		}
	}
	if isClass || len(c.Methods) > 0 {
		f.result.Classes = append(f.result.Classes, c)
	}
}

// MethodsOf returns the methods of a class file; false if there is none that can be read.
func MethodsOf(file []byte, class string) (methods []Method, ok bool) {
	if file == nil {
		return nil, false
	}
	parsed, err := classfile.Parse(file)
	if err != nil {
		return nil, false
	}
	for i := range parsed.Methods {
		m := &parsed.Methods[i]
		name, descriptor, err := parsed.MemberName(m)
		if err != nil {
			return nil, false
		}
		methods = append(methods, Method{classfile.MethodRef{Class: class, Name: string(name), Descriptor: string(descriptor)}, m.Access})
	}
	return methods, true
}

func namesOf(classes []universe.Loaded) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range classes {
			if !yield(classes[i].Name) {
				return
			}
		}
	}
}
