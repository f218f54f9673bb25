package profile_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

// A count is of one method in one calling context.
type count struct {
	entered, threw int64 // threw is unknown where nobody can tell
}

// unknown stands for a number of exceptions that the program itself cannot know.
const unknown = -1

// contexts are counts by calling context: the names of methods from the root on,
// with blanks between them.
type contexts map[string]count

// methods are all that occur in contexts.
func (c contexts) methods() map[string]bool {
	methods := make(map[string]bool)
	for path := range c {
		for _, method := range strings.Fields(path) {
			methods[method] = true
		}
	}
	return methods
}

// diff has a line for each context in which a profile differs.
func (c contexts) diff(other contexts) []string {
	all := maps.Clone(other)
	maps.Copy(all, c)
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(all)) {
		own, theirs := c[path], other[path]
		if own.entered == theirs.entered && (own.threw == theirs.threw || own.threw == unknown) {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: the program counted %d entries, %d exceptions; the profile %d, %d",
			short(path), own.entered, own.threw, theirs.entered, theirs.threw))
	}
	return lines
}

// short is a context for people: without packages and parameters, and of deep ones
// the root and the end.
func short(path string) string {
	const most = 6
	names := strings.Fields(path)
	for i, name := range names {
		name, _, _ = strings.Cut(name, "(")
		names[i] = name[strings.LastIndexByte(name, '/')+1:]
	}
	if deep := len(names) - most; deep > 0 {
		names = slices.Concat(names[:1], []string{fmt.Sprintf("(%d more)", deep)}, names[deep+1:])
	}
	return strings.Join(names, " → ")
}

// nameOf is a method's name as the programs have it.
func nameOf(m cct.Method) string { return m.Class + "." + m.Name + m.Descriptor }

// contextsOf is what a tree says about some methods. What stands between them,
// such as a bridge, is left out of the paths.
func contextsOf(p *cct.Profile, top *cct.Node, known map[string]bool) contexts {
	found := make(contexts)
	var walk func(node *cct.Node, path string)
	walk = func(node *cct.Node, path string) {
		if node.Method >= 0 && known[nameOf(p.Methods[node.Method])] {
			path = strings.TrimSpace(path + " " + nameOf(p.Methods[node.Method]))
			sum := found[path]
			sum.entered += int64(node.Calls)
			sum.threw += int64(node.Threw)
			found[path] = sum
		}
		for _, child := range node.Children {
			walk(child, path)
		}
	}
	walk(top, "")
	return found
}

// add sums counts of several trees.
func (c contexts) add(other contexts) {
	for path, count := range other {
		sum := c[path]
		sum.entered += count.entered
		sum.threw += count.threw
		c[path] = sum
	}
}
