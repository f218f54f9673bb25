package archive

import (
	"context"
	"fmt"
	"os"
	"runtime"
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
	// Progress, if not nil, is told how much of the input is done, in bytes.
	Progress func(done, total int64)
}

// Report is what a rewriting met and did.
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
		return nil, &KindError{in, "a JDK run-time image can be read but not rewritten; instrument the jars or classes of your program instead"}
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
		err = w.jarFile(in, out)
	}
	if err != nil {
		return nil, err
	}
	return &w.report, nil
}

// rewriter is one run of [Rewrite]. Only the workers of its pool run beside
// the goroutine that called it.
type rewriter struct {
	ctx     context.Context
	options Options
	pool    *pool
	unpack  *unpacker
	report  Report
	done    progress
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

// progress counts what is done and tells it on.
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
