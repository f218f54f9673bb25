package tenants.web;

/** A company that uses the application. */
public record Tenant(int id, String name, String plan) {
}
