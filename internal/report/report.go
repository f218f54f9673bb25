// Package report writes profiles for people and for other programs: text, HTML,
// pprof, collapsed stacks and JSON; reads back those that can be, and compares two.
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
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/report/page"
	"github.com/sonde-jvm/sonde/internal/report/record"
)

// A Format is a form a profile can be written in. Its value is how names of such
// files end.
type Format string

// The formats.
const (
	HTML      Format = ".html"
	PProf     Format = ".pb.gz"
	Collapsed Format = ".collapsed"
	JSON      Format = ".json"
	Text      Format = ".txt"
)

var formats = []Format{HTML, PProf, Collapsed, JSON, Text}

// A FormatError is a file whose name ends in nothing that is known.
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
	return fmt.Sprintf("%s: the end of the name says the format, and must be %s or %s", e.Path, strings.Join(known[:last], ", "), known[last])
}

// FormatOf is the format a file's name asks for.
func FormatOf(path string) (Format, error) { return formatAmong(path, formats) }

func formatAmong(path string, known []Format) (Format, error) {
	name := strings.ToLower(filepath.Base(path))
	for _, f := range known {
		if strings.HasSuffix(name, string(f)) {
			return f, nil
		}
	}
	return "", &FormatError{path, known}
}

// Write writes a profile in a format.
func Write(w io.Writer, format Format, p *cct.Profile) error {
	switch format {
	case HTML:
		encoded, err := record.Encode(p)
		if err != nil {
			return err
		}
		return page.Write(w, p, encoded)
	case PProf:
		return writePProf(w, p)
	case Collapsed:
		return writeCollapsed(w, p)
	case JSON:
		return record.Write(w, p)
	case Text:
		return WriteText(w, p, 0)
	}
	return &FormatError{string(format), formats}
}

// WriteFile writes a profile into a file, in the format its name asks for.
func WriteFile(path string, p *cct.Profile) error {
	format, err := FormatOf(path)
	if err != nil {
		return err
	}
	return writeFile(path, func(w io.Writer) error { return Write(w, format, p) })
}

// writeFile makes a file of what is written. One that could not be written whole is
// taken away.
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

// readable are the formats that hold enough to be read back.
var readable = []Format{JSON, HTML, PProf}

// ReadJSON reads what Write wrote as JSON.
func ReadJSON(r io.Reader) (*cct.Profile, error) { return record.Read(r) }

// ReadFile reads a profile from a JSON file, from the page that carries one, or, as
// far as that goes, from a pprof file.
func ReadFile(path string) (*cct.Profile, error) {
	format, err := formatAmong(path, readable)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := decode(format, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func decode(format Format, data []byte) (*cct.Profile, error) {
	switch format {
	case PProf:
		return readPProf(data)
	case HTML:
		encoded, err := page.Embedded(data)
		if err != nil {
			return nil, err
		}
		data = encoded
	}
	return record.Read(bytes.NewReader(data))
}

// climbFormats are the forms a climb can be written in.
var climbFormats = []Format{HTML, PProf, JSON, Text}

// ClimbFormatOf is the format a file's name asks for, of those a climb can have.
func ClimbFormatOf(path string) (Format, error) { return formatAmong(path, climbFormats) }

// WriteClimb writes a climb in a format.
func WriteClimb(w io.Writer, format Format, c *rootcause.Climb) error {
	switch format {
	case HTML:
		encoded, err := record.EncodeClimb(c)
		if err != nil {
			return err
		}
		return page.WriteClimb(w, c, encoded)
	case PProf:
		return writeClimbPProf(w, c)
	case JSON:
		return record.WriteClimb(w, c)
	case Text:
		return WriteClimbText(w, c, 0)
	}
	return &FormatError{string(format), climbFormats}
}

// WriteClimbFile writes a climb into a file, in the format its name asks for.
func WriteClimbFile(path string, c *rootcause.Climb) error {
	format, err := ClimbFormatOf(path)
	if err != nil {
		return err
	}
	return writeFile(path, func(w io.Writer) error { return WriteClimb(w, format, c) })
}

// ReadClimb reads what WriteClimb wrote as JSON.
func ReadClimb(r io.Reader) (*rootcause.Climb, error) { return record.ReadClimb(r) }

// ReadClimbFile reads a climb from a JSON file, or from the page that carries one.
func ReadClimbFile(path string) (*rootcause.Climb, error) {
	format, err := formatAmong(path, []Format{JSON, HTML})
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if format == HTML {
		if data, err = page.EmbeddedClimb(data); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	c, err := record.ReadClimb(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Samples are stacks that were sampled.
type Samples = page.Samples

// A SampleNode is one of the tree of such stacks.
type SampleNode = page.SampleNode

// WriteSamplesFile writes a flame graph of samples to a file, as WriteFile does.
func WriteSamplesFile(path string, s *Samples) error {
	return writeFile(path, func(w io.Writer) error { return page.WriteSamples(w, s) })
}
