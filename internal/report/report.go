// Package report writes the results of measurements into files, in the format that the
// suffix of the file's name selects, and reads profiles and hot spots back.
package report

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sonde-jvm/sonde/internal/jvm/jfr"
	"github.com/sonde-jvm/sonde/internal/jvm/sampler"
	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/measure/drill"
	"github.com/sonde-jvm/sonde/internal/measure/hotspots"
	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/report/chrome"
	"github.com/sonde-jvm/sonde/internal/report/diff"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/html"
	"github.com/sonde-jvm/sonde/internal/report/otlp"
	"github.com/sonde-jvm/sonde/internal/report/pprof"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

// formats are functions that write or read one kind of result, each with the suffix of the
// names of its files. A suffix comes after longer ones that end with it.
type formats[F any] []struct {
	suffix string
	use    F
}

// A FormatError reports a file name whose suffix is no known format.
type FormatError struct {
	Path  string
	Known []string
}

func (e *FormatError) Error() string {
	last := len(e.Known) - 1
	return fmt.Sprintf("%s: the suffix of the name selects the format, and must be %s or %s", e.Path, strings.Join(e.Known[:last], ", "), e.Known[last])
}

// of returns the function for a file name.
func (f formats[F]) of(path string) (use F, err error) {
	unknown := &FormatError{Path: path}
	name := strings.ToLower(filepath.Base(path))
	for _, one := range f {
		if strings.HasSuffix(name, one.suffix) {
			return one.use, nil
		}
		unknown.Known = append(unknown.Known, one.suffix)
	}
	return use, unknown
}

// A Writer writes results of one kind into files.
type Writer[T any] formats[func(io.Writer, T) error]

// Check reports whether a file name has a known suffix.
func (f Writer[T]) Check(path string) error {
	_, err := formats[func(io.Writer, T) error](f).of(path)
	return err
}

// Suffixes returns the suffixes of the names of files that can be written.
func (f Writer[T]) Suffixes() (suffixes []string) {
	for _, one := range f {
		suffixes = append(suffixes, one.suffix)
	}
	return suffixes
}

// WriteFile writes a result into a file in the format of the file's name. It removes a
// file that could not be written completely.
func (f Writer[T]) WriteFile(path string, result T) (err error) {
	write, err := formats[func(io.Writer, T) error](f).of(path)
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closing := file.Close(); err == nil {
			err = closing
		}
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	out := bufio.NewWriter(file)
	if err := write(out, result); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return out.Flush()
}

// Profiles writes profiles.
var Profiles = Writer[*cct.Profile]{
	{".html", html.WriteProfile}, {".pb.gz", pprof.WriteProfile}, {".collapsed", text.WriteCollapsed},
	{".otlp.json", func(w io.Writer, p *cct.Profile) error { return otlp.WriteProfile(w, p.Target, pprof.OfProfile(p)) }},
	{".json", func(w io.Writer, p *cct.Profile) error { return document.Write(w, document.NewProfile(p)) }},
	{".txt", func(w io.Writer, p *cct.Profile) error { return text.WriteProfile(w, p, 0, 0) }},
}

// RootCauses writes the results of root-cause searches.
var RootCauses = Writer[*rootcause.Climb]{
	{".html", html.WriteRootCause}, {".pb.gz", pprof.WriteRootCause},
	{".json", func(w io.Writer, c *rootcause.Climb) error { return document.Write(w, document.NewRootCause(c)) }},
	{".txt", func(w io.Writer, c *rootcause.Climb) error { return text.WriteRootCause(w, c, 0) }},
}

// Drills writes the results of searches from a slow method to its cause.
var Drills = Writer[*drill.Result]{
	{".html", html.WriteDrill},
	{".json", func(w io.Writer, r *drill.Result) error { return document.Write(w, document.NewDrill(r)) }},
	{".txt", func(w io.Writer, r *drill.Result) error { return text.WriteDrill(w, r, 0) }},
}

// Traces writes traces. version is Sonde's, which OTLP records.
func Traces(version string) Writer[*trace.Trace] {
	return Writer[*trace.Trace]{
		{".html", html.WriteTrace}, {".trace.json", chrome.Write}, {".perfetto.json", chrome.Write},
		{".otlp.json", func(w io.Writer, t *trace.Trace) error { return otlp.WriteJSON(w, t, version) }},
		{".json", func(w io.Writer, t *trace.Trace) error { return document.Write(w, document.NewTrace(t)) }},
		{".txt", func(w io.Writer, t *trace.Trace) error { return text.WriteTrace(w, t, text.Terminal{}) }},
	}
}

// HotSpots writes hot spots.
var HotSpots = Writer[*hotspots.Result]{
	{".html", html.WriteHot}, {".pb.gz", pprof.WriteHot}, {".collapsed", text.WriteHotCollapsed},
	{".otlp.json", func(w io.Writer, r *hotspots.Result) error { return otlp.WriteProfile(w, r.Target, pprof.OfHot(r)) }},
	{".json", func(w io.Writer, r *hotspots.Result) error {
		return document.Write(w, document.NewHot(r, r.Methods).WithTree(r))
	}},
	{".txt", func(w io.Writer, r *hotspots.Result) error {
		return text.WriteHot(w, r, text.HotView{Sort: text.BySelf}, 0, 0)
	}},
}

// Differences writes comparisons of profiles.
var Differences = Writer[*diff.Difference]{
	{".html", html.WriteDiff},
	{".json", func(w io.Writer, d *diff.Difference) error {
		return document.Write(w, document.NewDiff(d, 0).WithTree(d))
	}},
	{".txt", func(w io.Writer, d *diff.Difference) error { return text.WriteDiff(w, d, 0, 0) }},
}

// A File is a result that was read from a file: a profile or hot spots.
type File struct {
	Profile  *cct.Profile     // nil for hot spots
	HotSpots *hotspots.Result // nil for a profile
}

// readers read the formats that hold results. A recording is too large to be read at once.
var readers = formats[func([]byte) (File, error)]{{".json", readJSON}, {".html", readPage}, {".pb.gz", readPprof}, {".jfr", nil}}

// ReadFile reads a result: a profile or hot spots from JSON or from an HTML page, hot spots from
// a flight recording, and as far as possible a profile from a pprof file. With wall, the waiting threads
// of a recording are part of its result.
func ReadFile(ctx context.Context, path string, wall bool) (File, error) {
	return readFile(ctx, path, wall, "this command reads those of sonde profile and sonde hot")
}

// readFile is ReadFile; wanted says which results are read, for a file with another one.
func readFile(ctx context.Context, path string, wall bool, wanted string) (f File, err error) {
	read, err := readers.of(path)
	if err != nil {
		return f, err
	}
	if read == nil {
		f.HotSpots, err = ReadRecording(ctx, path, wall)
		return f, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return f, err
	}
	f, err = read(data)
	switch other := new(otherResult); {
	case errors.As(err, other):
		err = fmt.Errorf("%s is %w; %s", path, err, wanted)
	case err != nil:
		err = fmt.Errorf("%s: %w", path, err)
	}
	return f, err
}

// An otherResult is the command that has written a result of another kind.
type otherResult string

func (o otherResult) Error() string { return "a result of sonde " + string(o) }

// otherCommands are the commands of formats that are not named after them.
var otherCommands = map[string]string{
	"climb": "walk", "proposal": "observe", "applied": "apply", "handover": "apply", "goal": "apply", "class": "dump", "jvm": "ps", "host": "status", "undone": "undo", "attached": "attach", "look": "show",
}

// ReadProfile reads a profile from a file of any format that can hold one.
func ReadProfile(path string) (*cct.Profile, error) {
	const wanted = "diff compares profiles: name a file of sonde profile"
	f, err := readFile(context.Background(), path, false, wanted)
	if err == nil && f.Profile == nil {
		err = fmt.Errorf("%s contains hot spots, not a profile; %s", path, wanted)
	}
	return f.Profile, err
}

// ReadHotSpots reads hot spots from JSON, from a page, or from a flight recording with any other name.
func ReadHotSpots(ctx context.Context, path string, wall bool) (*hotspots.Result, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".json", ".html":
	default:
		return ReadRecording(ctx, path, wall)
	}
	f, err := readFile(ctx, path, wall, "hot reads those of sonde hot, and flight recordings")
	if err == nil && f.HotSpots == nil {
		err = fmt.Errorf("%s contains a profile, not hot spots: sonde convert writes it in other formats", path)
	}
	return f.HotSpots, err
}

// Check reports whether a result can be written to a file of a name.
func (f File) Check(path string) error {
	if f.Profile != nil {
		return Profiles.Check(path)
	}
	return HotSpots.Check(path)
}

// WriteFile writes a result in the format of the file's name.
func (f File) WriteFile(path string) error {
	if f.Profile != nil {
		return Profiles.WriteFile(path, f.Profile)
	}
	return HotSpots.WriteFile(path, f.HotSpots)
}

var errNoResult = errors.New("it has no result of Sonde: name a file that sonde profile or sonde hot has written with -o")

func readJSON(data []byte) (f File, err error) {
	var about struct {
		Format string `json:"format"`
	}
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&about); err != nil { // several documents can be in a file
		return f, errNoResult
	}
	command, isSondes := strings.CutPrefix(about.Format, "sonde-")
	switch command, _, _ = strings.Cut(command, "-"); {
	case !isSondes:
		return f, errNoResult
	case about.Format == document.HotFormat:
		f.HotSpots, err = document.ReadHot(bytes.NewReader(data))
	case about.Format == document.ProfileFormat:
		f.Profile, err = document.ReadProfile(bytes.NewReader(data))
	default:
		err = otherResult(cmp.Or(otherCommands[command], command))
	}
	return f, err
}

func readPage(data []byte) (File, error) {
	encoded, err := html.Embedded(data)
	if err != nil {
		return File{}, err
	}
	return readJSON(encoded)
}

func readPprof(data []byte) (f File, err error) {
	f.Profile, err = pprof.Read(data)
	return f, err
}

// ReadRecording reads hot spots from a flight recording.
func ReadRecording(ctx context.Context, path string, wall bool) (*hotspots.Result, error) {
	all := hotspots.NewCollection()
	recording, err := jfr.ReadFile(ctx, path, wall, func(samples []jfr.Sample) {
		all.Add(time.Time{}, slices.DeleteFunc(samples, func(s jfr.Sample) bool { return s.Thread != nil && s.Thread.IsSondes() }), 0, nil)
	})
	if err != nil {
		return nil, err
	}
	if len(recording.Times) > 0 {
		all.Add(recording.From, nil, recording.Period, map[int64]time.Duration{})
		all.Add(recording.To, nil, recording.Period, recording.Times)
	} else {
		all.Add(recording.From, nil, recording.Period, nil)
	}
	result := &hotspots.Result{
		Table: all.Table(recording.To), Target: cct.Target{PID: recording.PID, Command: recording.Main, JDK: recording.JDK},
		Recording: filepath.Base(path), Source: sampler.FlightRecorder.String(), Limits: sampler.FlightRecorder.Limits(), Wall: wall,
	}
	for _, loss := range recording.Losses {
		result.Notes = append(result.Notes, loss.Error())
	}
	if cut := all.Cut(); cut > 0 {
		result.Notes = append(result.Notes, fmt.Sprintf("the recording has too many different stacks: %s only with their innermost method", format.Count(cut, "sample counts", "samples count")))
	}
	if result.Samples == 0 && len(result.Places()) == 0 {
		return nil, fmt.Errorf("%s contains no samples of running threads: record with the settings profile or default of the JDK", path)
	}
	return result, nil
}
