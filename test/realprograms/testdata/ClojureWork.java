import clojure.java.api.Clojure;
import clojure.lang.IFn;

/** Evaluates Clojure each round: functions become classes, each by a loader of its own. */
final class ClojureWork implements RealProgram.Work {
    private static final String FORM = """
            (do (defn fib [n] (loop [a 0N b 1N n n] (if (zero? n) a (recur b (+ a b) (dec n)))))
                (defprotocol Area (area [this]))
                (defrecord Square [side] Area (area [this] (* side side)))
                (defmulti kind class) (defmethod kind String [_] "text") (defmethod kind :default [_] "other")
                (str (mapv fib (range 60)) "\\n"
                     (reduce + (map area (map ->Square (range 200)))) "\\n"
                     (into (sorted-map) (frequencies (map #(mod (* % 7919) 13) (range 500)))) "\\n"
                     (mapv kind ["a" 1]) "\\n"
                     (try (/ 1 0) (catch ArithmeticException e (.getMessage e))) "\\n"))
            """;
    private static final IFn LOAD = Clojure.var("clojure.core", "load-string");

    @Override
    public String round() {
        synchronized (ClojureWork.class) { // definitions are the program's, not the thread's
            return (String) LOAD.invoke(FORM);
        }
    }
}
