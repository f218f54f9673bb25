package otlp

import (
	"fmt"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

func TestDescribe(t *testing.T) {
	for _, test := range []struct {
		call trace.Call
		want string
	}{
		{trace.Call{Class: "a.B", Method: "c"}, "a.B.c INTERNAL"},
		{
			trace.Call{Category: "db", Class: "org.h2.jdbc.JdbcStatement", Method: "execute", Target: "select ? from t"},
			"SELECT CLIENT db.system.name=h2database db.operation.name=SELECT db.query.text=select ? from t",
		},
		{trace.Call{Category: "db", Class: "pool.Proxy", Method: "execute"}, "pool.Proxy.execute CLIENT db.system.name=other_sql"},
		{trace.Call{Category: "web", Class: "a.Client", Method: "send", Target: "example.com"}, "HTTP CLIENT server.address=example.com"},
		{
			trace.Call{Category: "web", Class: "a.Client", Method: "send", Target: "GET example.com"},
			"GET CLIENT http.request.method=GET server.address=example.com",
		},
		{trace.Call{Category: "web", Class: "a.Client", Method: "send", Target: "get x.y"}, "HTTP CLIENT http.request.method=_OTHER http.request.method_original=get server.address=x.y"},
		{
			trace.Call{Category: "web", Incoming: true, Class: "a.Servlet", Method: "service", Target: "POST /orders/{}/items"},
			"POST /orders/{}/items SERVER http.request.method=POST url.path=/orders/{}/items http.route=/orders/{}/items",
		},
		{
			trace.Call{Category: "web", Incoming: true, Class: "a.Filter", Method: "doFilter", Target: "BREW /pot"},
			"HTTP /pot SERVER http.request.method=_OTHER http.request.method_original=BREW url.path=/pot http.route=/pot",
		},
		{trace.Call{Category: "web", Incoming: true, Class: "a.Filter", Method: "doFilter", Target: "OPTIONS *"}, "OPTIONS SERVER http.request.method=OPTIONS"},
		{
			trace.Call{Category: "web", Incoming: true, Class: "a.Filter", Method: "doFilter", Target: "GET *", Status: 404},
			"GET SERVER http.request.method=GET http.response.status_code=404",
		},
		{
			trace.Call{Category: "web", Incoming: true, Class: "a.Filter", Method: "doFilter", Target: "GET *", Status: 503},
			"GET SERVER http.request.method=GET http.response.status_code=503 error.type=503 STATUS_CODE_ERROR",
		},
		{
			trace.Call{Category: "messaging", Incoming: true, Class: "a.Listener", Method: "onMessage", Target: "orders"},
			"process orders CONSUMER messaging.system=jms messaging.operation.name=process messaging.operation.type=process messaging.destination.name=orders",
		},
		{
			trace.Call{Category: "messaging", Class: "org.apache.kafka.clients.producer.KafkaProducer", Method: "send", Target: "orders"},
			"send orders PRODUCER messaging.system=kafka messaging.operation.name=send messaging.operation.type=send messaging.destination.name=orders",
		},
		{
			trace.Call{Category: "messaging", Class: "a.Consumer", Method: "receive"},
			"receive CONSUMER messaging.system=jms messaging.operation.name=receive messaging.operation.type=receive",
		},
	} {
		span := &tracepb.Span{Name: test.call.Name(), Kind: tracepb.Span_SPAN_KIND_INTERNAL}
		describe(span, &test.call)
		got := span.GetName() + " " + span.GetKind().String()[len("SPAN_KIND_"):]
		for _, a := range span.GetAttributes() {
			got += fmt.Sprintf(" %s=%s", a.GetKey(), a.GetValue().GetStringValue())
			if number := a.GetValue().GetIntValue(); number != 0 {
				got += fmt.Sprint(number)
			}
		}
		if code := span.GetStatus().GetCode(); code != tracepb.Status_STATUS_CODE_UNSET {
			got += " " + code.String()
		}
		if got != test.want {
			t.Errorf("%s\nwant %s", got, test.want)
		}
	}
}
