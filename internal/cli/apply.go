package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// applying is a `sonde apply` command line.
type applying struct {
	choice
	file       string
	title      string // the name of the file, also if another Sonde hands it over
	set        *probeset.Set
	dryRun     bool
	yes        bool
	end        bool
	background bool
	ready      bool // another Sonde waits until the set is applied
	duration   time.Duration
	interval   time.Duration
	paced      bool // --interval was given
	json       bool
	outputs    []string // for traces
	keep       int      // so many traces
}

func newApply(s streams) *cobra.Command {
	c := &applying{choice: choice{streams: s}}
	command := &cobra.Command{
		Use:     "apply PID [-f FILE]",
		Short:   "Apply a file of probes to a JVM",
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
	flags.StringVarP(&c.file, "file", "f", "", "`FILE` of probes; - reads standard input")
	flags.BoolVar(&c.dryRun, "dry-run", false, "show what would change without changing anything")
	flags.BoolVar(&c.yes, "yes", false, "do not ask before changes")
	flags.BoolVar(&c.end, "end", false, "end the sonde apply that holds the JVM")
	flags.BoolVar(&c.background, "background", false, "continue in the background when the probes are applied")
	flags.Var(span(&c.duration, 0, 0, 0), "for", "end after this time; 0 for Ctrl-C or sonde apply --end")
	flags.Var(span(&c.interval, time.Second, leastInterval, 0), "interval", intervalUsage)
	flags.BoolVar(&c.json, "json", false, "write JSON")
	flags.StringArrayVarP(&c.outputs, "output", "o", nil, "file to write traces to at the end: .html, .json, .trace.json, .otlp.json or .txt; may be repeated")
	flags.Var(number(&c.keep, usualKeep, 1, mostTransactions), "keep", "keep so many of the latest traces")
	c.choice.register(flags)
	flags.BoolVar(&c.ready, "ready", false, "report on descriptor 3 when the set is applied")
	flags.StringVar(&c.title, "title", "", "the name of the file")
	for _, name := range []string{"ready", "title"} { // between a Sonde and the Sonde it starts
		if err := flags.MarkHidden(name); err != nil {
			panic(err)
		}
	}
	return command
}

// check reads the command line and the file, before the JVM is touched.
func (c *applying) check(args []string) (err error) {
	if c.pid, err = processNumber(args[0]); err != nil {
		return err
	}
	wantsFile := c.dryRun || c.yes || c.background || c.duration != 0 || len(c.outputs) > 0
	switch {
	case c.end && (c.file != "" || wantsFile):
		return usage("--end can only be combined with --json")
	case c.file == "" && wantsFile:
		return usage("-f is missing: a file of probes, such as probes.yaml")
	case c.background && c.dryRun:
		return usage("--background and --dry-run cannot be used together")
	case c.background && c.paced:
		return usage("--interval has no effect with --background: sonde apply %d shows the state", c.pid)
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
	return checkOutputs(c.outputs, report.TraceFormat)
}

const usualKeep = 20

// readSet reads a file of probes. It prints each error in it on a line.
func readSet(s streams, file string) (*probeset.Set, error) {
	set, _, err := readProbes(s, file)
	return set, err
}

// readProbes also returns the text of the file.
func readProbes(s streams, file string) (set *probeset.Set, text []byte, err error) {
	name := file
	if file == "-" {
		name = "standard input"
		text, err = io.ReadAll(io.LimitReader(os.Stdin, probeset.MaxBytes+1))
	} else {
		text, err = readBounded(file, probeset.MaxBytes+1)
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

// apply makes this Sonde hold the JVM.
func (c *applying) apply(ctx context.Context, jvm *process.JVM) error {
	changes := probeset.Diff(nil, c.set)
	if c.dryRun {
		return c.writeDiff(changes, nil)
	}
	if !c.ready { // otherwise the Sonde that started this one has asked
		writeChanges(c.err, changes, c.width)
		if c.yes || confirm(ctx, c.streams, fmt.Sprintf("apply this to process %d?", c.pid)) {
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

// places returns where Sondes that hold JVMs listen.
func places() handover.Places { return handover.Usual(os.Getenv("XDG_RUNTIME_DIR")) }

func targetOf(jvm *process.JVM) handover.Target {
	return handover.Target{PID: jvm.PID, Start: jvm.StartTicks()}
}

// findHolder returns the sonde apply that holds a JVM; nil if there is none.
func findHolder(ctx context.Context, jvm *process.JVM) (*handover.Client, error) {
	client, err := handover.Find(ctx, places(), targetOf(jvm), jvm.UID)
	if isNone(err) {
		return nil, nil
	}
	return client, err
}

const applyLong = `Apply a file of probes to a JVM. The file says which methods are watched, where and when,
how much is measured of each call, and for how long. Sonde first shows how the file
differs from the probes that are applied, then changes only that: applying the same file
again changes nothing.

  + probe checkout: methods com.acme.Shop.checkout, level time
  ~ probe dao: level count → time
  - probe old

The first sonde apply of a JVM holds it: it keeps running, shows the measurements, and
removes all hooks when it ends, by Ctrl-C, --for, sonde apply --end, sonde undo, or when
every probe has ended. A later sonde apply hands its file to the first one and exits.
With --background, the first one continues without a terminal; sonde apply PID shows
its state, and sonde save PID writes the applied probes to a file.

CALLS      calls on which the probe acted
CALLS/S    calls per second since the last table; in the final table, over the whole time
MEAN, P99  times of calls that have ended, at level time or higher
THREW      calls that ended with an exception
UNDECIDED  calls whose condition could not be evaluated; they do not count
WHERE      the sequence that matched, and the tags or callers by which results are grouped

For probes of level trace or capture, the latest --keep transactions are kept; at the
end, -o writes them to files, or else the slowest one is drawn.

The file is YAML; docs/formats/probes.md describes its schema. All errors in it are
reported at once, with line and remedy:

  version: 1
  tags:
    - name: tenant
      value: $1.tenant
      at: com.acme.web.Handler.handle
  probes:
    - name: checkout
      methods: com.acme.Shop.checkout
      within: com.acme.web.Handler.handle >> com.acme.Cart.*
      when: $1.total > 100 && tx.tenant == "acme"
      level: time            # count, time, trace, capture
      group-by: tenant
      for: 10m
  weave:                     # when classes get hooks; the first rule that matches decides
    - classes: com.acme.gen.**
      when: never            # static, load, dynamic, never

On a terminal, Sonde asks before it changes anything, unless --yes is given.

Exit code: 0 if the set is applied, 1 on an error, 2 for a wrong command line or file.`

const applyExamples = `  sonde apply 4711 -f probes.yaml --dry-run
  sonde apply 4711 -f probes.yaml
  sonde apply 4711 -f probes.yaml --background --for 1h
  sonde apply 4711 -f probes.yaml --for 1m -o slow.html
  sonde apply 4711
  sonde save 4711 -o probes.yaml
  sonde apply 4711 --end`

// confirm asks a question on the terminal. Without a terminal it returns true, so that
// scripts work.
func confirm(ctx context.Context, s streams, question string) bool {
	if s.width == 0 || !term.IsTerminal(int(os.Stdin.Fd())) {
		return true
	}
	_, _ = fmt.Fprintf(s.err, "%s [y/N] ", question)
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n') // none is no
		answered <- line
	}()
	select {
	case <-ctx.Done():
		_, _ = fmt.Fprintln(s.err)
		return false
	case line := <-answered:
		return isYes(line)
	}
}

func isYes(line string) bool {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	}
	return false
}

// readyFD is the descriptor on which a Sonde in the background reports that its set is
// applied.
const readyFD = 3

// readyWord is that report.
const readyWord = "applied\n"

// inBackground starts this program again without a terminal to hold the JVM, and waits
// until the set is applied.
func (c *applying) inBackground(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = read.Close() }()
	command := exec.Command(program, c.backgroundArgs()...)
	command.Stdin = bytes.NewReader(c.set.YAML())
	command.Stderr = os.Stderr // until it is ready
	command.ExtraFiles = []*os.File{write}
	command.SysProcAttr = ownSession()
	err = command.Start()
	_ = write.Close()
	if err != nil {
		return fmt.Errorf("starting a Sonde in the background: %w", err)
	}
	// A signal before the set is applied ends the other Sonde, too.
	defer context.AfterFunc(ctx, func() { _ = command.Process.Signal(os.Interrupt) })()
	word, err := io.ReadAll(read)
	if err != nil || string(word) != readyWord {
		return c.backgroundFailure(ctx, command.Wait())
	}
	pid := command.Process.Pid
	if err := command.Process.Release(); err != nil {
		return err
	}
	if c.json {
		return document.Write(c.out, map[string]any{"pid": c.pid, "applied": true, "sonde": pid})
	}
	_, err = fmt.Fprintf(c.out, "Sonde (process %d) holds process %d: sonde apply %d shows its state, sonde apply --end %d ends it\n", pid, c.pid, c.pid, c.pid)
	return err
}

func (c *applying) backgroundArgs() []string {
	args := []string{"apply", strconv.Itoa(c.pid), "--file", "-", "--title", c.title, "--ready"}
	if c.duration > 0 {
		args = append(args, "--for", c.duration.String())
	}
	for _, path := range c.outputs {
		args = append(args, "--output", path)
	}
	if c.keep != usualKeep {
		args = append(args, "--keep", strconv.Itoa(c.keep))
	}
	if c.force {
		args = append(args, "--force")
	}
	if c.listLeft {
		args = append(args, "--left")
	}
	return append(args, c.cache.args()...)
}

// backgroundFailure is the error if the other Sonde has ended without applying the set. It
// has printed why.
func (c *applying) backgroundFailure(ctx context.Context, err error) error {
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: the Sonde in the background has ended")
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exitStatus(exit.ExitCode())
	}
	return fmt.Errorf("the Sonde in the background ended before the set was applied: %w", errors.Join(err, os.ErrProcessDone))
}

// tellReady reports to the Sonde that waits, and releases its terminal.
func tellReady() error {
	const patience = 5 * time.Second
	ready := os.NewFile(readyFD, "ready")
	if ready == nil {
		return errors.New("nobody waits on descriptor 3: --ready is for internal use")
	}
	_ = ready.SetWriteDeadline(time.Now().Add(patience)) // files that know no deadline do not block
	if err := leaveTerminal(); err != nil {
		return err
	}
	_, err := io.WriteString(ready, readyWord)
	return errors.Join(err, ready.Close())
}
