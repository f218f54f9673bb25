package pattern_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/classes/universe"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
)

// BenchmarkAnalysis compares what the analysis of a class takes with what it would take to find one that was kept: a
// hash of the class file, and a file of that name.
func BenchmarkAnalysis(b *testing.B) {
	image := jimage.OpenLibrary(jvmtest.Installed()[0].Image())
	defer image.Close()
	var classes []universe.Loaded
	for _, name := range image.Classes() {
		if file := image.Class(name); file != nil {
			classes = append(classes, universe.Loaded{Name: name, File: file})
		}
	}
	directory := b.TempDir()
	kept := func(file []byte) string {
		sum := sha256.Sum256(file)
		return filepath.Join(directory, hex.EncodeToString(sum[:]))
	}
	for _, class := range classes {
		if err := os.WriteFile(kept(class.File), make([]byte, 200), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	each := func(name string, do func() error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(classes)), "ns/class")
		})
	}
	for name, text := range map[string][]string{
		"types":       {"java.sql.PreparedStatement.executeQuery", "java.util.concurrent.Callable.call", "java.io.InputStream+.read"},
		"annotations": {"@java.lang.Deprecated", "@java.lang.FunctionalInterface"},
		"calls":       {"** calls java.net.Socket.connect", "** calls java.util.concurrent.locks.Lock.lock"},
	} {
		each(name, func() error {
			set, err := pattern.ParseSet(text...)
			if err == nil {
				pattern.LearnAll(universe.Of(image, classes), set.Patterns())
			}
			return err
		})
	}
	each("hash", func() error {
		for _, class := range classes {
			_ = kept(class.File)
		}
		return nil
	})
	each("hash and file", func() error {
		for _, class := range classes {
			if _, err := os.ReadFile(kept(class.File)); err != nil {
				return err
			}
		}
		return nil
	})
}
