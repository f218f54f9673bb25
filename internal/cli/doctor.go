package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/attach"
	"github.com/sonde-jvm/sonde/internal/jvm/doctor"
	"github.com/sonde-jvm/sonde/internal/jvm/jdk"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/service"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/wire/arena"
)

type doctorCommand struct {
	streams
	pid      int
	how      service.Examination
	json     bool
	listLeft bool
	cache    cacheFlags
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

Exit code: 0 if Sonde can be used, 1 if not or on an error, 2 for an invalid command
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
			d.how.Methods = args[1:]
			if _, err := examined(d.how); err != nil {
				return err
			}
			if d.listLeft && len(d.how.Methods) == 0 {
				return usage("--left needs --deep and patterns")
			}
			d.streams = d.forHost(cmd)
			return d.run(cmd.Context())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&d.how.Deep, "deep", false, "attach and ask the JVM; with patterns, load the agent")
	flags.BoolVar(&d.json, "json", false, "write one JSON object")
	flags.BoolVar(&d.listLeft, "left", false, "list everything that would get no hook, with the reason")
	d.cache.register(flags)
	return command
}

// examined returns the methods of an examination; nil if there are none.
func examined(how service.Examination) (set *pattern.Set, err error) {
	if len(how.Methods) == 0 {
		return nil, nil
	}
	if set, err = pattern.ParseSet(how.Methods...); err != nil {
		return nil, &usageError{err}
	}
	if !how.Deep {
		return nil, usage("patterns need --deep: only the agent knows which classes are loaded")
	}
	return set, onlyNames(set)
}

func (d *doctorCommand) run(ctx context.Context) error {
	cache := d.cache.resolved()
	d.how.Cache, d.how.CacheShare, d.how.CacheTrust, d.how.NoCache = cache.dir, cache.share, cache.trust, cache.none
	found, err := askHost(ctx, d.streams, func(h service.Host) (document.Doctor, error) { return h.Doctor(ctx, d.pid, d.how) })
	if err != nil {
		return err
	}
	for _, note := range found.Notes {
		d.note(note)
	}
	err = d.writeResult(d.json, found, func(out io.Writer) {
		writeFindings(out, found.Findings)
		if found.Plan != nil {
			writeHookPlan(out, found.Plan, d.listLeft)
		}
	})
	if found.Problem != "" {
		err = errors.Join(err, errors.New(found.Problem))
	}
	if err == nil && found.Worst == doctor.Stop {
		text := fmt.Sprintf("process %d: no method can get a hook now: see the findings marked stop", d.pid)
		if slices.ContainsFunc(found.Findings, func(f doctor.Finding) bool { return f.Subject == "sampling" && f.Severity == doctor.OK }) {
			text += "; " + session.WithoutHooks
		}
		return errors.New(text)
	}
	return err
}

// Doctor implements [service.Host].
func (h localHost) Doctor(ctx context.Context, pid int, how service.Examination) (found document.Doctor, err error) {
	set, err := examined(how)
	if err != nil {
		return found, err
	}
	jvm, err := inspect(pid)
	if err != nil {
		return found, err
	}
	found = document.Doctor{PID: pid, JDK: jvm.Version, Main: jvm.Main, Findings: h.judge(ctx, jvm, how.Deep)}
	found.Worst = doctor.Worst(found.Findings)
	if set != nil && found.Worst < doctor.Stop {
		var notes notes
		if found.Plan, err = h.plan(ctx, pid, set, how, notes.add); err != nil {
			found.Problem = format.OneLine(err)
		}
		found.Notes = notes.all()
	}
	return found, nil
}

// notes collects messages for users. It is safe for use by several goroutines.
type notes struct {
	lock sync.Mutex
	list []string
}

func (n *notes) add(text string) {
	n.lock.Lock()
	defer n.lock.Unlock()
	n.list = append(n.list, text)
}

func (n *notes) all() []string {
	n.lock.Lock()
	defer n.lock.Unlock()
	return slices.Clone(n.list)
}

func (h localHost) judge(ctx context.Context, jvm *process.JVM, deep bool) []doctor.Finding {
	var asker doctor.Asker
	var refused error
	if deep {
		target, err := attach.Open(ctx, jvm.PID)
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
	return append(findings, h.holderFindings(ctx, jvm)...)
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

func (h localHost) holderFindings(ctx context.Context, jvm *process.JVM) []doctor.Finding {
	occupants, unreachable, err := session.Owners(ctx, jvm, false)
	if err != nil {
		return nil // another finding reports missing permissions
	}
	var findings []doctor.Finding
	for _, o := range occupants {
		defer o.Close()
		if o.Pack != "" {
			findings = append(findings, doctor.Finding{
				Severity: doctor.Note, Subject: "held", Text: fmt.Sprintf("the program was started with pack %s, whose hooks are in the JVM; other commands can measure the JVM as well", o.Pack),
				Remedy: fmt.Sprintf("sonde pack live %d shows its measurements, sonde undo %d removes it", jvm.PID, jvm.PID),
			})
			continue
		}
		if !o.IsInTheWay(&session.Settings{In: h.sessions()}) {
			findings = append(findings, doctor.Finding{
				Severity: doctor.Note, Subject: "held", Text: fmt.Sprintf("commands of this user have hooks in it since %s; other commands can measure it as well", o.Opened.Local().Format("15:04:05")),
				Remedy: fmt.Sprintf("sonde status %d shows them", jvm.PID),
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

// sessions returns the sessions that looks share; nil outside the service.
func (h localHost) sessions() *session.Sessions {
	if h.service == nil {
		return nil
	}
	return &h.service.sessions
}

// plan attaches to the JVM, asks the agent and leaves.
func (h localHost) plan(ctx context.Context, pid int, set *pattern.Set, how service.Examination, notice func(string)) (*document.HookPlan, error) {
	flags := cacheFlags{share: how.CacheShare, none: how.NoCache, cacheDirFlags: cacheDirFlags{dir: how.Cache, trust: how.CacheTrust}}
	kept, endCache, err := flags.openIn(h.service, notice)
	if err != nil {
		return nil, err
	}
	defer endCache()
	s, err := session.Open(ctx, pid, session.Settings{Command: "sonde doctor", Cache: kept, Notice: notice, In: h.sessions()})
	if err != nil {
		return nil, interruption(ctx, err)
	}
	defer func() { _ = s.Release() }()
	before := s.Weavings()
	plan, err := s.Preview(ctx, session.Wanted{Methods: set, Flags: arena.On})
	woven, hasCache := s.Weavings(), s.HasCache()
	_, closing := s.Close(ctx)
	if err = errors.Join(err, closing); err != nil {
		return nil, interruption(ctx, err)
	}
	woven.Woven, woven.Cached = woven.Woven-before.Woven, woven.Cached-before.Cached
	return document.NewHookPlan(plan, woven, hasCache), nil
}

func writeHookPlan(out io.Writer, plan *document.HookPlan, listLeft bool) {
	_, _ = fmt.Fprintf(out, "\n%s of %s loaded match%s\n", format.Count(plan.Matched, "class", "classes"), format.Grouped(plan.Loaded),
		wovenText(plan.Woven, plan.Cached, plan.HasCache))
	for _, lost := range plan.Unmatched {
		_, _ = fmt.Fprintln(out, format.Printable(lostText(session.Unmatched{Pattern: lost, Near: plan.Similar[lost]}, "")))
	}
	for i := range plan.Loaders {
		l := &plan.Loaders[i]
		name := "class loader " + l.Loader
		if l.Loader == document.LoaderName(0) {
			name = "boot class loader"
		}
		_, _ = fmt.Fprintf(out, "%s (of %s): hooks would be installed in %s of %s", name, format.Printable(l.Example),
			format.Count(l.Methods, "method", "methods"), format.Count(l.Classes, "class", "classes"))
		if l.Fileless > 0 {
			_, _ = fmt.Fprintf(out, "; the class files of %s were not found, so their methods are unknown", format.Grouped(l.Fileless))
		}
		_, _ = fmt.Fprintln(out)
		if len(l.LeftAlone) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(out, "%s would get no hook:\n", format.Count(len(l.LeftAlone), "class or method", "classes or methods"))
		var left []session.LeftAlone
		for _, one := range l.LeftAlone {
			left = append(left, session.LeftAlone(one))
		}
		for _, line := range leftLines(groupLeft(left), listLeft) {
			_, _ = fmt.Fprintln(out, format.Printable(line))
		}
	}
}
