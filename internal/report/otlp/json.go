package otlp

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

// WriteJSON writes a trace as one object of the protocol's JSON.
func WriteJSON(w io.Writer, t *trace.Trace, version string) error {
	var all []*tracepb.Span
	for _, one := range t.Transactions {
		all = append(all, spansOf(&t.Target, one)...)
	}
	encoded, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(dataOf(t, version, all))
	if err != nil {
		return fmt.Errorf("otlp: %w", err)
	}
	var tree any
	if err := json.Unmarshal(encoded, &tree); err != nil {
		return fmt.Errorf("otlp: %w", err)
	}
	if err := spellIDs(tree); err != nil {
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(tree)
}

// idFields are those that the protocol writes in hexadecimal, where other bytes of
// protobuf's JSON are in base64.
var idFields = map[string]bool{"traceId": true, "spanId": true, "parentSpanId": true}

func spellIDs(tree any) error {
	switch node := tree.(type) {
	case []any:
		for _, one := range node {
			if err := spellIDs(one); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, value := range node {
			text, isText := value.(string)
			if !isText || !idFields[key] {
				if err := spellIDs(value); err != nil {
					return err
				}
				continue
			}
			id, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return fmt.Errorf("otlp: %s: %w", key, err)
			}
			node[key] = hex.EncodeToString(id)
		}
	}
	return nil
}
