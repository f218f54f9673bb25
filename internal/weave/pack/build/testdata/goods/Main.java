package goods;

/** Sells once, is ready, and sells again at each line of its input. */
public class Main {
    public static void main(String[] args) throws Exception {
        Store store = new Store();
        store.sell(new Item(1, 2), new Grade(3));
        System.out.println("ready");
        while (System.in.read() >= 0) {
            store.sell(new Item(1, 2), new Grade(3));
        }
    }
}
