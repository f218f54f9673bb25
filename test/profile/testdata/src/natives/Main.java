package natives;

import java.lang.reflect.Array;
import ledger.Fixture;
import ledger.Ledger;

/**
 * Native methods of the JDK, which have no body to weave. All of these are native from JDK 17 to 25;
 * Thread.sleep and Object.wait are not.
 */
public final class Main extends Fixture {
    private static final String MAP = "java/lang/System.mapLibraryName(Ljava/lang/String;)Ljava/lang/String;";
    private static final String GET = "java/lang/reflect/Array.getInt(Ljava/lang/Object;I)I";
    private static final String NOTIFY = "java/lang/Object.notify()V";

    @Override
    public long round() {
        return root(3);
    }

    static long root(int times) {
        Ledger.Call call = Ledger.root("natives/Main.root(I)J");
        Ledger.count("java/lang/Runtime.availableProcessors()I");
        long sum = Runtime.getRuntime().availableProcessors() > 0 ? 1 : 0;
        for (int i = 0; i < times; i++) {
            sum += names(i) + arrays(i) + monitors() + heap();
        }
        return Ledger.out(call, sum);
    }

    private static long names(int i) {
        Ledger.Call call = Ledger.in("natives/Main.names(I)J");
        Ledger.count(MAP);
        long sum = System.mapLibraryName("name").length() + i;
        try {
            Ledger.threw(MAP, null);
            System.mapLibraryName(null);
        } catch (NullPointerException e) {
            sum++;
        }
        return Ledger.out(call, sum);
    }

    private static long arrays(int i) {
        Ledger.Call call = Ledger.in("natives/Main.arrays(I)J");
        int[] array = new int[i + 2];
        Ledger.count(GET);
        long sum = Array.getInt(array, 0);
        Ledger.count("java/lang/reflect/Array.setInt(Ljava/lang/Object;II)V");
        Array.setInt(array, 1, 5);
        try {
            Ledger.threw(GET, null);
            sum += Array.getInt("no array", 0);
        } catch (IllegalArgumentException e) {
            sum += array[1];
        }
        return Ledger.out(call, sum);
    }

    private static long monitors() {
        Ledger.Call call = Ledger.in("natives/Main.monitors()J");
        Object lock = new Object();
        long sum = 0;
        synchronized (lock) {
            Ledger.count("java/lang/Thread.holdsLock(Ljava/lang/Object;)Z");
            sum += Thread.holdsLock(lock) ? 1 : 0;
            Ledger.count(NOTIFY);
            lock.notify();
            Ledger.count("java/lang/Object.notifyAll()V");
            lock.notifyAll();
        }
        try {
            Ledger.threw(NOTIFY, null);
            lock.notify();
        } catch (IllegalMonitorStateException e) {
            sum++;
        }
        return Ledger.out(call, sum);
    }

    private static long heap() {
        Ledger.Call call = Ledger.in("natives/Main.heap()J");
        Ledger.count("java/lang/Runtime.freeMemory()J");
        Ledger.count("java/lang/Runtime.totalMemory()J");
        Runtime runtime = Runtime.getRuntime();
        return Ledger.out(call, runtime.freeMemory() <= runtime.totalMemory() ? 1 : 0);
    }
}
