package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// A class is one with methods that can have hooks.
type class struct {
	name  string
	file  []byte
	hooks []session.Hook
}

// A scope is which methods of a class get hooks.
type scope int

const (
	oneMethod scope = iota
	allMethods
)

func (s scope) String() string { return [...]string{"one method", "all methods"}[s] }

func (c *class) hooksOf(s scope) []session.Hook {
	if s == oneMethod {
		return c.hooks[:1]
	}
	return c.hooks
}

// hooksIn are those of the methods that could be woven.
func hooksIn(class string, result *weave.Result) (hooks []session.Hook) {
	for _, r := range result.Methods {
		if r.Woven {
			hooks = append(hooks, session.Hook{Class: class, Name: strings.Clone(r.Name), Descriptor: strings.Clone(r.Descriptor)})
		}
	}
	return hooks
}

// load reads the classes of a jar that can have hooks, the smallest first; about so many
// where not all are wanted.
func load(ctx context.Context, jar string, most int) (classes []class, err error) {
	live, err := weave.CompileTemplate(agent.LiveTemplate())
	if err != nil {
		return nil, err
	}
	weaver := weave.NewWeaver()
	names := make(map[string]bool)
	err = archive.Walk(ctx, jar, func(e archive.Entry) error {
		c := class{file: bytes.Clone(e.Data)}
		result, err := weaver.Weave(c.file, func(m weave.MethodInfo) []*weave.Template {
			c.name = strings.Clone(m.Class)
			return []*weave.Template{live}
		})
		if err == nil && !names[c.name] { // else it is no class, or that of another Java release
			c.hooks = hooksIn(c.name, result)
			names[c.name] = true
		}
		if len(c.hooks) > 0 {
			classes = append(classes, c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(classes) == 0 {
		return nil, fmt.Errorf("%s has no class that could have a hook", jar)
	}
	slices.SortStableFunc(classes, func(a, b class) int { return len(a.file) - len(b.file) })
	if step := len(classes) / max(most, 1); most > 0 && step > 1 {
		some := classes[:0]
		for i := 0; i < len(classes); i += step {
			some = append(some, classes[i])
		}
		classes = some
	}
	return classes, nil
}
