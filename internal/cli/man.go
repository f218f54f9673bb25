package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan writes the manual pages of all commands, for packages.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a directory",
		Hidden: true,
		Args:   exactly("DIR"),
		RunE: func(command *cobra.Command, args []string) error {
			root := command.Root()
			if err := writeManual(root, args[0]); err != nil {
				return err
			}
			for _, c := range root.Commands() {
				if c.IsAvailableCommand() {
					if err := writeManual(c, args[0]); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
}

func writeManual(command *cobra.Command, folder string) error {
	var page strings.Builder
	manual(&page, command)
	return os.WriteFile(filepath.Join(folder, manualName(command)+".1"), []byte(page.String()), 0o644)
}

func manualName(command *cobra.Command) string {
	return strings.ReplaceAll(command.CommandPath(), " ", "-")
}

// manual writes a page in the language of man.
func manual(out io.Writer, command *cobra.Command) {
	name := manualName(command)
	print := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	print(`.TH "%s" 1 "" "Sonde" "Sonde"`, strings.ToUpper(name))
	print(".SH NAME\n%s \\- %s", roff(name), roff(command.Short))
	print(".SH SYNOPSIS\n.B %s", roff(command.UseLine()))
	print(".SH DESCRIPTION\n.nf\n%s\n.fi", roff(command.Long))
	if command.HasAvailableSubCommands() {
		print(".SH COMMANDS")
		for _, c := range command.Commands() {
			if c.IsAvailableCommand() {
				print(".TP\n.B %s\n%s", roff(c.Name()), roff(c.Short))
			}
		}
	}
	if command.HasAvailableLocalFlags() {
		print(".SH OPTIONS")
		command.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if flag.Hidden {
				return
			}
			value, usage := pflag.UnquoteUsage(flag)
			spelling := "--" + flag.Name
			if flag.Shorthand != "" {
				spelling = "-" + flag.Shorthand + ", " + spelling
			}
			print(".TP\n.B %s\n%s", roff(strings.TrimSpace(spelling+" "+value)), roff(usage))
		})
	}
	if command.Example != "" {
		print(".SH EXAMPLES\n.nf\n%s\n.fi", roff(command.Example))
	}
	if command.HasParent() {
		print(".SH SEE ALSO\n.BR %s (1)", roff(manualName(command.Parent())))
	}
}

// roff writes text so that man shows it as it is.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
