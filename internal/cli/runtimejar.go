package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
)

const runtimeJarName = "sonde-runtime.jar"

func newRuntimeJar(s streams) *cobra.Command {
	out := runtimeJarName
	command := &cobra.Command{
		Use:   "runtime-jar [-o FILE]",
		Short: "Write the jar that programs woven with built-in templates need",
		Long: `Write the small jar that programs woven with the built-in templates need on
their class path. It also holds sonde.template.Template, against which
templates of your own are compiled.`,
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
