package own

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

// Places are the jars and folders from which a JVM may have its classes: those on its class path, and
// the jars that it has open.
type Places struct {
	reader
	all []source
}

// A source is a jar or folder with the entries that are classes, by their internal names.
type source struct {
	path    string
	isJar   bool
	classes map[string]string
}

// FindPlaces reads the directories of the jars and folders of a JVM, and nothing in the JVM itself.
func FindPlaces(j *process.JVM) *Places {
	p := &Places{reader: newReader(j)}
	queue := slices.Concat(j.ClassPath, process.Local.OpenFiles(j.PID))
	read := make(map[string]bool)
	for i := 0; i < len(queue) && i < mostEntries && p.names < mostNames; i++ {
		name := queue[i]
		switch {
		case read[name]:
		case path.Base(name) == "*":
			queue = append(queue, p.jarsIn(path.Dir(name))...)
		case isJar(name):
			queue = append(queue, p.addJar(name)...)
		case i < len(j.ClassPath):
			one := source{name, false, make(map[string]string)}
			p.eachFile(name, func(_ fs.FS, name string) { one.add(name) })
			p.all = append(p.all, one)
		}
		read[name] = true
	}
	return p
}

// add adds an entry of a jar or folder, if it is a class.
func (p *source) add(entry string) {
	if name, is := strings.CutSuffix(entry, ".class"); is {
		for _, folder := range nestedClasses {
			name = strings.TrimPrefix(name, folder)
		}
		p.classes[name] = entry
	}
}

// addJar reads the directory of a jar, and returns the entries of the class path that its manifest adds.
func (p *Places) addJar(name string) (more []string) {
	p.openJar(name, func(index *archive.Index) {
		one := source{name, true, make(map[string]string)}
		p.names += len(index.Names)
		for _, entry := range index.Names {
			one.add(entry)
		}
		p.all = append(p.all, one)
		more = classPathOf(name, index.Attribute("Class-Path"))
	})
	return more
}

// Of returns the jars and folders that have a class of this internal name, in the order of the class path.
func (p *Places) Of(class string) (found []string) {
	for i := range p.all {
		if p.all[i].classes[class] != "" {
			found = append(found, p.all[i].path)
		}
	}
	return found
}

// Each visits the internal names of all classes, some more than once.
func (p *Places) Each(visit func(class string)) {
	for i := range p.all {
		for class := range p.all[i].classes {
			visit(class)
		}
	}
}

// Read returns the file of a class; nil if there is none.
func (p *Places) Read(class string) (file []byte) {
	const largest = 16 << 20
	for i := range p.all {
		one := &p.all[i]
		entry := one.classes[class]
		switch {
		case entry == "":
			continue
		case one.isJar:
			p.openJar(one.path, func(index *archive.Index) { file, _ = index.Read(entry) })
		default:
			opened, err := p.host.OpenFile(p.jvm, path.Join(one.path, entry), largest)
			if err != nil {
				continue
			}
			file, _ = io.ReadAll(io.LimitReader(opened, largest))
			_ = opened.Close()
		}
		if file != nil {
			return file
		}
	}
	return nil
}
