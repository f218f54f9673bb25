package sonde.agent.control;

import java.io.IOException;
import java.util.Properties;

/** Connects to Sonde as the session's file says. */
final class Lines {
    private Lines() {
    }

    static Line dial(Properties session) throws Exception {
        String socket = session.getProperty("socket");
        String port = session.getProperty("port");
        if (socket == null) {
            return new TcpLine(Integer.parseInt(port));
        }
        try {
            return ((Dialled) Class.forName("sonde.agent.control.UnixLine").newInstance()).dial(socket);
        } catch (UnsupportedClassVersionError e) {
            throw new IOException("this JDK has no Unix sockets", e);
        }
    }

    /** A connection that is created by class name and then gets its address. */
    interface Dialled {
        Line dial(String address) throws IOException;
    }
}
