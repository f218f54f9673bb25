// Package prometheus publishes measurements for Prometheus: in a file that the node
// exporter's textfile collector reads, or over HTTP.
package prometheus

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/monitor"
)

// A Target is the JVM that is measured. Every series has its main class and instance as labels, which stay the same when the program
// is restarted; its process number would make new series each time.
type Target struct {
	Main     string
	Instance string // distinguishes JVMs with the same main class; "" if there is one only
	PID      int
	JDK      string
}

// An Exporter publishes measurements in a file, at an address, or both.
type Exporter struct {
	path     string
	check    func(*http.Request) error // nil: everybody may read
	listener net.Listener
	server   *http.Server
	text     atomic.Pointer[[]byte]
	failed   bool // the last write of the file failed, and was reported
}

// NewExporter returns an exporter for a file and an address, each of which may be empty. Requests that check refuses are not
// answered; it may be nil. The exporter listens at once, so that a port in use is reported before anything else happens.
func NewExporter(path, address string, check func(*http.Request) error) (*Exporter, error) {
	e := &Exporter{path: path, check: check}
	e.text.Store(&[]byte{})
	if address == "" {
		return e, nil
	}
	var err error
	if e.listener, err = net.Listen("tcp", address); err != nil {
		return nil, fmt.Errorf("%w: name another port, or 0 for any that is free", err)
	}
	// The answer is small and ready; a client that is slow to ask is disconnected.
	const patience = 10 * time.Second
	routes := http.NewServeMux()
	routes.HandleFunc("GET /metrics", e.serve)
	e.server = &http.Server{Handler: routes, ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 14}
	go func() { _ = e.server.Serve(e.listener) }() // ends when it is closed
	return e, nil
}

// serve answers a listener on the loopback only under a name of this machine: a page of another site could otherwise
// make a browser here read the answer, by a name that leads to this machine.
func (e *Exporter) serve(w http.ResponseWriter, r *http.Request) {
	if local, is := e.listener.Addr().(*net.TCPAddr); is && local.IP.IsLoopback() && !isLocal(r.Host) {
		http.Error(w, "this name is not one of this machine: use localhost or 127.0.0.1", http.StatusMisdirectedRequest)
		return
	}
	if e.check != nil {
		if err := e.check(r); err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(*e.text.Load())
}

func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Address returns the address it serves at, or "".
func (e *Exporter) Address() string {
	if e.listener == nil {
		return ""
	}
	return e.listener.Addr().String()
}

// IsUsed reports whether there is a file or an address.
func (e *Exporter) IsUsed() bool { return e.path != "" || e.listener != nil }

// Publish replaces the text by the calls of a JVM since the first reading. A file that cannot be written is reported once, and tried
// again by the next call.
func (e *Exporter) Publish(of Target, isUp bool, since *monitor.Interval) error {
	var text bytes.Buffer
	if err := write(&text, of, isUp, since); err != nil {
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
	return err
}

// replaceFile replaces a file in one step, so that readers never see a part of it.
func replaceFile(path string, data []byte) error {
	// The textfile collector reads only files that end in .prom.
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
		_ = os.Remove(file.Name())
	}
	return err
}

// Close stops serving.
func (e *Exporter) Close() {
	if e.server != nil {
		_ = e.server.Close()
	}
}
