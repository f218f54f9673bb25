package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/report/format"
)

// onlyJVM names the JVM of this host if there is one.
const onlyJVM = "."

// takesJVM reports whether the first argument of a command names a JVM.
func takesJVM(command *cobra.Command) bool {
	_, arguments, _ := strings.Cut(command.Use, " ")
	first, _, _ := strings.Cut(strings.Trim(arguments, "[]"), " ")
	return slices.Contains(strings.Split(strings.Trim(first, "[]"), "|"), "PID")
}

// resolveName replaces the name of a JVM in the arguments of a command by its process number. Files
// of commands that take files as well stay.
func resolveName(command *cobra.Command, args []string) error {
	if len(args) == 0 || !takesJVM(command) || isSet(command, "start") {
		return nil
	}
	if _, err := strconv.Atoi(args[0]); err == nil {
		return nil
	}
	mayBeFile := strings.Contains(command.Use, "|")
	if _, err := os.Stat(args[0]); mayBeFile && err == nil && args[0] != onlyJVM {
		return nil
	}
	jvms, err := process.Local.Find(command.Context())
	if err != nil {
		return fmt.Errorf("listing processes: %w", err)
	}
	found, err := named(jvms, args[0])
	switch {
	case err != nil:
		return err
	case found != nil:
		args[0] = strconv.Itoa(found.PID)
	case !mayBeFile:
		running := "running are " + listed(jvms)
		if len(jvms) == 0 {
			running = "none is running" + asFarAsSeen()
		}
		return usage("%q is neither a process number nor the name of a JVM: %s", args[0], running)
	}
	return nil // the command looks for a file
}

// named returns the JVM with a name: that of its main class or jar, the last part of it, or, if there
// is no such JVM, a part of it; nil if there is none.
func named(jvms []*process.JVM, name string) (*process.JVM, error) {
	rules := []func(main string) bool{
		func(main string) bool { return main == name },
		func(main string) bool { return shortName(main) == strings.TrimSuffix(name, ".jar") },
		func(main string) bool { return strings.Contains(strings.ToLower(main), strings.ToLower(name)) },
	}
	if name == onlyJVM {
		rules = []func(string) bool{func(string) bool { return true }}
	}
	for _, rule := range rules {
		others := func(jvm *process.JVM) bool { return !rule(jvm.Main) }
		switch found := slices.DeleteFunc(slices.Clone(jvms), others); {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return nil, usage("%q matches %d JVMs (%s): give one process number", name, len(found), listed(found))
		}
	}
	return nil, nil
}

// shortName returns the last part of a main class, or the name of a jar.
func shortName(main string) string {
	if jar, is := strings.CutSuffix(path.Base(main), ".jar"); is {
		return jar
	}
	return main[strings.LastIndexAny(main, "./")+1:]
}

func listed(jvms []*process.JVM) string {
	const most = 5
	var texts []string
	for _, jvm := range jvms[:min(most, len(jvms))] {
		texts = append(texts, fmt.Sprintf("%d %s", jvm.PID, format.Printable(jvm.Main)))
	}
	if len(jvms) > most {
		texts = append(texts, fmt.Sprintf("and %d more", len(jvms)-most))
	}
	return strings.Join(texts, ", ")
}

// completeJVM proposes JVMs for the first argument of a command.
func completeJVM(command *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	jvms, err := process.Local.Find(command.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var all []string
	for _, jvm := range jvms {
		all = append(all, fmt.Sprintf("%d\t%s", jvm.PID, format.Printable(jvm.Main)))
	}
	if strings.Contains(command.Use, "|") { // files as well
		return all, cobra.ShellCompDirectiveDefault
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// start lists the JVMs for a person who does not know yet what to do with them.
func start(ctx context.Context, s streams) error {
	jvms, err := localHost{}.JVMs(ctx)
	if err != nil {
		return err
	}
	if err := writeJVMs(s, jvms.JVMs, false); err != nil {
		return err
	}
	example := "4711"
	if len(jvms.JVMs) > 0 {
		example = strconv.Itoa(jvms.JVMs[0].PID)
	}
	return s.print(func(out io.Writer) {
		_, _ = fmt.Fprintf(out, `
Next, for example (a number, a main class or a jar names the JVM):
  sonde hot %[1]s       where it spends its time; nothing in it changes
  sonde walk %[1]s      what causes the hot spots
  sonde doctor %[1]s    what to know before hooks go in
  %-[2]*[3]s    all commands
`, example, len("sonde doctor "+example), "sonde --help")
	})
}
