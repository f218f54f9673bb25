package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// A way is one to start an application.
type way struct {
	key, name string
	options   func(folder string) []string                  // of java, for a start in a folder
	account   func(folder string, s start) (account, error) // what it wove; nil where nothing
	pack      *pack                                         // that it weaves from, or nil
	starts    []start
	accounts  []account
}

// An account is what was woven in a start, by the word of who wove.
type account struct {
	Classes, Methods int
	Calls            uint64 // of woven methods, until the application ended
}

// The ways, in the order of the report.
const (
	plain   = "plain"
	empty   = "empty"
	looking = "looking"
	able    = "able"
	packed  = "pack"
	byASM   = "asm"
	byBuddy = "buddy"
)

var (
	allWays   = append(slices.Clone(usualWays), byBuddy)
	usualWays = []string{plain, empty, looking, able, packed, byASM}
)

// waysToStart makes what the ways that are asked for need.
func waysToStart(ctx context.Context, a application, c choice, folder string, o options) ([]*way, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	asked := strings.Split(o.ways, ",")
	for _, key := range asked {
		if !slices.Contains(allWays, key) {
			return nil, fmt.Errorf("there is no way %q to start: -ways has %s", key, strings.Join(allWays, ", "))
		}
	}
	agents, err := makeAgents(a.jdk, folder, slices.Contains(asked, byBuddy), o)
	if err != nil {
		return nil, err
	}
	list, err := c.writeList(folder)
	if err != nil {
		return nil, err
	}
	p := new(pack)
	if slices.Contains(asked, packed) {
		if p, err = makePack(ctx, o.sonde, folder, a, c); err != nil {
			return nil, err
		}
	}
	ways := []*way{
		{key: plain, name: "plain", options: always()},
		{key: empty, name: "agent that does nothing", options: always("-javaagent:" + agents.empty)},
		{key: looking, name: "transformer that returns null", options: always("-javaagent:" + agents.null)},
		{key: able, name: "the same, could retransform", options: always("-javaagent:" + agents.null + "=able")},
		{key: packed, name: "Sonde's agent with the pack", pack: p, options: p.options, account: p.account},
		{key: byASM, name: "agent that weaves by ASM", options: always("-javaagent:" + agents.asm + "=" + list), account: accountOfASM},
		{key: byBuddy, name: "agent that weaves by Byte Buddy", options: always("-javaagent:" + agents.buddy + "=" + list), account: accountOfASM},
	}
	return slices.DeleteFunc(ways, func(w *way) bool { return w.key != plain && !slices.Contains(asked, w.key) }), nil
}

func always(options ...string) func(string) []string {
	return func(string) []string { return options }
}

// writeList writes what the agents that weave by ASM and by Byte Buddy read: of each class how many methods
// are woven, and their names where not all are.
func (c *choice) writeList(folder string) (path string, err error) {
	var text strings.Builder
	for _, class := range c.classes {
		fmt.Fprintln(&text, strings.Join(append([]string{class.name, strconv.Itoa(class.methods)}, class.names...), " "))
	}
	path = filepath.Join(folder, "classes.txt")
	return path, os.WriteFile(path, []byte(text.String()), 0o644)
}

// accountOfASM is what its agent printed last, or Byte Buddy's.
func accountOfASM(_ string, s start) (a account, err error) {
	for line := range strings.Lines(s.errors) {
		if strings.HasPrefix(line, "asm-agent failed") {
			return a, fmt.Errorf("weaving by ASM: %s", strings.TrimSpace(line))
		}
		if strings.HasPrefix(line, "asm-agent ") {
			_, err = fmt.Sscanf(line, "asm-agent %d %d %d", &a.Classes, &a.Methods, &a.Calls)
			return a, err
		}
	}
	return a, fmt.Errorf("the agent that weaves by ASM gave no account: %s", lastLines(s.errors))
}

func (p *pack) options(folder string) []string {
	return []string{"-javaagent:" + p.agent + "=pack=" + p.file + ",arena=" + arenaIn(folder)}
}

func arenaIn(folder string) string { return filepath.Join(folder, "sonde.arena") }

// account reads what the agent left in the arena.
func (p *pack) account(folder string, _ start) (account, error) {
	file, err := os.Open(arenaIn(folder))
	if err != nil {
		return account{}, fmt.Errorf("%w: the agent did not take the pack", err)
	}
	defer func() { _ = file.Close() }()
	opened, err := arena.Open(file, false)
	if err != nil {
		return account{}, err
	}
	defer func() { _ = opened.Close() }()
	result, has, err := opened.Account()
	if err != nil || !has {
		return account{}, fmt.Errorf("the arena has no account of the pack: %w", err)
	}
	if left := result.Differs + result.Blind + result.Failed; left != 0 {
		return account{}, fmt.Errorf("%d classes of the pack were not woven: %v", left, result.Left)
	}
	sum, err := opened.Sum(time.Now().UnixNano())
	if err != nil {
		return account{}, err
	}
	a := account{Classes: int(result.Woven)}
	for _, totals := range sum.Methods {
		a.Calls += totals.Calls
	}
	// The arena does not list which classes were woven, only which were not; where all were, so were all methods.
	if a.Classes == p.classes {
		a.Methods = p.methods
	}
	return a, nil
}

// Agents are jars of those that are not Sonde's.
type agents struct {
	empty, null, asm string
	buddy            string // "" where it is not asked for
}

// makeAgents compiles them. ASM lies in its agent's own jar, as agents have it; the hooks
// are seen by classes of every loader.
func makeAgents(jdk jvmtest.JDK, folder string, isBuddyAsked bool, o options) (a agents, err error) {
	asm, err := find(o.jars, []string{"asm", "asm-commons"}, "libasm-java")
	if err != nil {
		return a, err
	}
	classes := func(name string) string { return filepath.Join(folder, name) }
	for _, part := range []struct {
		name string
		path []string
	}{{"floor", nil}, {"hooks", nil}, {"asm", append(asm, classes("hooks"))}} {
		if err := compile(jdk, classes(part.name), filepath.Join(sources, "agents", part.name), part.path); err != nil {
			return a, err
		}
	}
	a = agents{empty: filepath.Join(folder, "empty.jar"), null: filepath.Join(folder, "null.jar"), asm: filepath.Join(folder, "asm.jar")}
	if isBuddyAsked {
		a.buddy = filepath.Join(folder, "buddy.jar")
		if err := makeBuddy(jdk, a.buddy, classes, o); err != nil {
			return a, err
		}
	}
	const canRetransform = "Can-Retransform-Classes: true\r\n"
	return a, errors.Join(
		writeJar(a.empty, "Premain-Class: EmptyAgent\r\n", classes("floor")),
		writeJar(a.null, "Premain-Class: NullAgent\r\n"+canRetransform, classes("floor")),
		writeJar(filepath.Join(folder, "asm-hooks.jar"), "", classes("hooks")),
		writeJar(a.asm, "Premain-Class: AsmAgent\r\n"+seesHooks, append([]string{classes("asm")}, asm...)...))
}

// seesHooks makes the boot loader load the hook classes from asm-hooks.jar.
const seesHooks = "Boot-Class-Path: asm-hooks.jar\r\n"

// makeBuddy compiles the agent that weaves by Byte Buddy, with that in its jar.
func makeBuddy(jdk jvmtest.JDK, jar string, classes func(name string) string, o options) error {
	library, err := find(o.jars, []string{"byte-buddy"}, "libbyte-buddy-java")
	if err != nil {
		return err
	}
	if err := compile(jdk, classes("buddy"), filepath.Join(sources, "agents", "buddy"), append(library, classes("hooks"))); err != nil {
		return err
	}
	return writeJar(jar, "Premain-Class: BuddyAgent\r\n"+seesHooks, append([]string{classes("buddy")}, library...)...)
}

// writeJar makes one of the classes in folders and jars.
func writeJar(path, attributes string, from ...string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	jar := zip.NewWriter(file)
	manifest, err := jar.Create("META-INF/MANIFEST.MF")
	if err != nil {
		return err
	}
	if _, err := io.WriteString(manifest, "Manifest-Version: 1.0\r\n"+attributes+"\r\n"); err != nil {
		return err
	}
	for _, source := range from {
		if err := addClasses(jar, source); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
	}
	return errors.Join(jar.Close(), file.Close())
}

func addClasses(jar *zip.Writer, source string) error {
	tree := os.DirFS(source)
	if filepath.Ext(source) == ".jar" {
		archive, err := zip.OpenReader(source)
		if err != nil {
			return err
		}
		defer func() { _ = archive.Close() }()
		tree = archive
	}
	return fs.WalkDir(tree, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".class") || path == "module-info.class" {
			return err
		}
		data, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		entry, err := jar.Create(path)
		if err != nil {
			return err
		}
		_, err = entry.Write(data)
		return err
	})
}

// A pack is what Sonde's agent weaves from.
type pack struct {
	agent, file      string
	classes, methods int
	size             int64
	took             time.Duration // to make it
}

// makePack does what a user does, by the same commands.
func makePack(ctx context.Context, sonde, folder string, a application, c choice) (*pack, error) {
	probes := filepath.Join(folder, "probes.yaml")
	if err := os.WriteFile(probes, []byte(c.probes()), 0o644); err != nil {
		return nil, err
	}
	p := &pack{agent: filepath.Join(folder, "sonde-agent.jar"), file: filepath.Join(folder, a.name+".pack"), classes: len(c.classes), methods: c.methods}
	if err := carryOut(ctx, sonde, "agent-jar", p.agent); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := carryOut(ctx, sonde, append([]string{"pack", "--probes", probes, "-o", p.file}, a.jars...)...); err != nil {
		return nil, err
	}
	p.took = time.Since(began)
	info, err := os.Stat(p.file)
	if err != nil {
		return nil, err
	}
	p.size = info.Size()
	return p, nil
}

// probes is the wanted set: one probe that times all chosen methods.
func (c *choice) probes() string {
	var text strings.Builder
	text.WriteString("version: 1\nhand-off: false\nprobes:\n  - name: start-up\n    level: time\n    methods:\n")
	for _, class := range c.classes {
		names := class.names
		if names == nil {
			names = []string{"*"}
		}
		for _, name := range names {
			fmt.Fprintf(&text, "      - %s.%s\n", strings.ReplaceAll(class.name, "/", "."), name)
		}
	}
	text.WriteString("      - '!**.<init>'\n      - '!**.<clinit>'\n")
	return text.String()
}

// carryOut runs a command; the error holds what it printed.
func carryOut(ctx context.Context, command string, arguments ...string) error {
	out, err := exec.CommandContext(ctx, command, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", filepath.Base(command), arguments[0], err, bytes.TrimSpace(out))
	}
	return nil
}

// A choice is what is woven.
type choice struct {
	loaded, own int // classes that a plain start loads, and how many of these are the application's
	classes     []chosen
	methods     int
	least       int // bytes of code; 0: methods of any length
}

// A chosen class is woven: its methods, or those of some names, but for constructors,
// initialisers and bridges.
type chosen struct {
	name    string   // internal
	names   []string // of the methods; nil: of any name
	methods int
}

// looks is how many starts must load a class for it to count as one that is always loaded.
const looks = 2

// choose returns a sample of the classes that a start loads, with the given number of
// methods in total. A hash of the class names selects them, so no package is preferred and
// the sample is the same wherever the same classes are loaded.
func choose(ctx context.Context, a application, folder string, methods, least int) (choice, error) {
	c := choice{least: least}
	times := make(map[string]int)
	for look := range looks {
		err := inFolder(folder, fmt.Sprint(look), func(folder string) error {
			list := filepath.Join(folder, "classes")
			if _, err := a.start(ctx, folder, "-Xlog:class+load:file="+list); err != nil {
				return err
			}
			names, err := loadedClasses(list)
			c.loaded = len(names)
			for name := range names {
				times[name]++
			}
			return err
		})
		if err != nil {
			return c, err
		}
	}
	var candidates []chosen
	for _, jar := range a.jars {
		err := eachClass(jar, func(name string, open func() ([]byte, error)) error {
			if times[name] != looks || !slices.ContainsFunc(a.own, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
				return nil
			}
			c.own++
			data, err := open()
			if err != nil {
				return err
			}
			one, err := weavable(data, least)
			if one.name = name; err == nil && one.methods > 0 {
				candidates = append(candidates, one)
			}
			return err
		})
		if err != nil {
			return c, fmt.Errorf("%s: %w", jar, err)
		}
	}
	slices.SortFunc(candidates, func(a, b chosen) int { return cmp.Compare(hash(a.name), hash(b.name)) })
	for _, class := range candidates {
		if c.methods+class.methods <= methods {
			c.classes = append(c.classes, class)
			c.methods += class.methods
		}
	}
	if c.methods < methods {
		return c, fmt.Errorf("the classes that are loaded make up %d methods: ask for fewer by -methods", c.methods)
	}
	return c, nil
}

// loadedClasses reads a JVM's own log.
func loadedClasses(path string) (map[string]bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	names := make(map[string]bool)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		// [0.021s][info][class,load] java.lang.Object source: jrt:/java.base
		_, loaded, _ := strings.Cut(lines.Text(), "[class,load] ")
		if name, _, is := strings.Cut(loaded, " source: "); is {
			names[strings.ReplaceAll(name, ".", "/")] = true
		}
	}
	return names, lines.Err()
}

// eachClass visits the classes of a jar, but for those of which it has variants for newer JDKs.
func eachClass(jar string, visit func(name string, open func() ([]byte, error)) error) error {
	archive, err := zip.OpenReader(jar)
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }()
	varied := make(map[string]bool)
	for _, entry := range archive.File {
		if rest, is := strings.CutPrefix(entry.Name, "META-INF/versions/"); is {
			_, name, _ := strings.Cut(rest, "/")
			varied[name] = true
		}
	}
	for _, entry := range archive.File {
		name, is := strings.CutSuffix(entry.Name, ".class")
		if !is || varied[entry.Name] {
			continue
		}
		err := visit(name, func() ([]byte, error) {
			file, err := entry.Open()
			if err != nil {
				return nil, err
			}
			defer file.Close()
			return io.ReadAll(file)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// weavable are the methods with a body that are no constructors or initialisers, nor bridges
// that a compiler made, which Sonde leaves alone: they only lead to other methods. Of short
// ones, those are that share their name with a longer one.
func weavable(data []byte, least int) (c chosen, err error) {
	class, err := classfile.Parse(data)
	if err != nil {
		return c, err
	}
	count, long := make(map[string]int), make(map[string]bool)
	for i := range class.Methods {
		m := &class.Methods[i]
		name, _, err := class.MemberName(m)
		if err != nil {
			return c, err
		}
		if m.Access&(classfile.AccAbstract|classfile.AccNative|classfile.AccBridge) == 0 && !bytes.HasPrefix(name, []byte("<")) {
			count[string(name)]++
			length, err := codeLength(class, m)
			if err != nil {
				return c, err
			}
			long[string(name)] = long[string(name)] || length >= least
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if long[name] {
			c.names = append(c.names, name)
			c.methods += count[name]
		}
	}
	if least == 0 {
		c.names = nil
	}
	return c, nil
}

// codeLength is how many bytes of code a method has.
func codeLength(class *classfile.Class, m *classfile.Member) (int, error) {
	code, err := class.Code(m.Attributes)
	if err != nil || code == nil {
		return 0, err
	}
	return len(code.Bytes), nil
}

func hash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // it never fails
	return h.Sum64()
}
