package cli

import (
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
