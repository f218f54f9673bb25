package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/report"
)

// checkOutputs checks that files can be written, before there is anything to write.
func checkOutputs(paths []string, formatOf func(path string) (report.Format, error)) error {
	for _, path := range paths {
		if _, err := formatOf(path); err != nil {
			return &usageError{fmt.Errorf("-o %w", err)}
		}
		if err := checkWritable(path); err != nil {
			return err
		}
	}
	return nil
}

// checkWritable checks that a file can be written, without changing anything.
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

// writeOutputs writes files. The returned function reports which were written; it is called
// at the end, where it is read.
func (s streams) writeOutputs(paths []string, write func(path string) error) (tell func(), err error) {
	var failed []error
	var written []string
	for _, path := range paths {
		if err := write(path); err != nil {
			failed = append(failed, err)
			continue
		}
		written = append(written, filepath.Clean(path))
	}
	tell = func() {
		if len(written) > 0 {
			_, _ = fmt.Fprintf(s.err, "wrote %s\n", strings.Join(written, ", "))
		}
	}
	return tell, errors.Join(failed...)
}
