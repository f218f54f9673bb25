package sonde.agent.control;

import java.io.File;
import java.lang.instrument.Instrumentation;
import java.util.function.Consumer;

/**
 * Where the stub hands a pack over, before the program begins, on its first thread. All it costs is the program's time, so
 * nothing is done here that can wait.
 */
public final class PackMain implements Consumer<Object[]> {
    /** Called by name. */
    public PackMain() {
    }

    /** Gets the instrumentation, the paths of pack and arena, who holds this JVM, and who is told what became of it. */
    @Override
    public void accept(Object[] given) {
        @SuppressWarnings("unchecked")
        Consumer<String> notice = (Consumer<String>) given[4];
        File file = new File((String) given[1]).getAbsoluteFile();
        Tenure tenure = new Tenure((Object[]) given[3], "pack " + file);
        if (tenure.claim() != null) {
            return; // the agent was named twice: the first one's pack is in
        }
        try {
            begin((Instrumentation) given[0], file, (String) given[2], tenure, notice);
        } catch (Throwable t) {
            tenure.release();
            notice.accept("\n" + Refusal.reason(t));
        }
    }

    private static void begin(Instrumentation instrumentation, File file, String arenaPath, Tenure tenure,
            Consumer<String> notice) throws Exception {
        Build build = new Build(PackMain.class.getClassLoader());
        PackFile pack = new PackFile(file, build.id);
        PackArena arenaFile = new PackArena(pack);
        arenaFile.make(arenaPath, "pack " + file);
        Hooks hooks = null;
        try {
            HookClasses hookClasses = new HookClasses(build, instrumentation, new ModuleDefiner());
            Class<?> main = hookClasses.need();
            hooks = arenaFile.open();
            watch(pack, hooks);
            pack.drop();
            PackAccount account = new PackAccount(pack, hooks);
            PackWeaving weaving = new PackWeaving(pack, account, new PackSight(main), hooks);
            Arena arena = new Arena(hookClasses);
            arena.set(hooks);
            // Where it cannot be had, nothing may be woven: it takes the hooks out.
            new BareThreads().start(new PackUpkeep(instrumentation, weaving, arena, arenaFile, account, tenure, notice), "sonde-pack");
            instrumentation.addTransformer(weaving, true);
        } catch (Throwable t) {
            if (hooks != null) {
                hooks.off();
            }
            arenaFile.abandon();
            throw t;
        }
    }

    /** Has the hooks do what the pack says. */
    private static void watch(PackFile pack, Hooks hooks) {
        String[] members = new String[pack.number(PackHeader.ANCHORS_COUNT)];
        int[] positions = new int[members.length];
        int at = pack.number(PackHeader.ANCHORS);
        for (int i = 0; i < members.length; i++) {
            positions[i] = pack.number(at);
            members[i] = pack.text(at + 4);
            at = pack.endOfText(at + 4);
        }
        String[] bridges = new String[pack.number(PackHeader.BRIDGES_COUNT)];
        at = pack.number(PackHeader.BRIDGES);
        for (int i = 0; i < bridges.length; i++) {
            bridges[i] = pack.text(at);
            at = pack.endOfText(at);
        }
        if (pack.number(PackHeader.TABLE_WORDS) > 0) {
            int words = pack.number(PackHeader.TABLE_WORDS);
            hooks.watches(pack.front(), pack.number(PackHeader.TABLE), words, members, positions, bridges);
        }
    }
}
