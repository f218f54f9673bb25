package cli

const packLong = `Weave the probes of probes.yaml into the classes of an application beforehand, without
running it, and write a pack. A JVM that is started with the agent and the pack takes
its classes from there as they load: no Sonde need be there, and nothing is woven at
start-up.

  sonde agent-jar sonde-agent.jar
  java -javaagent:sonde-agent.jar=pack=app.pack -jar app.jar

What is measured goes to a file (arena=FILE; /tmp/sonde-PID-….arena, with a name nobody
can guess, where nothing is said), which sonde report and sonde attach read, also while
the program runs.

Jars, wars and directories are only read, signed ones as well; the pack holds what
differs, and a class gets it only where its bytes are those that were packed. A class
that differs is loaded as it is, counted and named. Jars inside jars (BOOT-INF/lib,
WEB-INF/lib) are looked into, and every version of a multi-release jar is packed.

Which classes are packed weave: in the file says; sonde plan shows it. Beforehand
nobody knows which classes will load, nor of which version, so a condition may read
fields, and call getters of the class the hook stands in alone, where no class could
override them: the bytes of that class are compared when it loads. Levels trace and
capture need a Sonde that reads, and are refused. Results by tags or callers tell 256
values apart, and count the rest as (other).

Woven classes are kept in the cache: packing again weaves nothing, and live commands
find what was packed. The same classes and the same file make the same pack, byte for
byte.

Exit code: 0 when the pack was written, 1 on an error or where nothing would be in it,
2 for a wrong command line or file.`

const packExamples = `  sonde pack app.jar --probes probes.yaml -o app.pack
  sonde pack app.war lib/*.jar --probes probes.yaml -o app.pack --strict
  sonde pack show app.pack --classes
  sonde pack verify app.pack app.jar`

const packShowLong = `Show what a pack holds: what it was made of, by which Sonde and for which agent, how
many classes and methods, and what was left alone.

--classes  each class with its methods
--spots    each hook: probe, sequence, method and id
--left     all that is left alone, with the reasons
--probes   the file of probes as it was, and nothing else`

const packVerifyLong = `Check a pack: its checksums, that its parts fit each other, and that it is made for the
agent of this Sonde. With jars, wars or directories also whether the classes in the pack
are the ones there, a class that differs would be loaded as it is, and that the woven
classes can be made of them.

Exit code: 0 when all is well, 1 where something is not, 2 for a wrong command line.`
