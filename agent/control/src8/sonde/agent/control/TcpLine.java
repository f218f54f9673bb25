package sonde.agent.control;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;

/** A connection over the loopback, for JDKs without Unix sockets. */
final class TcpLine implements Line {
    private static final int CONNECT_MILLIS = 5000;

    private final Socket socket = new Socket();

    TcpLine(int port) throws IOException {
        try {
            socket.connect(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), port), CONNECT_MILLIS);
            socket.setTcpNoDelay(true);
        } catch (IOException e) {
            close();
            throw e;
        }
    }

    @Override
    public int read(byte[] into, int offset, int count) throws IOException {
        return socket.getInputStream().read(into, offset, count);
    }

    @Override
    public void write(byte[] from) throws IOException {
        socket.getOutputStream().write(from);
    }

    @Override
    public void endOutput() throws IOException {
        socket.shutdownOutput();
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException contained) {
            // The connection is not used any more.
        }
    }
}
