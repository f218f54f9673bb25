package main

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// hookName begins the names of all hook classes in the sources; the one that is
// woven in has no more of a name.
const (
	hookName    = "SondeHooks"
	hookPackage = "java/lang/"
)

var hookPattern = regexp.MustCompile(`\b` + hookName)

// hookRename is the name by which hooks of just these sources are known. Hook
// classes stay in a JVM for ever, so those of different builds must not meet.
func hookRename(sources ...folder) string {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	for _, files := range sources {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(sum, "%s %d\n%s", name, len(files[name]), files[name])
		}
	}
	return fmt.Sprintf("%s_%08x", hookName, sum.Sum32())
}

// rename gives sources in which the hook classes have another name.
func rename(sources folder, to string) folder {
	renamed := make(folder)
	for name, data := range sources {
		renamed[hookPattern.ReplaceAllString(name, to)] = hookPattern.ReplaceAll(data, []byte(to))
	}
	return renamed
}

// hookIndex lists hook classes for the agent: the one that is woven in, then
// those it needs.
func hookIndex(classes folder, main string) ([]byte, error) {
	var index bytes.Buffer
	fmt.Fprintln(&index, hookPackage+main)
	found := false
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		class, _ := strings.CutSuffix(name, ".class")
		switch {
		case class == hookPackage+main:
			found = true
		case strings.HasPrefix(class, hookPackage+main):
			fmt.Fprintln(&index, class)
		default:
			return nil, fmt.Errorf("hook class %s: its name must begin with %s%s", class, hookPackage, hookName)
		}
	}
	if !found {
		return nil, fmt.Errorf("the hooks have no class %s%s", hookPackage, hookName)
	}
	return index.Bytes(), nil
}
