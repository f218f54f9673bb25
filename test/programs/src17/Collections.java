import java.util.AbstractList;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.TreeMap;

/** Classes that library code calls back: iterators, comparators, hash codes, views, a cache that evicts. */
public final class Collections {
    static final class Range implements Iterable<Integer> {
        final int from;
        final int to;

        Range(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override
        public Iterator<Integer> iterator() {
            return new Iterator<>() {
                int next = from;

                @Override
                public boolean hasNext() {
                    return next < to;
                }

                @Override
                public Integer next() {
                    if (!hasNext()) {
                        throw new NoSuchElementException("after " + to);
                    }
                    return next++;
                }
            };
        }
    }

    static final class Key implements Comparable<Key> {
        final String text;

        Key(String text) {
            this.text = text;
        }

        @Override
        public int hashCode() {
            return text.length();
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Key && ((Key) other).text.equalsIgnoreCase(text);
        }

        @Override
        public int compareTo(Key other) {
            return text.compareToIgnoreCase(other.text);
        }

        @Override
        public String toString() {
            return "'" + text + "'";
        }
    }

    static final class Squares extends AbstractList<Long> {
        @Override
        public Long get(int index) {
            return (long) index * index;
        }

        @Override
        public int size() {
            return 12;
        }
    }

    static final class Cache<K, V> extends LinkedHashMap<K, V> {
        Cache() {
            super(16, 0.75f, true);
        }

        @Override
        protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
            return size() > 3;
        }
    }

    public static void main(String[] args) {
        int sum = 0;
        for (int n : new Range(1, 101)) {
            sum += n;
        }
        System.out.println(sum);
        try {
            new Range(0, 0).iterator().next();
        } catch (NoSuchElementException e) {
            System.out.println(e.getMessage());
        }
        Map<Key, Integer> hashed = new HashMap<>();
        Map<Key, Integer> sorted = new TreeMap<>();
        for (String word : "the quick The fox QUICK jumps Fox over".split(" ")) {
            hashed.merge(new Key(word), 1, Integer::sum);
            sorted.merge(new Key(word), 1, Integer::sum);
        }
        System.out.println(hashed.size() + " " + sorted);
        System.out.println(new Squares().subList(3, 7) + " " + new Squares().indexOf(81L) + " " + new Squares().hashCode());
        Cache<String, Integer> cache = new Cache<>();
        for (String key : "a b c a d e a f".split(" ")) {
            cache.put(key, cache.size());
        }
        System.out.println(cache);
        Deque<Integer> stack = new ArrayDeque<>();
        for (String token : "3 4 + 2 * 7 -".split(" ")) {
            switch (token) {
                case "+": stack.push(stack.pop() + stack.pop()); break;
                case "*": stack.push(stack.pop() * stack.pop()); break;
                case "-": stack.push(-stack.pop() + stack.pop()); break;
                default: stack.push(Integer.valueOf(token));
            }
        }
        System.out.println(stack);
    }
}
