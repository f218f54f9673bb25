package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/report/format"
)

func newSave(s streams) *cobra.Command {
	output := ""
	command := &cobra.Command{
		Use:   "save PID",
		Short: "Write the probes that are applied to a JVM to a file",
		Long: `Write the probes, tags and rules that are applied to a JVM as a file for sonde apply.
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
	jvm, err := inspect(pid)
	if err != nil {
		return err
	}
	client, err := findHolder(ctx, jvm)
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	if client == nil {
		return fmt.Errorf("no sonde apply holds process %d: there are no probes to save", pid)
	}
	set, err := client.Save(ctx)
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
	rules := ""
	if n := len(set.Weave); n > 0 {
		rules = ", " + format.Count(n, "rule", "rules")
	}
	_, err = fmt.Fprintf(s.err, "wrote %s: %s, %s%s\n", format.Printable(output), format.Count(len(set.Probes), "probe", "probes"), format.Count(len(set.Tags), "tag", "tags"), rules)
	return err
}
