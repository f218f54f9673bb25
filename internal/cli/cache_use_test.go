package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLiveCacheIsWhereItIsSaid opens it as flags and the environment say.
func TestLiveCacheIsWhereItIsSaid(t *testing.T) {
	named, user := filepath.Join(t.TempDir(), "named"), t.TempDir()
	for _, tt := range []struct {
		name, variable, made string
		flags                liveCache
	}{
		{name: "no variable", made: filepath.Join(user, "sonde", "woven")},
		{name: "off", variable: cacheOff},
		{name: "a variable", variable: named, made: named},
		{name: "a flag", variable: cacheOff, made: named, flags: liveCache{cachePlace: cachePlace{dir: named}}},
		{name: "none", variable: named, flags: liveCache{none: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(cacheVariable, tt.variable)
			t.Setenv("XDG_CACHE_HOME", user)
			opened, end, err := tt.flags.openCache(func(text string) { t.Error(text) })
			if err != nil || (opened != nil) != (tt.made != "") {
				t.Fatal(opened, err)
			}
			end()
			for _, dir := range []string{named, filepath.Join(user, "sonde")} {
				_, err := os.Stat(dir)
				if isThere := err == nil; isThere != strings.HasPrefix(tt.made, dir) {
					t.Errorf("%s: %v", dir, err)
				}
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestLiveCacheWrong is said before a JVM is touched; a cache that cannot be had is
// told of, and done without.
func TestLiveCacheWrong(t *testing.T) {
	for _, wrong := range []liveCache{
		{none: true, cachePlace: cachePlace{dir: "x"}}, {share: "all"}, {cachePlace: cachePlace{trust: []string{"nobody-of-that-name"}}},
	} {
		var bad *usageError
		if _, _, err := wrong.openCache(nil); !errors.As(err, &bad) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var told []string
	opened, end, err := (&liveCache{cachePlace: cachePlace{dir: file}}).openCache(func(text string) { told = append(told, text) })
	if err != nil || opened == nil || len(told) != 1 || strings.Contains(told[0], "\n") {
		t.Fatal(opened, err, told)
	}
	end()
}

// TestBackgroundHasTheCache hands what was said of it to the Sonde in the background.
func TestBackgroundHasTheCache(t *testing.T) {
	c := &applying{}
	c.cache = liveCache{share: "group", none: true, cachePlace: cachePlace{dir: "d", trust: []string{"a", "b"}}}
	want := []string{"--no-cache", "--cache", "d", "--cache-share", "group", "--cache-trust", "a", "--cache-trust", "b"}
	if args := c.backgroundArgs(); !slices.Equal(args[len(args)-len(want):], want) {
		t.Error(args)
	}
}
