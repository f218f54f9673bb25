package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/report"
)

func newConvert(s streams) *cobra.Command {
	var outputs []string
	var wall bool
	command := &cobra.Command{
		Use:   "convert FILE -o FILE",
		Short: "Write a result in another format",
		Long: `Read a result from a file, and write it in the formats that the names of other files
select.

FROM                       holds
.json, .html               a result of sonde profile or sonde hot
.jfr                       a flight recording, which becomes the result of sonde hot
.pb.gz                     a result of sonde profile, as far as pprof's format can hold it

TO                         is for
.html                      a browser
.pb.gz                     go tool pprof and programs that read its format
.collapsed                 flamegraph.pl, speedscope and other flame graphs
.otlp.json                 OpenTelemetry (its profiles are still in development)
.json                      programs
.txt                       a terminal`,
		Example: `  sonde convert recording.jfr -o hot.html -o hot.pb.gz
  sonde convert checkout.json -o checkout.html
  sonde convert checkout.html -o checkout.collapsed`,
		Args: exactly("the file to read"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(outputs) == 0 {
				return usage("-o is missing: name a file to write, such as %s", "-o result.html")
			}
			return convert(cmd.Context(), s, args[0], outputs, wall)
		},
	}
	flags := command.Flags()
	flags.StringArrayVarP(&outputs, "output", "o", nil, "file to write: .html, .pb.gz, .collapsed, .otlp.json, .json or .txt; may be repeated")
	flags.BoolVar(&wall, "wall", false, "of a recording, count waiting threads as well, by what they wait for")
	return command
}

func convert(ctx context.Context, s streams, from string, outputs []string, wall bool) error {
	result, err := report.ReadFile(ctx, from, wall)
	if err != nil {
		return err
	}
	if err := checkOutputs(outputs, result.Check); err != nil {
		return err
	}
	reportWritten, err := s.writeOutputs(outputs, result.WriteFile)
	reportWritten()
	return err
}
