package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// applying is a `sonde apply` command line.
type applying struct {
	choice
	file       string
	title      string // of the file, where it is handed over by another Sonde
	set        *probeset.Set
	dryRun     bool
	yes        bool
	end        bool
	background bool
	ready      bool // another Sonde waits to be told that the set is applied
	duration   time.Duration
	interval   time.Duration
	paced      bool // --interval was given
	json       bool
	outputs    []string // for traces
	keep       int      // so many
}

func newApply(s streams) *cobra.Command {
	c := &applying{choice: choice{streams: s}}
	command := &cobra.Command{
		Use:     "apply PID [-f FILE]",
		Short:   "Have a JVM watched as a file of probes says",
		Long:    applyLong,
		Example: applyExamples,
		Args:    exactly("PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.paced = cmd.Flags().Changed("interval")
			if err := c.check(args); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.StringVarP(&c.file, "file", "f", "", "`FILE` that says what is wanted; - reads it from standard input")
	flags.BoolVar(&c.dryRun, "dry-run", false, "show what would change, and change nothing")
	flags.BoolVar(&c.yes, "yes", false, "do not ask before something is changed")
	flags.BoolVar(&c.end, "end", false, "end the sonde apply that holds the JVM")
	flags.BoolVar(&c.background, "background", false, "go on in the background once the set is applied")
	flags.DurationVar(&c.duration, "for", 0, "end after this time; 0 for Ctrl-C or sonde apply --end")
	flags.DurationVar(&c.interval, "interval", time.Second, "how often the table is drawn, or with --json an object written")
	flags.BoolVar(&c.json, "json", false, "write JSON")
	flags.StringArrayVarP(&c.outputs, "output", "o", nil, "file to write traces to at the end: .html, .json, .trace.json, .otlp.json or .txt; may be repeated")
	flags.IntVar(&c.keep, "keep", usualKeep, "how many traces are kept, the latest")
	flags.BoolVar(&c.force, "force", false, "put hooks also into classes that the JDK damages by that")
	c.cache.register(flags)
	flags.BoolVar(&c.listLeft, "left", false, "list all that is left alone")
	flags.BoolVar(&c.ready, "ready", false, "tell on descriptor 3 when the set is applied")
	flags.StringVar(&c.title, "title", "", "the name of the file")
	for _, name := range []string{"ready", "title"} { // between a Sonde and the one it starts
		if err := flags.MarkHidden(name); err != nil {
			panic(err)
		}
	}
	return command
}

// check reads the command line and the file; what is wrong with them is said before
// the JVM is touched.
func (c *applying) check(args []string) (err error) {
	if c.pid, err = processNumber(args[0]); err != nil {
		return err
	}
	wantsFile := c.dryRun || c.yes || c.background || c.duration != 0 || len(c.outputs) > 0
	switch {
	case c.end && (c.file != "" || wantsFile):
		return usage("--end goes with no other flag but --json")
	case c.file == "" && wantsFile:
		return usage("-f is missing: the file that says what is wanted, such as probes.yaml")
	case c.duration < 0:
		return usage("--for must not be negative")
	case c.interval < leastInterval:
		return usage("--interval must be %v at least", leastInterval)
	case c.keep < 1 || c.keep > mostTransactions:
		return usage("--keep must be from 1 to %d", mostTransactions)
	case c.background && c.dryRun:
		return usage("--background and --dry-run cannot be had at once")
	case c.background && c.paced:
		return usage("--interval is of no use with --background: sonde apply %d shows how it stands", c.pid)
	}
	if c.file == "" {
		return nil
	}
	if c.title == "" {
		c.title = c.file
	}
	if c.set, err = readSet(c.streams, c.file); err != nil {
		return err
	}
	return checkOutputs(c.outputs, traceFormatOf)
}

const usualKeep = 20

// readSet reads a file of probes. All that is wrong with it is said here, a line each.
func readSet(s streams, file string) (*probeset.Set, error) {
	set, _, err := readProbes(s, file)
	return set, err
}

// readProbes also gives the file as it is.
func readProbes(s streams, file string) (set *probeset.Set, text []byte, err error) {
	name := file
	if file == "-" {
		name = "standard input"
		text, err = io.ReadAll(io.LimitReader(os.Stdin, probeset.MostBytes+1))
	} else {
		text, err = readBounded(file, probeset.MostBytes+1)
	}
	if err != nil {
		return nil, nil, err
	}
	if set, err = probeset.Parse(text, name); err != nil {
		_, _ = fmt.Fprintln(s.err, err) // a line for each problem, none of which holds control characters
		return nil, nil, exitStatus(exitUsage)
	}
	return set, text, nil
}

func readBounded(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, most))
}

func (c *applying) run(ctx context.Context) error {
	jvm, err := inspect(c.pid)
	if err != nil {
		return err
	}
	client, err := findHolder(ctx, jvm)
	switch {
	case err != nil:
		return fmt.Errorf("process %d: %w", c.pid, err)
	case c.end:
		return c.endHolder(ctx, client)
	case c.file == "":
		return c.showHolder(ctx, client)
	case client != nil:
		return c.handOver(ctx, client)
	}
	return c.apply(ctx, jvm)
}

// apply has this Sonde hold the JVM.
func (c *applying) apply(ctx context.Context, jvm *process.JVM) error {
	changes := probeset.Diff(nil, c.set)
	if c.dryRun {
		return c.writeDiff(changes, nil)
	}
	if !c.ready { // else another has shown it
		writeChanges(c.err, changes, c.width)
		if c.yes || confirm(ctx, c.streams, fmt.Sprintf("put this into process %d?", c.pid)) {
			c.yes = true
		}
		if !c.yes {
			return fmt.Errorf("nothing was changed")
		}
	}
	if c.background {
		return c.inBackground(ctx)
	}
	return c.hold(ctx, jvm, nil)
}

// places are where Sondes that hold JVMs are asked.
func places() handover.Places { return handover.Usual(os.Getenv("XDG_RUNTIME_DIR")) }

func targetOf(jvm *process.JVM) handover.Target {
	return handover.Target{PID: jvm.PID, Start: jvm.StartTicks()}
}

// findHolder finds the sonde apply that holds a JVM; nil where there is none.
func findHolder(ctx context.Context, jvm *process.JVM) (*handover.Client, error) {
	client, err := handover.Find(ctx, places(), targetOf(jvm), jvm.UID)
	if isNone(err) {
		return nil, nil
	}
	return client, err
}
