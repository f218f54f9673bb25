package tenants.web;

/** What a visitor gets, and how long it took to find. */
record Answer(String text, long nanos) {
}
