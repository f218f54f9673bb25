package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// templates are what --template asked for, outermost first.
type templates struct {
	list    []*weave.Template
	builtin bool // one of them at least needs the runtime jar
}

// loader turns the values of --template into templates.
type loader struct {
	javac     string // of --javac
	classPath []string
}

func (l *loader) load(ctx context.Context, specs []string) (*templates, error) {
	all := &templates{}
	for _, spec := range specs {
		t, err := l.one(ctx, spec)
		if err != nil {
			return nil, err
		}
		_, _, builtin := agent.Template(spec)
		all.builtin = all.builtin || builtin
		all.list = append(all.list, t)
	}
	return all, nil
}

func (l *loader) one(ctx context.Context, spec string) (*weave.Template, error) {
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
	return nil, usage("template %q is not built in (%s are), and is no .java or .class file", spec, strings.Join(agent.TemplateNames(), ", "))
}

// splitMethod takes FILE:METHOD apart.
func splitMethod(spec string) (file, method string) {
	if i := strings.LastIndexByte(spec, ':'); i >= 0 {
		if ext := filepath.Ext(spec[:i]); ext == ".java" || ext == ".class" {
			return spec[:i], spec[i+1:]
		}
	}
	return spec, ""
}

// source compiles a Java file and finds the template in what comes out: in the
// class named like the file, else in the only one that has a template.
func (l *loader) source(ctx context.Context, file, method string) (t *weave.Template, err error) {
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
