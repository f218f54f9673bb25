// Package html writes each result as one HTML page that a browser shows without a network:
// profiles, hot spots, comparisons of profiles, root-cause searches, traces and searches from a slow
// method to its cause.
//
// Go templates write what does not move, so that a page shows the essentials without
// scripts and on paper. Scripts draw the rest (flame graphs, trees, waterfalls, search)
// from the result that the page contains as JSON, which Sonde reads back.
package html

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"path"
	"reflect"
	"slices"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
	"github.com/sonde-jvm/sonde/internal/report/format"
	"github.com/sonde-jvm/sonde/internal/report/text"
)

//go:embed assets
var assets embed.FS

// A page lists the assets of a page. They are joined in this order. Scripts share one
// scope: at load time, a script may use only what the scripts before it define.
type page struct {
	command string   // that writes the page
	layouts []string // in addition to the layouts of all pages; the first one defines the body
	sheets  []string
	scripts []string
}

// commonLayouts are parts of every page. The first one is the page.
var commonLayouts = []string{"page.html", "parts.html"}

// write writes a page that shows a view and contains a document.
func (p page) write(w io.Writer, target cct.Target, document, view any) error {
	carried, err := elementOf(document)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	var paths []string
	for _, name := range slices.Concat(commonLayouts, p.layouts) {
		paths = append(paths, path.Join("assets", name))
	}
	style, script := join(p.sheets), join(p.scripts)
	err = template.Must(template.New(commonLayouts[0]).Funcs(functions).ParseFS(assets, paths...)).Execute(w, struct {
		Command, Title, Policy string
		Style                  template.CSS
		Script                 template.JS
		Carried                template.HTML
		View                   any
	}{p.command, titleOf(target), policy(style, script), template.CSS(style), template.JS(script), carried, view})
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// join joins assets. It panics if one does not exist.
func join(names []string) []byte {
	joined := []byte("\n")
	for _, name := range names {
		source, err := assets.ReadFile(path.Join("assets", name))
		if err != nil {
			panic(err)
		}
		joined = append(joined, source...)
	}
	return joined
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

// ErrNoResult is the error of Embedded for a file that contains no result.
var ErrNoResult = errors.New("the page contains no result: sonde did not write it, or it is incomplete")

// Where a page contains its result: as JSON, or if that is long, compressed by gzip and in base64. Both contain no
// end tag because they have no "<". Pages of earlier versions name the kind of result in place of "result".
const (
	opening = `<script type="application/json" id="`
	packed  = `<script type="application/gzip" id="`
	closing = `</script>`
	// longest is the length of JSON that is not compressed.
	longest = 1 << 16
	// mostUnpacked bounds what is read from a page, which may be from anywhere.
	mostUnpacked = 1 << 30
)

// elementOf returns the element with a document.
func elementOf(document any) (template.HTML, error) {
	// The escapes of Marshal leave no character that has a meaning in HTML.
	encoded, err := json.Marshal(document)
	if err != nil {
		return "", err
	}
	start := opening
	if len(encoded) > longest {
		var small bytes.Buffer
		w := gzip.NewWriter(&small)
		if _, err := w.Write(encoded); err != nil {
			return "", err
		}
		if err := w.Close(); err != nil {
			return "", err
		}
		start, encoded = packed, base64.StdEncoding.AppendEncode(nil, small.Bytes())
	}
	return template.HTML(start + `result">` + string(encoded) + closing), nil
}

// Embedded returns the JSON of the result that a page contains.
func Embedded(html []byte) ([]byte, error) {
	_, rest, isPlain := bytes.Cut(html, []byte(opening))
	if !isPlain {
		_, rest, _ = bytes.Cut(html, []byte(packed))
	}
	_, rest, _ = bytes.Cut(rest, []byte(`">`))
	encoded, _, found := bytes.Cut(rest, []byte(closing))
	switch {
	case !found:
		return nil, ErrNoResult
	case isPlain:
		return encoded, nil
	}
	unpacked, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(encoded)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoResult, err)
	}
	data, err := io.ReadAll(io.LimitReader(unpacked, mostUnpacked+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoResult, err)
	case len(data) > mostUnpacked:
		return nil, fmt.Errorf("the result of the page has more than %d bytes", mostUnpacked)
	}
	return data, nil
}

func titleOf(target cct.Target) string { return cmp.Or(target.Command, "A Java program") }

// functions format the values that layouts show.
var functions = template.FuncMap{
	"title": titleOf, "name": nameOf, "brief": briefOf, "nanos": nanos, "duration": duration, "mean": mean, "within": within, "callTime": callTime, "share": share, "interval": rangeOf,
	"signed": signed, "perCall": text.PerCall, "atLeast": format.AtLeast, "percentOf": func(part, whole float64) float64 { return min(100, 100*part/whole) },
	"grouped": func(n any) string { return format.Grouped(whole(n)) },
	"plural":  func(n any, noun string) string { return format.Plural(whole(n), noun) },
}

// whole returns a whole number of any type that is not negative.
func whole(n any) uint64 {
	value := reflect.ValueOf(n)
	if value.CanInt() {
		return uint64(value.Int())
	}
	return value.Uint()
}
