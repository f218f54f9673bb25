package page

import (
	"fmt"
	"html/template"
	"io"
	"io/fs"
)

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
