package cli

const attachLong = `Show what a pack in a running JVM measures, as it happens. The program was started
with -javaagent:sonde-agent.jar=pack=FILE (sonde env prints it), so that its classes
were woven as they loaded, without a Sonde. The arena that the agent writes is found by
the notice it has left; the JVM is not asked, and nothing is changed: this ends with
Ctrl-C as it began. The table is that of sonde monitor, with a row for each probe, or
--by method for each method, and the same keys. The first interval begins now;
--once tells all since the program began, as sonde report does, in its order.

What the pack could not weave is said at the beginning: classes whose bytes are not those
that were packed, or that load by a class loader that does not see the hooks.

--weave has this Sonde watch the JVM in place of the pack: the pack is taken out, as
sonde undo does, and its probes, or those of -f, are applied as sonde apply does, also
to classes that differ from the pack's. What the pack has measured stays in its
arena: sonde report tells it. When the command ends the JVM has no hooks any more, and
the pack comes back when the program is started again.

Exit code: 0 when there is a result, 1 on an error, 2 for a wrong command line.`

const attachExamples = `  sonde attach 4711
  sonde attach 4711 --by method --sort p99 --for 1m
  sonde attach 4711 --once --sort mean
  sonde attach 4711 --json | jq '.total.callsPerSecond'
  sonde attach 4711 --weave --for 10m
  sonde attach 4711 --weave -f more.yaml`
