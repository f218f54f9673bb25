package cli

const envLong = `Print the environment by which every JVM that is started in it has Sonde's agent: with
--pack the agent weaves classes as they load, as the pack says, and measures, without a
Sonde; without, it waits until a sonde command names the JVM. Processes inherit the
variable, so that all JVMs of an application have it, however they are started.

JAVA_TOOL_OPTIONS is what JVMs read. What it holds already is kept, but for an
agent of Sonde's, which is replaced. Each JVM prints a line on its error stream that
says it has picked the variable up; nothing else is printed by it.

--only and --not say which programs are meant, by globs in which * is any run of
characters: of the main class (com.acme.*), of a jar's path (/opt/shop/*.jar) or of its
name (shop*.jar). With --only a program must match one of them, and with --not none.
One that is not meant starts as if there were no agent. They may be repeated.

--arena is where a pack's measurements go: a directory, in which each process has a
file sonde-PID.arena, or a file, in whose name %p is the process's number. A file
that is there is never written to: the program starts unwoven then. The default is
/tmp/sonde-PID-….arena. The directory must be one that the program can write to.

The agent's jar is put with this user's data (~/.local/share/sonde), by a name of its own
for each build of Sonde, and stays there. For programs of other users, or in containers,
--agent-dir names a directory that they can read: a JVM that cannot read the jar, or has
no module java.instrument, does not start, whatever --only and --not say. Other users
must not be able to write to the jar or the pack, nor to a directory on the way to them:
JVMs run what is in them.

Exit code: 0 when it was printed, 1 on an error, 2 for a wrong command line.`

const envExamples = `  eval "$(sonde env --pack shop.pack)" && ./start-shop.sh
  eval "$(sonde env --pack shop.pack --only 'com.acme.*' --not '*Tool' --arena /var/tmp/shop)"
  eval "$(sonde env --only 'shop*.jar')"
  sonde env --pack /opt/shop.pack --agent-dir /opt/sonde --shell dotenv >> shop.env
  sonde env --pack shop.pack --shell fish | source`
