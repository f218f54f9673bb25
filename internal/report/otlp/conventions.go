package otlp

import (
	"strings"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
)

// describe gives the span of a call that goes out of the program the kind, name and attributes of OpenTelemetry's
// semantic conventions.
func describe(span *tracepb.Span, c *trace.Call) {
	about := (*attributeList)(&span.Attributes)
	switch c.Category {
	case categories.Databases:
		span.Kind = tracepb.Span_SPAN_KIND_CLIENT
		about.text("db.system.name", systemOf(c.Class, databases, "other_sql"))
		if operation, _, _ := strings.Cut(c.Target, " "); operation != "" {
			span.Name = valid(strings.ToUpper(operation))
			about.text("db.operation.name", strings.ToUpper(operation))
			about.text("db.query.text", c.Target)
		}
	case categories.Web:
		span.Kind = tracepb.Span_SPAN_KIND_CLIENT
		verb, host, isBoth := strings.Cut(c.Target, " ")
		if span.Name = valid(verb); isBoth {
			about.text("http.request.method", verb)
		} else {
			span.Name, host = "HTTP", c.Target
		}
		if host != "" {
			about.text("server.address", host)
		}
	case categories.Messaging:
		operation := "receive"
		if span.Kind = tracepb.Span_SPAN_KIND_CONSUMER; strings.HasPrefix(c.Method, "send") {
			operation, span.Kind = "send", tracepb.Span_SPAN_KIND_PRODUCER
		}
		span.Name = valid(strings.TrimSpace(operation + " " + c.Target))
		about.text("messaging.system", systemOf(c.Class, brokers, "jms"))
		about.text("messaging.operation.name", operation)
		about.text("messaging.operation.type", operation)
		if c.Target != "" {
			about.text("messaging.destination.name", c.Target)
		}
	}
}

// A system is the name of the conventions for what the classes of a package speak to.
type system struct{ prefix, name string }

var (
	databases = []system{
		{"org.h2.", "h2database"}, {"org.postgresql.", "postgresql"}, {"com.mysql.", "mysql"}, {"org.mariadb.", "mariadb"}, {"oracle.", "oracle.db"},
		{"com.microsoft.sqlserver.", "microsoft.sql_server"}, {"org.hsqldb.", "hsqldb"}, {"org.apache.derby.", "derby"}, {"org.sqlite.", "sqlite"},
		{"com.ibm.db2.", "ibm.db2"},
	}
	brokers = []system{{"org.apache.kafka.", "kafka"}, {"org.apache.activemq.", "activemq"}}
)

func systemOf(class string, systems []system, other string) string {
	for _, s := range systems {
		if strings.HasPrefix(class, s.prefix) {
			return s.name
		}
	}
	return other
}
