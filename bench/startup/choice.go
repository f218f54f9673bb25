package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/classfile"
)

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

// choose takes a sample of the classes that a start loads, with so many methods
// in all. It is drawn by a hash of their names: no package is preferred, and the
// same classes are taken wherever the same are loaded.
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
		_, told, _ := strings.Cut(lines.Text(), "[class,load] ")
		if name, _, is := strings.Cut(told, " source: "); is {
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
	attribute := class.Find(m.Attributes, classfile.KindCode)
	if attribute == nil {
		return 0, nil
	}
	contents, err := class.Decode(*attribute)
	if err != nil {
		return 0, err
	}
	code, is := contents.(*classfile.Code)
	if !is {
		return 0, fmt.Errorf("code is decoded as %T", contents)
	}
	return len(code.Bytes), nil
}

func hash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // it never fails
	return h.Sum64()
}
