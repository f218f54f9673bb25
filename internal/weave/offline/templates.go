package offline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// A Loader turns the values of --template into templates: names of built-in templates,
// class files and Java sources.
type Loader struct {
	Javac     string // the compiler of sources; "" finds one by JAVA_HOME or PATH
	ClassPath []string
}

// Load returns templates in the order of their specifications.
func (l *Loader) Load(ctx context.Context, specs []string) ([]*weave.Template, error) {
	var all []*weave.Template
	for _, spec := range specs {
		t, err := l.one(ctx, spec)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// An UnknownTemplateError says that a specification names no template.
type UnknownTemplateError struct{ Spec string }

func (e *UnknownTemplateError) Error() string {
	return fmt.Sprintf("template %q is neither built in (%s) nor a .java or .class file", e.Spec, strings.Join(agent.TemplateNames(), ", "))
}

func (l *Loader) one(ctx context.Context, spec string) (*weave.Template, error) {
	if class, method, ok := agent.Template(spec); ok {
		return weave.CompileTemplate(class, method)
	}
	file, method := splitMethod(spec)
	switch filepath.Ext(file) {
	case ".class":
		class, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		t, err := weave.CompileTemplate(class, method)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return t, nil
	case ".java":
		return l.source(ctx, file, method)
	}
	return nil, &UnknownTemplateError{spec}
}

// A User is a template of a user for running programs, with its class file.
type User struct {
	*weave.UserTemplate
	Class  []byte
	Method string // the name of the template method; empty if there is only one
}

// largestTemplate is the largest class file that is read.
const largestTemplate = 1 << 20

// LoadUser returns a template for running programs, from FILE.java or FILE.class, which may be followed by :METHOD. Whatever
// is wrong with it is a [weave.UserTemplateError].
func (l *Loader) LoadUser(ctx context.Context, spec string, isTrusted bool) (*User, error) {
	file, method := splitMethod(spec)
	switch filepath.Ext(file) {
	case ".class":
		class, err := readTemplate(file)
		if err != nil {
			return nil, err
		}
		t, err := CompileUser(class, method, sourceOf(class, file), isTrusted)
		return &User{t, class, method}, err
	case ".java":
		return l.userSource(ctx, file, method, isTrusted)
	}
	return nil, &weave.UserTemplateError{File: spec, Problems: []weave.Problem{{Text: "is neither a .java nor a .class file: sonde template new writes an example"}}}
}

// CompileUser compiles the class file of a user's template, whose code calls the hooks of the agent.
func CompileUser(class []byte, method, file string, isTrusted bool) (*weave.UserTemplate, error) {
	return weave.CompileUser(class, method, weave.UserOptions{File: file, Trusted: isTrusted, Hooks: agent.HookClass() + "Record"}) // instrument.RecordsClass
}

// sourceOf returns the name of the source that a class file was compiled from, or else that of the class file.
func sourceOf(class []byte, file string) string {
	c, err := classfile.Parse(class)
	if err != nil {
		return file
	}
	a := c.Find(c.Attributes, classfile.KindSourceFile)
	if a == nil {
		return file
	}
	if content, err := c.Decode(*a); err == nil {
		if index, is := content.(classfile.SourceFile); is {
			if name, err := c.Pool.Utf8(uint16(index)); err == nil {
				return string(name)
			}
		}
	}
	return file
}

func readTemplate(name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > largestTemplate:
		return nil, fmt.Errorf("%s is not a class file of at most %d bytes", name, largestTemplate)
	}
	return os.ReadFile(name)
}

// userSource compiles a Java file. The template is in the class with the name of the file, or in the only class that calls the target.
func (l *Loader) userSource(ctx context.Context, file, method string, isTrusted bool) (found *User, err error) {
	dir, err := os.MkdirTemp("", "sonde-template-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	names, err := l.compile(ctx, file, dir)
	var bad *compileError
	if errors.As(err, &bad) {
		return nil, &weave.UserTemplateError{File: file, Problems: bad.problems()}
	}
	if err != nil {
		return nil, err
	}
	var classes [][]byte
	named := strings.TrimSuffix(filepath.Base(file), ".java") + ".class"
	for _, name := range names {
		class, err := readTemplate(name)
		if err != nil {
			return nil, err
		}
		if classes = append(classes, class); filepath.Base(name) == named {
			classes = [][]byte{class}
			break
		}
	}
	for _, class := range classes {
		t, failed := CompileUser(class, method, file, isTrusted)
		switch {
		case failed == nil && found != nil:
			return nil, &weave.UserTemplateError{File: file, Problems: []weave.Problem{{Text: "has two templates, " + found.Name() + " and " + t.Name() + ": keep one per file"}}}
		case failed == nil:
			found = &User{t, class, method}
		case err == nil:
			err = failed
		}
	}
	if found != nil {
		return found, nil
	}
	return nil, cmp.Or(err, error(&weave.UserTemplateError{File: file, Problems: []weave.Problem{{Text: "has no class: sonde template new writes an example"}}}))
}

// splitMethod splits FILE:METHOD.
func splitMethod(spec string) (file, method string) {
	if i := strings.LastIndexByte(spec, ':'); i >= 0 {
		if ext := filepath.Ext(spec[:i]); ext == ".java" || ext == ".class" {
			return spec[:i], spec[i+1:]
		}
	}
	return spec, ""
}

// source compiles a Java file and finds the template: in the class with the name of the
// file, else in the only class that has a template.
func (l *Loader) source(ctx context.Context, file, method string) (t *weave.Template, err error) {
	dir, err := os.MkdirTemp("", "sonde-template-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	classes, err := l.compile(ctx, file, dir)
	if err != nil {
		return nil, err
	}
	named := strings.TrimSuffix(filepath.Base(file), ".java") + ".class"
	var firstErr error
	for _, name := range classes {
		class, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		found, err := weave.CompileTemplate(class, method)
		switch {
		case err == nil && filepath.Base(name) == named:
			return found, nil
		case err == nil && t != nil:
			return nil, fmt.Errorf("%s: %s and %s are both templates: keep one per file", file, t.Name(), found.Name())
		case err == nil:
			t = found
		case firstErr == nil || filepath.Base(name) == named:
			firstErr = err
		}
	}
	if t == nil {
		return nil, fmt.Errorf("%s: %w", file, firstErr)
	}
	return t, nil
}

var errNoJavac = errors.New("a .java template needs javac: install a JDK, set JAVA_HOME, name it with --javac, or give the template as a .class file")

// findJavac returns the path of --javac, of JAVA_HOME or of PATH, in this order.
func (l *Loader) findJavac() (string, error) {
	if l.Javac != "" {
		path, err := exec.LookPath(l.Javac)
		if err != nil {
			return "", fmt.Errorf("--javac %s: %w", l.Javac, err)
		}
		return path, nil
	}
	if home := os.Getenv("JAVA_HOME"); home != "" {
		if path, err := exec.LookPath(filepath.Join(home, "bin", "javac")); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath("javac")
	if err != nil {
		return "", errNoJavac
	}
	return path, nil
}

// compile runs javac on a template and returns the class files it made in dir.
// They are for Java 8, so that a template fits classes of every later release.
func (l *Loader) compile(ctx context.Context, file, dir string) ([]string, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	javac, err := l.findJavac()
	if err != nil {
		return nil, err
	}
	runtimeJar := filepath.Join(dir, "sonde-runtime.jar")
	if err := os.WriteFile(runtimeJar, agent.RuntimeJar(), 0o600); err != nil {
		return nil, err
	}
	out := filepath.Join(dir, "classes")
	if err := os.Mkdir(out, 0o700); err != nil {
		return nil, err
	}
	classPath := strings.Join(append([]string{runtimeJar}, l.ClassPath...), string(os.PathListSeparator))
	rest := []string{"-proc:none", "-Xlint:-options", "-encoding", "UTF-8", "-cp", classPath, "-d", out, file}
	messages, err := runJavac(ctx, javac, append([]string{"--release", "8"}, rest...))
	if err != nil && strings.Contains(messages, "invalid flag: --release") {
		// The javac of JDK 8 itself.
		messages, err = runJavac(ctx, javac, append([]string{"-source", "8", "-target", "8"}, rest...))
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &compileError{file, messages, err}
	}
	return classFiles(out)
}

// A compileError is a source that javac does not compile.
type compileError struct {
	file, messages string
	err            error
}

func (e *compileError) Error() string {
	return fmt.Sprintf("%s does not compile: %s", e.file, firstMessage(e.messages, e.err))
}

// problems returns the errors that javac printed, as FILE:LINE: error: TEXT.
func (e *compileError) problems() (all []weave.Problem) {
	for line := range strings.SplitSeq(e.messages, "\n") {
		rest, isOfFile := strings.CutPrefix(strings.TrimSpace(line), e.file+":")
		digits, text, isError := strings.Cut(rest, ": error: ")
		if number, err := strconv.Atoi(digits); isOfFile && isError && err == nil {
			all = append(all, weave.Problem{Line: number, Text: "does not compile: " + text})
		}
	}
	if len(all) == 0 {
		all = []weave.Problem{{Text: "does not compile: " + firstMessage(e.messages, e.err)}}
	}
	return all
}

func runJavac(ctx context.Context, javac string, args []string) (messages string, err error) {
	var text bytes.Buffer
	command := exec.CommandContext(ctx, javac, args...)
	command.Stdout, command.Stderr = &text, &text
	err = command.Run()
	return text.String(), err
}

// chatter are the beginnings of lines that report no error.
var chatter = []string{"warning:", "Note:", "Picked up "}

// firstMessage returns the first error that javac printed.
func firstMessage(messages string, err error) string {
	first := ""
	for line := range strings.SplitSeq(messages, "\n") {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "error: ") {
			return line
		}
		isChatter := slices.ContainsFunc(chatter, func(begin string) bool { return strings.HasPrefix(line, begin) })
		if first == "" && line != "" && !isChatter {
			first = line
		}
	}
	if first == "" {
		return err.Error()
	}
	return first
}

func classFiles(dir string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(name) == ".class" {
			names = append(names, name)
		}
		return err
	})
	return names, err
}
