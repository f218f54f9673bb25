package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/sonde-jvm/sonde/internal/measure/trace"
)

// ErrEndpoint is the error for an invalid URL of a receiver.
var ErrEndpoint = errors.New("must be a URL such as http://localhost:4318")

// A RefusedError reports that a receiver rejected spans.
type RefusedError struct {
	URL    string
	Status string // of HTTP; empty if it accepted the rest
	Detail string
	Spans  int64 // that it rejected; 0 for all
}

func (e *RefusedError) Error() string {
	text := e.URL + " refused the spans"
	if e.Spans > 0 {
		text = fmt.Sprintf("%s refused %d of the spans", e.URL, e.Spans)
	}
	for _, more := range []string{e.Status, e.Detail} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

const (
	tracesPath = "/v1/traces"
	// mostSpans keeps a request below the limit of receivers, a few megabytes.
	mostSpans = 2000
	patience  = 15 * time.Second
	// mostAnswer bounds how much of a response is read.
	mostAnswer = 1 << 16
)

// client follows no redirects: they would send the spans to a receiver that the user has not named.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// Endpoint returns the URL for traces of a receiver: the given URL if it has a path, else
// with the standard path.
func Endpoint(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%q %w", text, ErrEndpoint)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = tracesPath
	}
	return u.String(), nil
}

// Send sends a trace to a receiver, and returns how many spans the receiver accepted.
func Send(ctx context.Context, endpoint string, t *trace.Trace, version string) (sent int, err error) {
	var batch []*tracepb.Span
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := post(ctx, endpoint, dataOf(t, version, batch))
		if err == nil {
			sent += len(batch)
		}
		batch = nil
		return err
	}
	for _, one := range t.Transactions {
		for _, span := range spansOf(t.Target, one) {
			if batch = append(batch, span); len(batch) == mostSpans {
				if err := flush(); err != nil {
					return sent, err
				}
			}
		}
	}
	return sent, flush()
}

// post sends one request. The request message has the same fields as TracesData.
func post(ctx context.Context, endpoint string, data *tracepb.TracesData) error {
	body, err := proto.Marshal(data)
	if err != nil {
		return fmt.Errorf("otlp: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("otlp: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("User-Agent", "sonde")
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("otlp: %w: is a receiver listening there?", err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return fmt.Errorf("otlp: %w", err)
	}
	if response.StatusCode/100 != 2 {
		detail := ""
		if to := response.Header.Get("Location"); response.StatusCode/100 == 3 && to != "" {
			detail = fmt.Sprintf("it redirects to %s: name that URL if you trust it", to)
		} else if !strings.Contains(response.Header.Get("Content-Type"), "protobuf") {
			detail = firstLine(string(answer))
		} else if _, text := status(answer); text != "" {
			detail = text
		}
		return &RefusedError{URL: endpoint, Status: response.Status, Detail: detail}
	}
	if rejected, detail := partial(answer); rejected > 0 {
		return &RefusedError{URL: endpoint, Detail: detail, Spans: rejected}
	}
	return nil
}

func firstLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return text
}

// partial reads an ExportTraceServiceResponse: field 1 is the partial success, whose field 1 is
// the number of rejected spans and field 2 the reason.
func partial(answer []byte) (rejected int64, detail string) {
	inner, _ := fields(answer)
	rejected, detail = status([]byte(inner[1]))
	return rejected, detail
}

// status reads a message with a number in field 1 and a text in field 2.
func status(message []byte) (number int64, text string) {
	texts, numbers := fields(message)
	return int64(numbers[1]), texts[2]
}

// fields returns the last text and number of each field of a message. It stops at the first
// invalid field.
func fields(message []byte) (texts map[protowire.Number]string, numbers map[protowire.Number]uint64) {
	texts, numbers = map[protowire.Number]string{}, map[protowire.Number]uint64{}
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return texts, numbers
		}
		message = message[n:]
		switch kind {
		case protowire.BytesType:
			value, length := protowire.ConsumeBytes(message)
			if n = length; n >= 0 {
				texts[field] = string(value)
			}
		case protowire.VarintType:
			value, length := protowire.ConsumeVarint(message)
			if n = length; n >= 0 {
				numbers[field] = value
			}
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return texts, numbers
		}
		message = message[n:]
	}
	return texts, numbers
}
