// Zoogen makes the classes under classfile/testdata: zoo/<jdk> from the Java
// sources next to them, zoo/handmade and invalid from the assembler in package
// classtest. Run it by go generate in classfile/classtest.
package main

import (
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sonde-jvm/sonde/classfile/classtest"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const testdata = "../testdata"

// specimen is one class file to be written, named without its extension.
type specimen struct {
	name string
	data []byte
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("zoogen: ")
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	if err := compileAll(); err != nil {
		return err
	}
	handmade := handmadeSpecimens()
	for _, s := range handmade {
		// What the reference parser refuses does not belong among the sound.
		if _, err := classtest.Describe(s.data); err != nil {
			return fmt.Errorf("handmade class %s is not sound: %w", s.name, err)
		}
	}
	if err := write(filepath.Join(testdata, "zoo", "handmade"), handmade); err != nil {
		return err
	}
	return write(filepath.Join(testdata, "invalid"), invalidSpecimens())
}

// write replaces the class files of a folder, so that a specimen that is no
// longer made does not linger.
func write(dir string, specimens []specimen) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := removeClasses(dir); err != nil {
		return err
	}
	written := map[string]bool{}
	for _, s := range specimens {
		if written[s.name] {
			return fmt.Errorf("%s: two specimens are called %s", dir, s.name)
		}
		written[s.name] = true
		if err := os.WriteFile(filepath.Join(dir, s.name+".class"), s.data, 0o644); err != nil {
			return err
		}
	}
	log.Printf("%s: %d classes", dir, len(specimens))
	return nil
}

func removeClasses(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, "*.class"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// unit is a set of sources compiled together into the folder they stand in.
type unit struct {
	dir   string // below testdata/zoo
	glob  string // base names; "" takes every source below dir
	jdk   int
	flags []string
}

var units = []unit{
	{"8", "*.java", 17, []string{"--release", "8", "-Xlint:-options"}},
	{"17", "*.java", 17, []string{"--release", "17"}},
	{"17/module", "", 17, []string{"--release", "17"}},
	{"25", "[^P]*.java", 25, []string{"--release", "25"}},
	{"25", "Pa*.java", 25, []string{"--release", "25"}},
	{"25", "Preview*.java", 25, []string{"--release", "25", "--enable-preview", "-Xlint:-preview"}},
}

// compileAll rebuilds the classes of the JDKs that are here; the committed ones
// of the others stay.
func compileAll() error {
	cleaned := map[string]bool{}
	for _, u := range units {
		jdk, found := installed(u.jdk)
		if !found {
			log.Printf("SKIPPED zoo/%s (%s): no JDK %d here, the committed classes stay", u.dir, u.glob, u.jdk)
			continue
		}
		dir := filepath.Join(testdata, "zoo", u.dir)
		sources, err := u.sources(dir)
		if err != nil {
			return err
		}
		if !cleaned[dir] {
			cleaned[dir] = true
			if err := removeClasses(dir); err != nil {
				return err
			}
		}
		args := append([]string{"-g", "-parameters", "-encoding", "UTF-8", "-proc:none", "-nowarn", "-d", dir}, u.flags...)
		if out, err := exec.Command(jdk.Tool("javac"), append(args, sources...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("compiling zoo/%s with JDK %s: %w\n%s", u.dir, jdk.Version, err, out)
		}
		log.Printf("%s: %d sources compiled by JDK %s", dir, len(sources), jdk.Version)
	}
	return nil
}

func (u unit) sources(dir string) ([]string, error) {
	if u.glob != "" {
		return filepath.Glob(filepath.Join(dir, u.glob))
	}
	var sources []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".java") {
			sources = append(sources, path)
		}
		return err
	})
	return sources, err
}

func installed(major int) (jvmtest.JDK, bool) {
	for _, jdk := range jvmtest.Installed() {
		if jdk.Major == major {
			return jdk, true
		}
	}
	return jvmtest.JDK{}, false
}
