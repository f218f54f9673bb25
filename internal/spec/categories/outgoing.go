package categories

import (
	_ "embed" // of the rules
	"slices"
	"strings"

	"github.com/sonde-jvm/sonde/internal/spec/expr"
	"github.com/sonde-jvm/sonde/internal/spec/pattern"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

//go:embed outgoing.yaml
var outgoing []byte

// targetPrefix begins the names of the tags that say what an outgoing call inside a transaction calls. Tags
// of users cannot change them.
const targetPrefix = "sonde_"

// incomingPrefix begins the names of the tags that say what an incoming call answers. Their category follows.
const incomingPrefix = targetPrefix + "in_"

// The categories with conventions in OpenTelemetry: HTTP requests, statements of databases, and messages.
const (
	Web       = "web"
	Databases = "db"
	Messaging = "messaging"
)

// verb is the tag of the methods of HTTP requests.
const verb = "verb"

// IsTarget reports whether a tag says what an outgoing call inside a transaction calls.
func IsTarget(tag string) bool { return strings.HasPrefix(tag, targetPrefix) }

// Outgoing returns probes for outgoing calls of categories inside the transactions of other probes, and the tags that say
// what is called. Where a program has no such calls, they have no effect.
func Outgoing(names ...string) (probes []probeset.Probe, tags []probeset.Tag, err error) {
	r, err := Read(names...)
	if err != nil {
		return nil, nil, err
	}
	more, err := probeset.ParseOwn(outgoing, "outgoing.yaml")
	if err != nil {
		return nil, nil, err
	}
	var targets []string
	for _, p := range r.Set.Probes {
		if p.Direction != probeset.Out {
			continue
		}
		p.Level, p.Inside = probeset.Trace, true
		if p.Fails = nil; p.When != nil && p.When.ReadsExit() {
			p.When = nil // waiting in vain is a part of a transaction, too
		}
		p.GroupBy = nil
		keys := r.Key(Category{p.Category, probeset.Out})
		if p.Category == Web {
			keys = append([]string{verb}, keys...)
		}
		for _, tag := range keys {
			targets = append(targets, tag)
			p.GroupBy = append(p.GroupBy, targetPrefix+tag)
		}
		probes = append(probes, p)
	}
	for _, t := range slices.Concat(more.Tags, r.Set.Tags) {
		if slices.Contains(targets, t.Name) {
			t.Name, t.Optional = targetPrefix+t.Name, true
			tags = append(tags, t)
		}
	}
	return probes, tags, nil
}

// Incoming returns tags that say which incoming calls transactions answer. Where a program has no such calls, they have no effect.
func Incoming() (tags []probeset.Tag, err error) {
	r, err := Read(Web, Messaging)
	if err != nil {
		return nil, err
	}
	for _, t := range r.Set.Tags {
		for _, category := range r.All {
			if category.Direction == probeset.In && slices.Contains(r.Key(category), t.Name) {
				t.Name, t.Optional = incomingPrefix+category.Name+"_"+t.Name, true
				tags = append(tags, t)
				break
			}
		}
	}
	return tags, nil
}

// Answered returns the category of the incoming calls that a tag is about; "" for other tags.
func Answered(tag string) string {
	rest, is := strings.CutPrefix(tag, incomingPrefix)
	if !is {
		return ""
	}
	category, _, _ := strings.Cut(rest, "_")
	return category
}

// StatusName is the name of the status of an answer, as OpenTelemetry has it.
const StatusName = "http.response.status_code"

// statuses are how a method that answers a request reads the status of the answer when it ends, by the package of its type.
var statuses = []struct{ prefix, value, mayCall string }{
	{"jakarta.servlet.", "$2.(jakarta.servlet.http.HttpServletResponse).getStatus()", "jakarta.servlet.http.HttpServletResponse.getStatus()"},
	{"javax.servlet.", "$2.(javax.servlet.http.HttpServletResponse).getStatus()", "javax.servlet.http.HttpServletResponse.getStatus()"},
	{"com.sun.net.httpserver.", "$1.getResponseCode()", "com.sun.net.httpserver.HttpExchange.getResponseCode()"},
}

// Status returns the status of the answer, to be read at the end of a method at which a tag of incoming calls gets its value, and what
// that calls; nil where it is not known.
func Status(at *pattern.Pattern) (value *expr.Expr, mayCall []*pattern.Pattern) {
	for _, s := range statuses {
		if !strings.HasPrefix(at.String(), s.prefix) {
			continue
		}
		method, err := pattern.Parse(s.mayCall)
		if err != nil {
			return nil, nil // a test parses them all
		}
		if value, err = expr.ParseOwn(s.value); err != nil {
			return nil, nil
		}
		return value, []*pattern.Pattern{method}
	}
	return nil, nil
}
