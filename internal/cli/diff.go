package cli

import (
	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/report"
	"github.com/sonde-jvm/sonde/internal/report/diff"
	"github.com/sonde-jvm/sonde/internal/report/json"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

func newDiff(s streams) *cobra.Command {
	var asJSON bool
	var top int
	command := &cobra.Command{
		Use:   "diff BEFORE AFTER",
		Short: "Compare two profiles",
		Long: `Compare two results of 'sonde profile': which methods, and which ways to them,
take more or less time of their own, or are called more or less often.

Everything is per call of the root, so that runs of different length can be
compared. A time counts as changed only where the intervals in which the truth
lies are apart by more than the mix of requests and the variation between calls
explain; the rest is counted, not listed.

Only what was measured on both sides is compared. A method whose hook was off,
on for a part of the time or missing on one side is named, and its time is added
to its callers' on both.

The files are .json or .html as 'sonde profile -o' writes them. A .pb.gz will do
too, but holds no errors: every difference then looks sure.`,
		Example: `  sonde profile 4711 --root com.acme.Checkout.pay --duration 30s -o before.json
  sonde profile 4712 --root com.acme.Checkout.pay --duration 30s -o after.html
  sonde diff before.json after.html`,
		Args: exactly("the profile before", "the profile after"),
		RunE: func(_ *cobra.Command, args []string) error {
			if top < 0 {
				return usage("--top %d: must be a whole number from 0 on", top)
			}
			before, err := report.ReadProfileFile(args[0])
			if err != nil {
				return err
			}
			after, err := report.ReadProfileFile(args[1])
			if err != nil {
				return err
			}
			difference := diff.Compare(before, after)
			if asJSON {
				return json.WriteDiff(s.out, difference, top)
			}
			return text.WriteDiff(s.out, difference, top, s.outWidth())
		},
	}
	flags := command.Flags()
	flags.BoolVar(&asJSON, "json", false, "write one JSON object")
	flags.IntVar(&top, "top", 20, "show the first `N` methods and contexts only, 0 for all")
	return command
}
