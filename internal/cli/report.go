package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/results"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
	"github.com/sonde-jvm/sonde/internal/wire/ledger"
)

// A reporting is a `sonde report` command line.
type reporting struct {
	streams
	pack string
	sort string
	top  int
	json bool
}

const (
	usualReportTop  = 30
	usualReportSort = "total"
)

func newReport(s streams) *cobra.Command {
	c := &reporting{streams: s}
	command := &cobra.Command{
		Use:     "report ARENA|PID",
		Short:   "Tell what a pack has measured, also when the JVM has ended",
		Long:    reportLong,
		Example: reportExamples,
		Args:    exactly("ARENA|PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.json && !cmd.Flags().Changed("top") {
				c.top = 0
			}
			if err := c.check(); err != nil {
				return err
			}
			return c.run(cmd.Context(), args[0])
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.pack, "pack", "", "`FILE` that the program was started with: it has the names of probes and tags")
	flags.StringVar(&c.sort, "sort", usualReportSort, "calls, total, self, mean, max, threw or name")
	flags.IntVar(&c.top, "top", usualReportTop, "show so many rows of a table; 0 for all, as with --json")
	flags.BoolVar(&c.json, "json", false, "write one JSON object")
	return command
}

func (c *reporting) check() error {
	switch {
	case results.Orders[c.sort] == nil:
		return usage("--sort %q: %s", c.sort, strings.Join(slices.Sorted(maps.Keys(results.Orders)), ", "))
	case c.top < 0:
		return usage("--top must not be negative")
	}
	return nil
}

// run tells what a file, or where it is a number a process, has.
func (c *reporting) run(ctx context.Context, of string) error {
	h, err := c.find(ctx, of)
	if err != nil {
		return err
	}
	defer h.Close()
	return c.write(h)
}

func (c *reporting) find(ctx context.Context, of string) (*results.Harvest, error) {
	if strings.Trim(of, "0123456789") != "" { // a file of a number's name is ./4711
		h, err := results.Open(ctx, of, c.pack)
		return h, fileRemedy(err, of)
	}
	pid, err := strconv.Atoi(of)
	if err != nil || pid <= 0 {
		return nil, usage("%q is no process number, and no arena's path", of)
	}
	h, err := results.OfProcess(ctx, pid, c.pack)
	return h, insideRemedy(err, pid, c.pack)
}

// write writes the report.
func (c *reporting) write(h *results.Harvest) error {
	r, err := newReported(h, c.sort)
	if err != nil {
		return err
	}
	if c.json {
		return document.Write(c.out, r.describe(c.top))
	}
	out := bufio.NewWriter(c.out) // keeps the first error until Flush
	r.writeHead(out)
	r.writeTables(out, c.top, c.outWidth())
	r.writeFoot(out)
	return out.Flush()
}

const reportLong = `Tell what the agent of a pack has measured, of a JVM that runs or one that has ended.
All there is to tell is in the arena, a file that the agent has made beside the
program: its default is /tmp/sonde-PID-….arena, and arena=FILE in the agent's option
names another. The JVM is not asked, and nothing is changed. Arenas of sonde count
and the like can be read so, too.

With a process's number the arena is found by the agent's notice, or where it has
ended among those in /tmp. The pack says which probes were meant and how tags are
called: a JVM that runs tells its path, else --pack does.

CALLS    calls begun, every one of them; calls of what has not loaded are none
TOTAL    time of all calls; of a method that calls itself the outermost calls count
SELF     the same without calls of other methods that have hooks
MEAN     time of one call, of those that were timed and have ended
P99      what 99 of 100 calls did not exceed, to 6 %
MAX      the longest
THREW    calls that ended with an exception
RUNNING  calls that have begun and not ended

Times hold what the clock takes, and with ~ are of the calls that were timed: their
sum is made up for all. A probe's SELF adds up what is its methods' own. Calls that
were under way when the JVM ended, or the hooks went out, are counted, and their time
is not known. What is said of classes is that of the pack: those that were woven as they
loaded, and those that were not, as their bytes are not those that were packed, their
class loader does not see the hooks, or something else was the matter.

Exit code: 0 when there is a result, 1 on an error, 2 for a wrong command line.`

const reportExamples = `  sonde report /var/log/shop.arena --pack shop.pack
  sonde report 4711
  sonde report 4711 --sort mean --top 10
  sonde report shop.arena --json | jq '.methods[] | select(.calls > 1000) | .method'`

// fileRemedy adds to why a file cannot be read as an arena what to do.
func fileRemedy(err error, name string) error {
	switch {
	case !errors.Is(err, arena.ErrNotArena) && !errors.Is(err, process.ErrNotPlain):
		return err
	case isPack(name):
		return fmt.Errorf("%s is a pack, not what was measured with it: name the arena of the program that was started with it, or its process number", name)
	}
	return fmt.Errorf("%w; name the file that arena= has named, or /tmp/sonde-PID-….arena; one of another version the Sonde reads that made the pack", err)
}

// isPack reports whether a file is a pack, of whichever version and state.
func isPack(name string) bool {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false // to open it could take for ever
	}
	opened, err := pack.Open(name)
	if err == nil {
		_ = opened.Close() // only read
		return true
	}
	return errors.Is(err, pack.ErrDamaged) || errors.Is(err, pack.ErrVersion)
}

// insideRemedy adds to why the arena of a JVM cannot be read what to do. What is wrong
// with a pack that was named is said already.
func insideRemedy(err error, pid int, packPath string) error {
	var of *fs.PathError
	switch {
	case errors.Is(err, results.ErrNoArena), errors.As(err, &of) && packPath != "" && of.Path == packPath:
		return err
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; run sonde as the user of process %d, or as root", err, pid)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; it was removed while process %d runs: start the program again, with arena=FILE where nobody tidies up", err, pid)
	case errors.Is(err, arena.ErrNotArena):
		return fmt.Errorf("%w; the Sonde reads it that made the pack", err)
	}
	return err
}

// A reported is what there is to tell of an arena.
type reported struct {
	*results.Harvest
	results *ledger.Results
	account arena.Account
	packed  bool // there is such an account
	methods []results.Row
	probes  []results.Row // none where they are not known

	calls, untimed, undecided, active uint64
}

// newReported reads an arena.
func newReported(h *results.Harvest, sort string) (r *reported, err error) {
	r = &reported{Harvest: h}
	if r.account, r.packed, err = h.Account(); err != nil {
		return nil, err
	}
	if r.results, err = h.Results(); err != nil {
		return nil, err
	}
	for i := range r.results.Rows {
		row := newReportRow(&r.results.Rows[i])
		r.calls += row.Calls
		r.untimed += row.Untimed
		r.undecided += row.Undecided
		r.active += row.Active
		r.methods = append(r.methods, row)
	}
	r.probes = probeRows(r.methods)
	for _, rows := range [][]results.Row{r.methods, r.probes} {
		results.SortRows(rows, sort)
	}
	return r, nil
}

func newReportRow(from *ledger.Row) results.Row {
	row := results.Row{
		Class: from.Class, Name: from.Method, Descriptor: from.Descriptor, ID: from.ID, Probe: from.Probe,
		InContext: true, Within: from.Sequence, Label: from.Label, Totals: from.Totals,
	}
	if from.Class == "" && from.Method == "" {
		row.Name = "(no name)"
	}
	var words []string
	if from.Sequence != "" {
		words = append(words, "within "+from.Sequence)
	}
	if label := from.Label.String(); label != "" {
		words = append(words, label)
	}
	row.Context = strings.Join(words, "; ")
	row.Timing = results.TimingOf(row)
	return row
}

// probeRows adds up the rows of each probe with the same label and sequence.
func probeRows(methods []results.Row) (rows []results.Row) {
	type key struct{ probe, context string }
	at := make(map[key]int)
	for i := range methods {
		m := &methods[i]
		if m.Probe == "" {
			continue
		}
		k := key{m.Probe, m.Context}
		n, is := at[k]
		if !is {
			n = len(rows)
			at[k] = n
			rows = append(rows, results.Row{Name: m.Probe, Probe: m.Probe, InContext: true, Within: m.Within, Label: m.Label, Context: m.Context})
		}
		rows[n].Methods++
		rows[n].Add(&m.Totals)
	}
	for i := range rows {
		rows[i].Timing = results.TimingOf(rows[i])
	}
	return rows
}

// called are the rows with a call that is known, or may be missing.
func called(rows []results.Row) []results.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r results.Row) bool { return !r.IsCalled() })
}
