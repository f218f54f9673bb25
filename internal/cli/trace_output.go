package cli

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/chrome"
	"github.com/sonde-jvm/sonde/internal/report/otlp"
	"github.com/sonde-jvm/sonde/internal/report/waterfall"
)

// The forms of a trace in a file, by how its name ends.
const (
	chromeTrace   report.Format = ".trace.json"
	perfettoTrace report.Format = ".perfetto.json"
	otlpTrace     report.Format = ".otlp.json"
)

// traceFormats has longer ends before those they end with.
var traceFormats = []report.Format{report.HTML, chromeTrace, perfettoTrace, otlpTrace, report.JSON, report.Text}

// traceFormatOf is the format a file's name asks for.
func traceFormatOf(path string) (report.Format, error) {
	for _, format := range traceFormats {
		if strings.HasSuffix(strings.ToLower(path), string(format)) {
			return format, nil
		}
	}
	return "", &report.FormatError{Path: path, Known: traceFormats}
}

// writeTraceFile writes a trace into a file, in the format its name asks for.
func writeTraceFile(path string, t *trace.Trace) error {
	format, err := traceFormatOf(path)
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return outputError(path, err)
	}
	out := bufio.NewWriter(file)
	return errors.Join(writeTrace(out, format, t), out.Flush(), file.Close())
}

func writeTrace(w io.Writer, format report.Format, t *trace.Trace) error {
	switch format {
	case report.HTML:
		return waterfall.WriteHTML(w, t)
	case chromeTrace, perfettoTrace:
		return chrome.Write(w, t)
	case otlpTrace:
		return otlp.WriteJSON(w, t, version())
	case report.JSON:
		return waterfall.WriteJSON(w, t)
	}
	return waterfall.WriteText(w, t, waterfall.Terminal{})
}
