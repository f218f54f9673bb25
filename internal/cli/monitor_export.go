package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
)

// listenAddress reads where to serve: on this machine alone, unless an address says
// otherwise.
func listenAddress(text string) (string, error) {
	host, port := "", text
	if _, err := strconv.ParseUint(text, 10, 16); err != nil {
		var problem error
		if host, port, problem = net.SplitHostPort(text); problem != nil {
			return "", usage("--listen %q: must be a port or an address with one, such as 9187 or 127.0.0.1:9187", text)
		}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", usage("--listen %q: the port must be a number from 0 to 65535", text)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// An exporter hands texts to a Prometheus: by a file, or when it asks.
type exporter struct {
	path     string
	listener net.Listener
	server   *http.Server
	text     atomic.Pointer[[]byte]
	failed   bool // the file could not be written, which was said
}

// newExporter listens where it is to, so that a port that is taken is said before the
// JVM is touched.
func newExporter(path, address string) (*exporter, error) {
	e := &exporter{path: path}
	e.text.Store(&[]byte{})
	if address == "" {
		return e, nil
	}
	var err error
	if e.listener, err = net.Listen("tcp", address); err != nil {
		return nil, fmt.Errorf("--listen %s: %w: name another port, or 0 for any that is free", address, err)
	}
	// What is served is small and at hand; whoever is slow to ask is hung up on.
	const patience = 10 * time.Second
	routes := http.NewServeMux()
	routes.HandleFunc("GET /metrics", e.serve)
	e.server = &http.Server{Handler: routes, ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 14}
	go func() { _ = e.server.Serve(e.listener) }() // ends when it is closed
	return e, nil
}

func (e *exporter) serve(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", monitor.ContentType)
	_, _ = w.Write(*e.text.Load())
}

// address is where it serves, "" where it does not.
func (e *exporter) address() string {
	if e.listener == nil {
		return ""
	}
	return e.listener.Addr().String()
}

func (e *exporter) isWanted() bool { return e.path != "" || e.listener != nil }

// publish replaces the text. A file that cannot be written is an error once: the rest
// goes on, and it is tried again.
func (e *exporter) publish(x *monitor.Exposition) error {
	var text bytes.Buffer
	if err := x.Write(&text); err != nil {
		return err
	}
	written := text.Bytes()
	e.text.Store(&written)
	if e.path == "" {
		return nil
	}
	err := replaceFile(e.path, written)
	if err == nil || e.failed {
		e.failed = err != nil
		return nil
	}
	e.failed = true
	return fmt.Errorf("--prometheus: %w", err)
}

// replaceFile writes a file that readers see whole, or as it was before.
func replaceFile(path string, data []byte) error {
	// The collector that reads such directories takes files that end in .prom.
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the error that is told is why
	}
	return err
}

func (e *exporter) close() {
	if e.server != nil {
		_ = e.server.Close() // whoever asks then asks in vain
	}
}
