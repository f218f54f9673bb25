package profile

import (
	"context"
	"fmt"
	"slices"

	"github.com/sonde-jvm/sonde/internal/session"
)

// mirror reads the loaded classes that are followed, and those they inherit from.
func (r *run) mirror(ctx context.Context) error {
	loaded, err := r.session.Prefetch(ctx, func(class string) bool {
		return !r.skip.class(class) || r.settings.roots.MatchClass(class)
	}, r.settings.roots.MatchClass)
	if err != nil {
		return err
	}
	r.addMirrors(loaded)
	if err := r.mirrorSupertypes(ctx); err != nil {
		return err
	}
	return r.fetchReflective(ctx)
}

// mirrorSupertypes reads what followed classes inherit from: of the JDK on disk, or
// else of the target.
func (r *run) mirrorSupertypes(ctx context.Context) error {
	for {
		wanted := make(map[string]bool)
		read := 0
		for _, name := range r.graph.Missing() {
			file, isFirst := r.ask(name)
			if !isFirst {
				continue
			}
			if file == nil {
				wanted[name] = true
			} else if _, err := r.graph.Add(file); err == nil {
				read++
			}
		}
		if len(wanted) > 0 {
			loaded, err := r.session.Prefetch(ctx, func(class string) bool { return wanted[class] }, nil)
			if err != nil {
				return err
			}
			r.addMirrors(loaded)
			read += len(loaded)
		}
		if read == 0 {
			return nil
		}
	}
}

func (r *run) addMirrors(loaded []session.LoadedClass) {
	for _, class := range loaded {
		r.addMirror(class)
	}
	r.report()
}

func (r *run) addMirror(class session.LoadedClass) {
	if class.File == nil && class.Reason != "" {
		return // a class that the JVM made, for a lambda most often: what that calls is known by who made it
	}
	r.lock.Lock()
	if class.Reason != "" {
		r.unhookable[class.Name] = class.Reason
	}
	if class.File == nil {
		r.unhookable[class.Name] = "its class file is not found, so what it calls is not known"
		r.missing++
		r.lock.Unlock()
		return
	}
	r.mirrored++
	r.lock.Unlock()
	if _, err := r.graph.Add(class.File); err != nil {
		r.lock.Lock()
		r.unhookable[class.Name] = err.Error()
		r.lock.Unlock()
	}
}

// fetchReflective gets the JDK's classes that tell of calls by reflection: later
// on a thread of the program may wait for hooks in them.
func (r *run) fetchReflective(ctx context.Context) error {
	names := session.ReflectiveClasses()
	if _, err := r.session.Prefetch(ctx, func(class string) bool { return slices.Contains(names, class) }, nil); err != nil {
		return fmt.Errorf("reflection cannot be followed: %w", err)
	}
	return nil
}
