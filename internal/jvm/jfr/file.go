package jfr

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A Recording is a file with all chunks of a recording, one after the other.
type Recording struct {
	From, To time.Time // as far as chunks were read
	PID      int       // 0 if the recording does not contain it, as the texts
	Main     string    // main class or jar
	JDK      string    // version
	Period   time.Duration
	Times    map[int64]time.Duration // processor time of each thread by its OS ID, if it was recorded
	Losses   []Loss                  // the first ones

	processors float64
	loadPeriod time.Duration
	loads      map[int64]*load // by OS ID
	hasLoads   bool            // the recording contains processor times
}

// A load is the processor time of a thread as far as it was recorded.
type load struct {
	used        time.Duration // divided by the number of processors, which a chunk may contain later
	covered     time.Duration
	first, last time.Time // covered
}

const (
	// batchSize is how many samples are passed on at a time.
	batchSize = 4096
	// maxEvent bounds the bytes of one event. The largest are checkpoints.
	maxEvent = 128 << 20
	// maxLoads bounds the threads whose processor time is summed up.
	maxLoads = 100_000
	// usualLoadPeriod is the period of jdk.ThreadCPULoad in the JDK's settings.
	usualLoadPeriod = 10 * time.Second
)

// ReadFile reads a recording, and calls use with its samples, some thousand at a time. With
// waits, these include the waits that were recorded, each as one sample of the period that it
// lasted. The memory it takes does not depend on the size of the file: of each chunk, only the
// values that its events refer to are held, up to a limit.
func ReadFile(ctx context.Context, path string, waits bool, use func([]Sample)) (*Recording, error) {
	// Without O_NONBLOCK, opening a pipe would block.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file: name a flight recording, as jcmd PID JFR.dump writes it", path)
	}
	return read(ctx, file, info.Size(), filepath.Base(path), waits, use)
}

func read(ctx context.Context, file io.ReaderAt, size int64, name string, waits bool, use func([]Sample)) (*Recording, error) {
	r := &fileReader{
		Recording: &Recording{Times: map[int64]time.Duration{}, loads: map[int64]*load{}, processors: 1, loadPeriod: usualLoadPeriod},
		ctx:       ctx, file: file, name: name, waits: waits, use: use, buffer: bufio.NewReaderSize(nil, 256<<10),
	}
	if err := r.read(size); err != nil {
		return nil, err
	}
	if !r.hasLoads {
		return r.Recording, nil
	}
	for thread, l := range r.loads {
		r.Times[thread] = time.Duration(r.processors * float64(l.whole(r.From, r.To, r.loadPeriod)))
	}
	return r.Recording, nil
}

// A fileReader reads the chunks of a file in order.
type fileReader struct {
	*Recording
	ctx   context.Context
	file  io.ReaderAt
	name  string
	waits bool
	use   func([]Sample)

	buffer *bufio.Reader
	event  []byte // reused
}

func (r *fileReader) read(size int64) error {
	for at := int64(0); at < size; {
		bytes := make([]byte, headerSize)
		if _, err := r.file.ReadAt(bytes, at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		h, err := parseHeader(bytes)
		var loss Loss
		if errors.As(err, &loss) {
			if at == 0 {
				return fmt.Errorf("%s: %s", r.name, loss.Detail)
			}
			loss.File, loss.Offset, loss.Count = r.name, at, size-at
			r.lose(loss)
			return nil
		}
		// A chunk that the JVM did not finish, because it was killed, ends with the file.
		end := size
		if h.size >= headerSize && h.size <= size-at {
			end = at + h.size
		}
		if err := r.chunk(h, at, end); err != nil {
			return err
		}
		if h.size > size-at {
			r.lose(Loss{Defect: Truncated, File: r.name, Offset: size, Count: h.size - (size - at), Detail: "the file ends before its chunk"})
		}
		at = end
	}
	return nil
}

// lose remembers the first losses.
func (r *fileReader) lose(losses ...Loss) {
	r.Losses = append(r.Losses, losses[:min(len(losses), maxLosses-len(r.Losses))]...)
}

// chunk reads a chunk. Values that events refer to may follow them, so the chunk is scanned for
// values first.
func (r *fileReader) chunk(h header, at, end int64) error {
	ch := newChunk(h, r.name)
	ch.live, ch.recording, ch.waits = false, r.Recording, r.waits
	if err := r.learn(ch, at, end); err != nil {
		return err
	}
	flush := func() {
		ch.report()
		r.lose(ch.out.Losses...)
		for i := range ch.out.Samples {
			r.load(ch.out.Samples[i].Thread) // an idle thread has no other event
		}
		if len(ch.out.Samples) > 0 {
			r.use(ch.out.Samples)
		}
		ch.out = &Batch{}
	}
	defer flush()
	if ch.meta == nil {
		ch.lose(NoMetadata, at, end-at, "nothing in the chunk describes the layout of its events")
		return nil
	}
	begin := time.Unix(0, h.startNanos)
	if r.From.IsZero() || begin.Before(r.From) {
		r.From = begin
	}
	if r.To.Before(h.end()) {
		r.To = h.end()
	}
	damaged, err := r.scan(at+headerSize, end, func(id int64) bool { return id == checkpointEvent }, func(at int64, _ int64, event []byte, body int) {
		data := append([]byte(nil), event...) // the pools refer to it
		if err := ch.index(cursor{data: data, at: body}); err != nil {
			ch.lose(Corrupt, at, int64(len(event)), err.Error())
		}
	})
	if err != nil {
		return err
	}
	if damaged >= 0 {
		ch.lose(Corrupt, damaged, end-damaged, "no event begins here")
	}
	_, err = r.scan(at+headerSize, end, func(id int64) bool { return ch.isRead(id) }, func(_ int64, id int64, event []byte, body int) {
		t := ch.meta[id]
		t.reader(ch, t, event[body:])
		if len(ch.out.Samples) >= batchSize {
			flush()
		}
	})
	return err
}

// learn reads the newest metadata of a chunk: the metadata that the header names, or the last.
func (r *fileReader) learn(ch *chunk, at, end int64) error {
	from, last := at+ch.header.metadata, int64(-1)
	if ch.header.metadata < headerSize || from >= end {
		from = at + headerSize
		isMetadata := func(id int64) bool { return id == metadataEvent }
		if _, err := r.scan(from, end, isMetadata, func(at int64, _ int64, _ []byte, _ int) { last = at }); err != nil {
			return err
		}
		if last < 0 {
			return nil
		}
		from = last
	}
	first := true
	_, err := r.scan(from, end, func(id int64) bool { return first && id == metadataEvent }, func(at int64, _ int64, event []byte, body int) {
		first = false
		meta, err := parseMetadata(cursor{data: event, at: body})
		if err != nil {
			ch.lose(Corrupt, at, int64(len(event)), err.Error())
			return
		}
		ch.meta = meta
	})
	return err
}

// scan calls visit for the wanted events between two places, with its place, its type, its bytes,
// which are overwritten later, and where its fields begin. damaged is where no event begins; -1 if
// there is none.
func (r *fileReader) scan(from, to int64, wanted func(id int64) bool, visit func(at, id int64, event []byte, body int)) (damaged int64, err error) {
	const headBytes = 18 // two integers
	in := r.buffer
	in.Reset(io.NewSectionReader(r.file, from, to-from))
	for at := from; at < to; {
		if err := r.ctx.Err(); err != nil {
			return at, err
		}
		head, err := in.Peek(int(min(headBytes, to-at)))
		if err != nil {
			return at, ignoreEOF(err)
		}
		c := cursor{data: head}
		size, id := int64(int32(c.long())), int64(c.long())
		if c.short || size < int64(c.at) || size > to-at || wanted(id) && size > maxEvent {
			return at, nil
		}
		if !wanted(id) {
			if _, err := in.Discard(int(size)); err != nil {
				return at, ignoreEOF(err)
			}
			at += size
			continue
		}
		if int64(cap(r.event)) < size {
			r.event = make([]byte, size)
		}
		if _, err := io.ReadFull(in, r.event[:size]); err != nil {
			return at, ignoreEOF(err)
		}
		visit(at, id, r.event[:size], c.at)
		at += size
	}
	return -1, nil
}

// ignoreEOF returns other errors: a file that becomes shorter while it is read is damaged.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// readJVM reads what program was recorded.
func readJVM(ch *chunk, t *typeDef, body []byte) {
	if ch.recording == nil {
		return
	}
	for f, v := range ch.fields(t, &cursor{data: body}) {
		switch f.name {
		case "jvmVersion": // OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1) for linux-amd64 …
			_, rest, _ := strings.Cut(v.text(), "(")
			ch.recording.JDK, _, _ = strings.Cut(rest, ")")
		case "javaArguments":
			ch.recording.Main, _, _ = strings.Cut(v.text(), " ")
		case "pid":
			ch.recording.PID = int(v.int())
		}
	}
}

func readProcessors(ch *chunk, t *typeDef, body []byte) {
	if ch.recording == nil {
		return
	}
	for f, v := range ch.fields(t, &cursor{data: body}) {
		if f.name == "hwThreads" {
			ch.recording.processors = float64(max(1, v.int()))
		}
	}
}

// readSetting reads the periods of samples of Java code and of the processor time of threads.
func readSetting(ch *chunk, t *typeDef, body []byte) {
	if ch.recording == nil {
		return
	}
	var id int64
	var name, text string
	for f, v := range ch.fields(t, &cursor{data: body}) {
		switch f.name {
		case "id":
			id = v.int()
		case "name":
			name = v.text()
		case "value":
			text = v.text()
		}
	}
	of := ch.meta[id]
	if of == nil || name != "period" {
		return
	}
	period, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	if err != nil || period <= 0 {
		return // such as everyChunk
	}
	switch of.name {
	case "jdk.ExecutionSample":
		// Several recordings may have run: the JVM uses the shortest period of all.
		ch.recording.Period = min(period, cmp.Or(ch.recording.Period, period))
	case "jdk.ThreadCPULoad":
		ch.recording.loadPeriod = period
	}
}

// readLoad reads the processor time that a thread used since the last event about it, as a part
// of the time of all processors.
func readLoad(ch *chunk, t *typeDef, body []byte) {
	r := ch.recording
	if r == nil {
		return
	}
	var part float64
	var at time.Time
	thread := noThread
	for f, v := range ch.fields(t, &cursor{data: body}) {
		switch f.name {
		case "startTime":
			at = time.Unix(0, ch.header.nanos(v.int()))
		case "eventThread":
			thread = ch.thread(v)
		case "user", "system":
			part += v.float()
		}
	}
	r.hasLoads = true
	l := r.load(thread)
	if l == nil {
		return
	}
	if l.first.IsZero() {
		if l.first = at.Add(-r.loadPeriod); l.first.Before(r.From) {
			l.first = r.From
		}
		l.last = l.first
	}
	if since := at.Sub(l.last); since > 0 && part >= 0 && part <= 1 {
		l.used += time.Duration(part * float64(since))
		l.covered += since
		l.last = at
	}
}

// load returns the load of a thread; nil if there are too many.
func (r *Recording) load(thread *Thread) *load {
	l := r.loads[thread.OSID]
	if l == nil && len(r.loads) < maxLoads {
		l = &load{}
		r.loads[thread.OSID] = l
	}
	return l
}

// whole returns the processor time of a thread in a whole recording, divided as used. If events about it came from
// the beginning to the end, it also used some in the rest of a period before the first and after the
// last one.
func (l *load) whole(from, to time.Time, period time.Duration) time.Duration {
	gap := period + period/2
	if l.covered <= 0 || l.first.Sub(from) > gap || to.Sub(l.last) > gap {
		return l.used
	}
	return time.Duration(float64(l.used) * float64(to.Sub(from)) / float64(l.covered))
}
