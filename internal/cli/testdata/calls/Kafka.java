package calls;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's producer and consumer, and as much of a broker as they need: one topic with one partition. A line "work N"
 * sends and polls N records, one after the other.
 */
public final class Kafka {
    private static final String SECRET = "hunter2";
    private static final String TOPIC = "orders";

    private Kafka() {
    }

    /** Speaks the oldest versions of requests that the clients know, which are the simplest ones. */
    private static final class Broker extends Thread {
        private static final short PRODUCE = 0;
        private static final short FETCH = 1;
        private static final short METADATA = 3;
        private static final short VERSIONS = 18;
        private static final List<byte[]> BATCHES = new ArrayList<>();
        private final Socket socket;
        private final int port;

        Broker(Socket socket, int port) {
            this.socket = socket;
            this.port = port;
            setDaemon(true);
        }

        @Override
        public void run() {
            try (DataInputStream in = new DataInputStream(socket.getInputStream()); DataOutputStream out = new DataOutputStream(socket.getOutputStream())) {
                while (true) {
                    byte[] request = new byte[in.readInt()];
                    in.readFully(request);
                    byte[] answer = answer(ByteBuffer.wrap(request));
                    out.writeInt(answer.length);
                    out.write(answer);
                    out.flush();
                }
            } catch (EOFException ended) {
                // The client has closed the connection.
            } catch (IOException | InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        private byte[] answer(ByteBuffer request) throws IOException, InterruptedException {
            short kind = request.getShort();
            request.getShort();
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            out.writeInt(request.getInt());
            text(request); // of the client
            switch (kind) {
                case VERSIONS -> versions(out);
                case METADATA -> metadata(out);
                case PRODUCE -> produce(request, out);
                case FETCH -> fetch(request, out);
                default -> throw new IOException("a request of kind " + kind);
            }
            return bytes.toByteArray();
        }

        private static String text(ByteBuffer from) {
            byte[] text = new byte[Math.max(0, from.getShort())];
            from.get(text);
            return new String(text, StandardCharsets.UTF_8);
        }

        private static void versions(DataOutputStream out) throws IOException {
            int[][] ranges = {{PRODUCE, 3, 3}, {FETCH, 4, 4}, {METADATA, 1, 1}, {VERSIONS, 0, 3}};
            out.writeShort(0);
            out.writeByte(ranges.length + 1);
            for (int[] range : ranges) {
                for (int part : range) {
                    out.writeShort(part);
                }
                out.writeByte(0);
            }
            out.writeInt(0);
            out.writeByte(0);
        }

        private void metadata(DataOutputStream out) throws IOException {
            out.writeInt(1);
            out.writeInt(0);
            out.writeUTF("127.0.0.1");
            out.writeInt(port);
            out.writeShort(-1);
            out.writeInt(0);
            out.writeInt(1);
            out.writeShort(0);
            out.writeUTF(TOPIC);
            out.writeByte(0);
            out.writeInt(1);
            out.writeShort(0);
            for (int part : new int[] {0, 0, 1, 0, 1, 0}) { // partition, leader, replicas, those in sync
                out.writeInt(part);
            }
        }

        /** Each batch has one record. */
        private static void produce(ByteBuffer request, DataOutputStream out) throws IOException {
            text(request);
            request.position(request.position() + 2 + 4 + 4);
            text(request);
            request.position(request.position() + 4 + 4);
            byte[] batch = new byte[request.getInt()];
            request.get(batch);
            long offset;
            synchronized (BATCHES) {
                offset = BATCHES.size();
                ByteBuffer.wrap(batch).putLong(offset);
                BATCHES.add(batch);
            }
            out.writeInt(1);
            out.writeUTF(TOPIC);
            out.writeInt(1);
            out.writeInt(0);
            out.writeShort(0);
            out.writeLong(offset);
            out.writeLong(-1);
            out.writeInt(0);
        }

        private static void fetch(ByteBuffer request, DataOutputStream out) throws IOException, InterruptedException {
            request.position(request.position() + 4 + 4 + 4 + 4 + 1);
            byte[] batch = {};
            int end;
            if (request.getInt() > 0) {
                text(request);
                request.position(request.position() + 4 + 4);
                long offset = request.getLong();
                synchronized (BATCHES) {
                    if (offset < BATCHES.size()) {
                        batch = BATCHES.get((int) offset);
                    }
                }
            }
            if (batch.length == 0) {
                Thread.sleep(5);
            }
            synchronized (BATCHES) {
                end = BATCHES.size();
            }
            out.writeInt(0);
            out.writeInt(1);
            out.writeUTF(TOPIC);
            out.writeInt(1);
            out.writeInt(0);
            out.writeShort(0);
            out.writeLong(end);
            out.writeLong(end);
            out.writeInt(-1);
            out.writeInt(batch.length);
            out.write(batch);
        }
    }

    public static void main(String[] args) throws Exception {
        ServerSocket server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
        Thread accepting = new Thread(() -> {
            try {
                while (true) {
                    new Broker(server.accept(), server.getLocalPort()).start();
                }
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
        accepting.setDaemon(true);
        accepting.start();
        String address = "127.0.0.1:" + server.getLocalPort();
        KafkaProducer<String, String> producer = new KafkaProducer<>(
                Map.of("bootstrap.servers", address, "enable.idempotence", false, "acks", "1"), new StringSerializer(), new StringSerializer());
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
                Map.of("bootstrap.servers", address, "client.id", "shop", "enable.auto.commit", false), new StringDeserializer(), new StringDeserializer());
        TopicPartition partition = new TopicPartition(TOPIC, 0);
        consumer.assign(List.of(partition));
        consumer.seek(partition, 0);
        for (int i = 0; i < 2; i++) {
            round(producer, consumer);
        }
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int rounds = Integer.parseInt(line.substring("work ".length()));
            for (int i = 0; i < rounds; i++) {
                round(producer, consumer);
            }
            System.out.println("did " + rounds);
        }
        System.exit(0);
    }

    private static void round(KafkaProducer<String, String> producer, KafkaConsumer<String, String> consumer) throws Exception {
        ProducerRecord<String, String> record = new ProducerRecord<>(TOPIC, SECRET + "-key", SECRET + "-value");
        record.headers().add("token", (SECRET + "-header").getBytes());
        producer.send(record).get();
        ConsumerRecords<String, String> records = ConsumerRecords.empty();
        while (records.isEmpty()) {
            records = consumer.poll(Duration.ofMillis(100));
        }
    }
}
