package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/launch"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/jvm/targetfs"
	"github.com/sonde-jvm/sonde/internal/report/format"
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
	flags.StringVar(&probes, "probes", "", "`FILE` of probes to apply")
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
	program, err := launch.Start(words, settings)
	if err != nil {
		return err
	}
	defer program.PassSignals()()
	tellLaunch(s, words)
	// Signals are passed on to the program: only its end ends this command.
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	found := make(chan struct{})
	go func() {
		defer close(found)
		program.Watch(watching, func(jvm *process.JVM) { tellPrepared(s, jvm, settings.Hold) })
	}()
	code := program.ExitCode()
	stop()
	<-found
	tellLeft(s, words, program)
	if code != 0 {
		return exitStatus(code)
	}
	return nil
}

// tellLaunch reports that a command other than java gets the agent by a variable.
func tellLaunch(s streams, words []string) {
	if !launch.IsJava(words[0]) {
		_, _ = fmt.Fprintf(s.err, "sonde: %s is not java: its JVMs get the agent by JAVA_TOOL_OPTIONS, and print that\n", format.Printable(words[0]))
	}
}

// tellLeft lists processes that a command has left running.
func tellLeft(s streams, words []string, program *launch.Program) {
	if left := program.Left(); len(left) > 0 {
		_, _ = fmt.Fprintf(s.err, "sonde: %s ended and left %s running in the background; their JVMs get the agent: sonde ps lists them\n",
			format.Printable(words[0]), launch.Numbers(left))
	}
}

func tellPrepared(s streams, jvm *process.JVM, hold time.Duration) {
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
	set, err := readSet(s, file)
	if err != nil {
		return err
	}
	program, err := launch.Start(words, launch.Settings{Hold: usualHold, AgentDir: agentDir})
	if err != nil {
		return err
	}
	defer program.PassSignals()()
	tellLaunch(s, words)
	c := &applying{
		choice: choice{streams: streams{out: s.err, err: s.err}}, title: file, set: set, interval: time.Second, keep: usualKeep,
	}
	if err := c.watchStarted(ctx, program); err != nil {
		_, _ = fmt.Fprintf(s.err, "sonde: %s\n", format.OneLine(err))
	}
	code := program.ExitCode()
	tellLeft(s, words, program)
	if code != 0 {
		return exitStatus(code)
	}
	return nil
}

// watchStarted holds the first JVM that the program starts until it exits. Other JVMs do
// not wait.
func (c *applying) watchStarted(ctx context.Context, program *launch.Program) error {
	jvm, ok := <-firstJVM(ctx, program)
	if !ok {
		return program.EndedEarly()
	}
	c.pid = jvm.PID
	letGo := func() error {
		_, err := targetfs.LetGo(jvm)
		return err
	}
	// Signals are passed on to the program, whose end ends this. A program that goes on is
	// left after a while.
	watching, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(endingPatience, abandon) })()
	err := c.hold(watching, jvm, letGo)
	if err != nil {
		_ = letGo() // the program must not wait for a Sonde that failed
	}
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
			_, _ = targetfs.LetGo(jvm)
		})
	}()
	return first
}
