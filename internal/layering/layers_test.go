package layering

import (
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sonde-jvm/sonde"

// layers is the allowed import graph: each package of the module, bottom to
// top, with the packages of the module its code may import. An edge that is not
// here, and a package that is not here, fail the test; so do edges that nothing
// uses any more, since a graph that allows more than the code needs says little.
// Tests of a package may import what they like.
var layers = map[string][]string{
	// The library: class files and nothing of profiling.
	"classfile/descriptor": {},
	"classfile/opcode":     {},
	"classfile":            {},
	"classfile/code":       {"classfile", "classfile/opcode"},
	"classfile/frames":     {"classfile", "classfile/code", "classfile/descriptor", "classfile/opcode"},
	"classfile/dump":       {"classfile", "classfile/code", "classfile/descriptor", "classfile/opcode"},
	// The reference parser decides what is right, so it shares no code with
	// what it judges.
	"classfile/classtest": {},

	// The product.
	// Numbers, times and names as people read them.
	"internal/figure":  {},
	"internal/jimage":  {},
	"internal/archive": {"internal/jimage"},
	"internal/probe":   {"classfile/descriptor"},
	"internal/weave": {
		"classfile", "classfile/code", "classfile/descriptor", "classfile/frames", "classfile/opcode",
	},
	"internal/callgraph": {"classfile", "classfile/descriptor", "classfile/opcode"},
	"internal/cache":     {"classfile/code", "classfile/opcode", "internal/weave"},
	"internal/condition": {"classfile", "classfile/code", "classfile/descriptor", "classfile/opcode", "internal/weave"},
	"internal/sequence":  {"internal/probe"},
	"internal/wanted":    {"internal/condition", "internal/probe", "internal/sequence"},
	"internal/holder":    {"internal/wanted"},
	"internal/hsperf":    {},
	// What only reads of processes is apart from what signals them.
	"internal/attach/jvmproc": {"internal/arena", "internal/hsperf"},
	"internal/attach":         {"internal/attach/jvmproc", "internal/identity"},
	"internal/identity":       {},
	"internal/foothold":       {"internal/attach/jvmproc", "internal/identity"},
	"internal/control":        {},
	"internal/arena":          {},
	"internal/ledger":         {"internal/arena"},
	"internal/cct":            {},
	"internal/flight":         {},
	"internal/report/page":    {"internal/cct", "internal/climb", "internal/figure", "internal/report/ascent"},
	"internal/origin":         {"classfile", "classfile/opcode"},
	"internal/toll":           {"internal/attach/jvmproc", "internal/hsperf"},
	"internal/preflight":      {"internal/attach", "internal/attach/jvmproc", "internal/origin"},
	"internal/climb":          {},
	"internal/hot":            {"internal/flight"},
	"internal/recorder":       {"internal/attach", "internal/attach/jvmproc", "internal/flight"},
	"internal/pack":           {"internal/arena", "internal/cache", "internal/control"},
	// What joins them.
	"internal/session": {
		"agent", "classfile", "internal/arena", "internal/attach", "internal/attach/jvmproc", "internal/cache", "internal/control",
		"internal/foothold", "internal/ledger", "internal/origin", "internal/probe", "internal/toll", "internal/weave",
	},
	"internal/profile": {
		"internal/arena", "internal/cache", "internal/callgraph", "internal/cct", "internal/figure", "internal/flight", "internal/jimage", "internal/probe", "internal/recorder",
		"internal/session", "internal/toll",
	},
	"internal/walk": {
		"classfile", "internal/arena", "internal/cache", "internal/callgraph", "internal/climb", "internal/figure", "internal/flight", "internal/hot", "internal/recorder", "internal/session", "internal/toll",
	},
	"internal/callees": {
		"internal/arena", "internal/attach/jvmproc", "internal/cache", "internal/callgraph", "internal/jimage", "internal/probe", "internal/session",
	},
	"internal/harvest": {"internal/attach/jvmproc", "internal/ledger", "internal/pack", "internal/wanted"},
	"internal/monitor": {"internal/arena"},
	"internal/trace":   {"internal/arena"},
	"internal/watch": {
		"classfile", "classfile/descriptor", "classfile/opcode", "internal/arena", "internal/callees", "internal/callgraph", "internal/condition", "internal/jimage", "internal/ledger",
		"internal/probe", "internal/sequence", "internal/session", "internal/wanted", "internal/weave",
	},
	"internal/loom": {
		"agent", "classfile", "internal/archive", "internal/arena", "internal/cache", "internal/pack", "internal/session", "internal/wanted", "internal/watch",
	},
	"internal/observe": {
		"classfile", "classfile/code", "classfile/descriptor", "classfile/opcode", "internal/archive", "internal/arena", "internal/attach/jvmproc", "internal/cache",
		"internal/callgraph", "internal/figure", "internal/flight", "internal/hot", "internal/probe", "internal/recorder", "internal/session", "internal/toll", "internal/wanted", "internal/watch",
	},
	// What a run found, for people and other programs.
	"internal/report/ascent":    {"internal/climb"},
	"internal/report/waterfall": {"internal/figure", "internal/report/page", "internal/trace"},
	"internal/report/chrome":    {"internal/trace"},
	"internal/report/otlp":      {"internal/trace"},
	"internal/report/record":    {"internal/cct", "internal/climb"},
	"internal/report": {
		"classfile/descriptor", "internal/cct", "internal/climb", "internal/figure", "internal/report/ascent", "internal/report/page", "internal/report/record",
	},
	"internal/launch":   {"agent", "internal/archive", "internal/attach/jvmproc"},
	"internal/jvmtest":  {},
	"internal/layering": {},

	// The guest in the JVM: one file that embeds its built form.
	"agent": {},

	// The program that ships.
	"cmd/sonde": {
		"agent", "classfile", "classfile/code", "classfile/descriptor", "classfile/dump", "internal/archive", "internal/arena",
		"internal/attach", "internal/attach/jvmproc", "internal/cache", "internal/callees", "internal/callgraph", "internal/cct", "internal/climb", "internal/condition", "internal/figure", "internal/flight", "internal/foothold", "internal/harvest", "internal/holder", "internal/hot", "internal/launch", "internal/ledger", "internal/loom", "internal/monitor", "internal/observe", "internal/origin", "internal/pack",
		"internal/preflight", "internal/probe", "internal/profile", "internal/recorder", "internal/report", "internal/report/chrome", "internal/report/otlp", "internal/report/waterfall", "internal/sequence", "internal/session", "internal/toll", "internal/trace", "internal/walk", "internal/wanted", "internal/watch",
		"internal/weave",
	},

	// Programs and tests that do not ship.
	"internal/report/pagetest":   {},
	"internal/trace/tracetest":   {"internal/arena", "internal/trace"},
	"internal/arena/arenatest":   {"internal/arena"},
	"agent/build":                {"internal/jvmtest"},
	"bench/redefine":             {"internal/attach", "internal/jvmtest", "internal/toll"},
	"bench/overhead":             {"bench/driver", "bench/machine", "bench/spread", "internal/arena", "internal/jvmtest", "internal/probe", "internal/session"},
	"bench/undo":                 {"internal/arena", "internal/jvmtest", "internal/probe", "internal/session"},
	"internal/arena/gen":         {},
	"internal/control/gen":       {},
	"bench/jfluid":               {"internal/jvmtest"},
	"bench/spread":               {},
	"bench/twin":                 {},
	"bench/driver":               {"internal/jvmtest"},
	"bench/machine":              {"internal/jvmtest"},
	"bench/profile":              {"bench/jfluid", "bench/machine", "bench/spread", "internal/cct", "internal/jvmtest", "internal/profile"},
	"bench/truth":                {"bench/driver", "bench/jfluid", "bench/machine", "bench/spread", "internal/cct", "internal/jvmtest", "internal/profile"},
	"bench/walk":                 {"bench/driver", "bench/machine", "bench/spread", "bench/twin", "internal/arena", "internal/climb", "internal/jvmtest", "internal/probe", "internal/recorder", "internal/session", "internal/walk"},
	"bench/cache":                {"agent", "bench/machine", "bench/spread", "internal/archive", "internal/cache", "internal/session", "internal/weave"},
	"bench/observe":              {"bench/machine", "bench/spread", "bench/twin", "internal/arena", "internal/attach/jvmproc", "internal/jvmtest", "internal/observe", "internal/session", "internal/toll", "internal/wanted", "internal/watch"},
	"bench/context":              {"bench/driver", "bench/machine", "bench/spread", "internal/arena", "internal/jvmtest", "internal/session", "internal/wanted", "internal/watch"},
	"bench/lag":                  {"bench/driver", "bench/machine", "bench/spread", "internal/jvmtest", "internal/recorder"},
	"bench/ring":                 {"bench/driver", "bench/machine", "bench/spread", "internal/arena", "internal/jvmtest", "internal/probe", "internal/session"},
	"bench/startup":              {"bench/machine", "bench/spread", "classfile", "internal/arena", "internal/jvmtest"},
	"test/context":               {},
	"test/profile":               {},
	"test/live":                  {"internal/attach", "internal/jvmtest"},
	"test/walk":                  {},
	"bench/engine":               {"agent", "bench/spread", "classfile", "classfile/code", "internal/jimage", "internal/jvmtest", "internal/weave"},
	"classfile/classtest/zoogen": {"classfile/classtest", "internal/jvmtest"},
	"classfile/opcode/gen":       {},
	"test/demo":                  {},
	"test/identity":              {},
	"test/realprograms":          {},
	"test/tenants":               {},
	"test/otlp":                  {},
	"test/matrix":                {},
	"test/programs":              {},
}

// outside is what each package may import from other modules. The library has
// only the standard library beneath it.
var outside = map[string][]string{
	"test/otlp": { // the collector, with a go.mod of its own
		"go.opentelemetry.io/collector/component", "go.opentelemetry.io/collector/confmap", "go.opentelemetry.io/collector/confmap/provider/fileprovider",
		"go.opentelemetry.io/collector/consumer", "go.opentelemetry.io/collector/exporter", "go.opentelemetry.io/collector/otelcol",
		"go.opentelemetry.io/collector/pdata/ptrace", "go.opentelemetry.io/collector/receiver", "go.opentelemetry.io/collector/receiver/otlpreceiver",
		"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry",
	},
	"cmd/sonde":               {"github.com/spf13/cobra", "golang.org/x/sys/unix", "golang.org/x/term"},
	"internal/attach":         {"golang.org/x/sys/unix"},
	"internal/attach/jvmproc": {"golang.org/x/sys/unix"},
	"internal/identity":       {"golang.org/x/sys/unix"},
	"internal/recorder":       {"golang.org/x/sys/unix"},
	"internal/foothold":       {"golang.org/x/sys/unix"},
	"internal/arena":          {"golang.org/x/sys/unix"},
	"internal/ledger":         {"golang.org/x/sys/unix"},
	"internal/cache":          {"golang.org/x/sys/unix"},
	"internal/launch":         {"golang.org/x/sys/unix"},
	"bench/cache":             {"golang.org/x/sys/unix"},
	"bench/profile":           {"golang.org/x/sys/unix"},
	"bench/startup":           {"golang.org/x/sys/unix"},
	"internal/report":         {"github.com/google/pprof/profile"},
	"internal/report/otlp": {
		"go.opentelemetry.io/proto/otlp/common/v1", "go.opentelemetry.io/proto/otlp/resource/v1", "go.opentelemetry.io/proto/otlp/trace/v1",
		"google.golang.org/protobuf/encoding/protojson", "google.golang.org/protobuf/encoding/protowire", "google.golang.org/protobuf/proto",
	},
	"internal/wanted": {"go.yaml.in/yaml/v3"},
	"internal/holder": {"golang.org/x/sys/unix"},
}

// shipped is the program users get, and forTests what must not be in it.
const shipped = "cmd/sonde"

var forTests = []string{"classfile/classtest", "internal/jvmtest", "internal/report/pagetest", "internal/trace/tracetest", "internal/arena/arenatest", "test/live"}

func TestEveryImportIsAllowed(t *testing.T) {
	for _, p := range readPackages(t) {
		allowed, known := layers[p.path]
		if !known {
			t.Errorf("package %s is not in the table of layers: give it a row saying what it may import", p.path)
			continue
		}
		for imported, file := range p.imports {
			inner, ours := strings.CutPrefix(imported, module+"/")
			switch {
			case ours && !slices.Contains(allowed, inner):
				t.Errorf("%s imports %s, which the table of layers does not allow to %s", file, inner, p.path)
			case !ours && isOutside(imported) && !slices.Contains(outside[p.path], imported):
				t.Errorf("%s imports %s, which is of another module and not allowed to %s", file, imported, p.path)
			}
		}
	}
}

func TestEveryRowIsUsed(t *testing.T) {
	found := map[string]sourcePackage{}
	for _, p := range readPackages(t) {
		found[p.path] = p
	}
	for path, allowed := range layers {
		p, exists := found[path]
		if !exists {
			t.Errorf("the table of layers has a row for %s, which does not exist", path)
			continue
		}
		for _, inner := range allowed {
			if _, used := p.imports[module+"/"+inner]; !used {
				t.Errorf("the table of layers allows %s to import %s, which it does not need", path, inner)
			}
		}
	}
}

func TestTestPackagesDoNotShip(t *testing.T) {
	reached := map[string]bool{}
	var reach func(path string)
	reach = func(path string) {
		if reached[path] {
			return
		}
		reached[path] = true
		for _, inner := range layers[path] {
			reach(inner)
		}
	}
	reach(shipped)
	for _, path := range forTests {
		if reached[path] {
			t.Errorf("%s is for tests, yet %s contains it", path, shipped)
		}
	}
}

// TestLayersHaveNoCycle keeps the table itself honest: the compiler sees only
// the edges in use.
func TestLayersHaveNoCycle(t *testing.T) {
	const underWay, done = 1, 2
	state := map[string]int{}
	var visit func(path string, trail []string)
	visit = func(path string, trail []string) {
		trail = append(trail, path)
		switch state[path] {
		case done:
			return
		case underWay:
			t.Errorf("the table of layers has a cycle: %s", strings.Join(trail, " → "))
			return
		}
		state[path] = underWay
		for _, inner := range layers[path] {
			if _, known := layers[inner]; !known {
				t.Errorf("the row of %s names %s, which has no row", path, inner)
			}
			visit(inner, trail)
		}
		state[path] = done
	}
	for path := range layers {
		visit(path, nil)
	}
}

// isOutside tells an import of another module from one of the standard library,
// whose first element never has a dot.
func isOutside(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.Contains(first, ".")
}
