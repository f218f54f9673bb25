package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	Code   int    // of HTTP
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

// Settings say where and how spans are sent.
type Settings struct {
	Endpoint string            `json:"endpoint"` // the URL for traces
	Headers  map[string]string `json:"headers,omitempty"`
	Timeout  time.Duration     `json:"timeoutNanos,omitempty"` // of a request
	Gzip     bool              `json:"gzip,omitempty"`
}

// FromEnvironment is the endpoint for which the variables OTEL_EXPORTER_OTLP_* are read.
const FromEnvironment = "env"

// usualEndpoint is that of the OpenTelemetry specification.
const usualEndpoint = "http://localhost:4318"

// NewSettings returns the settings for an endpoint, or for the endpoint that the environment names. Headers, timeout and
// compression come from the variables OTEL_EXPORTER_OTLP_*, and from OTEL_EXPORTER_OTLP_TRACES_*, which take precedence.
func NewSettings(endpoint string, getenv func(string) string) (s Settings, err error) {
	get := func(name string) (string, string) {
		for _, prefix := range []string{"OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"} {
			if value := strings.TrimSpace(getenv(prefix + name)); value != "" {
				return prefix + name, value
			}
		}
		return "", ""
	}
	if endpoint == FromEnvironment {
		if name, protocol := get("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
			return s, fmt.Errorf("%s is %q, and Sonde sends http/protobuf only: name the URL of a receiver that accepts it", name, protocol)
		}
		name, value := get("ENDPOINT")
		if endpoint = cmp.Or(value, usualEndpoint); name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			endpoint = strings.TrimSuffix(endpoint, "/") + tracesPath
		}
	}
	if s.Endpoint, err = Endpoint(endpoint); err != nil {
		return s, err
	}
	if name, value := get("HEADERS"); value != "" {
		if s.Headers, err = parseHeaders(value); err != nil {
			return s, fmt.Errorf("%s: %w", name, err) // without the value, which may be a secret
		}
	}
	s.Timeout = patience
	if name, value := get("TIMEOUT"); value != "" {
		millis, err := strconv.ParseUint(value, 10, 31)
		if err != nil || millis == 0 {
			return s, fmt.Errorf("%s is %q: must be a number of milliseconds", name, value)
		}
		s.Timeout = time.Duration(millis) * time.Millisecond
	}
	name, compression := get("COMPRESSION")
	if s.Gzip = compression == "gzip"; compression != "" && !s.Gzip && compression != "none" {
		return s, fmt.Errorf("%s is %q: must be gzip or none", name, compression)
	}
	return s, nil
}

// errHeaders is the error for headers that cannot be read.
var errHeaders = errors.New("must be name=value,name=value with escapes as in URLs")

func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		name = strings.TrimSpace(name)
		if !found || name == "" || err != nil || strings.ContainsAny(name+value, "\r\n") {
			return nil, errHeaders
		}
		headers[name] = value
	}
	return headers, nil
}

// A Stream sends transactions to a receiver while a trace is running.
type Stream struct {
	settings Settings
	about    *trace.Trace // of which only the target is known
	version  string
	known    map[*trace.Transaction]int // how many spans of each were added

	mu      sync.Mutex
	pending []*tracepb.Span
	wake    chan struct{} // there are more spans, or it is closed
	closed  bool
	ended   chan struct{}
	sent    int
	err     error
}

// sendEvery is how often spans are sent while a trace is running, and how long a receiver is left alone after an error.
const sendEvery = time.Second

// lastTries is how often a receiver is tried again when the stream is closed.
const lastTries = 2

// NewStream returns a stream of the transactions of a program. version is Sonde's.
func NewStream(settings Settings, target trace.Target, version string) *Stream {
	s := &Stream{
		settings: settings, about: &trace.Trace{Target: target}, version: version, known: map[*trace.Transaction]int{},
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	go s.run()
	return s
}

// Add adds transactions, and parts that came later to transactions that were added before.
func (s *Stream) Add(transactions []*trace.Transaction) {
	var fresh []*tracepb.Span
	for _, t := range transactions {
		spans := spansOf(s.about.Target, t)
		fresh = append(fresh, spans[min(len(spans), s.known[t]):]...)
		s.known[t] = len(spans)
	}
	s.mu.Lock()
	s.pending = append(s.pending, fresh...)
	s.mu.Unlock()
	s.signal()
}

func (s *Stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close sends what is left, and returns how many spans the receiver accepted.
func (s *Stream) Close() (sent int, err error) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.signal()
	<-s.ended
	return s.sent, s.err
}

// run sends spans until the stream is closed or the receiver refuses them. A receiver that cannot be reached, or is
// overloaded, is tried again until the stream is closed, and a few times then.
func (s *Stream) run() {
	defer close(s.ended)
	for tries := 0; ; {
		<-s.wake
		s.mu.Lock()
		batch, closed := s.pending[:min(len(s.pending), mostSpans)], s.closed
		s.mu.Unlock()
		if len(batch) == 0 {
			if closed {
				return
			}
			continue
		}
		err := s.settings.post(context.Background(), dataOf(s.about, s.version, batch))
		s.mu.Lock()
		var refused *RefusedError
		switch isPartial := errors.As(err, &refused) && refused.Spans > 0; {
		case isPartial:
			s.err = err
			s.sent -= int(refused.Spans)
			err = nil
			fallthrough
		case err == nil:
			s.sent += len(batch)
			s.pending = s.pending[len(batch):]
		case tries == lastTries || !isTemporary(err):
			s.err = err
			s.mu.Unlock()
			return
		}
		isMore := len(s.pending) > 0 || s.closed
		s.mu.Unlock()
		if err != nil && closed {
			tries++
			time.Sleep(sendEvery)
		} else if err != nil {
			s.pause()
		}
		if isMore {
			s.signal()
		}
	}
}

// pause waits until a receiver may be tried again, or the stream is closed.
func (s *Stream) pause() {
	end := time.NewTimer(sendEvery)
	defer end.Stop()
	for {
		select {
		case <-end.C:
			return
		case <-s.wake:
			s.mu.Lock()
			closed := s.closed
			s.mu.Unlock()
			if closed {
				return
			}
		}
	}
}

// isTemporary reports whether a receiver may accept the same spans later.
func isTemporary(err error) bool {
	var refused *RefusedError
	return !errors.As(err, &refused) || slices.Contains(temporary, refused.Code)
}

// temporary are the codes after which OTLP requests are to be repeated.
var temporary = []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// post sends one request. The request message has the same fields as TracesData.
func (s Settings) post(ctx context.Context, data *tracepb.TracesData) error {
	body, err := proto.Marshal(data)
	if err != nil {
		return fmt.Errorf("otlp: %w", err)
	}
	if s.Gzip {
		var small bytes.Buffer
		w := gzip.NewWriter(&small)
		_, err = w.Write(body)
		if err = errors.Join(err, w.Close()); err != nil {
			return fmt.Errorf("otlp: %w", err)
		}
		body = small.Bytes()
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Endpoint, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("otlp: %w", err)
	}
	request.Header.Set("User-Agent", "sonde")
	for name, value := range s.Headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	if s.Gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
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
		return &RefusedError{URL: s.Endpoint, Status: response.Status, Code: response.StatusCode, Detail: detail}
	}
	if rejected, detail := partial(answer); rejected > 0 {
		return &RefusedError{URL: s.Endpoint, Detail: detail, Spans: rejected}
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
