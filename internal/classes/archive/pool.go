package archive

import (
	"bytes"
	"compress/flate"
	"sync"
)

// outcome is what became of one entry.
type outcome struct {
	changed bool
	data    []byte // the new content
	packed  []byte // the new content deflated, where the entry is to be
	err     error
}

// worker owns what one goroutine of the pool uses again and again.
type worker struct {
	transform Transform
	deflater  *flate.Writer
}

// transformed runs the transform on an entry.
func (k *worker) transformed(e Entry) outcome {
	data, err := k.transform(e)
	if err != nil {
		return outcome{err: located(e.Path, err)}
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

// pool runs jobs on a fixed number of workers. Its queue has no length:
// whoever submits waits for a free worker, which bounds memory.
type pool struct {
	jobs chan func(*worker)
	wg   sync.WaitGroup
	size int
}

func newPool(o Options) *pool {
	p := &pool{jobs: make(chan func(*worker)), size: o.Jobs}
	for range o.Jobs {
		p.wg.Go(func() {
			k := &worker{transform: o.NewTransform()}
			for job := range p.jobs {
				job(k)
			}
		})
	}
	return p
}

// submit hands a job to a worker. The outcome waits in the channel, so nobody
// need take it.
func (p *pool) submit(job func(*worker) outcome) <-chan outcome {
	result := make(chan outcome, 1)
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
			// What came before it in order may have failed as well, and then
			// is the error to tell.
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
