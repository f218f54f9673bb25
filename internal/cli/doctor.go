package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/doctor"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

// doctorCommand is a `sonde doctor` command line.
type doctorCommand struct {
	streams
	pid      int
	set      *pattern.Set // nil without patterns
	deep     bool
	json     bool
	listLeft bool
	cache    liveCache
	woven    document.Weavings // what a plan took
	hasCache bool
}

const doctorLong = `Tell what stands between Sonde and a JVM before anything is done to it: what
forbids it, what it will cost, which bugs of its JDK matter and what Sonde does
about them, what other agents are inside. Each line says how grave it is (ok,
note, warn, stop) and, behind an arrow, what to do.

All of it is read from outside; the JVM is not touched. With --deep the JVM is
asked for its flags and properties by attaching to it. With --deep and patterns
the agent is loaded as well, and says what sonde count with these patterns would
put hooks into, and what it would leave alone and why, for each class loader; no
class is changed, and the agent leaves again.

Exit code: 0 when Sonde can enter, 1 when it cannot or on an error, 2 for a
wrong command line.`

func newDoctor(s streams) *cobra.Command {
	d := &doctorCommand{streams: s}
	command := &cobra.Command{
		Use:   "doctor PID [PATTERN...]",
		Short: "Tell what stands between Sonde and a JVM",
		Long:  doctorLong,
		Example: `  sonde doctor 4711
  sonde doctor 4711 --deep
  sonde doctor 4711 --deep 'com.acme.**' --left`,
		Args: atLeast("PID"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if d.pid, err = processNumber(args[0]); err != nil {
				return err
			}
			if len(args) > 1 {
				if d.set, err = pattern.ParseSet(args[1:]...); err != nil {
					return &usageError{err}
				}
				if !d.deep {
					return usage("patterns need --deep: only the agent can tell which classes are loaded")
				}
			} else if d.listLeft {
				return usage("--left needs --deep and patterns")
			}
			return d.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&d.deep, "deep", false, "attach and ask the JVM; with patterns, load the agent")
	flags.BoolVar(&d.json, "json", false, "write one JSON object")
	flags.BoolVar(&d.listLeft, "left", false, "list all that would be left alone")
	d.cache.register(flags)
	return command
}

func (d *doctorCommand) run(ctx context.Context) error {
	jvm, err := inspect(d.pid)
	if err != nil {
		return err
	}
	found := document.Doctor{PID: d.pid, JDK: jvm.Version, Main: jvm.Main, Findings: d.judge(ctx, jvm)}
	found.Worst = doctor.Worst(found.Findings)
	var plan *session.Preview
	var failed error
	if d.set != nil && found.Worst < doctor.Stop {
		if plan, failed = d.plan(ctx); failed == nil {
			found.Plan = document.NewHookPlan(plan, d.woven)
		}
	}
	out := bufio.NewWriter(d.out) // keeps the first error until Flush
	if d.json {
		err = document.Write(out, found)
	} else {
		writeFindings(out, found.Findings)
		if plan != nil {
			d.writePlan(out, plan)
		}
	}
	if err := errors.Join(err, out.Flush(), failed); err != nil {
		return err
	}
	if found.Worst == doctor.Stop {
		return fmt.Errorf("process %d: Sonde cannot enter it, for what is marked stop", d.pid)
	}
	return nil
}

// judge gathers the facts and says what they mean.
func (d *doctorCommand) judge(ctx context.Context, jvm *process.JVM) []doctor.Finding {
	var asker doctor.Asker
	var refused error
	if d.deep {
		target, err := attach.Open(ctx, d.pid)
		if err == nil {
			defer target.Close()
			asker = target
		}
		refused = err
	}
	facts := doctor.Gather(ctx, jvm, asker)
	if facts.AskError != nil {
		refused = facts.AskError
	}
	findings := doctor.Judge(facts)
	if refused != nil {
		findings = append(findings, doctor.Finding{Severity: doctor.Note, Subject: "asking", Text: "the JVM could not be asked: " + format.OneLine(refused)})
	}
	findings = append(findings, bugFindings(jvm.Version)...)
	return append(findings, holderFindings(ctx, jvm)...)
}

// bugFindings name the JDK's own bugs in changing classes.
func bugFindings(version string) []doctor.Finding {
	parsed, err := jdk.ParseVersion(version)
	if err != nil {
		return nil // the version is another finding
	}
	var findings []doctor.Finding
	for _, bug := range jdk.Bugs(parsed) {
		f := doctor.Finding{
			Severity: doctor.Warn, Subject: "JDK bug",
			Text: fmt.Sprintf("%s: changing a class loses %s; concerned are %s", bug.ID, bug.Loses, bug.Who),
		}
		if bug.Helped {
			f.Severity = doctor.Note
			f.Remedy = "Sonde avoids it by starting from the class's own file, and leaves a class alone where it cannot"
		}
		findings = append(findings, f)
	}
	return findings
}

// holderFindings name who is inside already.
func holderFindings(ctx context.Context, jvm *process.JVM) []doctor.Finding {
	occupants, unreachable, err := session.Owners(ctx, jvm, false)
	if err != nil {
		return nil // who may not look is told by another finding
	}
	var findings []doctor.Finding
	for _, o := range occupants {
		defer o.Close()
		if o.Pack != "" {
			findings = append(findings, doctor.Finding{
				Severity: doctor.Stop, Subject: "held", Text: fmt.Sprintf("it was started with pack %s, whose hooks are in it", o.Pack),
				Remedy: fmt.Sprintf("sonde attach %d reads what it measures, sonde undo %d takes it out", jvm.PID, jvm.PID),
			})
			continue
		}
		findings = append(findings, doctor.Finding{
			Severity: doctor.Stop, Subject: "held",
			Text:   fmt.Sprintf("%s (process %d, %s) is in it since %s", o.Command, o.Sonde, lifeText(o.Alive), o.Opened.Local().Format("15:04:05")),
			Remedy: fmt.Sprintf("wait for it, or end it with sonde undo %d", jvm.PID),
		})
	}
	for _, u := range unreachable {
		findings = append(findings, doctor.Finding{Severity: doctor.Warn, Subject: "held", Text: format.OneLine(u)})
	}
	return findings
}

// writeFindings writes a line for each, with its remedy beneath; one that
// several in a row share comes beneath the last.
func writeFindings(out io.Writer, findings []doctor.Finding) {
	width := 0
	for _, f := range findings {
		width = max(width, len(f.Subject))
	}
	for i, f := range findings {
		_, _ = fmt.Fprintf(out, "%-4s  %-*s  %s\n", f.Severity, width, f.Subject, format.Printable(f.Text))
		if shared := i+1 < len(findings) && findings[i+1].Remedy == f.Remedy; f.Remedy != "" && !shared {
			_, _ = fmt.Fprintf(out, "%s→ %s\n", strings.Repeat(" ", width+8), format.Printable(f.Remedy))
		}
	}
}

// plan enters the JVM, asks and leaves.
func (d *doctorCommand) plan(ctx context.Context) (*session.Preview, error) {
	tell := func(text string) { _, _ = fmt.Fprintf(d.err, "note: %s\n", format.Printable(text)) }
	kept, endCache, err := d.cache.openCache(tell)
	if err != nil {
		return nil, err
	}
	defer endCache()
	s, err := session.Open(ctx, d.pid, session.Settings{Command: "sonde doctor", Cache: kept, Notice: tell})
	if err != nil {
		return nil, interruption(ctx, err)
	}
	defer func() { _ = s.Release() }()
	plan, err := s.Preview(ctx, session.Wanted{Methods: d.set, Flags: arena.On})
	d.woven, d.hasCache = document.NewWeavings(s), s.HasCache()
	_, closing := s.Close(ctx)
	if err = errors.Join(err, closing); err != nil {
		err = interruption(ctx, err)
	}
	return plan, err
}

func (d *doctorCommand) writePlan(out io.Writer, plan *session.Preview) {
	_, _ = fmt.Fprintf(out, "\n%s of %s loaded match%s\n", format.Count(plan.Matched, "class", "classes"), format.Grouped(plan.Loaded),
		wovenText(d.woven.Woven, d.woven.Cached, d.hasCache))
	for _, lost := range plan.Unmatched {
		_, _ = fmt.Fprintln(out, lostText(lost, ""))
	}
	for _, l := range plan.Loaders {
		name := "class loader " + document.LoaderName(l.Number)
		if l.Number == 0 {
			name = "boot class loader"
		}
		_, _ = fmt.Fprintf(out, "%s (of %s): hooks would go into %s of %s", name, format.Printable(l.Example),
			format.Count(l.Methods, "method", "methods"), format.Count(l.Classes, "class", "classes"))
		if l.Fileless > 0 {
			_, _ = fmt.Fprintf(out, ", %s without a file that would show its methods", format.Grouped(l.Fileless))
		}
		_, _ = fmt.Fprintln(out)
		if len(l.Left) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(out, "%s would be left alone:\n", format.Count(len(l.Left), "class or method", "classes or methods"))
		for _, line := range leftLines(groupLeft(l.Left), d.listLeft) {
			_, _ = fmt.Fprintln(out, format.Printable(line))
		}
	}
}
