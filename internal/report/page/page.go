// Package page writes a profile as one HTML file that a browser shows without a
// network: flame graph, tree, methods, and how all of it was measured.
//
// What stands still is written here, so that the page says the essential without
// a script and on paper: header, summary, and how it was measured. What moves
// (flame graph, tree, list of methods, search) is drawn by the scripts in assets
// from the profile that the page carries as JSON. The same JSON is what `sonde
// diff` reads back.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

//go:embed assets samples
var assets embed.FS

// The parts of the page, in the order in which they are joined. Scripts share
// one scope: a file may use at once only what those before it define.
var (
	sheets  = []string{"base.css", "header.css", "toolbar.css", "flame.css", "tables.css", "measured.css", "print.css"}
	scripts = []string{
		"format.js", "decode.js", "tree.js", "methodlist.js", "colour.js", "search.js", "dom.js", "rows.js", "place.js", "theme.js", "tooltip.js",
		"flamedraw.js", "flame.js", "treetab.js", "methodstab.js", "methodpanel.js", "legend.js", "main.js",
	}
	layouts = []string{"assets/page.html", "assets/header.html", "assets/measured.html", "assets/summary.html"}
)

// ErrNotJSON is the error of Write for an encoded profile that is not JSON.
var ErrNotJSON = errors.New("the encoded profile is not valid JSON")

// ErrNoProfile is the error of Embedded for a file that carries no profile.
var ErrNoProfile = errors.New("the page carries no profile: it is not a report of sonde profile, or was cut short")

// Where the profile stands in the page. Nothing between the two can be mistaken
// for the second: the profile's own "<" are escaped.
const (
	opening = `<script type="application/json" id="profile">`
	closing = `</script>`
)

// Write writes the page of a profile. encoded is the same profile as JSON, in the
// form of docs/formats/profile.md; the page carries it whole.
func Write(w io.Writer, p *cct.Profile, encoded []byte) error {
	held, err := newFrame(sheets, scripts, encoded)
	if err != nil {
		return err
	}
	return execute(w, layouts, struct {
		view
		frame
	}{newView(p), held})
}

// A frame is what holds a page together, whatever it shows.
type frame struct {
	Policy  string
	Style   template.CSS
	Script  template.JS
	Carried template.JS // as JSON
}

func newFrame(sheets, scripts []string, encoded []byte) (frame, error) {
	style, err := join(sheets)
	if err != nil {
		return frame{}, err
	}
	script, err := join(scripts)
	if err != nil {
		return frame{}, err
	}
	return hold(style, script, encoded)
}

func hold(style, script, encoded []byte) (frame, error) {
	if !json.Valid(encoded) {
		return frame{}, ErrNotJSON
	}
	return frame{policy(style, script), template.CSS(style), template.JS(script), template.JS(inert(encoded))}, nil
}

// execute writes what the first of some layouts makes of data.
func execute(w io.Writer, layouts []string, data any) error {
	layout, err := template.New(path.Base(layouts[0])).ParseFS(assets, layouts...)
	if err == nil {
		err = layout.Execute(w, data)
	}
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// Embedded is the JSON that Write put into a page.
func Embedded(html []byte) ([]byte, error) { return between(html, opening, ErrNoProfile) }

// between is what a page carries behind an opening.
func between(html []byte, opening string, missing error) ([]byte, error) {
	_, rest, found := bytes.Cut(html, []byte(opening))
	if !found {
		return nil, missing
	}
	encoded, _, found := bytes.Cut(rest, []byte(closing))
	if !found {
		return nil, missing
	}
	return encoded, nil
}

// inert is JSON that means the same and holds no character that HTML gives a
// meaning to. In JSON these characters stand inside strings only, where an escape
// says the same.
func inert(encoded []byte) []byte {
	encoded = bytes.ReplaceAll(encoded, []byte("<"), []byte(`\u003c`))
	encoded = bytes.ReplaceAll(encoded, []byte(">"), []byte(`\u003e`))
	return bytes.ReplaceAll(encoded, []byte("&"), []byte(`\u0026`))
}

// policy lets the browser run this script and this style and fetch nothing at all,
// whatever the names of methods and threads may contain.
func policy(style, script []byte) string {
	return fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'",
		digest(style), digest(script))
}

func digest(source []byte) string {
	sum := sha256.Sum256(source)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// join is the named assets one after the other; those of another folder have it in
// their names.
func join(names []string) ([]byte, error) {
	var joined bytes.Buffer
	joined.WriteByte('\n')
	for _, name := range names {
		if !strings.Contains(name, "/") {
			name = "assets/" + name
		}
		source, err := assets.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("page: %w", err)
		}
		joined.Write(source)
	}
	return joined.Bytes(), nil
}

// A Shell is a page that another package lays out, in the look of those of this one
// and under the same policy: it fetches nothing, and runs no script but its own.
type Shell struct {
	// Sheets and Scripts are assets of this package that it begins with.
	Sheets, Scripts []string
	// Own has what comes behind; the first of Layouts is the page. Layouts see what
	// Policy, Style, Script and Carried are to hold, and View.
	Own                            fs.FS
	OwnSheets, OwnScripts, Layouts []string
	Carried                        []byte // JSON
	View                           any
}

// Write writes the page.
func (s Shell) Write(w io.Writer) error {
	style, err := s.join(s.Sheets, s.OwnSheets)
	if err != nil {
		return err
	}
	script, err := s.join(s.Scripts, s.OwnScripts)
	if err != nil {
		return err
	}
	held, err := hold(style, script, s.Carried)
	if err != nil {
		return err
	}
	layout, err := template.ParseFS(s.Own, s.Layouts...)
	if err == nil {
		err = layout.Execute(w, struct {
			frame
			View any
		}{held, s.View})
	}
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

func (s Shell) join(ours, own []string) ([]byte, error) {
	joined, err := join(ours)
	for _, name := range own {
		var source []byte
		if err == nil {
			source, err = fs.ReadFile(s.Own, name)
			joined = append(joined, source...)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return joined, nil
}
