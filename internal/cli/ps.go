package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
)

func newPs(s streams) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "ps",
		Short: "List the JVMs of this host",
		Long: `List the JVMs of this host, also those in containers: whether one may attach to
them and load agents into them, and if not, why and what to do.

All of it is read from /proc and from the counters JVMs publish; nothing is sent
to any process. A JVM of another user shows with what its command line tells;
root sees all.

UPTIME  since the process started
HEAP    used/largest, as the JVM last published it: newer ones do so after a
        garbage collection only, and with -XX:-UsePerfData never
ATTACH  whether the JVM answers to commands
AGENTS  whether it loads agents while it runs
INSIDE  whether Sonde is in it: yes, no, standby for an agent that was given at its
        start with -javaagent and does nothing until it is asked to, or pack where
        it was started with one, which sonde attach shows`,
		Example: `  sonde ps
  sonde ps --json | jq 'select(.agents.allowed == "yes") | .pid'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ps(cmd.Context(), s, process.Local, asJSON)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write one JSON object per JVM")
	return command
}

func ps(ctx context.Context, s streams, host process.Host, asJSON bool) error {
	jvms, err := host.Find(ctx)
	if err != nil {
		return fmt.Errorf("listing processes: %w", err)
	}
	out := bufio.NewWriter(s.out) // keeps the first error until Flush
	switch {
	case asJSON:
		for _, jvm := range jvms {
			if err := writeJSON(out, describeJVM(jvm)); err != nil {
				return err
			}
		}
	case len(jvms) == 0:
		_, _ = fmt.Fprintln(s.err, "no JVM is running"+asFarAsSeen())
	default:
		writeTable(out, psColumns, jvmRows(jvms), s.outWidth())
		writeReasons(out, jvms)
	}
	return out.Flush()
}

// asFarAsSeen is said of what may be incomplete: of other users' processes only
// those named java can be told to be JVMs.
func asFarAsSeen() string {
	if os.Geteuid() == 0 {
		return ""
	}
	return " that this user can see; root sees all"
}
