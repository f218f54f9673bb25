package session

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/weave"
)

// BenchmarkCacheBesideWeaving puts a class that the cache has beside the same woven
// again, with all that a session does: it is ordered, found or woven, and noted. Classes
// are some of java.base, a fifth of them at a time, by size; with hooks in all their
// methods, and in one.
func BenchmarkCacheBesideWeaving(b *testing.B) {
	classes := benchClasses(b)
	for _, of := range []string{"all", "one"} {
		plain, dir := bareSession(b), filepath.Join(b.TempDir(), "cache")
		filling, keep := cachedSession(b, dir)
		filling.settings.Notice = func(text string) { b.Log(text) }
		askFor(b, filling, classes, of)
		keep()
		cached, keep := cachedSession(b, dir)
		cached.settings.Notice = func(text string) { b.Log(text) }
		defer keep()
		askFor(b, plain, classes, of)
		askFor(b, cached, classes, of)
		for part := range 5 {
			some := classes[part*len(classes)/5 : (part+1)*len(classes)/5]
			total := 0
			for _, c := range some {
				total += len(c.file)
			}
			for _, way := range []struct {
				name string
				s    *Session
			}{{"weave", plain}, {"hit", cached}} {
				b.Run(fmt.Sprintf("%s/%dB/%s", of, total/len(some), way.name), func(b *testing.B) {
					i, before := 0, processorTime(b)
					for b.Loop() {
						some[i%len(some)].weave(b, way.s)
						i++
					}
					b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
				})
			}
		}
		if n := cached.Weavings().Woven; n > 0 {
			b.Errorf("%d classes were not found: %+v, %+v", n, cached.Weavings(), cached.settings.Cache.Counts())
		}
	}
}

// processorTime is what this process has taken of it, which others on the machine do not
// change much.
func processorTime(b *testing.B) int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		b.Fatal(err)
	}
	return now.Nano()
}

// A benchClass is one with methods that can have hooks.
type benchClass struct {
	name    string
	file    []byte
	methods []Hook
}

// askFor asks for hooks in all classes, and has each woven once.
func askFor(b *testing.B, s *Session, classes []benchClass, of string) {
	for i := range classes {
		s.choices.add(&s.book, classes[i].request(of))
		classes[i].weave(b, s)
	}
}

func (c *benchClass) request(of string) Request {
	if of == "one" {
		return Request{Hooks: c.methods[:1]}
	}
	return Request{Hooks: c.methods}
}

func (c *benchClass) weave(b *testing.B, s *Session) {
	if woven, _, err := s.weaveBytes(b.Context(), c.name, c.file); err != nil || len(woven) == 0 {
		b.Fatal(c.name, err)
	}
}

func benchClasses(b *testing.B) (classes []benchClass) {
	b.Helper()
	jdks := jvmtest.Installed()
	if len(jdks) == 0 {
		b.Skip("NOT MEASURED: no JDK is installed")
	}
	image, err := jimage.Open(jdks[0].Image())
	if err != nil {
		b.Skip("NOT MEASURED: ", err)
	}
	defer image.Close()
	s, n := bareSession(b), 0
	err = image.Each(func(module, path string, data []byte) error {
		if n++; module != "java.base" || !strings.HasSuffix(path, ".class") || n%12 != 0 {
			return nil
		}
		c := benchClass{file: bytes.Clone(data)}
		result, err := weave.NewWeaver().Weave(c.file, func(m weave.MethodInfo) []*weave.Template {
			c.name = m.Class
			return []*weave.Template{s.templates.live}
		})
		if err == nil && exemption(c.name) == "" {
			for _, r := range result.Methods {
				if r.Woven {
					c.methods = append(c.methods, Hook{Class: c.name, Name: r.Name, Descriptor: r.Descriptor})
				}
			}
		}
		if len(c.methods) > 0 {
			classes = append(classes, c)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	slices.SortFunc(classes, func(a, b benchClass) int { return len(a.file) - len(b.file) })
	return classes
}
