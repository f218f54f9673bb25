package sonde.agent.control;

/**
 * The layout of a pack's header (docs/formats/pack.md); a test in internal/weave/pack compares it. The compiler inlines the
 * constants, so this class is never loaded.
 */
final class PackHeader {
    static final int BYTES = 256;
    static final int FRONT_SUM = 8;
    /** The checksum covers everything from here on. */
    static final int SUMMED = 16;
    static final int LENGTH = 16;
    static final int BUILD = 24;
    static final int BUILD_BYTES = 32;

    static final int INDEX = 56;
    static final int INDEX_SLOTS = 60;
    static final int RECORDS = 64;
    static final int RECORDS_COUNT = 68;
    static final int NAMES = 72;
    static final int TABLE = 80;
    static final int TABLE_WORDS = 84;
    static final int ANCHORS = 88;
    static final int ANCHORS_COUNT = 92;
    static final int BRIDGES = 96;
    static final int BRIDGES_COUNT = 100;
    static final int DICTIONARY = 104;
    static final int DICTIONARY_BYTES = 108;
    static final int IMAGE = 112;
    static final int IMAGE_BYTES = 116;
    static final int DELTAS = 120;
    static final int DELTAS_BYTES = 124;

    static final int ARENA_LENGTH = 136;
    static final int ARENA_LIMIT = 140;

    /** From here on, numbers are offsets in the arena. */
    static final int AT_LIMIT = 148;
    static final int AT_NEXT = 152;
    static final int AT_EPOCH = 156;
    static final int AT_TARGET_PID = 160;
    static final int AT_TARGET_START = 164;
    static final int AT_OPENED_WALL = 168;
    static final int AT_COMMAND_LENGTH = 180;
    static final int AT_COMMAND = 184;
    static final int COMMAND_MOST = 188;
    static final int AT_WOVEN = 192;
    static final int AT_DIFFERS = 196;
    static final int AT_BLIND = 200;
    static final int AT_FAILED = 204;
    static final int AT_NAMES_USED = 208;
    static final int AT_TEXT = 212;
    static final int TEXT_MOST = 216;

    private PackHeader() {
    }
}
