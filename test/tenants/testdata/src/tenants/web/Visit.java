package tenants.web;

/** A request, as far as it matters; numbers are the visitor's own, -1 if there is none. */
record Visit(int number, Tenant tenant, String service) {
}
