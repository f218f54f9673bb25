package report

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/sonde-jvm/sonde/internal/measure/climb"
	"github.com/sonde-jvm/sonde/internal/report/page"
	"github.com/sonde-jvm/sonde/internal/report/record"
)

// climbFormats are the forms a climb can be written in.
var climbFormats = []Format{HTML, PProf, JSON, Text}

// ClimbFormatOf is the format a file's name asks for, of those a climb can have.
func ClimbFormatOf(path string) (Format, error) { return formatAmong(path, climbFormats) }

// WriteClimb writes a climb in a format.
func WriteClimb(w io.Writer, format Format, c *climb.Climb) error {
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
func WriteClimbFile(path string, c *climb.Climb) error {
	format, err := ClimbFormatOf(path)
	if err != nil {
		return err
	}
	return writeFile(path, func(w io.Writer) error { return WriteClimb(w, format, c) })
}

// ReadClimb reads what WriteClimb wrote as JSON.
func ReadClimb(r io.Reader) (*climb.Climb, error) { return record.ReadClimb(r) }

// ReadClimbFile reads a climb from a JSON file, or from the page that carries one.
func ReadClimbFile(path string) (*climb.Climb, error) {
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
