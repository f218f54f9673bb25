package cli

const planLong = `Show what would become of each class of an application that a probe, a sequence or a
tag of probes.yaml concerns, without running it: whether hooks are woven into it
beforehand, as it loads, later, or never, and why; how many of its methods get hooks,
and which are left alone for what reason. Nothing is written but the cache, where
the woven classes are kept for sonde pack (--no-cache keeps none).

static   sonde pack weaves it: the application starts with it, without a Sonde
load     a Sonde that is there weaves it as it loads (sonde run, sonde apply)
dynamic  sonde apply weaves it when it is loaded; so are all classes of the JDK, which
         are loaded before a pack can weave them
never    it gets no hooks
left     it is named, and nothing of it can be woven

The file says so in weave:, where the first rule counts that names a class; a class
that no rule names is packed, and woven by every other command:

  weave:
    - classes: com.acme.dao.**
      when: static
    - classes: ['com.acme.gen.**', '**.*$$*']
      when: never

Jars and wars are looked into with the jars inside them (BOOT-INF/lib, WEB-INF/lib);
of a multi-release jar every version of a class counts. Beforehand nobody knows which
classes will load, nor of which version: a condition may read fields, and call getters
of the class the hook stands in alone, where no class could override them (they are
final, private, or the class is, such as a record). Of the JDK what is known to be pure
by name is called: that of strings, enums, boxes and collections.

Exit code: 0 when the plan is shown, 1 on an error, 2 for a wrong command line or file.`

const planExamples = `  sonde plan app.jar --probes probes.yaml
  sonde plan app.war lib/*.jar --probes probes.yaml --all
  sonde plan classes app.jar --probes probes.yaml --jdk /opt/jdk-17 --json`
