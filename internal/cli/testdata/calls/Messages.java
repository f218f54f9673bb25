package calls;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.Semaphore;
import javax.jms.Connection;
import javax.jms.Message;
import javax.jms.MessageConsumer;
import javax.jms.MessageListener;
import javax.jms.MessageProducer;
import javax.jms.Queue;
import javax.jms.Session;
import javax.jms.Topic;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.activemq.broker.BrokerService;

/** A broker, and its clients. A line "work N" sends and gets all messages N times, one after the other. */
public final class Messages {
    private static final String SECRET = "hunter2";
    private static final Semaphore HANDLED = new Semaphore(0);

    private Messages() {
    }

    /** A listener that is a class; the other one is a lambda. */
    private static final class Orders implements MessageListener {
        @Override
        public void onMessage(Message message) {
            HANDLED.release();
        }
    }

    public static void main(String[] args) throws Exception {
        BrokerService broker = new BrokerService();
        broker.setBrokerName("calls");
        broker.setPersistent(false);
        broker.setUseJmx(false);
        broker.setAdvisorySupport(false);
        broker.setUseShutdownHook(false);
        broker.setDataDirectory(args[0]);
        broker.start();
        Connection connection = new ActiveMQConnectionFactory("vm://calls?create=false").createConnection();
        Session listening = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Queue orders = session.createQueue("orders");
        Topic news = session.createTopic("news");
        Queue bills = session.createQueue("bills");
        listening.createConsumer(orders).setMessageListener(new Orders());
        listening.createConsumer(news).setMessageListener(message -> HANDLED.release());
        MessageConsumer consumer = session.createConsumer(bills);
        MessageProducer toOrders = session.createProducer(orders);
        MessageProducer toBills = session.createProducer(bills);
        MessageProducer toAny = session.createProducer(null);
        connection.start();
        for (int i = 0; i < 2; i++) {
            round(session, toOrders, toAny, news, toBills, consumer);
        }
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int rounds = Integer.parseInt(line.substring("work ".length()));
            for (int i = 0; i < rounds; i++) {
                round(session, toOrders, toAny, news, toBills, consumer);
            }
            System.out.println("did " + rounds);
        }
        System.exit(0);
    }

    private static void round(Session session, MessageProducer toOrders, MessageProducer toAny, Topic news, MessageProducer toBills,
            MessageConsumer consumer) throws Exception {
        Message message = session.createTextMessage(SECRET + "-body");
        message.setStringProperty("token", SECRET + "-property");
        toOrders.send(message);
        toAny.send(news, message);
        HANDLED.acquire(2);
        toBills.send(message);
        if (consumer.receive() == null || consumer.receiveNoWait() != null) {
            throw new IllegalStateException("there must be one message");
        }
    }
}
