package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// isShortHelp reports whether -h is on a command line, not --help.
func isShortHelp(args []string) bool {
	if at := slices.Index(args, "--"); at >= 0 {
		args = args[:at]
	}
	return slices.Contains(args, "-h")
}

// commonFlags are the flags that -h shows in addition to flags with a short form.
var commonFlags = []string{"root", "when", "within", "timing", "sample", "sort", "slower-than", "background", "json", "by", "own", "end"}

// writeShortHelp writes the examples of a command and the flags that are used most.
func writeShortHelp(out io.Writer, command *cobra.Command) {
	print := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	print("%s\n", command.Short)
	if command.Example != "" {
		print("%s\n", strings.TrimRight(command.Example, "\n"))
	}
	if !command.HasParent() {
		_, starts, _ := strings.Cut(command.Long, "start with:\n")
		print("%s\n", starts)
	}
	print("Usage: %s", command.UseLine())
	var flags pflag.FlagSet
	flags.SortFlags = false
	command.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Name == "help" || flag.Shorthand == "" && !slices.Contains(commonFlags, flag.Name) {
			return
		}
		short := *flag
		short.Usage, _, _ = strings.Cut(flag.Usage, ";")
		flags.AddFlag(&short)
	})
	if text := flags.FlagUsages(); text != "" {
		print("\n%s", strings.TrimRight(text, "\n"))
	}
	for _, c := range command.Commands() {
		if command.HasParent() && c.IsAvailableCommand() {
			print("  %-12s %s", c.Name(), c.Short)
		}
	}
	topics := ""
	if !command.HasParent() {
		topics = "; 'sonde help patterns', 'conditions' and 'timing' explain words that commands share"
	}
	print("\n'%s --help' explains everything%s.", command.CommandPath(), topics)
}

// newTopics returns the pages of sonde help that are about no command.
func newTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "patterns", Short: "How methods and classes are named", Long: patternsHelp},
		{Use: "conditions", Short: "Where and when calls are measured", Long: conditionsHelp},
		{Use: "timing", Short: "How calls are timed, and what that costs", Long: timingHelp},
	}
}

// refuseUnknownTopics makes sonde help fail for what is neither a command nor a topic.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	show := help.Run
	help.Run, help.RunE = nil, func(command *cobra.Command, args []string) error {
		if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
			return usage("there is no help on %q: sonde --help lists commands and topics", strings.Join(args, " "))
		}
		show(command, args)
		return nil
	}
}

const patternsHelp = `A pattern names methods. Quote it, or the shell expands its stars.

  com.acme.Order.pay                   every overload of pay
  com.acme.Order.pay(int, ..)          by parameters; .. means "and more", () none
  com.acme.Order.get*:void             by result
  com.acme.Order.*                     every method of Order
  com.acme.*.*                         every method of the classes in com.acme
  com.acme.**                          the same, with all packages below
  **.Service.*(java.lang.String,int)   types are written in full
  com.acme.Order.<init>                constructors; <clinit>: static initialisers
  com.acme.Order$Item.*                a nested class; Order.Item works as well
  !**.get*                             excludes methods that other patterns match

A * stands for any letters in one name, ** for any number of names. The last name is the
method: com.acme.Order alone is a class, and com.acme.Order.** is every method of it and of its
nested classes.

Methods can also be selected by what they are, in all loaded classes and in those that load later:

  java.sql.Statement.execute*          a method without code, in a class named without * before
                                       its method: all its implementations. A method that has
                                       code stands for itself
  java.util.Map+.get                   get of Map, and of all classes and interfaces below it
  @com.acme.Timed                      methods that carry the annotation, and all methods but
                                       constructors of classes that carry it; @**.Timed works
  com.acme.** calls java.net.Socket.connect
                                       methods that contain such a call; any pattern can be on
                                       the left

An interface is also implemented by lambdas: their bodies are selected, and methods that a
reference such as this::handle names, if they are in the same class. Sonde reads all loaded classes
for such a pattern, which takes some seconds in a large program.

Other spellings mean the same: com.acme.Order#pay, com.acme.Order::pay, com.acme.Order::new (its
constructors), com/acme/Order.pay.

sonde find PID PATTERN shows which loaded classes and methods match, also for a name alone
(sonde find 4711 Order). A pattern that matches nothing yet is kept: classes that load later get
their hooks then. If none has got a hook by the end, commands exit with 1.`

const conditionsHelp = `Commands that measure chosen methods (count, monitor, trace), and files of probes, can
restrict which calls they measure.

` + contextHelp + `

Examples
  sonde count 4711 com.acme.Pay.charge --within 'com.acme.Web.handle >> com.acme.Order.*'
  sonde count 4711 com.acme.Pay.charge --when '$1.customer.tier == "gold" && $2 > 100'
  sonde trace 4711 com.acme.Shop.checkout --when '$elapsed > 200ms || $exception != null'
  sonde monitor 4711 com.acme.Pay.charge --tag 'tier=$1.tier at com.acme.Web.handle' --by-tag tier

Sonde checks a condition against the loaded classes before it changes anything. It runs as
bytecode in the method, and calls only getters that read and return.`

const timingHelp = `Every call of a hooked method is counted. --timing says which calls are timed.

  exact    every call, with two readings of the clock
  sampled  one call in N, chosen at random: --sample 1/N. Times are estimates, marked with ~
  none     none: calls are only counted, which costs least (sonde count)
  auto     as many as --budget allows; hooks that cost most and show least are thinned out or
           removed, and listed (sonde profile, its default)
  stacks   none: stacks are sampled by the kernel, and nothing enters the JVM (sonde profile)

A call of a hook costs some tens to hundreds of nanoseconds; Sonde measures that in the JVM and
prints it. --budget limits what the hooks of all commands may cost, as a part of the program's
CPU time.

After its classes were changed, a program runs slower until the JIT compilers have caught up.
Commands wait for that (--settle, --no-settle) before results begin.

A time such as --duration is 30s, 500ms or 2m; a number alone is seconds.`
