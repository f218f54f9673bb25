package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// file is a member of a directory tree.
type file struct {
	rel  string // with slashes; "." is the tree itself
	info fs.FileInfo
}

// tree rewrites a directory into a temporary one next to the output, renamed when
// complete.
func (w *rewriter) tree(in, out string) (err error) {
	files, err := list(in, false)
	if err != nil {
		return err
	}
	out = filepath.Clean(out)
	w.done = progress{report: w.options.Progress}
	size := int64(0)
	for _, f := range files {
		if f.info.Mode().IsRegular() {
			size += f.info.Size()
		}
	}
	w.done.total = size
	w.unpack = newUnpacker(size)
	temp, err := os.MkdirTemp(filepath.Dir(out), "."+filepath.Base(out)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeTree(temp))
		}
	}()
	if err := w.files(in, temp, files); err != nil {
		return err
	}
	if err := finishDirectories(temp, files); err != nil {
		return err
	}
	if err := w.commit(); err != nil {
		return err
	}
	// An output that is there already was found to be an empty directory.
	if err := os.Remove(out); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(temp, out)
}

// list finds the members of a tree, each directory before what it holds. Sockets and other
// special files are left out for reading, and refused for writing.
func list(root string, reading bool) ([]file, error) {
	var files []file
	// A root that is a symbolic link is followed; WalkDir would not.
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(real, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if t := info.Mode().Type(); t != 0 && t != fs.ModeDir && t != fs.ModeSymlink {
			if reading {
				return nil
			}
			return fmt.Errorf("%s: neither file, directory nor symbolic link: move it out of the input", name)
		}
		rel, err := filepath.Rel(real, name)
		files = append(files, file{filepath.ToSlash(rel), info})
		return err
	})
	return files, err
}

// files rewrites the members of a tree into temp, or reads them where temp is "".
func (w *rewriter) files(in, temp string, files []file) error {
	start := func(i int) (<-chan outcome, error) {
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		f := files[i]
		if !f.info.Mode().IsRegular() || !isClassName(f.rel) {
			return nil, nil
		}
		seq := w.nextSeq()
		return w.pool.submit(func(k *worker) outcome {
			data, err := readBounded(filepath.Join(in, f.rel))
			if err != nil {
				return outcome{err: err}
			}
			return k.transformed(Entry{Path: f.rel, Data: data, Seq: seq})
		}), nil
	}
	return w.pool.inOrder(len(files), start, func(i int, o outcome) error {
		f := files[i]
		before := w.done.done
		if f.info.Mode().IsRegular() && isNestedName(f.rel) {
			if o = w.jarInTree(filepath.Join(in, f.rel), f, temp == ""); o.err != nil {
				return o.err
			}
		} else if o.changed {
			w.report.Changed++
		}
		if temp == "" {
			return nil
		}
		if err := place(filepath.Join(in, f.rel), filepath.Join(temp, f.rel), f, o); err != nil {
			return err
		}
		if f.info.Mode().Type() == fs.ModeSymlink {
			if _, out, err := linkTarget(filepath.Join(in, f.rel), f.rel); err == nil && out {
				w.report.LinksOut = append(w.report.LinksOut, f.rel)
			}
		}
		if f.info.Mode().IsRegular() {
			w.done.add(max(0, f.info.Size()-(w.done.done-before)))
		}
		return nil
	})
}

func (w *rewriter) jarInTree(name string, f file, reading bool) outcome {
	if reading {
		if err := w.jarFile(name, "", f.rel+"!/"); !errors.Is(err, errNotJar) {
			return outcome{err: err}
		}
		return outcome{} // only named like a jar
	}
	if f.info.Size() > maxNestedJar {
		return outcome{err: &LimitError{name, "a jar too large to be rewritten within a directory: instrument it by itself"}}
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return outcome{err: err}
	}
	return w.nestedBytes(data, name, f.rel+"!/", 0)
}

// place puts one member of the tree into its copy. Directories get their own
// permissions last, as they might forbid writing into them.
func place(from, to string, f file, o outcome) error {
	switch f.info.Mode().Type() {
	case fs.ModeDir:
		if f.rel == "." {
			return nil
		}
		return os.Mkdir(to, 0o700)
	case fs.ModeSymlink:
		target, _, err := linkTarget(from, f.rel)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	if err := fill(from, to, o); err != nil {
		return err
	}
	if err := os.Chmod(to, permissions(f.info)); err != nil {
		return err
	}
	return os.Chtimes(to, f.info.ModTime(), f.info.ModTime())
}

// linkTarget returns the target of a symbolic link in the copy of a tree. A link that leads
// out of the tree keeps its destination, although the copy is in another directory.
func linkTarget(from, rel string) (target string, out bool, err error) {
	if target, err = os.Readlink(from); err != nil {
		return "", false, err
	}
	if filepath.IsAbs(target) {
		return target, true, nil
	}
	if filepath.IsLocal(filepath.Join(filepath.Dir(filepath.FromSlash(rel)), target)) {
		return target, false, nil
	}
	target, err = filepath.Abs(filepath.Join(filepath.Dir(from), target))
	return target, true, err
}

// fill writes a file: its new content, or a copy of the old.
func fill(from, to string, o outcome) (err error) {
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := dst.Close(); err == nil {
			err = closeErr
		}
	}()
	if o.changed {
		_, err = dst.Write(o.data)
		return err
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }() // only read
	_, err = io.Copy(dst, src)
	return err
}

// finishDirectories gives directories their permissions and times, the deepest
// first, as each change inside would touch the time of the one around it.
func finishDirectories(temp string, files []file) error {
	for i := len(files) - 1; i >= 0; i-- {
		f := files[i]
		if !f.info.IsDir() {
			continue
		}
		name := filepath.Join(temp, f.rel)
		if err := os.Chtimes(name, f.info.ModTime(), f.info.ModTime()); err != nil {
			return err
		}
		if err := os.Chmod(name, permissions(f.info)); err != nil {
			return err
		}
	}
	return nil
}

func permissions(info fs.FileInfo) fs.FileMode {
	return info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
}

// removeTree removes a directory whose parts may already be read-only.
func removeTree(root string) error {
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(name, 0o700)
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(root))
}
