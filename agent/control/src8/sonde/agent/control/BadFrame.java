package sonde.agent.control;

import java.io.IOException;

/** What came is not what the protocol allows: whoever sent it is not to be trusted with this JVM. */
final class BadFrame extends IOException {
    private static final long serialVersionUID = 1;

    BadFrame(String defect) {
        super(defect);
    }
}
