// Package report writes the results of measurements into files, in the format that the
// file's name asks for, and reads profiles back.
package report

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/chrome"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/html"
	"github.com/sonde-jvm/sonde/internal/report/otlp"
	"github.com/sonde-jvm/sonde/internal/report/pprof"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

// formats are functions that write or read one kind of result, each with the suffix of the
// names of its files. A suffix comes after longer ones that end with it.
type formats[F any] []struct {
	suffix string
	use    F
}

// A FormatError reports a file name whose suffix is no known format.
type FormatError struct {
	Path  string
	Known []string
}

func (e *FormatError) Error() string {
	last := len(e.Known) - 1
	return fmt.Sprintf("%s: the suffix of the name selects the format, and must be %s or %s", e.Path, strings.Join(e.Known[:last], ", "), e.Known[last])
}

// of returns the function for a file name.
func (f formats[F]) of(path string) (use F, err error) {
	unknown := &FormatError{Path: path}
	name := strings.ToLower(filepath.Base(path))
	for _, one := range f {
		if strings.HasSuffix(name, one.suffix) {
			return one.use, nil
		}
		unknown.Known = append(unknown.Known, one.suffix)
	}
	return use, unknown
}

// A Writer writes results of one kind into files.
type Writer[T any] formats[func(io.Writer, T) error]

// Check reports whether a file name has a known suffix.
func (f Writer[T]) Check(path string) error {
	_, err := formats[func(io.Writer, T) error](f).of(path)
	return err
}

// Suffixes returns the suffixes of the names of files that can be written.
func (f Writer[T]) Suffixes() (suffixes []string) {
	for _, one := range f {
		suffixes = append(suffixes, one.suffix)
	}
	return suffixes
}

// WriteFile writes a result into a file in the format of the file's name. It removes a
// file that could not be written completely.
func (f Writer[T]) WriteFile(path string, result T) (err error) {
	write, err := formats[func(io.Writer, T) error](f).of(path)
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closing := file.Close(); err == nil {
			err = closing
		}
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	out := bufio.NewWriter(file)
	if err := write(out, result); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return out.Flush()
}

// Profiles writes profiles.
var Profiles = Writer[*cct.Profile]{
	{".html", html.WriteProfile}, {".pb.gz", pprof.WriteProfile}, {".collapsed", text.WriteCollapsed},
	{".json", func(w io.Writer, p *cct.Profile) error { return document.Write(w, document.NewProfile(p)) }},
	{".txt", func(w io.Writer, p *cct.Profile) error { return text.WriteProfile(w, p, 0, 0) }},
}

// RootCauses writes the results of root-cause searches.
var RootCauses = Writer[*rootcause.Climb]{
	{".html", html.WriteRootCause}, {".pb.gz", pprof.WriteRootCause},
	{".json", func(w io.Writer, c *rootcause.Climb) error { return document.Write(w, document.NewRootCause(c)) }},
	{".txt", func(w io.Writer, c *rootcause.Climb) error { return text.WriteRootCause(w, c, 0) }},
}

// Traces writes traces. version is Sonde's, which OTLP records.
func Traces(version string) Writer[*trace.Trace] {
	return Writer[*trace.Trace]{
		{".html", html.WriteTrace}, {".trace.json", chrome.Write}, {".perfetto.json", chrome.Write},
		{".otlp.json", func(w io.Writer, t *trace.Trace) error { return otlp.WriteJSON(w, t, version) }},
		{".json", func(w io.Writer, t *trace.Trace) error { return document.Write(w, document.NewTrace(t)) }},
		{".txt", func(w io.Writer, t *trace.Trace) error { return text.WriteTrace(w, t, text.Terminal{}) }},
	}
}

// HotSpots writes hot spots.
var HotSpots = Writer[*hotspots.Result]{
	{".html", html.WriteHot}, {".pb.gz", pprof.WriteHot}, {".collapsed", text.WriteHotCollapsed},
	{".json", func(w io.Writer, r *hotspots.Result) error { return document.Write(w, document.NewHot(r, r.Methods)) }},
	{".txt", func(w io.Writer, r *hotspots.Result) error {
		return text.WriteHot(w, r, text.HotView{Sort: text.BySelf}, 0, 0)
	}},
}

var profileReaders = formats[func([]byte) (*cct.Profile, error)]{{".json", readJSON}, {".html", readPage}, {".pb.gz", pprof.Read}}

// ReadProfileFile reads a profile from a JSON file, from an HTML page that contains one,
// or, as far as possible, from a pprof file.
func ReadProfileFile(path string) (*cct.Profile, error) {
	read, err := profileReaders.of(path)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func readJSON(data []byte) (*cct.Profile, error) { return document.ReadProfile(bytes.NewReader(data)) }

func readPage(data []byte) (*cct.Profile, error) {
	encoded, err := html.Embedded(data)
	if err != nil {
		return nil, err
	}
	return readJSON(encoded)
}
