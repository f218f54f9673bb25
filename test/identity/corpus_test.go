package identity

import (
	"archive/zip"
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/code"
	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

const (
	// sample is about how many classes are looked at by default.
	sample = 1500
	// workers is how many goroutines check classes; reading goes on beside them.
	workers = 2
	// jarFiles are where Debian packages put theirs.
	jarFiles = "/usr/share/java/*.jar"
)

// A source is a JDK or a jar.
type source struct {
	name string
	// each asks for every class whether it is wanted, and calls visit with those that
	// are. The bytes hold until the test ends.
	each func(wanted func(name string) bool, visit func(name string, data []byte)) error
}

// TestCorpusIdentity holds every class of every source to the law. SONDE_CORPUS=full
// takes all classes, else a sample is taken that is the same each time.
func TestCorpusIdentity(t *testing.T) {
	jdks, jars := images(t), archives(t)
	sources := append(slices.Clone(jdks), jars...)
	if len(sources) == 0 {
		t.Skip("NOT TESTED: no JDK is installed and no jar is in " + filepath.Dir(jarFiles))
	}
	oneIn := uint32(1)
	if os.Getenv("SONDE_CORPUS") != "full" {
		oneIn = sparseness(t, sources)
	}
	var total tally
	add := func(t *testing.T, s source) {
		t.Helper()
		sum := check(t, s, oneIn)
		if oneIn == 1 || sum.mismatches > 0 {
			t.Logf("%-60s %s", s.name, sum)
		}
		total.add(sum)
	}
	for _, s := range jdks {
		t.Run(s.name, func(t *testing.T) { add(t, s) })
	}
	t.Run("jars", func(t *testing.T) {
		for _, s := range jars {
			add(t, s)
		}
	})
	t.Logf("%d sources, one class in %d: %s", len(sources), oneIn, total)
	if total.classes < sample/3 && oneIn > 1 {
		t.Errorf("only %d classes were looked at", total.classes)
	}
}

// check reads a source and holds its classes to the law on several goroutines.
func check(t *testing.T, s source, oneIn uint32) tally {
	t.Helper()
	type class struct {
		name string
		data []byte
	}
	classes := make(chan class, 256)
	sums := make([]tally, workers)
	var running sync.WaitGroup
	for i := range sums {
		running.Go(func() {
			judge := judge{TB: t, tally: &sums[i]}
			for c := range classes {
				judge.class(s.name+"!"+c.name, c.data)
			}
		})
	}
	chosen := func(name string) bool { return oneIn == 1 || hash(s.name+"!"+name)%oneIn == 0 }
	err := s.each(chosen, func(name string, data []byte) { classes <- class{name, data} })
	close(classes)
	running.Wait()
	if err != nil {
		t.Errorf("%s: %v", s.name, err)
	}
	var sum tally
	for _, part := range sums {
		sum.add(part)
	}
	return sum
}

// sparseness is how many classes stand behind each that is looked at.
func sparseness(t *testing.T, sources []source) uint32 {
	t.Helper()
	all := 0
	for _, s := range sources {
		count := func(string) bool { all++; return false }
		if err := s.each(count, nil); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
	return uint32(max(1, all/sample))
}

func hash(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return h.Sum32()
}

// images are the JDKs of the machine, by names such as jdk17. Their classes are read from mapped memory, which stays as it is
// until the test ends, or before JDK 9 from jars.
func images(t *testing.T) []source {
	t.Helper()
	majors := slices.Clone(jvmtest.AllReleases)
	for _, jdk := range jvmtest.Installed() {
		if !slices.Contains(majors, jdk.Major) {
			majors = append(majors, jdk.Major)
		}
	}
	var sources []source
	for _, jdk := range jvmtest.Releases(t, majors...) {
		name := fmt.Sprintf("jdk%d", jdk.Major)
		if jdk.Major < 9 {
			files, err := filepath.Glob(filepath.Join(jdk.Root, jdk.Home, "jre", "lib", "*.jar"))
			if err != nil || len(files) == 0 {
				t.Errorf("%s: %d jars, %v", name, len(files), err)
			}
			sources = append(sources, source{name, func(wanted func(string) bool, visit func(string, []byte)) error {
				for _, file := range files {
					if err := eachEntry(file, wanted, visit); err != nil {
						return fmt.Errorf("%s: %w", file, err)
					}
				}
				return nil
			}})
			continue
		}
		image, err := jimage.Open(jdk.Image())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		t.Cleanup(func() { _ = image.Close() }) // only read
		sources = append(sources, source{name, func(wanted func(string) bool, visit func(string, []byte)) error {
			return image.Each(func(module, path string, data []byte) error {
				if name := module + "/" + path; strings.HasSuffix(path, ".class") && wanted(name) {
					visit(name, data)
				}
				return nil
			})
		}})
	}
	return sources
}

// archives are the jars of Debian packages, each once however many names it has.
func archives(t *testing.T) []source {
	t.Helper()
	files, err := filepath.Glob(jarFiles)
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		if files[i], err = filepath.EvalSymlinks(file); err != nil {
			t.Logf("%s is left out: %v", file, err)
		}
	}
	slices.Sort(files)
	var sources []source
	for _, file := range slices.Compact(files) {
		if file != "" {
			sources = append(sources, source{file, func(wanted func(string) bool, visit func(string, []byte)) error {
				return eachEntry(file, wanted, visit)
			}})
		}
	}
	return sources
}

func eachEntry(file string, wanted func(string) bool, visit func(string, []byte)) error {
	jar, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer func() { _ = jar.Close() }() // only read
	for _, entry := range jar.File {
		if !strings.HasSuffix(entry.Name, ".class") || !wanted(entry.Name) {
			continue
		}
		in, err := entry.Open()
		if err != nil {
			return err
		}
		data, err := io.ReadAll(in)
		_ = in.Close() // read to its end, its checksum tested
		if err != nil {
			return err
		}
		visit(entry.Name, data)
	}
	return nil
}

// tally counts what was looked at.
type tally struct{ classes, methods, bytes, mismatches int }

func (s *tally) add(more tally) {
	s.classes += more.classes
	s.methods += more.methods
	s.bytes += more.bytes
	s.mismatches += more.mismatches
}

func (s tally) String() string {
	return fmt.Sprintf("%7d classes %8d methods %11d bytes %d mismatches", s.classes, s.methods, s.bytes, s.mismatches)
}

// judge holds classes to the law, in memory it uses again: as a program would.
type judge struct {
	testing.TB
	*tally
	read    classfile.Class
	lifter  code.Lifter
	written []byte
	body    []byte
}

// class parses a class and appends it, then lifts and lowers each of its bodies.
func (j *judge) class(name string, data []byte) {
	j.classes++
	j.bytes += len(data)
	if err := j.same(data); err != nil {
		j.mismatches++
		j.Errorf("%s: %v", name, err)
	}
}

func (j *judge) same(data []byte) error {
	if err := j.read.Read(data); err != nil {
		return err
	}
	var err error
	if j.written, err = j.read.Append(j.written[:0]); err != nil {
		return err
	}
	if !bytes.Equal(j.written, data) {
		return fmt.Errorf("the class comes back as other bytes, from offset %d on", firstDifference(data, j.written))
	}
	for i := range j.read.Methods {
		m := &j.read.Methods[i]
		a := j.read.Find(m.Attributes, classfile.KindCode)
		if a == nil {
			continue
		}
		j.methods++
		if err := j.sameBody(a.Data); err != nil {
			method, descriptor, _ := j.read.MemberName(m)
			return fmt.Errorf("%s%s: %w", method, descriptor, err)
		}
	}
	return nil
}

func (j *judge) sameBody(data []byte) error {
	body, err := j.lifter.LiftCode(&j.read, data)
	if err != nil {
		return err
	}
	if j.body, err = body.Append(j.body[:0]); err != nil {
		return err
	}
	if !bytes.Equal(j.body, data) {
		return fmt.Errorf("the body comes back as other bytes, from offset %d of its attribute on", firstDifference(data, j.body))
	}
	return nil
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
