package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// checkOutput refuses outputs that would destroy the input or something else.
func checkOutput(in, out string, kind Kind) error {
	inInfo, err := os.Stat(in)
	if err != nil {
		return err
	}
	outInfo, err := os.Stat(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case os.SameFile(inInfo, outInfo):
		return &OutputError{out, "is the input itself: name another output"}
	case kind == Tree && !outInfo.IsDir():
		return &OutputError{out, "exists and is no directory: name another output, or remove it"}
	case kind == Tree:
		names, err := os.ReadDir(out)
		if err != nil {
			return err
		}
		if len(names) > 0 {
			return &OutputError{out, "exists and is not empty: name another directory, or remove it"}
		}
	case outInfo.IsDir():
		return &OutputError{out, "is a directory: name the file to write"}
	case !outInfo.Mode().IsRegular():
		return &OutputError{out, "is neither a file nor a directory"}
	}
	if kind == Tree {
		return checkApart(in, out)
	}
	return nil
}

// checkApart refuses an output tree inside the input tree, which would be
// copied into itself.
func checkApart(in, out string) error {
	realIn, err := filepath.EvalSymlinks(in)
	if err != nil {
		return err
	}
	realParent, err := filepath.EvalSymlinks(filepath.Dir(filepath.Clean(out)))
	if err != nil {
		return &OutputError{out, "cannot be written: its parent directory does not exist"}
	}
	if realIn, err = filepath.Abs(realIn); err != nil {
		return err
	}
	if realParent, err = filepath.Abs(realParent); err != nil {
		return err
	}
	rel, err := filepath.Rel(realIn, realParent)
	if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return &OutputError{out, "lies inside the input: name a directory outside it"}
	}
	return nil
}

// WriteFile makes a file appear under its name with all its content: it is
// written beside, flushed to disk, and renamed. Where anything fails, nothing
// is left behind.
func WriteFile(name string, mode fs.FileMode, write func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*.tmp")
	if errors.Is(err, fs.ErrNotExist) {
		return &OutputError{name, "cannot be written: its directory does not exist"}
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // closed already, or of no use any more
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
