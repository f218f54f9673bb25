package report

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
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
