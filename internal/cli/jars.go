package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
)

const agentJarName = "sonde-agent.jar"

func newAgentJar(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "agent-jar [FILE]",
		Short: "Write the agent's jar, for JVMs that are started with it",
		Long: `Write the jar of Sonde's agent and print the option that starts a JVM with it. The agent
does nothing until a sonde command names that JVM; then Sonde enters without attaching,
even if attaching or loading agents later is forbidden, and without the warnings that
newer JDKs print about it.

If attaching is allowed, none of this is needed.`,
		Example: `  sonde agent-jar
  sonde agent-jar /opt/sonde/sonde-agent.jar
  java $(sonde agent-jar 2>/dev/null) -jar app.jar`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("unexpected argument %q", args[1])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			out := agentJarName
			if len(args) == 1 {
				out = args[0]
			}
			return writeAgentJar(s, out)
		},
	}
}

func writeAgentJar(s streams, out string) error {
	if info, err := os.Stat(out); err == nil && info.IsDir() {
		return &archive.OutputError{Path: out, Detail: "is a directory: name the file to write"}
	}
	full, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	err = archive.WriteFile(out, 0o644, func(f *os.File) error {
		_, err := f.Write(agent.AgentJar())
		return err
	})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.err, "wrote %s; start the program with this option, then: sonde count PID PATTERN\n", out)
	_, err = fmt.Fprintf(s.out, "-javaagent:%s\n", shellWord(full))
	return err
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
			if info, err := os.Stat(out); err == nil && info.IsDir() {
				return &archive.OutputError{Path: out, Detail: "is a directory: name the file to write"}
			}
			err := archive.WriteFile(out, 0o644, func(f *os.File) error {
				_, err := f.Write(agent.RuntimeJar())
				return err
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.err, "wrote %s\n", out)
			return err
		},
	}
	command.Flags().StringVarP(&out, "output", "o", out, "file to write")
	return command
}
