/** boolean, byte, char and short: results and arguments keep exactly their own range. */
public final class Narrowing {
    static byte bytes(int n) {
        return (byte) n;
    }

    static char chars(int n) {
        return (char) n;
    }

    static short shorts(int n) {
        return (short) n;
    }

    static boolean booleans(int n) {
        return (n & 1) != 0;
    }

    static int widen(byte b, char c, short s, boolean z) {
        return b + c + s + (z ? 1 : 0);
    }

    static byte increment(byte b) {
        b++;
        b += 200;
        return b;
    }

    static char next(char c) {
        return ++c;
    }

    static short compound(short s) {
        s *= s;
        s >>>= 1;
        s ^= 0x5555;
        return s;
    }

    final byte[] cells = new byte[3];

    byte set(int i, int value) {
        return cells[i] = (byte) value;
    }

    static Object boxed(int kind) {
        switch (kind) {
            case 0: return bytes(200);
            case 1: return chars(-1);
            case 2: return shorts(70000);
            case 3: return booleans(3);
            default: return kind;
        }
    }

    public static void main(String[] args) {
        for (int n : new int[] {0, 1, -1, 127, 128, 255, 256, 32767, 32768, 65535, 65536, Integer.MIN_VALUE}) {
            System.out.print(bytes(n) + " " + (int) chars(n) + " " + shorts(n) + " " + booleans(n) + "; ");
        }
        System.out.println();
        System.out.println(widen((byte) -1, '\uffff', Short.MIN_VALUE, true));
        System.out.println(increment((byte) 127) + " " + (int) next('\uffff') + " " + compound((short) 300));
        System.out.println(new Narrowing().set(1, 511));
        for (int kind = 0; kind < 5; kind++) {
            Object box = boxed(kind);
            System.out.print(box.getClass().getSimpleName() + ":" + (box instanceof Character c ? (int) c : box) + " ");
        }
        System.out.println();
    }
}
