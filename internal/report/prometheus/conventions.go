package prometheus

import (
	"cmp"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
)

// A convention is how OpenTelemetry's semantic conventions name the times of calls and the tags by which they are
// grouped, as Prometheus spells names.
type convention struct {
	metric, help string
	labels       map[string]string // by tag
	operation    string            // of messaging
}

// own is for rows without a convention.
var own = convention{metric: "sonde_call_seconds", help: "Times of calls that were timed and have ended."}

var (
	httpServer = convention{
		metric: "http_server_request_duration_seconds", help: "Times of requests that were answered.",
		labels: map[string]string{"method": "http_request_method", "path": "http_route"},
	}
	httpClient = convention{
		metric: "http_client_request_duration_seconds", help: "Times of requests that were sent.",
		labels: map[string]string{"host": "server_address"},
	}
	database = convention{
		metric: "db_client_operation_duration_seconds", help: "Times of statements.",
		labels: map[string]string{"statement": "db_query_text"},
	}
	processed = convention{
		metric: "messaging_process_duration_seconds", help: "Times of messages that were handled.",
		labels: map[string]string{"source": "messaging_destination_name"}, operation: "process",
	}
	sent = convention{
		metric: "messaging_client_operation_duration_seconds", help: "Times of messages that were sent or received.",
		labels: map[string]string{"destination": "messaging_destination_name"}, operation: "send",
	}
)

// conventionOf returns the convention for a row.
func conventionOf(k *monitor.Key) *convention {
	isIn := k.Direction == "in"
	switch {
	case k.Category == categories.Web && isIn:
		return &httpServer
	case k.Category == categories.Web:
		return &httpClient
	case k.Category == categories.Databases:
		return &database
	case k.Category == categories.Messaging && isIn:
		return &processed
	case k.Category == categories.Messaging:
		return &sent
	}
	return &own
}

// labelsOf returns the labels of the times of a row.
func (c *convention) labelsOf(k *monitor.Key) []label {
	if c.metric == own.metric {
		return labelsOf(*k)
	}
	var labels []label
	operation := c.operation
	for _, tag := range k.TagValues() {
		name := cmp.Or(c.labels[tag[0]], "tag_"+tag[0])
		if tag[0] == "consumer" {
			operation = "receive"
		}
		labels = append(labels, label{name, tag[1]})
	}
	if operation != "" {
		labels = append(labels, label{"messaging_operation_name", operation})
	}
	if k.Callers != "" {
		labels = append(labels, label{"callers", k.Callers})
	}
	return labels
}
