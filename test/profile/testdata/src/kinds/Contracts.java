package kinds;

import java.util.concurrent.Callable;
import ledger.Ledger;

/** Interface methods: default, static, private, abstract; bridges of generics and of covariant results. */
final class Contracts {
    interface Sized<T extends Number> {
        T size();

        default long described() {
            Ledger.Call call = Ledger.in("kinds/Contracts$Sized.described()J");
            return Ledger.out(call, own() + ofInterface(size().longValue()));
        }

        default long overriddenDefault() {
            Ledger.count("kinds/Contracts$Sized.overriddenDefault()J");
            return 3;
        }

        static long ofInterface(long x) {
            Ledger.count("kinds/Contracts$Sized.ofInterface(J)J");
            return x * 2;
        }

        private long own() {
            Ledger.Call call = Ledger.in("kinds/Contracts$Sized.own()J");
            return Ledger.out(call, size().longValue() + 1);
        }
    }

    /** Inherits one default method and narrows another. */
    interface Named extends Sized<Integer> {
        @Override
        default long overriddenDefault() {
            Ledger.Call call = Ledger.in("kinds/Contracts$Named.overriddenDefault()J");
            return Ledger.out(call, Sized.super.overriddenDefault() + 10);
        }
    }

    static final class Square implements Sized<Integer>, Comparable<Square> {
        @Override
        public Integer size() {
            Ledger.count("kinds/Contracts$Square.size()Ljava/lang/Integer;");
            return 4;
        }

        @Override
        public long overriddenDefault() {
            Ledger.Call call = Ledger.in("kinds/Contracts$Square.overriddenDefault()J");
            return Ledger.out(call, Sized.super.overriddenDefault() + 1);
        }

        @Override
        public int compareTo(Square other) {
            Ledger.count("kinds/Contracts$Square.compareTo(Lkinds/Contracts$Square;)I");
            return 1;
        }
    }

    static final class Tag implements Named {
        @Override
        public Integer size() {
            Ledger.count("kinds/Contracts$Tag.size()Ljava/lang/Integer;");
            return 9;
        }
    }

    static final class Answer implements Callable<String> {
        @Override
        public String call() {
            Ledger.count("kinds/Contracts$Answer.call()Ljava/lang/String;");
            return "answer";
        }
    }

    private Contracts() {
    }

    static long work() throws Exception {
        Ledger.Call call = Ledger.in("kinds/Contracts.work()J");
        Square square = new Square();
        Sized<?>[] all = {square, new Tag(), square};
        Comparable<Square> comparable = square;
        Callable<?> callable = new Answer();
        long sum = 0;
        for (Sized<?> sized : all) {
            sum += sized.described() + sized.overriddenDefault();
            sum += comparable.compareTo(square) + square.compareTo(square);
            sum += callable.call().toString().length();
        }
        return Ledger.out(call, sum);
    }
}
