package pagetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

func after() <-chan time.Time { return time.After(callLimit) }

// An exception is one that nothing in the page caught.
type exception struct {
	Text      string
	Exception struct{ Description string }
}

func (e *exception) String() string {
	return strings.TrimSpace(e.Text + " " + e.Exception.Description)
}

// heard notes exceptions, errors and warnings on the console, and what the browser
// refused the page, such as scripts that its policy does not allow.
func (p *Page) heard(m message) {
	switch m.Method {
	case "Page.loadEventFired":
		p.loaded <- struct{}{}
	case "Runtime.exceptionThrown":
		var thrown struct{ ExceptionDetails exception }
		p.note(json.Unmarshal(m.Params, &thrown), thrown.ExceptionDetails.String())
	case "Runtime.consoleAPICalled":
		var called struct {
			Type string
			Args []struct{ Value any }
		}
		err := json.Unmarshal(m.Params, &called)
		if slices.Contains([]string{"error", "warning", "assert"}, called.Type) {
			p.note(err, fmt.Sprintf("console %s: %v", called.Type, called.Args))
		}
	case "Log.entryAdded":
		var added struct {
			Entry struct{ Level, Text, URL string }
		}
		err := json.Unmarshal(m.Params, &added)
		if added.Entry.Level == "error" || added.Entry.Level == "warning" {
			p.note(err, added.Entry.Level+": "+added.Entry.Text+" "+added.Entry.URL)
		}
	}
}

func (p *Page) note(err error, problem string) {
	if err != nil {
		problem = err.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, problem)
}

// takeProblems returns what the page has reported, and forgets it.
func (p *Page) takeProblems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.problems
	p.problems = nil
	return taken
}
