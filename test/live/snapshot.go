package live

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Method is what the JVM says about one method that it runs, or about a class
// that is not linked yet, whose methods it does not tell.
type Method struct {
	Class, Loader    string // with dots; the loader's class, or "boot"
	Name, Descriptor string // empty where the class is not linked
	// Shape holds modifiers, locals, size of arguments, size of code, and a hash
	// of line numbers.
	Shape string
	// Code is a hash of the bytes, Meaning one that has in the place of each
	// constant's number what it stands for: a JVM may number constants anew.
	Code, Meaning string
}

// A Snapshot is what a JVM runs, sorted.
type Snapshot []Method

// Alive is what a heap holds after a full collection.
type Alive struct {
	Classes []LoadedClass
	// Held tells what leads to the instances, in lines like
	// "pkg.Loader by field of java.lang.Thread"; weak references are told too.
	Held    []string
	Threads []string // names of all live platform threads, sorted
}

// A LoadedClass is a class that is loaded, with how many objects of it live.
type LoadedClass struct {
	Name, Loader string
	Instances    int64
}

func parseMethod(line string) (Method, error) {
	words := strings.Fields(line)
	switch {
	case len(words) == 3 && words[0] == "unlinked":
		return Method{Class: words[1], Loader: words[2]}, nil
	case len(words) == 12 && words[0] == "method":
		m := Method{Class: words[1], Loader: words[2], Name: words[3], Descriptor: words[4]}
		m.Shape = strings.Join(append(slices.Clone(words[5:9]), words[11]), " ")
		m.Code, m.Meaning = words[9], words[10]
		return m, nil
	}
	return Method{}, fmt.Errorf("the oracle said %q, which is no method", line)
}

// Diff returns a line for each method that was (-) and is (+) otherwise, byte by
// byte.
func (s Snapshot) Diff(after Snapshot) []string {
	return diff(s, after, func(m Method) string { return fmt.Sprintf("%v", m) })
}

// DiffMeaning is like Diff but does not mind which numbers constants have.
func (s Snapshot) DiffMeaning(after Snapshot) []string {
	return diff(s, after, func(m Method) string {
		m.Code = ""
		return fmt.Sprintf("%v", m)
	})
}

// diff compares as multisets, since several loaders may have classes of one
// name.
func diff(before, after Snapshot, text func(Method) string) []string {
	balance := make(map[string]int)
	for _, m := range before {
		balance[text(m)]--
	}
	for _, m := range after {
		balance[text(m)]++
	}
	var lines []string
	for _, line := range slices.Sorted(maps.Keys(balance)) {
		switch n := balance[line]; {
		case n < 0:
			lines = append(lines, fmt.Sprintf("- %s × %d", line, -n))
		case n > 0:
			lines = append(lines, fmt.Sprintf("+ %s × %d", line, n))
		}
	}
	return lines
}

// Instances is how many objects live, over all classes asked about.
func (a Alive) Instances() int64 {
	var sum int64
	for _, class := range a.Classes {
		sum += class.Instances
	}
	return sum
}
