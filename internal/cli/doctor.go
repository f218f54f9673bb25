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

type doctorCommand struct {
	streams
	pid      int
	set      *pattern.Set // nil without patterns
	deep     bool
	json     bool
	listLeft bool
	cache    cacheFlags
	woven    session.Weavings // what a plan took
	hasCache bool
}

const doctorLong = `Check whether Sonde can attach to a JVM, before anything is done to it: what prevents it,
what it will cost, which bugs of its JDK matter and what Sonde does about them, which
other agents are loaded. Each line has a severity (ok, note, warn, stop) and, after an
arrow, a remedy.

Everything is read from outside; the JVM is not touched. With --deep, Sonde attaches and
asks the JVM for its flags and properties. With --deep and patterns, it also loads the
agent and shows for each class loader what sonde count with these patterns would put
hooks into, and what would get no hook and why. No class is changed, and the agent is
removed again.

Exit code: 0 if Sonde can be used, 1 if not or on an error, 2 for a wrong command
line.`

func newDoctor(s streams) *cobra.Command {
	d := &doctorCommand{streams: s}
	command := &cobra.Command{
		Use:   "doctor PID [PATTERN...]",
		Short: "Check whether Sonde can attach to a JVM",
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
					return usage("patterns need --deep: only the agent knows which classes are loaded")
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
	flags.BoolVar(&d.listLeft, "left", false, "list everything that would get no hook, with the reason")
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
		return fmt.Errorf("process %d: Sonde cannot be used with this JVM now: see the findings marked stop", d.pid)
	}
	return nil
}

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
		findings = append(findings, doctor.Finding{Severity: doctor.Note, Subject: "attach", Text: "the flags and properties of the JVM could not be read: " + format.OneLine(refused)})
	}
	findings = append(findings, bugFindings(jvm.Version)...)
	return append(findings, holderFindings(ctx, jvm)...)
}

// bugFindings returns the bugs of the JDK in changing classes.
func bugFindings(version string) []doctor.Finding {
	parsed, err := jdk.ParseVersion(version)
	if err != nil {
		return nil // the version is another finding
	}
	var findings []doctor.Finding
	for _, bug := range jdk.Bugs(parsed) {
		f := doctor.Finding{
			Severity: doctor.Warn, Subject: "JDK bug",
			Text: fmt.Sprintf("%s: changing a class loses %s; this affects %s", bug.ID, bug.Loses, bug.Who),
		}
		if bug.Helped {
			f.Severity = doctor.Note
			f.Remedy = "Sonde works around it by starting from the class file, and leaves a class alone if it cannot"
		}
		findings = append(findings, f)
	}
	return findings
}

func holderFindings(ctx context.Context, jvm *process.JVM) []doctor.Finding {
	occupants, unreachable, err := session.Owners(ctx, jvm, false)
	if err != nil {
		return nil // another finding reports missing permissions
	}
	var findings []doctor.Finding
	for _, o := range occupants {
		defer o.Close()
		if o.Pack != "" {
			findings = append(findings, doctor.Finding{
				Severity: doctor.Note, Subject: "held", Text: fmt.Sprintf("the program was started with pack %s, whose hooks are in the JVM; other commands can look at it as well", o.Pack),
				Remedy: fmt.Sprintf("sonde attach %d shows its measurements, sonde undo %d removes it", jvm.PID, jvm.PID),
			})
			continue
		}
		findings = append(findings, doctor.Finding{
			Severity: doctor.Stop, Subject: "held",
			Text:   fmt.Sprintf("%s (process %d, %s) has hooks in it since %s", o.Command, o.Sonde, lifeText(o.Alive), o.Opened.Local().Format("15:04:05")),
			Remedy: fmt.Sprintf("wait, or free the JVM with sonde undo %d", jvm.PID),
		})
	}
	for _, u := range unreachable {
		findings = append(findings, doctor.Finding{Severity: doctor.Warn, Subject: "held", Text: format.OneLine(u)})
	}
	return findings
}

// writeFindings writes a line for each finding, with its remedy below; a remedy that several
// findings in a row share comes after the last.
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

// plan attaches to the JVM, asks the agent and leaves.
func (d *doctorCommand) plan(ctx context.Context) (*session.Preview, error) {
	kept, endCache, err := d.cache.openCache(d.streams, d.note)
	if err != nil {
		return nil, err
	}
	defer endCache()
	s, err := session.Open(ctx, d.pid, session.Settings{Command: "sonde doctor", Cache: kept, Notice: d.note})
	if err != nil {
		return nil, interruption(ctx, err)
	}
	defer func() { _ = s.Release() }()
	plan, err := s.Preview(ctx, session.Wanted{Methods: d.set, Flags: arena.On})
	d.woven, d.hasCache = s.Weavings(), s.HasCache()
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
		_, _ = fmt.Fprintf(out, "%s (of %s): hooks would be installed in %s of %s", name, format.Printable(l.Example),
			format.Count(l.Methods, "method", "methods"), format.Count(l.Classes, "class", "classes"))
		if l.Fileless > 0 {
			_, _ = fmt.Fprintf(out, "; the class files of %s were not found, so their methods are unknown", format.Grouped(l.Fileless))
		}
		_, _ = fmt.Fprintln(out)
		if len(l.Left) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(out, "%s would get no hook:\n", format.Count(len(l.Left), "class or method", "classes or methods"))
		for _, line := range leftLines(groupLeft(l.Left), d.listLeft) {
			_, _ = fmt.Fprintln(out, format.Printable(line))
		}
	}
}
