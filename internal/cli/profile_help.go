package cli

const profileLong = `Measure all that is called, directly or not, by the methods of --root while they
run: a tree of calls and a list of methods by their own time. Hooks go only into
what can be called from there; methods called from elsewhere cost a load and a
branch. When the command ends, by Ctrl-C, --duration or --calls, all of it is
taken out again and the result stays. A Sonde that is killed leaves nothing
either: its hooks go by themselves.

Every call is counted, and counts are exact. What measuring costs is measured in
the program itself, again and again, and subtracted; ± says how far from each time
the truth may be.

Timing
  auto     counts every call of a hook and times as many as the --budget allows;
           hooks that cost most and tell least are thinned, switched off or left
           out, by name, and their time is with their callers
  exact    every call is timed
  sampled  one call in --period is timed, by chance, with its callees; times are
           estimates, marked with ~

Scheme
  lazy     what a method calls gets hooks when it is first entered, while that call
           waits, for --wait at most; calls that went on without are marked
  eager    all that can be reached gets hooks at once
The default is what costs the program less; the report says why.

The first seconds after hooks went in a program runs slower, until its compilers
have caught up: where there is enough behind it, figures are of the time since, and
the report says so. --whole has everything, --start and --calls too.

Followed are all classes but the JDK's; --into 'java.util.**' follows some of
those as well, --skip '**.Log.*' leaves some out, their time with their callers.
A root whose class is not loaded yet is caught when it loads.

With --start the command behind -- is started and measured from its first
instruction, main included: --root com.acme.Main.main. Standard output is the
program's, the report goes to standard error; Ctrl-C ends the program, and what
was measured stays. Of a command that is not java the first JVM is measured.

The report is written at the end; -o writes it to files as well, in the format
their names say: .html to look at in a browser, .pb.gz for go tool pprof,
.collapsed for flame graphs, .json for sonde diff and programs, .txt.

Patterns are those of sonde count:
  com.acme.Shop.checkout  'com.acme.**.handle*'  'com.acme.Cart.add(int, ..)'

Exit code: 0 when there is a result, 1 on an error or when the root was never
called, 2 for a wrong command line.`
