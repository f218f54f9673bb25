package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/report/otlp"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

// What --show knows besides numbers.
const (
	showSlowest = "slowest"
	showAll     = "all"
	showNone    = "none"
)

// tracing is a `sonde trace` command line.
type tracing struct {
	choice
	contexts   contextFlags
	levels     int
	slowerThan time.Duration
	captures   []string
	allow      []string
	limit      int
	sample     lot
	duration   time.Duration
	show       string
	json       bool
	outputs    []string
	otlp       string
	wanted     *probeset.Set
}

func newTrace(s streams) *cobra.Command {
	c := &tracing{choice: choice{streams: s}, sample: 1}
	command := &cobra.Command{
		Use:     "trace PID METHOD...",
		Short:   "Trace transactions of a running JVM: each call in time and depth",
		Long:    traceLong,
		Example: traceExamples,
		Args:    atLeast("PID", "METHOD"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(args); err != nil {
				return err
			}
			return c.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.IntVar(&c.levels, "levels", 4, "how many levels of calls below are traced, too")
	flags.DurationVar(&c.slowerThan, "slower-than", 0, "keep only transactions that took longer")
	flags.StringArrayVar(&c.captures, "capture", nil, "`EXPR` whose value is noted, such as '$1.id' or '$return'; may be repeated")
	flags.StringArrayVar(&c.allow, "allow", nil, "`NAME` that is shown though it sounds like a secret; may be repeated")
	flags.IntVar(&c.limit, "limit", 20, "end when so many transactions are kept")
	flags.Var(&c.sample, "sample", "trace one transaction in so many, by chance: 1/100")
	flags.DurationVar(&c.duration, "for", 0, "end after this time; 0 for --limit or Ctrl-C")
	flags.StringVar(&c.show, "show", showSlowest, "draw the transaction of this `NUMBER`, or slowest, all, none")
	flags.BoolVar(&c.json, "json", false, "write a JSON object for each transaction, on its line, and one at the end")
	flags.StringArrayVarP(&c.outputs, "output", "o", nil, "file to write: .html, .json, .trace.json, .otlp.json or .txt; may be repeated")
	flags.StringVar(&c.otlp, "otlp", "", "`URL` of an OTLP receiver to send all that was kept to, such as http://localhost:4318")
	c.contexts.register(flags)
	for _, name := range []string{"context", "by-tag"} { // these tell results apart, and here each transaction is one
		if err := flags.MarkHidden(name); err != nil {
			panic(err)
		}
	}
	flags.BoolVar(&c.force, "force", false, "put hooks also into classes that the JDK damages by that")
	c.cache.register(flags)
	flags.BoolVar(&c.listLeft, "left", false, "list all that is left alone")
	return command
}

// A lot is one in so many.
type lot uint32

func (l *lot) String() string { return "1/" + strconv.FormatUint(uint64(*l), 10) }
func (*lot) Type() string     { return "1/K" }

// Set reads 1/K.
func (l *lot) Set(text string) error {
	of, isOne := strings.CutPrefix(strings.ReplaceAll(text, " ", ""), "1/")
	n, err := strconv.ParseUint(of, 10, 32)
	if !isOne || err != nil || n < 1 || n > mostPeriod {
		return fmt.Errorf("must be 1/K with K from 1 to %d, such as 1/100", mostPeriod)
	}
	*l = lot(n)
	return nil
}

const (
	mostTraceLevels  = 100
	mostTransactions = 10_000
)

// check reads the command line; what is wrong with it is said before the JVM is
// touched.
func (c *tracing) check(args []string) (err error) {
	if err := c.choose(args); err != nil {
		return err
	}
	switch {
	case c.levels < 1 || c.levels > mostTraceLevels:
		return usage("--levels must be from 1 to %d", mostTraceLevels)
	case c.slowerThan < 0:
		return usage("--slower-than must not be negative")
	case c.limit < 1 || c.limit > mostTransactions:
		return usage("--limit must be from 1 to %d", mostTransactions)
	case c.duration < 0:
		return usage("--for must not be negative")
	case c.contexts.context != 0 || len(c.contexts.byTag) > 0:
		return usage("--context and --by-tag are for sonde count and sonde monitor: here each transaction has its tags")
	case !c.isShowable():
		return usage("--show %q: must be a number from 1 on, slowest, all or none", c.show)
	}
	for _, text := range c.captures {
		if _, err := condition.Parse(text); err != nil {
			return usage("--capture: %w", err)
		}
	}
	if c.wanted, err = c.want(); err != nil {
		return err
	}
	if c.otlp != "" {
		if c.otlp, err = otlp.Endpoint(c.otlp); err != nil {
			return usage("--otlp %w", err)
		}
	}
	return checkOutputs(c.outputs, traceFormatOf)
}

func (c *tracing) isShowable() bool {
	if c.show == showSlowest || c.show == showAll || c.show == showNone {
		return true
	}
	number, err := strconv.Atoi(c.show)
	return err == nil && number > 0
}

// want is the set that the command line asks for.
func (c *tracing) want() (*probeset.Set, error) {
	set, err := c.contexts.set(c.patterns)
	if err != nil {
		return nil, err
	}
	set.HandOff = c.contexts.handOff
	p := &set.Probes[0]
	p.Level, p.Levels, p.SlowerThan, p.Captures, p.Allow = probeset.Trace, c.levels, c.slowerThan, c.captures, c.allow
	if len(c.captures) > 0 {
		p.Level = probeset.Capture
	}
	if c.sample > 1 {
		p.Sample = uint32(c.sample)
	}
	if err := set.Check(); err != nil {
		return nil, &usageError{err}
	}
	return set, nil
}

// conditions say in words which transactions are chosen.
func (c *tracing) conditions() (texts []string) {
	for _, sequence := range c.contexts.within {
		texts = append(texts, "within "+sequence)
	}
	if c.contexts.when != "" {
		texts = append(texts, "when "+c.contexts.when)
	}
	if c.slowerThan > 0 {
		texts = append(texts, "slower than "+durationText(c.slowerThan))
	}
	if c.sample > 1 {
		texts = append(texts, fmt.Sprintf("one in %s by chance", grouped(int(c.sample))))
	}
	return texts
}
