package tenants.service;

import tenants.web.Tenant;

/** Something that tenants ask for. */
public interface Service {
    String answer(Tenant tenant);
}
