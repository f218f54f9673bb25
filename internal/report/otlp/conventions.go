package otlp

import (
	"slices"
	"strconv"
	"strings"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
)

// describe gives the span of an outgoing call, or of a call that answers an incoming one, the kind, name and attributes of
// OpenTelemetry's semantic conventions.
func describe(span *tracepb.Span, c *trace.Call) {
	about := (*attributeList)(&span.Attributes)
	switch c.Category {
	case categories.Web:
		describeRequest(span, about, c)
	case categories.Databases:
		span.Kind = tracepb.Span_SPAN_KIND_CLIENT
		about.text("db.system.name", systemOf(c.Class, databases, "other_sql"))
		if operation, _, _ := strings.Cut(c.Target, " "); operation != "" {
			span.Name = valid(strings.ToUpper(operation))
			about.text("db.operation.name", strings.ToUpper(operation))
			about.text("db.query.text", c.Target)
		}
	case categories.Messaging:
		operation := "receive"
		switch span.Kind = tracepb.Span_SPAN_KIND_CONSUMER; {
		case c.Incoming:
			operation = "process"
		case strings.HasPrefix(c.Method, "send"):
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

// verbs are the methods of requests that the conventions name.
var verbs = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"}

// leastError is the least status of an answer that is an error of the program that answers.
const leastError = 500

// describeRequest describes a request that is sent to a host, or answered. Of the path of the latter, parts that identify something are
// placeholders, as in a route, so that it has no secrets and few values.
func describeRequest(span *tracepb.Span, about *attributeList, c *trace.Call) {
	verb, rest, isBoth := strings.Cut(c.Target, " ")
	if !isBoth {
		verb, rest = "", c.Target
	}
	span.Name = "HTTP"
	switch {
	case slices.Contains(verbs, verb):
		span.Name = verb
		about.text("http.request.method", verb)
	case verb != "":
		about.text("http.request.method", "_OTHER")
		about.text("http.request.method_original", verb)
	}
	if span.Kind = tracepb.Span_SPAN_KIND_CLIENT; !c.Incoming {
		if rest != "" {
			about.text("server.address", rest)
		}
		return
	}
	span.Kind = tracepb.Span_SPAN_KIND_SERVER
	if c.Status > 0 {
		about.number(categories.StatusName, int64(c.Status))
	}
	if c.Status >= leastError {
		about.text("error.type", strconv.Itoa(c.Status))
		if !c.Threw {
			span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
		}
	}
	if strings.HasPrefix(rest, "/") {
		span.Name = valid(span.Name + " " + rest)
		about.text("url.path", rest)
		about.text("http.route", rest)
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
