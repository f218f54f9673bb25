import java.util.Arrays;
import java.util.List;

/** Variable arguments, overloads they compete with, arrays of every kind, generic array creation. */
public final class Varargs {
    static String which(int a, int b) {
        return "two";
    }

    static String which(int... all) {
        return "ints" + all.length;
    }

    static String which(String first, Object... rest) {
        return first + "objects" + (rest == null ? "null" : rest.length);
    }

    @SafeVarargs
    static <T> List<T> listOf(T... elements) {
        return Arrays.asList(elements.clone());
    }

    static long sum(long start, int... more) {
        for (int each : more) {
            start += each;
        }
        return start;
    }

    @SuppressWarnings("unchecked")
    static <T> T[] filled(int n, T value) {
        T[] array = (T[]) new Object[n];
        Arrays.fill(array, value);
        return array;
    }

    public static void main(String... args) {
        System.out.println(which(1, 2) + which() + which(1) + which(1, 2, 3) + which("a") + which("a", "b", 1)
                + which("a", (Object[]) null));
        System.out.println(listOf() + " " + listOf(1, "two", 3.0) + " " + sum(5) + " " + sum(5, 1, 2, 3));
        Object[] generic = Varargs.<Object>filled(3, "x");
        System.out.println(Arrays.toString(generic) + generic.getClass().getSimpleName());
        try {
            String[] wrong = Varargs.<String>filled(1, "x");
            System.out.println(wrong.length);
        } catch (ClassCastException e) {
            System.out.println("heap pollution found at line " + e.getStackTrace()[0].getLineNumber());
        }
        int[][][] cube = new int[2][3][];
        cube[1][2] = new int[] {1, 2, 3};
        System.out.println(Arrays.deepToString(cube) + cube[1][2].clone()[1]);
        long[][] jagged = {{1}, {2, 3}, {}};
        double total = 0;
        for (long[] row : jagged) {
            for (long cell : row) {
                total += cell / 2.0;
            }
        }
        boolean[] flags = new boolean[3];
        flags[1] |= true;
        char[] chars = "chars".toCharArray();
        chars[0]++;
        short[] shorts = {1, 2};
        shorts[1] += 70000;
        float[] floats = {1.5f};
        floats[0]--;
        byte[] bytes = {127};
        bytes[0]++;
        System.out.println(total + Arrays.toString(flags) + new String(chars) + shorts[1] + floats[0] + bytes[0]);
        Object covariant = new Integer[][] {{1, 2}, null};
        System.out.println(covariant instanceof Number[][] ? Arrays.deepToString((Object[]) covariant) : "no");
        System.out.println(int[].class + " " + String[][].class.getComponentType());
    }
}
