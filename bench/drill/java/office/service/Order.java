package office.service;

/** An order as the services know it. */
public record Order(String kind, String tenant, int customer, int weight, String address, boolean annual) {
}
