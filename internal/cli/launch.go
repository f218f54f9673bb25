package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/jvm/launch"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/measure/overhead"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
)

const launchLong = `Start a Java program with Sonde's agent in it. The agent does nothing until a sonde
command names the program; then Sonde enters without attaching, even if attaching is
forbidden, and without the warnings that newer JDKs print about it.

If the command is java, or a path that ends in /java, the agent's option is added to it.
Any other command gets it by the variable JAVA_TOOL_OPTIONS, which every JVM mentions in a
line on standard error. The program must run as the user who starts it. It uses the
streams of this command, gets its signals, and its exit code is that of this command.
Processes that the command leaves running in the background are listed when it ends (the
variable SONDE_RUN marks them); JVMs that they start get the agent, too.

The agent's jar is stored with the data of this user ($XDG_DATA_HOME or ~/.local/share),
or in --agent-dir, where each of these JVMs finds it. Other users must not be able to
write there.

With --hold, the program waits before its first instruction, so that nothing is missed:
until sonde count or sonde profile has put its hooks in, this command ends, or 30 s have
passed (--hold=2m for another time). sonde profile --start does both at once.

With --probes, the probes of the file are applied from the first instruction of the
program to its end (sonde apply --help). The result is printed on standard error;
meanwhile sonde apply PID shows it, and sonde apply PID -f changes the probes.`

func newLaunch(s streams) *cobra.Command {
	var hold time.Duration
	var probes, agentDir string
	command := &cobra.Command{
		Use:   "run [--hold | --probes FILE] [--agent-dir DIR] -- COMMAND...",
		Short: "Start a Java program prepared for Sonde",
		Long:  launchLong,
		Example: `  sonde run -- java -jar shop.jar
  sonde run --hold -- java -cp classes com.acme.Main
  sonde run --probes probes.yaml -- java -jar shop.jar
  sonde run -- ./gradlew bootRun`,
		Args: atLeast("COMMAND"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if hold < 0 || hold > mostHold {
				return usage("--hold %v: must be from 1s to %v", hold, mostHold)
			}
			switch {
			case probes != "" && cmd.Flags().Changed("hold"):
				return usage("--probes already makes the program wait for its hooks: omit --hold")
			case probes == "-":
				return usage("--probes -: standard input belongs to the program; name a file")
			case probes != "":
				return runWatched(cmd.Context(), s, args, probes, agentDir)
			}
			return runProgram(cmd.Context(), s, args, launch.Settings{Hold: hold, AgentDir: agentDir})
		},
	}
	flags := command.Flags()
	flags.SetInterspersed(false) // flags after the command belong to the command
	flags.DurationVar(&hold, "hold", 0, "make the program wait for Sonde before it begins, at most for this time")
	flags.StringVarP(&probes, probesFlag, "f", "", "`FILE` of probes to apply")
	flags.StringVar(&agentDir, "agent-dir", "", agentDirUsage)
	flags.Lookup("hold").NoOptDefVal = usualHold.String()
	return command
}

const agentDirUsage = "`DIR` for the agent's jar, instead of the data directory of this user"

// usualHold is how long a program waits for Sonde at most.
const (
	usualHold = 30 * time.Second
	mostHold  = 10 * time.Minute
)

// An exitStatus is the exit code of a program that ran to its end.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("the program ended with exit code %d", int(e)) }

func runProgram(ctx context.Context, s streams, words []string, settings launch.Settings) error {
	program, reportLeft, err := startProgram(s, words, settings)
	if err != nil {
		return err
	}
	defer program.PassSignals()()
	defer reportLeft()
	// Signals are passed on to the program: only its end ends this command.
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	found := make(chan struct{})
	go func() {
		defer close(found)
		program.Watch(watching, func(jvm *process.JVM) { reportPrepared(s, jvm, settings.Hold) })
	}()
	code := program.ExitCode()
	stop()
	<-found
	return programError(code)
}

// startProgram starts a program. reportLeft lists the processes that it has left running.
func startProgram(s streams, words []string, settings launch.Settings) (_ *launch.Program, reportLeft func(), err error) {
	program, err := launch.Start(words, settings)
	if err != nil {
		return nil, nil, err
	}
	if !launch.IsJava(words[0]) {
		_, _ = fmt.Fprintf(s.err, "sonde: %s is not java: Sonde sets JAVA_TOOL_OPTIONS for the JVMs that it starts, and each of them prints a line about it\n", format.Printable(words[0]))
	}
	return program, func() {
		if left := program.Left(); len(left) > 0 {
			_, _ = fmt.Fprintf(s.err, "sonde: %s ended and left %s running in the background; their JVMs get the agent: sonde ps lists them\n",
				format.Printable(words[0]), launch.Numbers(left))
		}
	}, nil
}

// programError returns the exit code of a program as an error; nil for success.
func programError(code int) error {
	if code == 0 {
		return nil
	}
	return exitStatus(code)
}

func reportPrepared(s streams, jvm *process.JVM, hold time.Duration) {
	waits := ""
	if hold > 0 {
		waits = fmt.Sprintf(", and waits for it at most %v", hold)
	}
	_, _ = fmt.Fprintf(s.err, "sonde: process %d is ready for sonde count %d PATTERN or sonde profile %d --root PATTERN%s\n",
		jvm.PID, jvm.PID, jvm.PID, waits)
}

// runWatched starts a program and applies the probes of a file to its first JVM, from the
// first instruction to the end. Standard output belongs to the program, so the result is
// written to standard error.
func runWatched(ctx context.Context, s streams, words []string, file, agentDir string) error {
	set, _, err := readProbes(s, file)
	if err != nil {
		return err
	}
	program, reportLeft, err := startProgram(s, words, launch.Settings{Hold: usualHold, AgentDir: agentDir})
	if err != nil {
		return err
	}
	defer program.PassSignals()()
	defer reportLeft()
	c := &applyCommand{
		targetFlags: targetFlags{streams: streams{in: s.in, out: s.err, err: s.err, useService: s.useService}, usualBudget: overhead.Usual}, title: file, set: set, interval: time.Second, keep: usualKeep,
		flags: pflag.NewFlagSet("", pflag.ContinueOnError),
	}
	err = withFirstJVM(ctx, program, func(ctx context.Context, jvm *process.JVM) error {
		c.pid = jvm.PID
		return c.hold(ctx, jvm)
	})
	if err != nil && !errors.As(err, new(exitStatus)) { // of a look, whose messages have said it
		_, _ = fmt.Fprintf(s.err, "sonde: %s\n", format.OneLine(err))
	}
	return programError(program.ExitCode())
}

// withFirstJVM measures the first JVM that a program starts until it exits. Other JVMs do
// not wait.
func withFirstJVM(ctx context.Context, program *launch.Program, measure func(ctx context.Context, jvm *process.JVM) error) error {
	jvm, ok := <-firstJVM(ctx, program)
	if !ok {
		return &launch.EndedError{Code: program.ExitCode(), Left: program.Left()}
	}
	// Signals are passed on to the program, whose end ends this. A program that goes on is
	// left after a while.
	measuring, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(endingPatience, abandon) })()
	err := measure(measuring, jvm)
	if err != nil {
		_ = letGo(jvm) // the program must not wait for a Sonde that failed
	}
	return err
}

// letGo lets a program begin that waits before its first instruction.
func letGo(jvm *process.JVM) error {
	_, err := targetfs.LetGo(jvm)
	return err
}

// firstJVM returns the first JVM of a program, and lets all others begin. The channel is
// closed when the program has ended.
func firstJVM(ctx context.Context, program *launch.Program) <-chan *process.JVM {
	first := make(chan *process.JVM, 1)
	go func() {
		defer close(first)
		taken := false
		program.Watch(context.WithoutCancel(ctx), func(jvm *process.JVM) {
			if !taken {
				taken = true
				first <- jvm
				return
			}
			_ = letGo(jvm)
		})
	}()
	return first
}

type envCommand struct {
	streams
	launch.AgentOption
	agentDir string // of the agent's jar
	shell    string
}

func newEnv(s streams) *cobra.Command {
	c := &envCommand{streams: s}
	command := &cobra.Command{
		Use:     "env",
		Short:   "Print the environment that makes JVMs start with a pack or the agent",
		Long:    envLong,
		Example: envExamples,
		Args:    exactly(),
		RunE: func(*cobra.Command, []string) error {
			if err := c.check(); err != nil {
				return err
			}
			return c.run()
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.Pack, "pack", "", "the pack: a `FILE`")
	flags.StringVar(&c.Arena, "arena", "", "`FILE` or directory for measurements; %p is the process number")
	flags.StringArrayVar(&c.Only, "only", nil, "only programs whose main class or jar matches `GLOB` get the agent; may be repeated")
	flags.StringArrayVar(&c.Not, "not", nil, "programs whose main class or jar matches `GLOB` do not get the agent; may be repeated")
	flags.StringVar(&c.agentDir, "agent-dir", "", agentDirUsage)
	flags.Var(oneOf(&c.shell, "sh", "sh", "fish", "dotenv", "json"), "shell", "format of the output: sh, fish, dotenv or json")
	return command
}

func (c *envCommand) check() error {
	const mostGlobs = 64 // that the agent reads
	switch {
	case c.Arena != "" && c.Pack == "":
		return usage("--arena needs --pack: without a pack nothing is measured")
	case len(c.Only) > mostGlobs || len(c.Not) > mostGlobs:
		return usage("--only and --not can be given %d times at most", mostGlobs)
	case slices.Contains(c.Only, "") || slices.Contains(c.Not, ""):
		return usage("--only and --not must not be empty")
	}
	return nil
}

func (c *envCommand) run() (err error) {
	if c.Pack != "" {
		if err := c.checkPack(); err != nil {
			return err
		}
	}
	if c.Arena != "" {
		if err := c.checkArena(); err != nil {
			return err
		}
	}
	if c.Jar, err = launch.KeepJar(c.agentDir); err != nil {
		return err
	}
	option, err := c.Text()
	if err != nil {
		return err
	}
	value := launch.WithOption(os.Getenv(launch.ToolOptions), option)
	_, err = fmt.Fprintln(c.out, envFormats[c.shell](launch.ToolOptions, value))
	return err
}

// checkPack finds errors that the agent could report to nobody.
func (c *envCommand) checkPack() (err error) {
	if c.Pack, err = filepath.Abs(c.Pack); err != nil {
		return err
	}
	opened, err := pack.Open(c.Pack)
	if err != nil {
		return err
	}
	if err := launch.CheckOwn(c.Pack); err != nil {
		return fmt.Errorf("pack %s: %w; move the pack to a directory that only you can write to", c.Pack, err)
	}
	content := opened.Content()
	if content.Build != agent.AgentBuild() {
		return fmt.Errorf("pack %s was made by another build of Sonde: make it again with this one", c.Pack)
	}
	return nil
}

func (c *envCommand) checkArena() (err error) {
	if c.Arena, err = filepath.Abs(c.Arena); err != nil {
		return err
	}
	if info, err := os.Stat(c.Arena); err == nil && info.IsDir() {
		return nil
	}
	directory := filepath.Dir(c.Arena)
	if info, err := os.Stat(directory); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return fmt.Errorf("--arena %s: %s is not a directory: create it first", c.Arena, directory)
	}
	if !strings.Contains(filepath.Base(c.Arena), "%p") {
		_, _ = fmt.Fprintf(c.err, "note: --arena %s is a single file: Sonde does not overwrite it, so a second or restarted JVM would run without hooks; use %%p in the name, or a directory\n", c.Arena)
	}
	return nil
}

const envLong = `Print the environment variable that makes every JVM start with Sonde's agent. With
--pack, the agent weaves classes as they load and measures, without a Sonde; without, it
waits until a sonde command names the JVM. Processes inherit the variable, so all JVMs of
an application get it, however they are started.

JVMs read JAVA_TOOL_OPTIONS. Its current value is kept, except that another agent of
Sonde is replaced. Each JVM prints a line on standard error that says it has picked the
variable up; nothing else is printed.

--only and --not select programs by globs, in which * matches any characters: the main
class (com.acme.*), the path of a jar (/opt/shop/*.jar) or its name (shop*.jar). With
--only, a program must match at least one glob, and with --not none. Other programs start
as if there were no agent. Both may be repeated.

--arena is where the measurements of a pack go: a directory, in which each process writes
a file sonde-PID.arena, or a file, in whose name %p is the process number. An existing
file is never overwritten: the program then starts without hooks. The default is
/tmp/sonde-PID-….arena. The program must be able to write to the directory.

The agent's jar is stored with the data of this user (~/.local/share/sonde), under a name
for each build of Sonde, and stays there. For programs of other users, or in containers,
--agent-dir names a directory that they can read: a JVM that cannot read the jar, or has
no module java.instrument, does not start, whatever --only and --not say. Other users
must not be able to write to the jar or the pack, nor to any directory above them,
because JVMs run the code in them.`

const envExamples = `  eval "$(sonde env --pack shop.pack)" && ./start-shop.sh
  eval "$(sonde env --pack shop.pack --only 'com.acme.*' --not '*Tool' --arena /var/tmp/shop)"
  eval "$(sonde env --only 'shop*.jar')"
  sonde env --pack /opt/shop.pack --agent-dir /opt/sonde --shell dotenv >> shop.env
  sonde env --pack shop.pack --shell fish | source`

var envFormats = map[string]func(name, value string) string{
	"sh":     func(name, value string) string { return "export " + name + "=" + shellWord(value) },
	"fish":   func(name, value string) string { return "set -gx " + name + " " + fishWord(value) },
	"dotenv": func(name, value string) string { return name + "=" + dotenvWord(value) },
	"json":   envJSON,
}

// fishWord quotes for fish, where a backslash escapes in single quotes.
func fishWord(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// dotenvWord quotes only if necessary: some readers of such files treat quotes as a part of
// the value.
func dotenvWord(text string) string {
	switch {
	case !strings.ContainsAny(text, "'\"#$`\\"):
		return text
	case !strings.Contains(text, "'"):
		return "'" + text + "'"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(text) + `"`
}

func envJSON(name, value string) string {
	text, err := json.Marshal(map[string]string{name: value})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(text)
}

const agentJarName = "sonde-agent.jar"

func newAgentJar(s streams) *cobra.Command {
	var out string
	command := &cobra.Command{
		Use:   "agent-jar [-o FILE]",
		Short: "Write the agent's jar, for JVMs that are started with it",
		Long: `Write the jar of Sonde's agent and print the option that starts a JVM with it. The agent
does nothing until a sonde command names that JVM; then Sonde enters without attaching,
even if attaching or loading agents later is forbidden, and without the warnings that
newer JDKs print about it.

If attaching is allowed, none of this is needed.`,
		Example: `  sonde agent-jar
  sonde agent-jar -o /opt/sonde/sonde-agent.jar
  java $(sonde agent-jar 2>/dev/null) -jar app.jar`,
		// FILE without -o is how older scripts name it.
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) == 1 && !c.Flags().Changed("output") {
				return nil
			}
			return usage("unexpected argument %q", args[len(args)-1])
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				out = args[0]
			}
			return writeAgentJar(s, out)
		},
	}
	command.Flags().StringVarP(&out, "output", "o", agentJarName, "file to write")
	return command
}

func writeAgentJar(s streams, out string) error {
	full, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if err := writeJarFile(out, agent.AgentJar()); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.err, "wrote %s; start the program with this option, then: sonde count PID PATTERN\n", out)
	_, err = fmt.Fprintf(s.out, "-javaagent:%s\n", shellWord(full))
	return err
}

func writeJarFile(out string, content []byte) error {
	if info, err := os.Stat(out); err == nil && info.IsDir() {
		return &archive.OutputError{Path: out, Detail: "is a directory: name the file to write"}
	}
	return archive.WriteFile(out, 0o644, func(f *os.File) error {
		_, err := f.Write(content)
		return err
	})
}

const runtimeJarName = "sonde-runtime.jar"

func newRuntimeJar(s streams) *cobra.Command {
	out := runtimeJarName
	command := &cobra.Command{
		Use:   "runtime-jar [-o FILE]",
		Short: "Write the jar that programs woven with built-in templates need",
		Long: `Write the small jar that programs woven with the built-in templates need on their class
path. It also contains sonde.template.Template, against which your own templates are
compiled.`,
		Example: `  sonde runtime-jar
  sonde runtime-jar -o lib/sonde-runtime.jar`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			if err := writeJarFile(out, agent.RuntimeJar()); err != nil {
				return err
			}
			_, err := fmt.Fprintf(s.err, "wrote %s\n", out)
			return err
		},
	}
	command.Flags().StringVarP(&out, "output", "o", out, "file to write")
	return command
}
