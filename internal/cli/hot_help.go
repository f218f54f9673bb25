package cli

const hotLong = `Show where a running JVM spends its time, as top shows processes. The JVM's own
flight recorder takes the samples, 50 a second of each thread that runs, and Sonde
reads them while they are written: no agent is loaded and no hook put in. When
the command ends its recording is stopped, and its files are gone. A Sonde that
is killed leaves a recording that ends by itself within 10 minutes; the next sonde
hot of that JVM, or sonde undo, stops it before.

SELF    the part of all samples that has the method on top
95 %    where the true part lies in 19 of 20 cases
TOTAL   the part in which the method, or anything it called, ran
KIND    how most of its own samples ran: interpreted, compiled, inlined into
        their caller, or native
LINE    the line most of its own samples were at
CPU     with --threads: processor time of the thread, from the kernel

Samples count threads that run. A thread in native code may as well wait there:
methods known to wait, such as EPoll.wait, do not count; others share what
processor time their thread used beyond what its Java code accounts for.

Recordings of others go on undisturbed, but hold Sonde's samples, too, while both
run. Where no recorder can be read (before JDK 17, in images without jdk.jfr, with
-XX:-FlightRecorder) Sonde takes thread dumps instead: ten a second at most, marked
as biased, because they see threads only at safepoints.

On JDK 17 to 20 Sonde takes thread dumps, too, unless the JVM has recorded before:
starting the recorder redefines classes of the JDK, which makes HotSpot discard all
compiled code, so that samples show the interpreter. --recorder starts it all the
same. On every JDK the first start loads some 700 classes.

Keys  s, t, n  sort by self, total, name    h  threads or methods
      /        filter, Enter keeps it, Esc clears it
      p        pause                        q  quit, as Ctrl-C

Without a terminal it behaves as with --once. With --json one object is written;
with --interval as well, one at each interval, each on its line.

Exit code: 0 when there is a result, 1 on an error or when nothing ran, 2 for a
wrong command line.`
