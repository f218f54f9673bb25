package layering

import (
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sonde-jvm/sonde"

// groups are the folders of internal/ in the order in which data flows. A package may
// import packages of its own group and of groups before it.
var groups = []string{"wire", "jvm", "classes", "spec", "weave", "session", "measure", "report", "service", "cli"}

// library is the part of the module that others can use: it knows class files and
// nothing else, so it imports only itself. Everything may import it.
const library = "classfile"

// leaves may be imported from every group because they import nothing of the module.
var leaves = []string{"agent", "internal/report/format"}

// shipped is the program users get. What it imports must not be support for tests.
const shipped = "cmd/sonde"

// outside lists which packages of other modules each group may import. The library and
// the groups that are not here have only the standard library.
var outside = map[string][]string{
	"wire":    {"golang.org/x/sys/unix"},
	"jvm":     {"golang.org/x/sys/unix"},
	"spec":    {"go.yaml.in/yaml/v3"},
	"weave":   {"golang.org/x/sys/unix"},
	"measure": {"golang.org/x/sys/unix"},
	"report": {
		"github.com/google/pprof/profile",
		"go.opentelemetry.io/proto/otlp/common/v1", "go.opentelemetry.io/proto/otlp/resource/v1", "go.opentelemetry.io/proto/otlp/trace/v1", "go.opentelemetry.io/proto/otlp/profiles/v1development",
		"google.golang.org/protobuf/encoding/protojson", "google.golang.org/protobuf/encoding/protowire", "google.golang.org/protobuf/proto",
	},
	"service": {"golang.org/x/sys/unix"},
	"cli":     {"github.com/gdamore/tcell/v2", "github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/sys/unix", "golang.org/x/term"},
}

func TestImportsFollowTheFlow(t *testing.T) {
	for _, p := range readPackages(t) {
		if !ships(p.path) {
			continue
		}
		for imported, file := range p.imports {
			inner, ours := strings.CutPrefix(imported, module+"/")
			switch {
			case !ours && isOutside(imported) && !slices.Contains(outside[group(p.path)], imported):
				t.Errorf("%s imports %s, which is not in the list of other modules for %q", file, imported, group(p.path))
			case ours && !mayImport(p.path, inner):
				t.Errorf("%s imports %s: the flow is %s", file, inner, strings.Join(groups, " <- "))
			}
		}
	}
}

// mayImport reports whether an import goes with the flow.
func mayImport(from, to string) bool {
	switch {
	case !ships(to):
		return false
	case inside(to, library):
		return true
	case inside(from, library), slices.Contains(leaves, from):
		return inside(from, library) && inside(to, library)
	case slices.Contains(leaves, to):
		return true
	case from == shipped:
		return to == "internal/cli"
	}
	source, target := slices.Index(groups, group(from)), slices.Index(groups, group(to))
	return target >= 0 && source >= target
}

// ships reports whether a package is part of the product: not a program that generates
// code, a benchmark, a test, or support for them.
func ships(path string) bool {
	for _, element := range strings.Split(path, "/") {
		if element == "bench" || element == "gen" || element == "layering" || strings.HasSuffix(element, "test") || path == "agent/build" {
			return false
		}
	}
	return true
}

// group is the folder of internal/ that a package is in.
func group(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "internal/"), "/")
	return name
}

func inside(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// isOutside reports whether an import is neither of this module nor of the standard
// library, whose first elements have no dot.
func isOutside(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return strings.Contains(first, ".") && !inside(imported, module)
}

// TestReferenceParserIsIndependent holds for the parser that decides whether the library
// reads a class file correctly.
func TestReferenceParserIsIndependent(t *testing.T) {
	for _, p := range readPackages(t) {
		for imported, file := range p.imports {
			if p.path == "classfile/classtest" && inside(imported, module) {
				t.Errorf("%s imports %s: the reference parser must not share code with the parser it judges", file, imported)
			}
		}
	}
}
