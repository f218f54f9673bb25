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
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/chrome"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/html"
	"github.com/sonde-jvm/sonde/internal/report/otlp"
	"github.com/sonde-jvm/sonde/internal/report/pprof"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

// A Format is a file format. Its value is the suffix of file names.
type Format string

// The formats.
const (
	HTML      Format = ".html"
	PProf     Format = ".pb.gz"
	Collapsed Format = ".collapsed"
	JSON      Format = ".json"
	Text      Format = ".txt"
	Chrome    Format = ".trace.json"
	Perfetto  Format = ".perfetto.json" // the same as Chrome
	OTLP      Format = ".otlp.json"
)

// Formats by what is written or read. A suffix comes after those that end with it.
var (
	profileFormats   = []Format{HTML, PProf, Collapsed, JSON, Text}
	rootCauseFormats = []Format{HTML, PProf, JSON, Text}
	traceFormats     = []Format{HTML, Chrome, Perfetto, OTLP, JSON, Text}
	readableFormats  = []Format{JSON, HTML, PProf}
)

// A FormatError reports a file name whose suffix is no known format.
type FormatError struct {
	Path  string
	Known []Format
}

func (e *FormatError) Error() string {
	known := make([]string, len(e.Known))
	for i, f := range e.Known {
		known[i] = string(f)
	}
	last := len(known) - 1
	return fmt.Sprintf("%s: the suffix of the name selects the format, and must be %s or %s", e.Path, strings.Join(known[:last], ", "), known[last])
}

// ProfileFormat returns the format of a profile by its file name.
func ProfileFormat(path string) (Format, error) { return formatAmong(path, profileFormats) }

// RootCauseFormat returns the format of a root-cause search by its file name.
func RootCauseFormat(path string) (Format, error) { return formatAmong(path, rootCauseFormats) }

// TraceFormat returns the format of a trace by its file name.
func TraceFormat(path string) (Format, error) { return formatAmong(path, traceFormats) }

// formatAmong returns the first of the known formats whose suffix a file name has.
func formatAmong(path string, known []Format) (Format, error) {
	name := strings.ToLower(filepath.Base(path))
	at := slices.IndexFunc(known, func(f Format) bool { return strings.HasSuffix(name, string(f)) })
	if at < 0 {
		return "", &FormatError{path, known}
	}
	return known[at], nil
}

// WriteProfile writes a profile in a format.
func WriteProfile(w io.Writer, format Format, p *cct.Profile) error {
	switch format {
	case HTML:
		return html.WriteProfile(w, p)
	case PProf:
		return pprof.WriteProfile(w, p)
	case Collapsed:
		return text.WriteCollapsed(w, p)
	case JSON:
		return document.Write(w, document.NewProfile(p))
	case Text:
		return text.WriteProfile(w, p, 0, 0)
	}
	return &FormatError{string(format), profileFormats}
}

// WriteProfileFile writes a profile into a file in the format of the file's name.
func WriteProfileFile(path string, p *cct.Profile) error {
	format, err := ProfileFormat(path)
	if err != nil {
		return err
	}
	return writeFile(path, func(w io.Writer) error { return WriteProfile(w, format, p) })
}

// WriteRootCause writes the result of a root-cause search in a format.
func WriteRootCause(w io.Writer, format Format, c *rootcause.Climb) error {
	switch format {
	case HTML:
		return html.WriteRootCause(w, c)
	case PProf:
		return pprof.WriteRootCause(w, c)
	case JSON:
		return document.Write(w, document.NewRootCause(c))
	case Text:
		return text.WriteRootCause(w, c, 0)
	}
	return &FormatError{string(format), rootCauseFormats}
}

// WriteRootCauseFile writes the result of a root-cause search into a file in the format
// of the file's name.
func WriteRootCauseFile(path string, c *rootcause.Climb) error {
	format, err := RootCauseFormat(path)
	if err != nil {
		return err
	}
	return writeFile(path, func(w io.Writer) error { return WriteRootCause(w, format, c) })
}

// WriteTraceFile writes a trace into a file in the format of the file's name. version is
// Sonde's, which OTLP records.
func WriteTraceFile(path string, t *trace.Trace, version string) error {
	format, err := TraceFormat(path)
	if err != nil {
		return err
	}
	return writeFile(path, func(w io.Writer) error {
		switch format {
		case HTML:
			return html.WriteTrace(w, t)
		case Chrome, Perfetto:
			return chrome.Write(w, t)
		case OTLP:
			return otlp.WriteJSON(w, t, version)
		case JSON:
			return document.Write(w, document.NewTrace(t))
		}
		return text.WriteTrace(w, t, text.Terminal{})
	})
}

// WriteSamplesFile writes a flame graph of samples into a file.
func WriteSamplesFile(path string, s *html.Samples) error {
	return writeFile(path, func(w io.Writer) error { return html.WriteSamples(w, s) })
}

// writeFile creates a file. It removes a file that could not be written completely.
func writeFile(path string, write func(io.Writer) error) (err error) {
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
	if err := write(out); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return out.Flush()
}

// ReadProfileFile reads a profile from a JSON file, from an HTML page that contains one,
// or, as far as possible, from a pprof file.
func ReadProfileFile(path string) (*cct.Profile, error) {
	format, err := formatAmong(path, readableFormats)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := readProfile(format, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func readProfile(format Format, data []byte) (*cct.Profile, error) {
	switch format {
	case PProf:
		return pprof.Read(data)
	case HTML:
		encoded, err := html.Embedded(data)
		if err != nil {
			return nil, err
		}
		data = encoded
	}
	return document.ReadProfile(bytes.NewReader(data))
}
