class Arithmetic {
    static double all(int i, long j, float f, double d, byte b, char c, short s, boolean z) {
        int[][][] cube = new int[i][2][];
        long[] longs = {1L, 0x7fffffffffffffffL};
        float[] floats = {0f, 1f, 2f, 3.5f};
        double[] doubles = {0d, 1d, Double.NaN};
        byte[] bytes = {1}; char[] chars = {'a'}; short[] shorts = {300}; boolean[] flags = {z};
        cube[0][1] = new int[] {i += 1000};
        for (i = 0; i < 70000; i += 40000) {
            longs[0] += j << i >>> 3 >> 1 ^ ~j | j & 5 % (j + 1);
            floats[1] = f % 2 - -f * floats[0]++;
            doubles[2] = d > f ? d / 3 : (double) (float) (long) d;
            bytes[0] += b; chars[0] ^= c; shorts[0] = (short) (s - c); flags[0] |= i <= s;
        }
        return longs[0] + floats[1] + doubles[2] + bytes[0] + chars[0] + shorts[0] + (flags[0] ? 1 : 0);
    }
}
