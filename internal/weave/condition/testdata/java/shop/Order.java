package shop;

import java.util.List;
import java.util.Map;

public final class Order {
    public final Customer customer;
    public final Status status;
    public final int count;
    public final long total;
    public final float rate;
    public final double weight;
    public final char grade;
    public final byte small;
    public final short middle;
    public final boolean paid;
    public final String note;
    public final int[] numbers;
    public final String[] words;
    public final List<Line> lines;
    public final List<String> items;
    public final Map<String, Integer> counts;
    public final Map<String, Object> extras;
    public final Priced priced;
    public final Long boxed;
    public final Object any;
    public final Boolean maybe;
    public Lazy lazy;
    public Named named;
    public Specific.General general;
    public java.util.LinkedHashMap<String, String> linked;
    public static int made;

    public Order(Customer customer, Status status, int count, long total, float rate, double weight, char grade, byte small, short middle,
            boolean paid, String note, int[] numbers, String[] words, List<Line> lines, List<String> items, Map<String, Integer> counts,
            Map<String, Object> extras, Priced priced, Long boxed, Object any, Boolean maybe) {
        this.customer = customer;
        this.status = status;
        this.count = count;
        this.total = total;
        this.rate = rate;
        this.weight = weight;
        this.grade = grade;
        this.small = small;
        this.middle = middle;
        this.paid = paid;
        this.note = note;
        this.numbers = numbers;
        this.words = words;
        this.lines = lines;
        this.items = items;
        this.counts = counts;
        this.extras = extras;
        this.priced = priced;
        this.boxed = boxed;
        this.any = any;
        this.maybe = maybe;
    }
}
