package cli

import (
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sonde-jvm/sonde/internal/classes/jimage"
	"github.com/sonde-jvm/sonde/internal/classes/own"
	"github.com/sonde-jvm/sonde/internal/jvm/process"
	"github.com/sonde-jvm/sonde/internal/measure/find"
)

// methodFlags take patterns of methods.
var methodFlags = []string{"root", "into", "skip", "within", "until", "only"}

// addCompletions makes shells complete the arguments of a command and the values of its flags.
func addCompletions(command *cobra.Command) {
	if takesJVM(command) {
		command.ValidArgsFunction = completeTarget
	}
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		var complete cobra.CompletionFunc
		if value, is := flag.Value.(interface{ choices() []string }); is && len(value.choices()) > 0 {
			complete = cobra.FixedCompletions(value.choices(), cobra.ShellCompDirectiveNoFileComp)
		}
		if slices.Contains(methodFlags, flag.Name) && takesJVM(command) {
			complete = completeMethod
		}
		if complete != nil {
			_ = command.RegisterFlagCompletionFunc(flag.Name, complete) // the flag is there
		}
	})
}

// addBash adds the commands that write scripts for shells. The script for bash works without the package bash-completion.
func addBash(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	bash, _, err := root.Find([]string{"completion", "bash"})
	if err != nil || bash.RunE == nil {
		return
	}
	bash.Long = strings.Replace(bash.Long, bashNeeds, "", 1)
	write := bash.RunE
	bash.RunE = func(command *cobra.Command, args []string) error {
		if err := write(command, args); err != nil {
			return err
		}
		_, err := io.WriteString(command.OutOrStdout(), bashWords)
		return err
	}
}

const (
	bashNeeds = `
This script depends on the 'bash-completion' package.
If it is not installed already, you can install it via your OS's package manager.
`
	// bashWords takes the words before the cursor from the line: for bash itself, words also end at = and :.
	bashWords = `
__sonde_init_completion()
{
    COMPREPLY=()
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local line=${COMP_LINE:0:COMP_POINT}
    IFS=$' \t\n' read -ra words <<<"$line"
    if [[ $line == *[[:space:]] ]]; then
        words+=("")
    fi
    cword=$((${#words[@]} - 1))
    cur=${words[cword]}
    prev=${words[cword > 0 ? cword - 1 : 0]}
}
`
)

// completeTarget proposes JVMs for the first argument of a command, and methods for those after it.
func completeTarget(command *cobra.Command, args []string, part string) ([]string, cobra.ShellCompDirective) {
	switch _, more, _ := strings.Cut(command.Use, " PID "); {
	case len(args) == 0:
		return completeJVM(command, args, part)
	case strings.Contains(more, "PATTERN...") || strings.Contains(more, "METHOD..."):
		return completeMethod(command, args, part)
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// mostCompletions bounds the names that a shell gets.
const mostCompletions = 2000

// completeMethod proposes packages, classes and methods of a JVM, name by name. They are read from the jars
// and folders of its class path and from its JDK; nothing enters the JVM.
func completeMethod(command *cobra.Command, args []string, part string) ([]string, cobra.ShellCompDirective) {
	const nothing = cobra.ShellCompDirectiveNoFileComp
	if len(args) == 0 || resolveName(command, args) != nil {
		return nil, nothing
	}
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return nil, nothing
	}
	jvm, err := process.Local.Inspect(pid)
	if err != nil {
		return nil, nothing
	}
	exclusion := ""
	if strings.HasPrefix(part, "!") {
		exclusion, part = "!", part[1:]
	}
	library := jimage.OfJVM(jvm)
	defer func() { _ = library.Close() }()
	places := own.FindPlaces(jvm)
	names := make(map[string]bool)
	propose := func(class string) {
		if len(names) < mostCompletions && !strings.HasSuffix(class, "-info") {
			if name, is := nextName(strings.ReplaceAll(class, "/", "."), part); is {
				names[exclusion+name] = true
			}
		}
	}
	places.Each(propose)
	if part != "" { // of a JVM that runs a program of its own, its JDK is not what people look for first
		for _, class := range library.Classes() {
			propose(class)
		}
	}
	if class := strings.ReplaceAll(part[:max(0, strings.LastIndexByte(part, '.'))], ".", "/"); class != "" {
		file := places.Read(class)
		if file == nil {
			file = library.Class(class)
		}
		methods, _ := find.MethodsOf(file, class)
		for _, m := range methods {
			if name := m.QualifiedName(); m.HasCode() && strings.HasPrefix(name, part) {
				names[exclusion+name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names)), nothing | cobra.ShellCompDirectiveNoSpace
}

// nextName completes the next part of a class's name: a package, or the class with the dot before its methods.
func nextName(class, part string) (name string, is bool) {
	rest, is := strings.CutPrefix(class, part)
	if !is {
		return "", false
	}
	if at := strings.IndexByte(rest, '.'); at >= 0 {
		return part + rest[:at+1], true
	}
	return class + ".", true
}
