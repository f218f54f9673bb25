package cli

const reportLong = `Tell what the agent of a pack has measured, of a JVM that runs or one that has ended.
All there is to tell is in the arena, a file that the agent has made beside the
program: its default is /tmp/sonde-PID-….arena, and arena=FILE in the agent's option
names another. The JVM is not asked, and nothing is changed. Arenas of sonde count
and the like can be read so, too.

With a process's number the arena is found by the agent's notice, or where it has
ended among those in /tmp. The pack says which probes were meant and how tags are
called: a JVM that runs tells its path, else --pack does.

CALLS    calls begun, every one of them; calls of what has not loaded are none
TOTAL    time of all calls; of a method that calls itself the outermost calls count
SELF     the same without calls of other methods that have hooks
MEAN     time of one call, of those that were timed and have ended
P99      what 99 of 100 calls did not exceed, to 6 %
MAX      the longest
THREW    calls that ended with an exception
RUNNING  calls that have begun and not ended

Times hold what the clock takes, and with ~ are of the calls that were timed: their
sum is made up for all. A probe's SELF adds up what is its methods' own. Calls that
were under way when the JVM ended, or the hooks went out, are counted, and their time
is not known. What is said of classes is that of the pack: those that were woven as they
loaded, and those that were not, as their bytes are not those that were packed, their
class loader does not see the hooks, or something else was the matter.

Exit code: 0 when there is a result, 1 on an error, 2 for a wrong command line.`

const reportExamples = `  sonde report /var/log/shop.arena --pack shop.pack
  sonde report 4711
  sonde report 4711 --sort mean --top 10
  sonde report shop.arena --json | jq '.methods[] | select(.calls > 1000) | .method'`
