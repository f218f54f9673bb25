package archive

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Transform returns the new bytes of a class, or nil where it stays as it is.
type Transform func(Entry) ([]byte, error)

// Options say how to rewrite.
type Options struct {
	// NewTransform is called once for each worker; what it returns is never
	// called by two goroutines at a time.
	NewTransform func() Transform
	Jobs         int // workers; 0 means one per processor
	// StripSignatures lets signed jars be changed by removing their
	// signatures; otherwise they give a [SignedError].
	StripSignatures bool
	// Commit, if not nil, is asked when all is done and before the output
	// gets its name; with an error nothing is written.
	Commit func() error
	// Progress, if not nil, is called with the bytes of the input done so far.
	Progress func(done, total int64)
}

// Report summarises a rewriting.
type Report struct {
	Classes  int      // classes seen
	Changed  int      // classes changed
	Nested   int      // jars within the input that were looked into
	Stripped []string // jars whose signatures were removed
	LinksOut []string // symbolic links that lead out of the input, whose targets were not looked into
	NotJars  []string // entries named like jars that are none, copied as they are
}

// Rewrite writes the input at in to out with every class passed through a
// transform, several at a time. It returns the first error in the order of the
// input; out then is what it was before.
func Rewrite(ctx context.Context, in, out string, o Options) (*Report, error) {
	kind, err := Detect(in)
	if err != nil {
		return nil, err
	}
	if kind == Image {
		return nil, fmt.Errorf("%s: a JDK run-time image can be read but not rewritten; instrument the jars or classes of your program instead", in)
	}
	if err := checkOutput(in, out, kind); err != nil {
		return nil, err
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &rewriter{ctx: ctx, options: o, pool: newPool(o)}
	defer w.pool.close()
	switch kind {
	case ClassFile:
		err = w.classFile(in, out)
	case Tree:
		err = w.tree(in, out)
	default:
		err = w.jarFile(in, out, "")
	}
	if err != nil {
		return nil, err
	}
	return &w.report, nil
}

// rewriter is one run of [Rewrite]. Only the workers of its pool run in parallel with the
// goroutine that called it.
type rewriter struct {
	ctx     context.Context
	options Options
	pool    *pool
	unpack  *unpacker
	report  Report
	done    progress
	wanted  func(path string) bool // entries to read, and jars, with "!/", to read them from; nil for all
}

// nextSeq numbers the classes.
func (w *rewriter) nextSeq() int {
	w.report.Classes++
	return w.report.Classes - 1
}

func (w *rewriter) classFile(in, out string) error {
	info, err := os.Stat(in)
	if err != nil {
		return err
	}
	data, err := readBounded(in)
	if err != nil {
		return err
	}
	w.done = progress{report: w.options.Progress, total: info.Size()}
	seq := w.nextSeq()
	result := <-w.pool.submit(func(k *worker) outcome {
		return k.transformed(Entry{Path: in, Data: data, Seq: seq})
	})
	if result.err != nil {
		return result.err
	}
	if result.changed {
		w.report.Changed++
		data = result.data
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	err = WriteFile(out, info.Mode().Perm(), func(f *os.File) error {
		if _, err := f.Write(data); err != nil {
			return err
		}
		return w.commit()
	})
	w.done.add(info.Size())
	return err
}

func (w *rewriter) commit() error {
	if w.options.Commit == nil {
		return nil
	}
	return w.options.Commit()
}

// progress counts the bytes done and reports them.
type progress struct {
	report      func(done, total int64)
	done, total int64
}

func (p *progress) add(n int64) {
	// Nested jars are estimated by their packed entries, which may add up to
	// a little more than the jar.
	p.done = min(p.done+n, p.total)
	if p.report != nil {
		p.report(p.done, p.total)
	}
}

// located adds where an error happened.
func located(path string, err error) error {
	return fmt.Errorf("%s: %w", path, err)
}

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

// WriteFile writes a file atomically: to a temporary file in the same directory, which is
// flushed to disk and renamed. If anything fails, the temporary file is removed.
func WriteFile(name string, mode fs.FileMode, write func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*.tmp")
	if errors.Is(err, fs.ErrNotExist) {
		return &OutputError{name, "cannot be written: its directory does not exist"}
	}
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = errors.Join(f.Chmod(mode), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// outcome is the result for one entry.
type outcome struct {
	changed bool
	data    []byte // the new content
	packed  []byte // the new content deflated; nil where that is not done yet
	err     error
}

// worker is the state of one goroutine of the pool.
type worker struct {
	transform Transform
	deflater  *flate.Writer
}

func (k *worker) transformed(e Entry) outcome {
	data, err := k.transform(e)
	if err != nil {
		return outcome{err: err}
	}
	return outcome{changed: data != nil, data: data}
}

// deflate packs data as zip does.
func (k *worker) deflate(data []byte) ([]byte, error) {
	var buf bytes.Buffer
	if k.deflater == nil {
		var err error
		if k.deflater, err = flate.NewWriter(&buf, flate.DefaultCompression); err != nil {
			return nil, err
		}
	} else {
		k.deflater.Reset(&buf)
	}
	if _, err := k.deflater.Write(data); err != nil {
		return nil, err
	}
	if err := k.deflater.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// pool runs jobs on a fixed number of workers. Its queue is unbuffered: submit waits for a
// free worker, which bounds memory.
type pool struct {
	only *worker // runs each job at once, if not nil
	jobs chan func(*worker)
	wg   sync.WaitGroup
	size int
}

func newPool(o Options) *pool {
	p := &pool{jobs: make(chan func(*worker)), size: o.Jobs}
	for range o.Jobs {
		p.wg.Go(func() {
			transform := o.NewTransform()
			k := &worker{transform: func(e Entry) ([]byte, error) {
				data, err := transform(e)
				if err != nil {
					err = located(e.Path, err)
				}
				return data, err
			}}
			for job := range p.jobs {
				job(k)
			}
		})
	}
	return p
}

// submit hands a job to a worker. The channel is buffered, so the outcome need not be
// received.
func (p *pool) submit(job func(*worker) outcome) <-chan outcome {
	result := make(chan outcome, 1)
	if p.only != nil {
		result <- job(p.only)
		return result
	}
	p.jobs <- func(k *worker) { result <- job(k) }
	return result
}

func (p *pool) close() {
	close(p.jobs)
	p.wg.Wait()
}

// inOrder starts n pieces of work, several ahead, and finishes each in order.
// start may return nil where there is nothing to wait for; finish then gets
// the zero outcome. The window keeps every worker busy while one piece is slow
// and bounds how much finished work waits.
func (p *pool) inOrder(n int, start func(i int) (<-chan outcome, error), finish func(i int, o outcome) error) error {
	pending := make([]<-chan outcome, 0, 64)
	window := p.size * 8
	next := 0
	settle := func() error {
		var o outcome
		if pending[0] != nil {
			o = <-pending[0]
		}
		i := next
		next++
		pending = append(pending[:0], pending[1:]...)
		if o.err != nil {
			return o.err
		}
		return finish(i, o)
	}
	for i := range n {
		result, err := start(i)
		if err != nil {
			// Earlier entries may have failed as well; then report the first of
			// them.
			for len(pending) > 0 {
				if earlier := settle(); earlier != nil {
					return earlier
				}
			}
			return err
		}
		pending = append(pending, result)
		for len(pending) > window {
			if err := settle(); err != nil {
				return err
			}
		}
	}
	for len(pending) > 0 {
		if err := settle(); err != nil {
			return err
		}
	}
	return nil
}
