package own

import (
	"io"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/classes/callgraph"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// Bounds of what is read of a program's files.
const (
	mostEntries = 2000    // of the class path
	mostNames   = 1 << 20 // in the directories of jars
	mostFiles   = 100_000 // in the folders of classes
	deepest     = 24      // folders in folders
	mostWebApps = 200
	largestJar  = 16 << 30 // of which only the directory is read
)

// Of returns the packages that a user has named, or a guess if there are none.
func Of(j *process.JVM, names []string) Packages {
	if len(names) > 0 {
		return Given(names)
	}
	return Guess(j)
}

// Guess guesses which packages are a program's own. It reads the directories of the jars and folders
// on the class path, and nothing in the JVM itself.
func Guess(j *process.JVM) Packages {
	g := &guess{reader: newReader(j), packages: make(map[string]bool)}
	g.setMain(mainClass(j))
	g.readJars()
	for _, property := range []string{"catalina.base", "catalina.home", "jetty.base"} {
		if base := j.Property(property); base != "" && len(g.packages) == 0 {
			g.addWebApps(path.Join(base, "webapps"))
		}
	}
	return g.result()
}

// A guess is what was found so far.
type guess struct {
	reader
	main     string          // internal name of the main class; "" if it is not known, or starts programs of others
	jars     []jar           // of the class path
	packages map[string]bool // with slashes
	from     []string
}

// A reader reads jars and folders of a JVM, within bounds.
type reader struct {
	host  process.Host
	jvm   *process.JVM
	files int // that may still be looked at
	names int // that the directories of jars have had
}

func newReader(j *process.JVM) reader { return reader{host: process.Local, jvm: j, files: mostFiles} }

// openJar reads the directory of a jar. One that cannot be read is left out.
func (r *reader) openJar(name string, use func(*archive.Index)) {
	file, err := r.host.OpenFile(r.jvm, name, largestJar)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	if index, err := archive.ReadIndex(file); err == nil {
		use(index)
	}
}

// eachFile visits the regular files of a folder. One that cannot be read is left out.
func (r *reader) eachFile(name string, visit func(folder fs.FS, name string)) {
	folder, err := r.host.OpenFolder(r.jvm, name)
	if err != nil {
		return
	}
	defer func() { _ = folder.Close() }()
	_ = fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		switch r.files--; {
		case r.files < 0:
			return fs.SkipAll
		case err != nil, entry.IsDir() && strings.Count(name, "/") > deepest:
			return fs.SkipDir
		case entry.Type().IsRegular():
			visit(folder, name)
		}
		return nil
	})
}

// nestedClasses are the folders of a jar that hold the classes of an application.
var nestedClasses = []string{"BOOT-INF/classes/", "WEB-INF/classes/"}

// A jar is what its directory shows.
type jar struct {
	packages map[string]bool
	nested   map[string]bool // packages below BOOT-INF/classes and WEB-INF/classes
	groups   []string        // group ids of the Maven projects whose classes it contains
	isMain   bool            // it was started, or contains the main class
}

// mainClass returns the internal name of a JVM's main class; "" if a jar names it.
func mainClass(j *process.JVM) string {
	if isJar(j.Main) {
		return ""
	}
	module, class, isModule := strings.Cut(j.Main, "/")
	if isModule && strings.Contains(class, ".") {
		return slashed(class)
	}
	if isModule && !strings.Contains(module, ".") { // a class with slashes
		return j.Main
	}
	return slashed(j.Main)
}

// setMain sets the main class, unless that only starts programs of others.
func (g *guess) setMain(class string) {
	if !callgraph.HasPrefix(class, launchers) {
		g.main = class
	}
}

func isJar(name string) bool {
	extension := strings.ToLower(path.Ext(name))
	return extension == ".jar" || extension == ".war"
}

// readJars looks through the class path: folders hold the program's classes, and jars are judged
// when the main one is known.
func (g *guess) readJars() {
	queue := slices.Clone(g.jvm.ClassPath)
	for i := 0; i < len(queue) && i < mostEntries && g.names < mostNames; i++ {
		switch name := queue[i]; {
		case path.Base(name) == "*":
			queue = append(queue, g.jarsIn(path.Dir(name))...)
		case isJar(name):
			queue = append(queue, g.readJar(name)...)
		default:
			g.addFolder(name, "folders on the class path")
		}
	}
	for _, one := range g.jars {
		if one.isMain {
			g.addMain(one)
		}
	}
	for _, one := range g.jars {
		if !one.isMain && slices.ContainsFunc(one.groups, g.isGroup) {
			g.add(one.packages, "jars of the same group")
		}
	}
}

// jarsIn returns the jars of a folder on the class path.
func (r *reader) jarsIn(folder string) (jars []string) {
	for _, name := range r.list(folder, mostEntries) {
		if isJar(name) {
			jars = append(jars, path.Join(folder, name))
		}
	}
	return jars
}

// list returns some names in a folder of the JVM.
func (r *reader) list(folder string, most int) (names []string) {
	root, err := r.host.OpenFolder(r.jvm, folder)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	entries, _ := root.List(most) // those before a failure count
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// readJar reads the directory of a jar, and returns the entries of the class path that its manifest
// adds.
func (g *guess) readJar(name string) (more []string) {
	g.openJar(name, func(index *archive.Index) {
		one := jar{isMain: name == g.jvm.Main, packages: make(map[string]bool), nested: make(map[string]bool)}
		if one.isMain {
			for _, attribute := range []string{"Start-Class", "Main-Class"} {
				if g.main == "" {
					g.setMain(slashed(index.Attribute(attribute)))
				}
			}
		}
		one.isMain = one.isMain || g.main != "" && slices.Contains(index.Names, g.main+".class")
		g.names += len(index.Names)
		for _, entry := range index.Names {
			one.add(entry)
		}
		g.jars = append(g.jars, one)
		more = classPathOf(name, index.Attribute("Class-Path"))
	})
	return more
}

func (j *jar) add(entry string) {
	if rest, is := strings.CutPrefix(entry, "META-INF/maven/"); is {
		if group, _, is := strings.Cut(rest, "/"); is && path.Base(entry) == "pom.properties" && !slices.Contains(j.groups, group) {
			j.groups = append(j.groups, group)
		}
		return
	}
	class, isClass := strings.CutSuffix(entry, ".class")
	if !isClass || strings.HasPrefix(entry, "META-INF/") || path.Base(class) == "module-info" {
		return
	}
	for _, folder := range nestedClasses {
		if inner, is := strings.CutPrefix(class, folder); is {
			j.nested[descriptor.PackageOf(inner)] = true
			return
		}
	}
	j.packages[descriptor.PackageOf(class)] = true
}

// classPathOf returns the entries that a manifest adds: URLs, relative to the jar.
func classPathOf(jar, attribute string) (entries []string) {
	for word := range strings.FieldsSeq(attribute) {
		place, err := url.Parse(word)
		if err != nil || place.Scheme != "" && place.Scheme != "file" || place.Path == "" {
			continue
		}
		if !path.IsAbs(place.Path) {
			place.Path = path.Join(path.Dir(jar), place.Path)
		}
		entries = append(entries, place.Path)
	}
	return entries
}

// addMain adds the packages of the main jar. One that contains other projects counts only as far as
// it has the project of the main class.
func (g *guess) addMain(main jar) {
	if len(main.nested) > 0 {
		g.add(main.nested, "the main jar")
		return
	}
	packages := maps.Clone(main.packages)
	if len(main.groups) > 1 {
		maps.DeleteFunc(packages, func(pkg string, _ bool) bool { return !g.isMainProject(pkg) && !isIn(pkg, slashed(g.group())) })
	}
	g.add(packages, "the main jar")
}

// group returns the id of the main project's Maven group; "" if it is not known.
func (g *guess) group() string {
	for _, one := range g.jars {
		if !one.isMain {
			continue
		}
		if len(one.groups) == 1 {
			return one.groups[0]
		}
		for _, group := range one.groups {
			if g.isMainProject(slashed(group)) {
				return group
			}
		}
	}
	return ""
}

func (g *guess) isGroup(id string) bool { return id != "" && id == g.group() }

// isMainProject reports whether a package belongs to the project of the main class.
func (g *guess) isMainProject(pkg string) bool {
	if g.main == "" {
		return false
	}
	main, ok := root(descriptor.PackageOf(g.main))
	return ok && isIn(pkg, main)
}

// addFolder adds the packages of a folder with classes.
func (g *guess) addFolder(name, from string) {
	packages := make(map[string]bool) // false if the first class of a folder is of another package
	g.eachFile(name, func(folder fs.FS, name string) {
		if path.Ext(name) == ".class" && path.Base(name) != "module-info.class" {
			if _, known := packages[descriptor.PackageOf(name)]; !known {
				packages[descriptor.PackageOf(name)] = isClass(folder, name)
			}
		}
	})
	maps.DeleteFunc(packages, func(_ string, is bool) bool { return !is })
	g.add(packages, from)
}

// isClass reports whether a file has the class that its path names. The working directory may be on
// a class path with folders that only contain other programs.
func isClass(folder fs.FS, name string) bool {
	const largest = 16 << 20
	file, err := folder.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, largest))
	if err != nil {
		return false
	}
	class, err := classfile.Parse(data)
	return err == nil && class.Name()+".class" == name
}

// addWebApps adds the classes of the web applications of a server.
func (g *guess) addWebApps(folder string) {
	for _, name := range g.list(folder, mostWebApps) {
		g.addFolder(path.Join(folder, name, "WEB-INF/classes"), "the web applications")
	}
}

// add adds packages. Those of known libraries count only if the main class is in the same project.
func (g *guess) add(packages map[string]bool, from string) {
	for pkg := range packages {
		name, ok := root(pkg)
		if !ok || IsLibrary(pkg+"/") && !g.isMainProject(pkg) {
			continue
		}
		g.packages[name] = true
		if !slices.Contains(g.from, from) {
			g.from = append(g.from, from)
		}
	}
}

func (g *guess) result() Packages {
	if name, ok := root(descriptor.PackageOf(g.main)); ok && g.main != "" && !g.packages[name] {
		g.packages[name] = true
		g.from = append(g.from, "the main class")
	}
	p := Packages{From: strings.Join(g.from, " and ")}
	for _, name := range slices.Sorted(maps.Keys(g.packages)) {
		p.Names = append(p.Names, descriptor.ExternalName(name))
	}
	if len(p.Names) == 0 {
		p.Rest, p.From = true, "a list of libraries"
	}
	return p
}
