package cli

const monitorLong = `Watch methods of a running JVM. Hooks are put into the methods that match, also of
classes that load later, and what they did is told at each interval. When the
command ends, by Ctrl-C, --for or --calls, all of it is taken out again and a summary of
the whole time stays. A Sonde that is killed leaves nothing either.

CALLS    calls begun in the interval, every one of them; ≥ where HotSpot may replace the
         method by an intrinsic: calls made from compiled code are then not counted
CALLS/S  the same, a second
ERRORS   calls that ended with an exception
MEAN     time of a call that ended in the interval; of a method that calls itself
         the outermost call's counts
P50 P90  times that half of the calls, 9 of 10, 99 of 100 did not exceed, to 6 %;
P99      they are made of the times of calls, not of averages
MAX      the longest, to 6 % where there was a longer one before
RUNNING  threads that are in such a call now: it has begun and not ended
STALLED  of those, the ones that have been in it for longer than --stall

What the clock itself takes is measured in the JVM and taken off all times; below
50 ns nothing is said. Calls that call other hooked methods often hold the time of
those hooks. RUNNING and STALLED are read from memory that Sonde shares with the
JVM, which is not asked and may hang. Of calls inside one another the outermost
counts. Calls that had begun before the hooks were in are not seen.

Each pattern has a row, and a method counts for every pattern that names it; --by
method has a row for each method. The last row, total, has each call once.
Patterns are those of sonde instrument; a leading ! takes methods out:
  com.acme.**  com.acme.Order.pay  '**.Service.*'  '!**.get*'

` + contextLong + `

--sample k times one call in k, by chance, which costs less. CALLS and ERRORS are
exact all the same; times, marked with ~, are of the calls that were timed;
RUNNING and STALLED see only those, and are marked with ≥.

On a terminal the table is drawn in its place:
Keys  c, e, m, 9, r, n  sort by calls, errors, mean, P99, running, name
      g                 rows by pattern or by method
      /                 filter, Enter keeps it, Esc clears it
      p                 pause            q  quit, as Ctrl-C
Elsewhere each row that has something to tell is a line at each interval.

With --json one object is written at each interval, on its line; the last, with
"final":true, is about the whole time. Counts of all others add up to it.

For Prometheus (text format 0.0.4) --prometheus writes a file, whole or not at all,
as the node exporter's textfile collector reads; --listen serves /metrics. Both
tell all since the beginning, with a histogram of times:
  sonde_calls_total  sonde_call_errors_total  sonde_call_seconds
  sonde_calls_running  sonde_calls_stalled  sonde_call_oldest_seconds
  sonde_calls_lost_total  sonde_monitor_up  sonde_calls_lower_bound (what ≥ marks)
Rows by context have labels within, callers and tag_NAME as well.
When the command ends the file stays, with sonde_monitor_up at 0. Whoever reaches
the address of --listen reads the names of methods and their figures. With --by
method each method is some 35 series.

Exit code: 0 when there is a result, 1 on an error, 2 for a wrong command line.`
