package p;

public class Service implements Runnable {
    @Override
    public void run() {}
}
