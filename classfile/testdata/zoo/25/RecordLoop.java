import java.util.List;

class RecordLoop {
    record Point(int x, int y) {}

    static int sum(List<?> points) {
        int sum = 0;
        for (Object o : points) {
            if (o instanceof Point(int x, int _)) {
                sum += x;
            }
        }
        return sum;
    }
}
