package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/agent"
	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/descriptor"
	"github.com/sonde-jvm/sonde/internal/classes/archive"
	"github.com/sonde-jvm/sonde/internal/weave/cache"
	"github.com/sonde-jvm/sonde/internal/weave/pack"
)

// packVerified is what `sonde pack verify` finds; its --json writes it.
type packVerified struct {
	File    string   `json:"file"`
	Classes int      `json:"classes"`
	IsOwn   bool     `json:"isThisSondesAgent"`
	Found   int      `json:"found"`   // classes of the archives that are the pack's
	Differs []string `json:"differs"` // classes of the pack of which the archives have others
	Missing []string `json:"missing"` // classes of the pack that no archive has
	Bad     []string `json:"damaged"` // classes that are the pack's, and cannot be made
}

func newPackVerify(s streams) *cobra.Command {
	asJSON := false
	command := &cobra.Command{
		Use:   "verify FILE.pack [JAR|WAR|DIR...]",
		Short: "Check a pack, and whether it fits an application",
		Long:  packVerifyLong,
		Example: `  sonde pack verify app.pack
  sonde pack verify app.pack app.jar lib/*.jar`,
		Args: atLeast("the pack"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return packVerify(cmd.Context(), s, args[0], args[1:], asJSON)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return command
}

func packVerify(ctx context.Context, s streams, file string, inputs []string, asJSON bool) error {
	opened, err := pack.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }() // only read
	content, err := opened.Content()
	if err != nil {
		return err
	}
	told := &packVerified{
		File: file, Classes: len(content.Classes), IsOwn: content.Build == agent.AgentBuild(), Differs: []string{}, Missing: []string{}, Bad: []string{},
	}
	if err := told.compare(ctx, opened, content, inputs); err != nil {
		return err
	}
	out := bufio.NewWriter(s.out) // keeps the first error until Flush
	if asJSON {
		err = writeJSON(out, told)
	} else {
		told.write(out, len(inputs) > 0)
	}
	return errors.Join(err, out.Flush(), told.verdict())
}

// compare looks for the classes of the pack in archives.
func (v *packVerified) compare(ctx context.Context, opened *pack.Pack, content *pack.Content, inputs []string) error {
	if len(inputs) == 0 {
		return nil
	}
	met, found := map[string]bool{}, map[cache.Original]bool{}
	for _, input := range inputs {
		err := archive.Walk(ctx, input, func(e archive.Entry) error {
			var class classfile.Class
			if class.Read(e.Data) == nil && opened.Has(class.Name()) { // what cannot be read was not packed
				met[class.Name()] = true
				original := cache.OriginalOf(e.Data)
				isPacked := func(c pack.Class) bool { return c.Entry.Original == original }
				_, found[original] = opened.Find(class.Name(), e.Data)
				if !found[original] && slices.ContainsFunc(content.Classes, isPacked) {
					v.Bad = append(v.Bad, descriptor.ExternalName(class.Name()))
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, class := range content.Classes {
		switch name := descriptor.ExternalName(class.Entry.Class); {
		case found[class.Entry.Original]:
			v.Found++
		case slices.Contains(v.Bad, name):
		case met[class.Entry.Class]:
			v.Differs = append(v.Differs, name)
		default:
			v.Missing = append(v.Missing, name)
		}
	}
	return nil
}

func (v *packVerified) write(out io.Writer, hasInputs bool) {
	_, _ = fmt.Fprintf(out, "%s: %s, whole\n", printable(v.File), count(v.Classes, "class", "classes"))
	if !hasInputs {
		return
	}
	_, _ = fmt.Fprintf(out, "%s of %s are there as they were packed\n", grouped(v.Found), grouped(v.Classes))
	for _, group := range []struct {
		what  string
		names []string
	}{{"differs", v.Differs}, {"is not there", v.Missing}, {"cannot be made", v.Bad}} {
		for i, name := range group.names {
			if i == mostFates {
				_, _ = fmt.Fprintf(out, "  … and %s more (--json names them)\n", count(len(group.names)-i, "class", "classes"))
				break
			}
			_, _ = fmt.Fprintf(out, "  %s %s\n", printable(name), group.what)
		}
	}
}

// verdict is an error where something is the matter.
func (v *packVerified) verdict() error {
	switch {
	case !v.IsOwn:
		return errors.New("the pack is made for another agent than this Sonde's: make it again with sonde pack, or use the sonde agent-jar of the Sonde that made it")
	case len(v.Bad) > 0:
		return fmt.Errorf("%s cannot be made: %w", count(len(v.Bad), "class", "classes"), pack.ErrDamaged)
	case len(v.Differs) > 0:
		return fmt.Errorf("%s from what was packed and would be loaded without hooks: make the pack again", count(len(v.Differs), "class differs", "classes differ"))
	case len(v.Missing) > 0:
		return fmt.Errorf("%s of the pack in none of these archives: name all that were packed", count(len(v.Missing), "class is", "classes are"))
	}
	return nil
}
