package support;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What one thread did, in order, as the program's own methods say it, and the choices it makes next. An event is a
 * word with its kind in the lowest three bits:
 *
 * <pre>
 * EXIT    how many frames were left
 * ENTER   method, order, text, amount; two words follow: the call's number, and the weight of the object it is a method of
 * MADE    a task's number, with its form in the lowest five bits, which may be begun on any thread, or on several one after the other
 * BEGIN   a task's number: what this thread was doing is put aside
 * END     what it was doing goes on
 * CALLBACK  the JDK is called and calls back: frames that are nobody's, left like others
 * BORN    the constructor that runs has been through its super(...)
 * </pre>
 */
public final class Log {
    static final int EXIT = 0;
    static final int ENTER = 1;
    static final int MADE = 2;
    static final int BEGIN = 3;
    static final int END = 4;
    static final int CALLBACK = 5;
    static final int BORN = 6;

    private static final int DEEPEST = 28;
    private static final int MOST_LEVELS = 2;

    private static final ThreadLocal<Log> MINE = ThreadLocal.withInitial(Log::new);
    private static final List<Log> ALL = new ArrayList<>();

    private int[] words = new int[256];
    private int used;
    private int depth;
    private Strand strand = new Strand(1, 0, 0);
    private int number;
    private int lastNumber;

    private Log() {
    }

    public static Log mine() {
        return MINE.get();
    }

    /** Takes what all threads wrote. None of them may be at work. */
    static List<int[]> takeAll() {
        synchronized (ALL) {
            List<int[]> all = new ArrayList<>();
            for (Log log : ALL) {
                all.add(Arrays.copyOf(log.words, log.used));
                log.used = 0;
            }
            ALL.clear();
            return all;
        }
    }

    void take(Strand next) {
        strand = next;
    }

    public static Log enter(int method, int number, int amount, Order order, String text, int weight) {
        Log log = MINE.get();
        log.entered(method, number, amount, order, text, weight);
        return log;
    }

    /** For the arguments of super(...), where a constructor cannot say anything else yet; gives the number of that call. */
    public static int unborn(int method, int number, int amount, Order order, String text, int weight) {
        return enter(method, number, amount, order, text, weight).number();
    }

    /** The constructor that runs is behind its super(...). */
    public static Log born() {
        Log log = MINE.get();
        log.write(BORN);
        return log;
    }

    void entered(int method, int number, int amount, Order order, String text, int weight) {
        int where = order == null ? 0 : order.index + 1;
        write(ENTER | method << 3 | where << 13 | Order.indexOf(text) << 18 | amount << 22);
        write(number);
        write(weight);
        depth++;
        strand.left--;
    }

    public int depth() {
        return depth;
    }

    /** Leaves the frame that was entered as this depth, and what exceptions left in it. */
    public void exit(int at) {
        unwind(at - 1);
    }

    /** An exception was caught in the frame of this depth. */
    public void unwind(int at) {
        if (depth > at) {
            write(EXIT | depth - at << 3);
            depth = at;
        }
    }

    /** The JDK is called, and will call back. */
    public int callback() {
        write(CALLBACK);
        return ++depth;
    }

    /** Whether a call should be made that is made so often, of a hundred. */
    public boolean go(int percent) {
        return depth < DEEPEST && strand.left > 0 && strand.next(100) < percent;
    }

    /** Whether a method throws; none does that is not at work. */
    public boolean fails(int percent) {
        return strand.left > 0 && strand.next(100) < percent;
    }

    public int any(int bound) {
        return strand.next(bound);
    }

    public boolean mayHandOff(int percent) {
        return strand.level < MOST_LEVELS && strand.left > 40 && depth < DEEPEST && strand.next(100) < percent;
    }

    /** Whether it can wait for tasks: one that was handed over itself might wait for a thread of its own pool. */
    public boolean mayWait() {
        return strand.level == 0;
    }

    public int number() {
        if (number == lastNumber) {
            number = Work.numbers();
            lastNumber = number + Work.NUMBERS;
        }
        return number++;
    }

    public int amount() {
        return strand.next(100);
    }

    public Order order() {
        return Order.at(strand.next(Order.COUNT + 2));
    }

    public String text() {
        return Order.text(strand.next(Order.TEXTS + 1));
    }

    public Task made(int form) {
        Task task = new Task(strand.part(), form);
        write(MADE | task.number << 3);
        return task;
    }

    Strand begin(int task, Strand next) {
        write(BEGIN | task << 3);
        depth++;
        Strand was = strand;
        strand = next;
        return was;
    }

    void end(int at, Strand was) {
        unwind(at);
        write(END);
        depth = at - 1;
        strand = was;
    }

    boolean isAtWork() {
        return strand.left > 0;
    }

    private void write(int word) {
        if (used == 0) {
            synchronized (ALL) {
                ALL.add(this);
            }
        }
        if (used == words.length) {
            words = Arrays.copyOf(words, 2 * used);
        }
        words[used++] = word;
    }
}
