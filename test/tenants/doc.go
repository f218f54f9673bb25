// Package tenants has Sonde trace the slow requests of one tenant, and only those, of
// a web application in Tomcat, and the slow orders of premium customers in the demo's
// shop. What is slow, and whose it was, the programs and their visitors know
// themselves: requests are numbered and measured.
//
//	go test ./test/tenants
//	test/tenants/show
//
// The latter also opens what was traced in Perfetto's trace processor, and hands it to
// the OpenTelemetry Collector; it fetches both.
package tenants
