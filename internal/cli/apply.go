package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/service"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

type applyCommand struct {
	targetFlags
	file       string
	template   string
	match      []string
	templates  templateFlags
	title      string // the name of the file, also in the service
	set        *probeset.Set
	dryRun     bool
	end        bool
	background bool
	noService  bool
	duration   time.Duration
	interval   time.Duration
	paced      bool // --interval was given
	flags      *pflag.FlagSet
	json       bool
	outputs    []string // for traces
	keep       int      // how many traces
}

func newApply(s streams) *cobra.Command {
	c := &applyCommand{targetFlags: targetFlags{streams: s, usualBudget: overhead.Usual}}
	command := &cobra.Command{
		Use:     "apply PID [-f FILE] [--template FILE --match PATTERN]",
		Short:   "Apply a file of probes, or a template of your own, to a JVM",
		Long:    applyLong,
		Example: applyExamples,
		Args:    exactly("PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.background, c.noService = isSet(cmd, backgroundFlag), isSet(cmd, noServiceFlag)
			return checkAndRun(c)(cmd, args)
		},
	}
	flags := command.Flags()
	c.flags = flags
	flags.StringVarP(&c.file, probesFlag, "f", "", "`FILE` of probes; - reads standard input")
	flags.StringVar(&c.template, "template", "", "`FILE`.java or .class with a template of your own (sonde template), instead of -f")
	flags.StringArrayVarP(&c.match, "match", "m", nil, "`PATTERN` of methods that get the template; may be repeated")
	c.templates.register(flags)
	flags.BoolVar(&c.dryRun, "dry-run", false, "show what would change without changing anything")
	flags.BoolVar(&c.yes, "yes", false, "do not ask before changes")
	flags.BoolVar(&c.end, "end", false, "end the sonde apply of the JVM")
	flags.VarP(span(&c.duration, 0, 0, 0), "duration", "d", "end after this time; 0 continues until Ctrl-C or sonde apply --end")
	flags.Var(span(&c.interval, time.Second, leastInterval, 0), "interval", intervalUsage)
	flags.BoolVar(&c.json, "json", false, "write JSON")
	flags.StringArrayVarP(&c.outputs, "output", "o", nil, "file to write traces to at the end: .html, .json, .trace.json, .otlp.json or .txt; may be repeated")
	flags.Var(number(&c.keep, usualKeep, 1, mostTransactions), "keep", "keep the latest `N` traces")
	c.targetFlags.register(flags)
	c.settle.register(flags)
	c.registerBudget(flags)
	flags.StringVar(&c.title, titleFlag, "", "the name of the file")
	hide(command, titleFlag) // for the service
	return command
}

func (c *applyCommand) check(args []string, given func(string) bool) (err error) {
	c.paced = given("interval")
	if c.pid, err = processNumber(args[0]); err != nil {
		return err
	}
	if c.template != "" && c.file != "" {
		return usage("-f and --template cannot be used together: a probe in the file can have template: %s", c.template)
	}
	wantsFile := c.dryRun || c.yes || c.background || c.duration != 0 || len(c.outputs) > 0
	switch {
	case c.end && (c.file != "" || c.template != "" || wantsFile):
		return usage("--end can only be combined with --json")
	case c.file == "" && c.template == "" && wantsFile:
		return usage("-f is missing: name a file of probes, such as probes.yaml")
	case c.background && c.dryRun:
		return usage("--background and --dry-run cannot be used together")
	case c.background && c.paced:
		return usage("--interval has no effect with --background: sonde show prints the state")
	}
	switch {
	case c.template != "":
		err = c.readTemplate()
	case len(c.match) > 0:
		return usage("--match needs --template: name the template that the methods get")
	case c.file == "":
		return nil
	default:
		c.set, _, err = c.templates.readProbes(c.streams, c.file)
	}
	if err != nil {
		return err
	}
	if c.title == "" {
		c.title = cmp.Or(c.file, c.template)
	}
	return checkOutputs(c.outputs, report.Traces("").Check)
}

const usualKeep = 20

// readTemplate makes a set of --template and --match.
func (c *applyCommand) readTemplate() error {
	if len(c.match) == 0 {
		return usage("--match is missing: name the methods that get the template, such as com.acme.Order.pay")
	}
	own := probeset.OwnTemplate{File: c.template, Trusted: c.templates.trusted}
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(own.Source()), ".java"), ".class")
	probe := probeset.Probe{Name: name, Level: probeset.Time, Own: &own}
	for _, text := range c.match {
		p, err := pattern.Parse(text)
		if err != nil {
			return usage("--match: %w", err)
		}
		probe.Methods = append(probe.Methods, p)
	}
	c.set = &probeset.Set{Probes: []probeset.Probe{probe}, HandOff: true}
	if err := c.templates.compile(c.streams, c.set, "."); err != nil {
		return err
	}
	if err := c.set.Check(); err != nil {
		return &usageError{err}
	}
	return nil
}

// readProbes reads a file of probes, and returns its text as well. It prints each error in
// it on a line.
func readProbes(s streams, file string) (set *probeset.Set, text []byte, err error) {
	return new(templateFlags).readProbes(s, file)
}

func parseProbes(s streams, file string) (set *probeset.Set, text []byte, err error) {
	name := file
	if file == "-" {
		name = "standard input"
		text, err = io.ReadAll(io.LimitReader(s.in, probeset.MaxBytes+1))
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
	return set, text, resolveCommands(set, filepath.Dir(file))
}

// readProbes reads a file of probes with templates.
func (f *templateFlags) readProbes(s streams, file string) (set *probeset.Set, text []byte, err error) {
	set, text, err = parseProbes(s, file)
	if err != nil {
		return nil, nil, err
	}
	return set, text, f.compile(s, set, filepath.Dir(file))
}

func readBounded(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, most))
}

// delegate never asks: the question whether to apply the probes says what that costs.
func (c *applyCommand) delegate(cmd *cobra.Command, args []string) (done bool, err error) {
	return c.streams.delegate(cmd, args)
}

func (c *applyCommand) run(ctx context.Context) error {
	jvm, err := inspect(c.pid)
	if err != nil {
		return err
	}
	if c.streams.look != nil {
		return c.hold(ctx, jvm)
	}
	var running *appliedLook
	if c.useService {
		if running, err = findApplied(ctx, c.pid); err != nil {
			return fmt.Errorf("process %d: %w", c.pid, err)
		}
	}
	switch {
	case c.end:
		return c.endApplied(ctx, running)
	case c.set == nil:
		return c.showApplied(ctx, running)
	case running != nil:
		return c.handOver(ctx, running)
	}
	return c.apply(ctx, jvm)
}

func (c *applyCommand) apply(ctx context.Context, jvm *process.JVM) error {
	changes := probeset.Diff(nil, c.set)
	if c.dryRun {
		if err := session.CheckHooks(jvm); err != nil {
			c.note(format.OneLine(err))
			return c.writeDiff(changes, nil)
		}
		return c.writeDryRun(ctx, changes)
	}
	if err := session.CheckHooks(jvm); err != nil {
		return err
	}
	writeChanges(c.err, changes, c.width)
	if text := lossText(jvm); text != "" {
		_, _ = fmt.Fprintln(c.err, text)
	}
	if !c.yes && !confirm(ctx, c.streams, fmt.Sprintf("apply this to process %d?", c.pid), false) {
		return errors.New("not confirmed; nothing was changed")
	}
	c.isYes = c.yes
	return c.hold(ctx, jvm)
}

// hold keeps the set applied until it ends, in the service if there is one.
func (c *applyCommand) hold(ctx context.Context, jvm *process.JVM) error {
	switch {
	case c.streams.look == nil && c.useService && !c.noService:
		options, err := c.options()
		if err != nil {
			return err
		}
		err = c.runInService(ctx, delegated{kind: "apply", pid: c.pid, options: options, background: c.background, json: c.json})
		if !c.goesAlone(err, c.background) {
			return err
		}
	case c.background:
		return errNoBackground
	}
	return c.holdHere(ctx, jvm)
}

// options returns the options of the look that the service runs.
func (c *applyCommand) options() (map[string]any, error) {
	options, err := kindOf("apply").options(c.flags, nil)
	options[probesProperty], options[titleFlag] = string(c.set.YAML()), c.title
	return options, err
}

// An appliedLook is a sonde apply that runs in the service.
type appliedLook struct {
	*service.Client
	number int
}

// findApplied returns the sonde apply of a JVM that runs in the service; nil if there is none.
func findApplied(ctx context.Context, pid int) (*appliedLook, error) {
	client, err := place().Find(ctx)
	if errors.Is(err, service.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	looks, err := client.Looks(ctx, service.Running)
	if err != nil {
		return nil, err
	}
	for _, look := range looks {
		if look.Kind == "apply" && look.PID == pid {
			return &appliedLook{client, look.Number}, nil
		}
	}
	return nil, nil
}

func (a *appliedLook) path(part string) string { return fmt.Sprintf("/v1/looks/%d/%s", a.number, part) }

// apply passes a set on, or with dryRun returns what that would change.
func (a *appliedLook) apply(ctx context.Context, set *probeset.Set, dryRun bool) (*handover.Outcome, error) {
	var outcome handover.Outcome
	err := a.Call(ctx, http.MethodPut, a.path("probes")+"?dryRun="+strconv.FormatBool(dryRun), set.YAML(), &outcome)
	return &outcome, err
}

const applyLong = `Apply a file of probes to a JVM. The file says which methods are watched, where and when,
how much is measured of each call, and for how long. Sonde first shows how the file
differs from the probes that are applied, then changes only that: applying the same file
again changes nothing. With --template and --match, there is one probe, whose methods get Java
code of your own (sonde template). --dry-run only shows the difference and, for the first methods
with a template, the code that they would get: Sonde reads the loaded classes, and changes none.

  + probe checkout: methods com.acme.Shop.checkout, level time
  ~ probe dao: level count → time
  - probe old

The first sonde apply of a JVM keeps running, shows the measurements, and removes its
hooks when it ends, by Ctrl-C, --duration, sonde apply --end, sonde undo, or when every probe
has ended. A later sonde apply passes its file to the first one and exits. With
--background, the first one continues without a terminal; sonde apply PID shows its
state, and sonde save PID writes the applied probes to a file.

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
  goals:                     # while a goal is missed, what the method calls has hooks
    - method: com.acme.Shop.checkout
      goal: p95 < 200ms      # also mean, max, running, errors < 1%; or a list
      over: 5m               # the figures are those of the last 5 minutes
      recovered-after: 1m    # or 100 calls
      on-miss: {run: [./notify]} # or {post: http://…}: gets what was found as JSON
  weave:                     # when classes get hooks; the first rule that matches decides
    - classes: com.acme.gen.**
      when: never            # static, load, dynamic, never

If a goal is missed, the callees of its method get hooks, then the callees of the method that
accounts for most of the excess of slow calls, level by level, as in sonde drill. If the cause was
found before, in the same class files, the whole path to it gets hooks at once, to see
whether it is still the cause. When the goal has been met for long enough, the hooks are removed. Each
step is one line with its reason, and is in the result (--json). Hooks that would cost more than
--budget are removed, too.

On a terminal, Sonde asks before it changes anything, unless --yes is given.`

const applyExamples = `  sonde apply 4711 -f probes.yaml --dry-run
  sonde apply 4711 -f probes.yaml
  sonde apply 4711 --template Orders.java --match com.acme.Order.pay
  sonde apply 4711 -f probes.yaml --background --duration 1h
  sonde apply 4711 -f probes.yaml --duration 1m -o slow.html
  sonde apply 4711
  sonde save 4711 -o probes.yaml
  sonde apply 4711 --end`

// confirm asks a question on the terminal; usual is the answer of an empty line. Without a terminal
// it returns true, so that scripts work.
func confirm(ctx context.Context, s streams, question string, usual bool) bool {
	if !s.canAsk() {
		return true
	}
	choices := "[y/N]"
	if usual {
		choices = "[Y/n]"
	}
	if s.view != nil && s.view.unhush() {
		defer s.view.hush()
		dropKeys() // they do not answer a question that came later
	}
	_, _ = fmt.Fprintf(s.err, "%s %s ", question, choices)
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
		return isYes(line, usual)
	}
}

// ask asks a question before a command goes on, wherever it runs; yes answers it. Without a terminal,
// the answer is yes, and the command says so.
func (s streams) ask(ctx context.Context, question string, yes bool) bool {
	switch {
	case yes:
		return true
	case s.look != nil && s.look.Terminal().Width > 0:
		s.look.Emit(service.EventQuestion, service.Text{Text: question})
		select {
		case key := <-s.look.Keys():
			return isYes(string(key), false)
		case <-ctx.Done():
			return false
		}
	case s.look == nil && s.canAsk():
		return confirm(ctx, s, question, false)
	}
	s.note(question + " Yes, because there is no terminal to ask")
	return true
}

// canAsk reports whether a person can answer a question.
func (s streams) canAsk() bool { return s.width > 0 && term.IsTerminal(int(os.Stdin.Fd())) }

// isYes reports whether a line agrees. The end of the input does not.
func isYes(line string, usual bool) bool {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	case "":
		return usual && line != ""
	}
	return false
}

func (c *applyCommand) handOver(ctx context.Context, running *appliedLook) error {
	if c.duration != 0 {
		return usage("--duration cannot be used, because another sonde apply of process %d is running: set the key 'for' of probes in the file instead", c.pid)
	}
	if len(c.outputs) > 0 {
		return usage("-o: another sonde apply of process %d has the traces; give -o to that command, or end it with sonde apply %d --end", c.pid, c.pid)
	}
	planned, err := running.apply(ctx, c.set, true)
	if err != nil {
		return c.handFailure(err)
	}
	isSame := len(planned.Changes) == 0 && planned.Awaiting == 0
	if planned.Awaiting > 0 {
		_, _ = fmt.Fprintf(c.err, "note: %s now (rule: dynamic)\n",
			format.Count(planned.Awaiting, "class that loaded after the last sonde apply gets its hooks", "classes that loaded after the last sonde apply get their hooks"))
	}
	switch {
	case isSame:
		return c.writeDiff(planned.Changes, nil)
	case c.dryRun:
		return c.writeDryRun(ctx, planned.Changes)
	}
	if !c.json && len(planned.Changes) > 0 {
		writeChanges(c.out, planned.Changes, c.outWidth())
	}
	if !c.yes && !confirm(ctx, c.streams, fmt.Sprintf("change this in process %d?", c.pid), false) {
		return errors.New("not confirmed; nothing was changed")
	}
	outcome, err := running.apply(ctx, c.set, false)
	if err != nil {
		return c.handFailure(err)
	}
	for _, note := range outcome.Notes {
		c.note(note)
	}
	if c.json {
		return c.writeDiff(outcome.Changes, outcome)
	}
	_, err = fmt.Fprintf(c.out, "applied by look %d of process %d: %s\n", running.number, c.pid, outcomeText(outcome))
	return err
}

func (c *applyCommand) handFailure(err error) error {
	if errors.Is(err, service.ErrNone) || errors.Is(err, service.ErrGone) {
		return fmt.Errorf("the sonde apply that held process %d has just ended: try again", c.pid)
	}
	return fmt.Errorf("process %d: %w", c.pid, err)
}

func outcomeText(o *handover.Outcome) string {
	return fmt.Sprintf("%s added, %s removed, %s switched%s", format.Count(o.Woven, "hook", "hooks"), format.Grouped(o.Removed), format.Grouped(o.Switched), fromZero(o.Changes))
}

// fromZero says which probes begin at zero because of changes.
func fromZero(changes []probeset.Change) string {
	names := handover.Altered(changes)
	if len(names) == 0 {
		return ""
	}
	return "; changed, so counted from zero: " + strings.Join(names, ", ")
}

func (c *applyCommand) endApplied(ctx context.Context, running *appliedLook) error {
	if running == nil {
		return fmt.Errorf("no sonde apply is running for process %d: sonde status %d lists the running commands", c.pid, c.pid)
	}
	start := time.Now()
	const patience = 2 * time.Second
	slow := time.AfterFunc(patience, func() {
		_, _ = fmt.Fprintf(c.err, "waiting for process %d to restore its classes%s\n", c.pid, stoppedHint(c.pid))
	})
	defer slow.Stop()
	if err := running.Call(ctx, http.MethodPost, running.path("end"), nil, nil); err != nil && !errors.Is(err, service.ErrNone) { // which has ended it
		return fmt.Errorf("process %d: %w", c.pid, err)
	}
	if c.json {
		return document.Write(c.out, document.ApplyEnded{PID: c.pid, Ended: true})
	}
	_, err := fmt.Fprintf(c.out, "ended the sonde apply of process %d; this took %s\n", c.pid, format.Duration(time.Since(start)))
	return err
}

func (c *applyCommand) showApplied(ctx context.Context, running *appliedLook) error {
	if running == nil {
		return usage("-f is missing: no sonde apply is running for process %d, so there is nothing to show", c.pid)
	}
	var status handover.Status
	if err := running.Call(ctx, http.MethodGet, running.path("status"), nil, &status); err != nil {
		return c.handFailure(err)
	}
	if c.json {
		return document.Write(c.out, status)
	}
	writeHolder(c.out, &status, c.outWidth())
	return nil
}

func writeHolder(out io.Writer, status *handover.Status, width int) {
	_, _ = fmt.Fprintf(out, "%s (process %d), since %s: %s\n", format.Printable(status.Command), status.Sonde,
		status.Since.Local().Format(time.DateTime), probesText(status.Probes))
	format.WriteTable(out, applyColumns, runningTexts(status.Probes), width, applyExpendable...)
	writeRecords(out, status.Records, width)
	for _, line := range status.Goals {
		_, _ = fmt.Fprintln(out, format.Printable(line))
	}
}

const nothingToChange = "nothing to change"

// writeChanges writes one difference per line, cut at the width of a terminal.
func writeChanges(out io.Writer, changes []probeset.Change, width int) {
	if len(changes) == 0 {
		_, _ = fmt.Fprintln(out, nothingToChange)
	}
	for _, change := range changes {
		line := changeText(change)
		if width > 0 {
			line = format.Cut(line, width)
		}
		_, _ = fmt.Fprintln(out, line)
	}
}

// changeText is one difference: all fields of a new entry, the changed fields of one that
// stays, the name of one that goes.
func changeText(c probeset.Change) string {
	var parts []string
	for _, f := range c.Fields {
		switch {
		case c.Action == probeset.Add:
			parts = append(parts, f.Name+" "+f.Want)
		case c.Action == probeset.Remove:
		case f.Have == "":
			parts = append(parts, fmt.Sprintf("%s %s (was none)", f.Name, f.Want))
		case f.Want == "":
			parts = append(parts, fmt.Sprintf("no %s (was %s)", f.Name, f.Have))
		default:
			parts = append(parts, fmt.Sprintf("%s %s → %s", f.Name, f.Have, f.Want))
		}
	}
	text := c.Action.Sign() + " " + c.Kind.String()
	if c.Name != "" {
		text += " " + c.Name
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return format.Printable(text)
}

// writeDiff writes differences as the result. The outcome is nil if nothing was changed.
func (c *applyCommand) writeDiff(changes []probeset.Change, outcome *handover.Outcome) error {
	return c.writeHandover(document.Handover{PID: c.pid, Applied: outcome != nil, Changes: changes, Outcome: outcome})
}

// writeDryRun writes differences, and what templates would insert into methods.
func (c *applyCommand) writeDryRun(ctx context.Context, changes []probeset.Change) error {
	woven, err := c.woven(ctx, changes)
	if err != nil {
		return err
	}
	return c.writeHandover(document.Handover{PID: c.pid, Changes: changes, Woven: woven})
}

// writeHandover writes what a probe set changes, and what its templates insert.
func (c *applyCommand) writeHandover(d document.Handover) error {
	if c.json {
		if d.Changes == nil {
			d.Changes = []probeset.Change{}
		}
		return document.Write(c.out, d)
	}
	writeChanges(c.out, d.Changes, c.outWidth())
	if d.Woven == "" {
		return nil
	}
	_, err := io.WriteString(c.out, d.Woven)
	return err
}

func newSave(s streams) *cobra.Command {
	output := ""
	command := &cobra.Command{
		Use:   "save PID",
		Short: "Write the probes that are applied to a JVM to a file",
		Long: `Write the probes, tags, goals and rules that are applied to a JVM as a file for sonde apply.
Probes that have ended are not included. The file has its canonical form: every key with
a value, in the order of docs/formats/probes.md, without comments.`,
		Example: `  sonde save 4711
  sonde save 4711 -o probes.yaml
  sonde save 4711 | sonde apply 4712 -f -`,
		Args: exactly("PID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			pid, err := processNumber(args[0])
			if err != nil {
				return err
			}
			return save(cmd.Context(), s, pid, output)
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "write to `FILE` instead of standard output")
	return command
}

func save(ctx context.Context, s streams, pid int, output string) error {
	if _, err := inspect(pid); err != nil {
		return err
	}
	running, err := findApplied(ctx, pid)
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	if running == nil {
		return fmt.Errorf("no sonde apply is running for process %d: there are no probes to save", pid)
	}
	text, err := running.Fetch(ctx, running.path("probes"))
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	set, err := probeset.Parse(text, "probes")
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	if output == "" {
		_, err = s.out.Write(set.YAML())
		return err
	}
	if err := os.WriteFile(output, set.YAML(), 0o644); err != nil {
		return outputError(output, err)
	}
	rest := ""
	if n := len(set.Goals); n > 0 {
		rest = ", " + format.Count(n, "goal", "goals")
	}
	if n := len(set.Weave); n > 0 {
		rest += ", " + format.Count(n, "rule", "rules")
	}
	_, err = fmt.Fprintf(s.err, "wrote %s: %s, %s%s\n", format.Printable(output), format.Count(len(set.Probes)-len(set.Goals), "probe", "probes"), format.Count(len(set.Tags), "tag", "tags"), rest)
	return err
}
