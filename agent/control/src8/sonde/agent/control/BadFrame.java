package sonde.agent.control;

import java.io.IOException;

/** An input that the protocol does not allow: its sender must not be trusted. */
final class BadFrame extends IOException {
    private static final long serialVersionUID = 1;

    BadFrame(String defect) {
        super("invalid frame: " + defect);
    }
}
