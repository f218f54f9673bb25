package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sonde-jvm/sonde/internal/archive"
	"github.com/sonde-jvm/sonde/internal/cct"
	"github.com/sonde-jvm/sonde/internal/report"
)

// checkOutputs finds out whether files could be written, before there is anything
// to write.
func checkOutputs(paths []string) error {
	for _, path := range paths {
		if _, err := report.FormatOf(path); err != nil {
			return &usageError{fmt.Errorf("-o %w", err)}
		}
		if err := checkWritable(path); err != nil {
			return err
		}
	}
	return nil
}

// checkWritable opens a file for writing and leaves everything as it was.
func checkWritable(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	fresh := err == nil
	if errors.Is(err, fs.ErrExist) {
		file, err = os.OpenFile(path, os.O_WRONLY, 0)
	}
	if err != nil {
		return outputError(path, err)
	}
	if err := file.Close(); err != nil || !fresh {
		return err
	}
	return os.Remove(path)
}

// outputError says why a file cannot be written.
func outputError(path string, err error) error {
	switch info, problem := os.Stat(path); {
	case problem == nil && info.IsDir():
		return &archive.OutputError{Path: path, Detail: "is a directory: name the file to write"}
	case errors.Is(err, fs.ErrNotExist):
		return &archive.OutputError{Path: path, Detail: "cannot be written: its directory does not exist"}
	}
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return &archive.OutputError{Path: path, Detail: fmt.Sprintf("cannot be written (%v): name another file with -o", err)}
}

// write writes the result to where it was asked for.
func (c *profiling) write(p *cct.Profile) error {
	var failed []error
	var written []string
	for _, path := range c.outputs {
		if err := report.WriteFile(path, p); err != nil {
			failed = append(failed, err)
			continue
		}
		written = append(written, filepath.Clean(path))
	}
	to, width := c.out, c.outWidth()
	if c.start {
		to, width = c.err, c.width // standard output is the program's
	}
	out := bufio.NewWriter(to) // keeps the first error until Flush
	if c.json {
		failed = append(failed, report.Write(out, report.JSON, p))
	} else {
		failed = append(failed, report.WriteTextTop(out, p, width, c.top))
	}
	failed = append(failed, out.Flush())
	if len(written) > 0 {
		_, _ = fmt.Fprintf(c.err, "wrote %s\n", strings.Join(written, ", "))
	}
	return errors.Join(failed...)
}
