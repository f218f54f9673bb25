package sonde.agent.control;

import java.io.File;
import java.lang.instrument.Instrumentation;
import java.util.function.Consumer;

/**
 * The entry point for packs, called by the stub on the first thread of the program before it starts. It delays the program,
 * so everything that can wait is done later.
 */
public final class PackMain implements Consumer<Object[]> {
    /** Called by name. */
    public PackMain() {
    }

    /** The arguments: the instrumentation, the paths of pack and arena, the holder of this JVM, and the notice to write. */
    @Override
    public void accept(Object[] given) {
        @SuppressWarnings("unchecked")
        Consumer<String> notice = (Consumer<String>) given[4];
        File file = new File((String) given[1]).getAbsoluteFile();
        Tenure tenure = new Tenure((Object[]) given[3], "pack " + file);
        if (tenure.claim() != null) {
            return; // the agent was specified twice: the first pack is active
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
            HookClasses hookClasses = new HookClasses(build, instrumentation);
            Class<?> main = hookClasses.need();
            hooks = arenaFile.open();
            watch(pack, hooks);
            pack.drop();
            PackAccount account = new PackAccount(pack, hooks);
            PackWeaving weaving = new PackWeaving(pack, account, new PackSight(main), hooks);
            Arena arena = new Arena(hookClasses);
            arena.set(hooks);
            // If there is no such thread, nothing may be woven, because that thread removes the hooks.
            Threads.best().start(new PackUpkeep(instrumentation, weaving, arena, arenaFile, account, tenure, notice), "sonde-pack");
            instrumentation.addTransformer(weaving, true);
        } catch (Throwable t) {
            if (hooks != null) {
                hooks.off();
            }
            arenaFile.abandon();
            throw t;
        }
    }

    /** Enables the hooks of the pack. */
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
