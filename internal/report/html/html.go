// Package html writes each result as one HTML page that a browser shows without a network:
// profiles, root-cause searches, traces and flame graphs of samples.
//
// Go templates write what does not move, so that a page shows the essentials without
// scripts and on paper. Scripts draw the rest (flame graphs, trees, waterfalls, search)
// from the result that the page contains as JSON. `sonde diff` reads that JSON back.
package html

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"path"
	"time"
)

//go:embed assets
var assets embed.FS

// A page lists the assets of a page. They are joined in this order. Scripts share one
// scope: at load time, a script may use only what the scripts before it define.
type page struct {
	layouts []string // the first one is the page, the others are its parts
	sheets  []string
	scripts []string
}

// A frame is what every page contains.
type frame struct {
	Policy  string
	Style   template.CSS
	Script  template.JS
	Carried template.JS // the result as JSON
}

func (p page) frame(encoded []byte) (frame, error) {
	style, err := join(p.sheets)
	if err != nil {
		return frame{}, err
	}
	script, err := join(p.scripts)
	if err != nil {
		return frame{}, err
	}
	return frame{policy(style, script), template.CSS(style), template.JS(script), template.JS(inert(encoded))}, nil
}

// execute writes the page. Its layouts see the fields of data, which include a frame.
func (p page) execute(w io.Writer, data any) error {
	paths := make([]string, len(p.layouts))
	for i, name := range p.layouts {
		paths[i] = path.Join("assets", name)
	}
	layout, err := template.ParseFS(assets, paths...)
	if err == nil {
		err = layout.Execute(w, data)
	}
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

func join(names []string) ([]byte, error) {
	var joined bytes.Buffer
	joined.WriteByte('\n')
	for _, name := range names {
		source, err := assets.ReadFile(path.Join("assets", name))
		if err != nil {
			return nil, fmt.Errorf("page: %w", err)
		}
		joined.Write(source)
	}
	return joined.Bytes(), nil
}

// inert returns equivalent JSON without the characters that have a meaning in HTML. In
// JSON they occur only in strings, where an escape means the same.
func inert(encoded []byte) []byte {
	encoded = bytes.ReplaceAll(encoded, []byte("<"), []byte(`\u003c`))
	encoded = bytes.ReplaceAll(encoded, []byte(">"), []byte(`\u003e`))
	return bytes.ReplaceAll(encoded, []byte("&"), []byte(`\u0026`))
}

// policy returns a content security policy that allows this script and this style and no
// requests, whatever the names of methods and threads contain.
func policy(style, script []byte) string {
	return fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		digest(style), digest(script))
}

func digest(source []byte) string {
	sum := sha256.Sum256(source)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// ErrNoProfile is the error of Embedded for a file that contains no profile.
var ErrNoProfile = errors.New("the page contains no profile: sonde profile did not write it, or it is incomplete")

// Where a page contains a profile. The JSON contains no end tag because inert escapes "<".
const (
	opening = `<script type="application/json" id="profile">`
	closing = `</script>`
)

// Embedded returns the JSON of the profile that a page contains.
func Embedded(html []byte) ([]byte, error) {
	_, rest, found := bytes.Cut(html, []byte(opening))
	if !found {
		return nil, ErrNoProfile
	}
	encoded, _, found := bytes.Cut(rest, []byte(closing))
	if !found {
		return nil, ErrNoProfile
	}
	return encoded, nil
}

// A header is what the head of every page shows.
type header struct {
	Title    string
	PID      int
	JDK      string
	Began    string // empty if unknown
	BeganISO string
	Took     string // empty if unknown
}

func newHeader(pid int, command, jdk string, began time.Time, took time.Duration) header {
	h := header{Title: command, PID: pid, JDK: jdk}
	if command == "" {
		h.Title = "A Java program"
	}
	if took > 0 {
		h.Took = duration(took)
	}
	if !began.IsZero() {
		h.Began, h.BeganISO = began.Format("2 January 2006, 15:04:05 MST"), began.Format(time.RFC3339)
	}
	return h
}
