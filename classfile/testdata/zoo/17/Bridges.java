import java.util.Comparator;
import java.util.concurrent.Callable;

class Bridges implements Comparator<String>, Callable<Integer> {
    @Override
    public int compare(String a, String b) {
        return a.length() - b.length();
    }

    @Override
    public Integer call() {
        return 1;
    }
}
