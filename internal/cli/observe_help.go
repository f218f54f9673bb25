package cli

const observeLong = `Find out which methods of a program are worth a probe, and propose a file of probes
for sonde apply, with a reason on each line, inside a budget.

Of a JVM, by its PID:
  samples   are taken first, with nothing changed in the program: the flight recorder
            is started over the attach socket, as sonde hot does; thread dumps show
            where threads wait for locks, the network and files
  code      class files say what methods have to do with, themselves or through small
            methods they call: databases, HTTP, messages, the network, files, locks,
            and by which of them requests come in
  calls     of the candidates are counted for the rest of the time, in half of it with
            hooks in what would be proposed alone: they go in and out in one batch each;
            what is called too often is counted only for an instant
Then methods are chosen whose probes together stay inside --budget, by calls a second,
what a timed call costs in this JVM (measured), and the program's processor time: first
those that cover most for what they cost, then those in which threads wait, then those
that tell most apart. Where requests come in, and what asks databases, comes before
what is deep inside. Where it takes that to cover more, all calls of a method are
counted and one in 16 is timed.

Coverage is the share of all samples, of the program's threads that run, in whose stack
a method with a probe stands above the leaf. Methods whose calls did not end while they
were counted, such as a server's loop, cover nothing. What is not covered is told.

With --apply the probes are applied for --for, what they cost and cover is measured,
and they are taken out again; sonde apply PID -f FILE has them stay.

Of jars, folders or class files there is only the code: methods that take requests or
call databases, the network, files or locks are proposed, those of a class in one line.
Nothing ran, so how often they are called is not known, and no budget can be kept.

The file goes to -o, or to standard output, and may be edited. Columns of the table:

SAMPLES  share of samples in whose stack the method is
CALLS/S  while calls were counted
MEAN     time of a call, with what it waited
COST     expected, of the program's processor time
WHY      covers: time that no line before covers; splits: tells parts of it apart;
         waits: threads wait in it; nature: by what it calls; request: it takes some

Exit code: 0 when probes are proposed, 1 on an error or when there are none, 2 for a
wrong command line.`

const observeExamples = `  sonde observe 4711 -o probes.yaml
  sonde observe 4711 --for 1m --budget 1% -o probes.yaml
  sonde observe 4711 --apply
  sonde observe 4711 | sonde apply 4711 -f -
  sonde observe app.jar lib/dao.jar -o probes.yaml`
