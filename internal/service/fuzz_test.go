package service

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode"
)

// FuzzRequest sends any request to the service. It is answered, and a refusal says why in one line.
func FuzzRequest(f *testing.F) {
	for _, one := range []struct{ method, path, body string }{
		{"POST", "/v1/looks/count", `{"pid":7,"methods":["a.B.c"],"top":3,"left":true,"sort":"beauty","background":true}`},
		{"POST", "/v1/looks/count", `{"pid":7,"methods":"a","terminal":{"width":80,"height":24},"text":null}`},
		{"POST", "/v1/looks/hot", `{"pid":-1} x`},
		{"GET", "/v1/looks?state=running&pid=7", ""},
		{"GET", "/v1/looks/1/result", ""},
		{"POST", "/v1/looks/1/keys", `{"keys":"q"}`},
		{"PUT", "/v1/looks/1/terminal", `{"width":80,"height":24}`},
		{"GET", "/v1/jvms", ""},
		{"DELETE", "/v1/looks/..%2f", ""},
		{"GET", "/v1/looks/1/%0a", ""}, // a refusal of two lines
	} {
		f.Add(one.method, one.path, []byte(one.body))
	}
	host, err := New(Settings{Version: "1", Runner: &refusing{}, State: f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(host.Close)
	handler := host.handler(false)
	f.Fuzz(func(t *testing.T, method, path string, body []byte) {
		place, err := url.ParseRequestURI(path)
		if err != nil || strings.ContainsFunc(method, unicode.IsControl) || !strings.HasPrefix(place.Path, "/v1/looks") { // the server refuses such methods; others ask about processes of this machine, or end the service
			return
		}
		request := (&http.Request{Method: method, URL: place, RequestURI: path, Host: "sonde", Header: http.Header{}, ContentLength: int64(len(body)), Body: http.NoBody}).WithContext(t.Context())
		if len(body) > 0 {
			request.Body = readCloser{bytes.NewReader(body)}
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code < http.StatusBadRequest {
			return
		}
		var problem Problem
		if err := decode(answer.Body, &problem); err != nil || problem.Error == "" || strings.ContainsAny(problem.Error, "\n\r") {
			t.Errorf("%q %q %q: status %d, %v: %q", method, path, body, answer.Code, err, problem.Error)
		}
	})
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// A refusing runner has the commands of a fake, and begins no look.
type refusing struct{ fake }

func (r *refusing) Check(Request) error { return errors.New("not now") }

// FuzzEvents reads any bytes as events of a service.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: look\ndata: {\"number\":1}\n\n: \n\nevent: end\ndata: {}\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		stream := &Stream{lines: bufio.NewReader(bytes.NewReader(data))}
		for size := 0; ; {
			event, err := stream.Next()
			if err != nil {
				if !errors.Is(err, ErrGone) {
					t.Errorf("error %v, want %v", err, ErrGone)
				}
				return
			}
			if size += len(event.Name) + len(event.Data); event.Name == "" || size > len(data) {
				t.Fatalf("an event %q with %q after %d of %d bytes", event.Name, event.Data, size, len(data))
			}
		}
	})
}
