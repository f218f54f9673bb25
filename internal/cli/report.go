package cli

import (
	"bufio"
	"cmp"
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
	case reportOrders[c.sort] == nil:
		return usage("--sort %q: %s", c.sort, strings.Join(slices.Sorted(maps.Keys(reportOrders)), ", "))
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
		return writeJSON(c.out, r.describe(c.top))
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

// A reportRow is a method, or a probe, with what was measured of it.
type reportRow struct {
	methodRow
	probe   string // empty where it is not known
	label   ledger.Label
	within  string
	methods int    // of a probe
	timing  string // how its calls are timed, as far as results show
}

// reportOrders are what --sort knows: the largest first, names from A to Z.
var reportOrders = map[string]func(r *reportRow) float64{
	"calls": func(r *reportRow) float64 { return float64(r.Calls) },
	"total": func(r *reportRow) float64 { return r.total(r.timing) },
	"self":  func(r *reportRow) float64 { return r.self(r.timing) },
	"mean":  func(r *reportRow) float64 { return r.mean() },
	"max":   func(r *reportRow) float64 { return float64(r.Max) },
	"threw": func(r *reportRow) float64 { return float64(r.Threw) },
	"name":  func(*reportRow) float64 { return 0 },
}

// A reported is what there is to tell of an arena.
type reported struct {
	*results.Harvest
	results *ledger.Results
	account arena.Account
	packed  bool // there is such an account
	methods []reportRow
	probes  []reportRow // none where they are not known

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
	for _, rows := range [][]reportRow{r.methods, r.probes} {
		sortReport(rows, sort)
	}
	return r, nil
}

func newReportRow(from *ledger.Row) reportRow {
	row := reportRow{
		methodRow: methodRow{class: from.Class, name: from.Method, descriptor: from.Descriptor, id: from.ID, Totals: from.Totals},
		probe:     from.Probe, label: from.Label, within: from.Sequence,
	}
	if from.Class == "" && from.Method == "" {
		row.name = "(no name)"
	}
	var words []string
	if from.Sequence != "" {
		words = append(words, "within "+from.Sequence)
	}
	if label := from.Label.String(); label != "" {
		words = append(words, label)
	}
	row.context = strings.Join(words, "; ")
	row.timing = timingOf([]methodRow{row.methodRow})
	return row
}

// probeRows adds up the rows of each probe, those of one label and sequence together.
func probeRows(methods []reportRow) (rows []reportRow) {
	type key struct{ probe, context string }
	at := make(map[key]int)
	for i := range methods {
		m := &methods[i]
		if m.probe == "" {
			continue
		}
		k := key{m.probe, m.context}
		n, is := at[k]
		if !is {
			n = len(rows)
			at[k] = n
			rows = append(rows, reportRow{probe: m.probe, label: m.label, within: m.within, methodRow: methodRow{name: m.probe, context: m.context}})
		}
		rows[n].methods++
		rows[n].Add(&m.Totals)
	}
	for i := range rows {
		rows[i].timing = timingOf([]methodRow{rows[i].methodRow})
	}
	return rows
}

func sortReport(rows []reportRow, by string) {
	key := reportOrders[by]
	slices.SortStableFunc(rows, func(a, b reportRow) int {
		return cmp.Or(cmp.Compare(key(&b), key(&a)), cmp.Compare(a.class, b.class), cmp.Compare(a.name, b.name),
			cmp.Compare(a.descriptor, b.descriptor), cmp.Compare(a.probe, b.probe), cmp.Compare(a.context, b.context))
	})
}

// called are the rows with a call that is known, or may be missing.
func called(rows []reportRow) []reportRow {
	return slices.DeleteFunc(slices.Clone(rows), func(r reportRow) bool { return r.Calls == 0 && r.Active == 0 && r.Undecided == 0 && !r.LowerBound })
}

// p99 is what 99 of 100 calls did not exceed; negative where that is not known.
func (r *reportRow) p99() float64 {
	if r.Spread == nil || r.Spread.Count() == 0 {
		return -1
	}
	return min(r.Spread.Quantile(0.99), float64(r.Max))
}
