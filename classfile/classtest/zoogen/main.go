// Zoogen makes the classes under classfile/testdata: zoo/<jdk> from the Java
// sources beside them, zoo/handmade and invalid from the assembler in package
// classtest. Run it by go generate in classfile/classtest.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/sonde-jvm/sonde/classfile/classtest"
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
