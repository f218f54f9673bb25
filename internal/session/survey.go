package session

import (
	"context"
	"slices"

	"github.com/sonde-jvm/sonde/internal/wire/control"
)

// Survey tells which classes are loaded, and gets the files of those that are wanted,
// as Prefetch does. No class is redefined for it: one that no loader has a file of is
// without. Of those that Prefetch or Survey has got before nothing is told again.
func (s *Session) Survey(ctx context.Context, wanted func(class string) bool) ([]LoadedClass, error) {
	classes, err := s.peer.List(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	candidates, err := s.gather(ctx, classes, wanted)
	if err != nil {
		return nil, err
	}
	loaded := s.keepAll(candidates)
	for _, class := range classes {
		if name := internalName(class); !wanted(name) {
			loaded = append(loaded, LoadedClass{Name: name, Loader: class.Loader, Reason: obstacle(class)})
		}
	}
	return loaded, nil
}

// gather gets the files of classes that are wanted and not known yet, as far as their
// loaders have them.
func (s *Session) gather(ctx context.Context, classes []control.Class, wanted func(class string) bool) ([]candidate, error) {
	var candidates []candidate
	sample := make(map[uint32]uint32) // a class of each loader
	for _, class := range classes {
		c := candidate{handle: class.Handle, loader: class.Loader, name: internalName(class), reason: obstacle(class)}
		if !wanted(c.name) || s.store.has(c) {
			continue
		}
		candidates = append(candidates, c)
		sample[c.loader] = c.handle
	}
	blind, err := s.blindLoaders(ctx, sample)
	if err != nil {
		return nil, err
	}
	byHandle := make(map[uint32]*candidate, len(candidates))
	handles := make([]uint32, len(candidates))
	for i := range candidates {
		c := &candidates[i]
		if c.reason == "" && blind[c.loader] != "" {
			c.reason = "its class loader does not see the hooks: " + blind[c.loader]
		}
		byHandle[c.handle], handles[i] = c, c.handle
	}
	err = s.peer.Fetch(ctx, handles, func(handle uint32, file []byte, _ string) {
		byHandle[handle].file = slices.Clone(file)
	})
	if err != nil {
		return nil, s.explain(err)
	}
	return candidates, nil
}

// obstacle says why no hook can be put into a class; "" where nothing speaks against
// it but, perhaps, its loader.
func obstacle(class control.Class) string {
	if class.Flags&control.Modifiable == 0 {
		return "the JVM does not let it be changed"
	}
	return exemption(internalName(class))
}
