package layering

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A rule of docs/security.md that can be checked over the source: only functions in its list do what it is about, each
// for a reason that keeps the rule.
type securityRule struct {
	name    string
	applies func(pkg string) bool
	breaks  func(n ast.Node) bool
	allowed map[string]string // reasons, by function or variable
}

// opening are functions that open a path with the rights of this process, wherever links lead.
var opening = []string{
	"os.Open", "os.OpenFile", "os.ReadFile", "os.ReadDir", "os.OpenRoot", "os.DirFS", "unix.Open", "unix.Openat", "unix.Openat2", "syscall.Open",
	"filepath.Glob", "filepath.Walk", "filepath.WalkDir", "elf.Open", "zip.OpenReader",
}

const (
	kernels  = "a file of the kernel"
	users    = "a file that the user of Sonde has named"
	own      = "a file of Sonde in a directory of its user"
	byHandle = "a part of the functions that open files of targets"
	results  = "a file that the user of Sonde has named; the umask decides"
)

var securityRules = []securityRule{
	{
		name:    "files of targets are opened by process.Host.OpenFile, OpenFolder or OpenMapped",
		applies: seesTargets,
		breaks:  func(n ast.Node) bool { return slices.Contains(opening, selected(n)) },
		allowed: map[string]string{
			"internal/classes/jimage.Open":                  users,
			"internal/classes/jimage.OpenLibrary":           users,
			"internal/jvm/attach.live.create":               "creates a file as the target's user in an open directory",
			"internal/jvm/attach.live.started":              kernels,
			"internal/jvm/cost.census.read":                 kernels,
			"internal/jvm/doctor.readGroup":                 kernels,
			"internal/jvm/doctor.readNumber":                kernels,
			"internal/jvm/hotspot.OpenLibraries":            kernels,
			"internal/jvm/jfr.ReadFile":                     users,
			"internal/jvm/launch.hasTerminal":               kernels,
			"internal/jvm/launch.keep":                      own,
			"internal/jvm/perfevents.Events.start":          kernels,
			"internal/jvm/perfevents.onlineProcessors":      kernels,
			"internal/jvm/perfevents.readNumber":            kernels,
			"internal/jvm/process.Host.HasRecorder":         kernels,
			"internal/jvm/process.Host.OpenFiles":           kernels,
			"internal/jvm/process.Host.PIDs":                kernels,
			"internal/jvm/process.Host.Read":                kernels,
			"internal/jvm/process.Host.started":             kernels,
			"internal/jvm/process.NamespaceID":              kernels,
			"internal/jvm/process.OpenPlain":                "for files of JVMs that have ended: plain, without blocking, judged by owner and size",
			"internal/jvm/process.openAt":                   byHandle,
			"internal/jvm/process.openPath":                 byHandle,
			"internal/jvm/process.openPlainly":              byHandle,
			"internal/jvm/process.readLine":                 kernels,
			"internal/jvm/process.reopen":                   byHandle,
			"internal/jvm/sampler.clock.number":             kernels,
			"internal/jvm/sampler.clock.read":               kernels,
			"internal/jvm/sampler.memoryRemedy":             kernels,
			"internal/jvm/sampler.readKernelNames":          kernels,
			"internal/jvm/sampler.threadTable.find":         kernels,
			"internal/jvm/sampler.threadTable.refresh":      kernels,
			"internal/jvm/targetfs.Foothold.loopbackSocket": kernels,
			"internal/jvm/targetfs.place.open":              "opens a name as the target's user in an open directory, without following links",
			"internal/jvm/targetfs.visit":                   kernels,
			"internal/measure/calltree.forget":              own,
			"internal/measure/calltree.recall":              own,
			"internal/measure/found.Read":                   own,
			"internal/measure/found.evict":                  own,
			"internal/measure/results.leftBy":               "lists /tmp",
		},
	},
	{
		name:    "files are created unreadable to others",
		applies: ships,
		breaks:  opensToOthers,
		allowed: map[string]string{
			"internal/classes/archive.WriteFile":         results,
			"internal/classes/archive.finishDirectories": results,
			"internal/classes/archive.place":             results,
			"internal/cli.checkWritable":                 results,
			"internal/cli.observeCommand.write":          results,
			"internal/cli.save":                          results,
			"internal/cli.streams.printResult":           results,
			"internal/cli.writeExample":                  results,
			"internal/cli.writeManual":                   results,
			"internal/jvm/launch.keep":                   "the agent's jar, which JVMs of other users may have to read",
			"internal/jvm/launch.replace":                "the agent's jar, which JVMs of other users may have to read",
			"internal/jvm/targetfs.place.putLasting":     "0600 and sticky",
			"internal/report.WriteFile":                  results,
			"internal/report/prometheus.replaceFile":     results,
			"internal/weave/cache.Disk.createShard":      "0600 and 0700, unless the user shares the cache with --cache-share",
			"internal/weave/cache.Disk.open":             "0600 and 0700, unless the user shares the cache with --cache-share",
			"internal/weave/cache.Disk.openRoot":         "0600 and 0700, unless the user shares the cache with --cache-share",
		},
	},
	{
		name:    "nothing that outlives Sonde lies where others can create names",
		applies: ships,
		breaks:  namesSharedDirectory,
		allowed: map[string]string{
			"internal/cli.place":                       "the service's socket, in a directory that is refused unless it belongs to the user alone; the service ends with it",
			"internal/jvm/attach.newLive":              "only looked at",
			"internal/jvm/doctor.host.gather":          "only looked at",
			"internal/jvm/doctor.judge.places":         "only looked at",
			"internal/jvm/process.Host.readNote":       "only looked at",
			"internal/jvm/process.mapped.add":          "only looked at",
			"internal/jvm/targetfs.Foothold.openTmp":   "invitations, which the agent removes; it believes only those that others cannot have written",
			"internal/jvm/targetfs.arenaPlaces":        "a file of the target's user with mode 0600, which ends with the session",
			"internal/jvm/targetfs.places":             "files of a session, in a directory of the target's user with mode 0700; a jar stays while a JVM has it on its class path",
			"internal/measure/results.place":           "only looked at",
			"internal/weave/offline.Loader.source":     "a directory with mode 0700, removed when the template is compiled",
			"internal/weave/offline.Loader.userSource": "a directory with mode 0700, removed when the template is compiled",
		},
	},
	{
		name:    "the second Ctrl-C ends Sonde",
		applies: ships,
		breaks: func(n ast.Node) bool {
			return slices.Contains([]string{"signal.Notify", "signal.NotifyContext", "signal.Ignore", "signal.Reset"}, called(n))
		},
		allowed: map[string]string{
			"internal/cli.ignoreBrokenPipe":           "only SIGPIPE",
			"internal/cli.untilSignal":                "the second signal ends the process",
			"internal/jvm/launch.Program.PassSignals": "signals go to the program that was started, and its end ends Sonde",
		},
	},
	{
		name:    "lengths and counts from outside are checked before memory is allocated by them",
		applies: func(pkg string) bool { return slices.Contains(parsers, pkg) },
		breaks:  allocatesByNumber,
		allowed: map[string]string{
			"internal/classes/archive.leadIn":            "maxLeadIn",
			"internal/classes/jimage.Image.bytes":        "callers check against maxIndex and maxResource",
			"internal/jvm/hotspot.codeCache.begin":       "mostHeaps",
			"internal/jvm/hotspot.codeCache.isUnchanged": "sizes that are checked when the tables of HotSpot are read",
			"internal/jvm/hotspot.codeCache.sight":       "sizes that are checked when the tables of HotSpot are read",
			"internal/jvm/hotspot.methods.holds":         "what was read before",
			"internal/jvm/hotspot.space.bytes":           "mostRead",
			"internal/jvm/hotspot.space.prefix":          "mostRead",
			"internal/jvm/hotspot.table.each":            "sizes that are checked when the tables of HotSpot are read",
			"internal/jvm/jfr.chunk.frames":              "maxMade",
			"internal/jvm/jfr.fileReader.scan":           "maxEvent",
			"internal/jvm/jfr.liveFile.advance":          "mostNew",
			"internal/jvm/jfr.parseMetadata":             "mostTexts",
			"internal/jvm/process.search":                "constant",
			"internal/jvm/unwind.readTable":              "a count of 16 bits",
			"internal/weave/cache.Disk.read":             "maxFile",
			"internal/weave/pack.Pack.readRecords":       "a part that is inside the file",
			"internal/weave/pack.apply":                  "mostClassFile",
			"internal/weave/pack.encodeText":             "what Sonde itself writes",
			"internal/weave/pack.header.append":          "constant",
			"internal/weave/pack.makeIndex":              "what Sonde itself writes",
			"internal/weave/pack.readFile":               "mostBytes, and the file has that length",
			"internal/wire/arena.NewImage":               "what Sonde itself writes",
			"internal/wire/arena.Record.value":           "layoutMostUnits",
			"internal/wire/arena.Ring.take":              "the capacity of a ring",
			"internal/wire/arena.SwitchTable":            "what Sonde itself writes",
			"internal/wire/arena.WatchTable":             "what Sonde itself writes",
		},
	},
}

// parsers are the packages that read what other processes and users have written.
var parsers = []string{
	"internal/wire/arena", "internal/wire/control", "internal/jvm/jfr", "internal/jvm/perfdata", "internal/jvm/perfevents", "internal/jvm/hotspot", "internal/jvm/unwind",
	"internal/jvm/process", "internal/classes/jimage", "internal/classes/archive", "internal/weave/pack", "internal/weave/cache",
}

// seesTargets reports whether a package gets paths from processes.
func seesTargets(pkg string) bool {
	return ships(pkg) && (slices.Contains([]string{"jvm", "session", "measure"}, group(pkg)) || group(pkg) == "classes" && pkg != "internal/classes/archive")
}

func TestSecurityRules(t *testing.T) {
	for _, rule := range securityRules {
		found := map[string]string{} // lines, by function or variable
		for _, file := range sourceFiles(t) {
			if path.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go") && rule.applies(path.Dir(file)) {
				maps.Copy(found, breaches(t, file, rule.breaks))
			}
		}
		for _, where := range slices.Sorted(maps.Keys(found)) {
			if rule.allowed[where] == "" {
				t.Errorf("%s: %s in %s may break this rule: docs/security.md", rule.name, found[where], where)
			}
		}
		for _, where := range slices.Sorted(maps.Keys(rule.allowed)) {
			if found[where] == "" {
				t.Errorf("%s: %s is in the list, and does nothing that needs it", rule.name, where)
			}
		}
	}
}

// TestSecurityRulesFind: what the rules are about is recognized.
func TestSecurityRulesFind(t *testing.T) {
	for source, want := range map[string][]int{
		`os.Open(p)`: {0}, `unix.Openat2(d, p, h)`: {0}, `use(os.Open)`: {0}, `h.OpenFile(j, p, 1)`: nil,
		`os.WriteFile(p, b, 0o644)`: {1}, `os.WriteFile(p, b, 0o600)`: nil, `os.Create(p)`: {1}, `os.MkdirAll(p, 0o755)`: {1}, `f.Chmod(0o644)`: {1}, `f.Chmod(0o600)`: nil,
		`os.OpenFile(p, f, 0o640)`: {0, 1}, `os.OpenFile(p, f, 0)`: {0}, `os.WriteFile(p, b, mode)`: {1},
		`use("/tmp/x")`: {2}, `use("/dev/shm")`: {2}, `use("/tmpfs")`: nil, `os.TempDir()`: {2}, `os.MkdirTemp("", "x")`: {2}, `os.MkdirTemp(d, "x")`: nil,
		`signal.Notify(c)`: {3}, `make([]byte, n)`: {4}, `make([]byte, 0, n)`: {4}, `make([]byte, len(x))`: nil, `make([]byte, min(n, 8))`: nil, `make([]byte, 1<<20)`: nil,
		`make(map[int]int, n)`: {4}, `make(chan int, n)`: nil, `make([]int, 2*len(x)+1)`: nil, `slices.Grow(x, n)`: {4},
	} {
		parsed, err := parser.ParseExpr(source)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for i, rule := range securityRules {
			if hasBreach(parsed, rule.breaks) {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: rules %v, want %v", source, got, want)
		}
	}
}

// breaches returns the functions and variables of a file that may break a rule.
func breaches(t *testing.T, file string, breaks func(ast.Node) bool) map[string]string {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, filepath.Join(root, file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	add := func(name string, n ast.Node) {
		if hasBreach(n, breaks) {
			found[path.Dir(file)+"."+name] = path.Base(file) + ":" + strconv.Itoa(set.Position(n.Pos()).Line)
		}
	}
	for _, declared := range parsed.Decls {
		switch d := declared.(type) {
		case *ast.FuncDecl:
			add(receiver(d)+d.Name.Name, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if value, is := spec.(*ast.ValueSpec); is {
					add(value.Names[0].Name, value)
				}
			}
		}
	}
	return found
}

// receiver returns the type of a method, with a dot.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	of := d.Recv.List[0].Type
	if pointer, is := of.(*ast.StarExpr); is {
		of = pointer.X
	}
	if name, is := of.(*ast.Ident); is {
		return name.Name + "."
	}
	return ""
}

func hasBreach(n ast.Node, breaks func(ast.Node) bool) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		found = found || n != nil && breaks(n)
		return !found
	})
	return found
}

// selected returns the name of a function that is called or passed on, such as os.Open; "" for other nodes.
func selected(n ast.Node) string {
	if s, is := n.(*ast.SelectorExpr); is {
		if x, is := s.X.(*ast.Ident); is {
			return x.Name + "." + s.Sel.Name
		}
	}
	return ""
}

// called returns the name of a called function, such as os.Open, and of a method with its receiver's; "" for other nodes.
func called(n ast.Node) string {
	call, is := n.(*ast.CallExpr)
	if !is {
		return ""
	}
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return cmp.Or(selected(f), "."+f.Sel.Name)
	}
	return ""
}

// opensToOthers reports whether a call gives others rights to a file or directory, or may.
func opensToOthers(n ast.Node) bool {
	name := called(n)
	var mode int
	switch {
	case name == "os.Create":
		return true
	case name == "os.WriteFile", name == "os.OpenFile":
		mode = 2
	case name == "os.Mkdir", name == "os.MkdirAll", name == "os.Chmod":
		mode = 1
	case name == "unix.Openat", name == "unix.Fchmodat", name == "unix.Mkdirat":
		mode = len(n.(*ast.CallExpr).Args) - 1
		if name == "unix.Fchmodat" {
			mode--
		}
	case strings.HasSuffix(name, ".Chmod"):
		mode = 0
	default:
		return false
	}
	args := n.(*ast.CallExpr).Args
	if mode >= len(args) {
		return true
	}
	literal, is := args[mode].(*ast.BasicLit)
	if !is {
		return true
	}
	bits, err := strconv.ParseUint(literal.Value, 0, 32)
	return err != nil || bits&0o077 != 0
}

var sharedDirectory = regexp.MustCompile("^[\"`](/tmp|/dev/shm|/var/tmp)\\b[^ ]*$")

// namesSharedDirectory reports whether a directory is named in which everyone can create files.
func namesSharedDirectory(n ast.Node) bool {
	if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
		return sharedDirectory.MatchString(literal.Value)
	}
	switch called(n) {
	case "os.TempDir":
		return true
	case "os.MkdirTemp", "os.CreateTemp":
		literal, is := n.(*ast.CallExpr).Args[0].(*ast.BasicLit)
		return is && literal.Value == `""`
	}
	return false
}

// allocatesByNumber reports whether memory is allocated by a number that is neither constant nor the length of something
// that exists.
func allocatesByNumber(n ast.Node) bool {
	var sizes []ast.Expr
	switch call, _ := n.(*ast.CallExpr); called(n) {
	case "make":
		if _, isChannel := call.Args[0].(*ast.ChanType); isChannel {
			return false
		}
		sizes = call.Args[1:]
	case "slices.Grow", "bytes.Repeat", "strings.Repeat":
		sizes = call.Args[1:]
	}
	return slices.ContainsFunc(sizes, func(size ast.Expr) bool { return !isBounded(size) })
}

func isBounded(size ast.Expr) bool {
	switch e := size.(type) {
	case *ast.BasicLit:
		return true
	case *ast.ParenExpr:
		return isBounded(e.X)
	case *ast.BinaryExpr:
		return isBounded(e.X) && isBounded(e.Y)
	case *ast.CallExpr:
		return slices.Contains([]string{"len", "min", "cap"}, called(e))
	case *ast.Ident: // a constant, by its name
		return regexp.MustCompile(`^(most|max|least|layout|header)[A-Z]`).MatchString(e.Name) || strings.HasSuffix(e.Name, "Size")
	}
	return false
}
