package report

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/page"
	"github.com/sonde-jvm/sonde/internal/report/record"
)

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
