/** The template of generated classes that override a method. */
public class S0_000000_00 extends Churn.Base {
    public long value(long n) {
        return n ^ 3;
    }
}
