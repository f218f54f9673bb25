package categories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/spec/probeset"
	"github.com/sonde-jvm/sonde/internal/spec/spectest"
)

func TestRules(t *testing.T) {
	for _, test := range []struct {
		names          []string
		all, tags, key string
	}{
		{nil, "[web in messaging in db out web out messaging out]", "[consumer destination host method path source statement]", "[statement]"},
		{[]string{"db"}, "[db out]", "[statement]", "[statement]"},
		{[]string{"web"}, "[web in web out]", "[host method path]", "[]"},
		{[]string{"tasks", "db"}, "[tasks in db out]", "[statement]", "[statement]"},
		{[]string{"messaging", "sockets"}, "[messaging in messaging out sockets out]", "[consumer destination peer source]", "[]"},
	} {
		r, err := Read(test.names...)
		if err != nil {
			t.Fatal(err)
		}
		var tags []string
		for _, tag := range r.Set.Tags {
			if !slices.Contains(tags, tag.Name) {
				tags = append(tags, tag.Name)
			}
		}
		slices.Sort(tags)
		if got := fmt.Sprint(r.All); got != test.all {
			t.Errorf("%v: the categories are %s, not %s", test.names, got, test.all)
		}
		if got := fmt.Sprint(tags); got != test.tags {
			t.Errorf("%v: the tags are %s, not %s", test.names, got, test.tags)
		}
		if got := fmt.Sprint(r.Key(Category{"db", probeset.Out})); got != test.key {
			t.Errorf("%v: the key of db is %s, not %s", test.names, got, test.key)
		}
		if !r.Set.Optional || r.Set.HandOff {
			t.Errorf("%v: optional %v, hand-off %v", test.names, r.Set.Optional, r.Set.HandOff)
		}
	}
	if _, err := Read("databases"); err == nil || err.Error() != `there is no category "databases": there are web, db, messaging, tasks, routes, sockets, files` {
		t.Errorf("an unknown category: %v", err)
	}
}

// TestRulesAreOwn: a file of a user cannot call methods as Sonde's own rules do.
func TestRulesAreOwn(t *testing.T) {
	for name, text := range map[string][]byte{"rules.yaml": rules, "ids.yaml": ids, "propagate.yaml": propagate, "outgoing.yaml": outgoing} {
		if _, err := probeset.Parse(text, name); err == nil {
			t.Errorf("%s is accepted as a file of a user", name)
		}
	}
}

func TestTraceIDs(t *testing.T) {
	tags, err := TraceIDs(spectest.Patterns("a.B.c", "!a.B.d", "a.B.c", "a.**"))
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, tag := range tags {
		if tag.As != probeset.AsTrace || !tag.Optional || len(tag.MayCall) == 0 {
			t.Errorf("%+v: want an optional id of a trace", tag)
		}
		if tag.Name == "opentelemetry" {
			places = append(places, tag.At.String())
		}
	}
	if want := []string{"a.B.c", "a.**"}; !slices.Equal(places, want) {
		t.Errorf("the current span is read at %q, want %q", places, want)
	}
	set := &probeset.Set{Tags: tags, Probes: []probeset.Probe{{Name: "traced", Methods: spectest.Patterns("a.B.c")}}}
	if err := set.Check(); err != nil {
		t.Error(err)
	}
}

// TestEveryRuleHasAKey: every method of a probe sets the tags by which its calls are grouped.
func TestEveryRuleHasAKey(t *testing.T) {
	usual, others := Names()
	r, err := Read(append(usual, others...)...)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(r.Key(Category{"messaging", probeset.Out})), "[destination consumer]"; got != want {
		t.Errorf("the key of messages is %s, not %s", got, want)
	}
	for _, p := range r.Set.Probes {
		for _, name := range r.Key(r.Of(p.Name)) {
			if !slices.ContainsFunc(r.Set.Tags, func(tag probeset.Tag) bool { return tag.Name == name }) {
				t.Errorf("probe %s: nothing sets the tag %s", p.Name, name)
			}
		}
		if p.Category == "" || p.Direction == probeset.Undirected || p.Level != probeset.Time {
			t.Errorf("probe %s: category %q, direction %v, level %v", p.Name, p.Category, p.Direction, p.Level)
		}
	}
}

// TestOutgoing: the rules for outgoing calls inside transactions decide at the entry, and have tags that say what is called.
func TestOutgoing(t *testing.T) {
	probes, tags, err := Outgoing("db", "web", "messaging")
	if err != nil {
		t.Fatal(err)
	}
	targets := make(map[string]bool)
	for _, tag := range tags {
		targets[tag.Name] = true
		if !tag.Optional || !IsTarget(tag.Name) {
			t.Errorf("tag %+v: want an optional one for targets", tag)
		}
	}
	found := make(map[string]bool)
	for _, p := range probes {
		found[p.Category] = true
		if !p.Inside || p.Direction != probeset.Out || p.Fails != nil || p.When != nil && p.When.ReadsExit() || len(p.GroupBy) == 0 {
			t.Errorf("probe %+v: want one inside transactions that decides at the entry", p)
		}
		for _, tag := range p.GroupBy {
			if !targets[tag] {
				t.Errorf("probe %s: nothing sets the tag %s", p.Name, tag)
			}
		}
	}
	if len(found) != 3 {
		t.Errorf("categories %v, want 3", found)
	}
	if _, _, err := Outgoing("nothing"); err == nil {
		t.Error("there is no category nothing, and no error")
	}
}

// TestIncoming: the tags of incoming calls are set where calls of their category begin.
func TestIncoming(t *testing.T) {
	tags, err := Incoming()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tag := range tags {
		if !slices.Contains(names, tag.Name) {
			names = append(names, tag.Name)
		}
		if !tag.Optional || !IsTarget(tag.Name) || !slices.Contains([]string{"web", "messaging"}, Answered(tag.Name)) {
			t.Errorf("tag %+v: want an optional one of a category", tag)
		}
	}
	slices.Sort(names)
	if got := fmt.Sprint(names); got != "[sonde_in_messaging_source sonde_in_web_method sonde_in_web_path]" {
		t.Errorf("the tags are %s", got)
	}
	for _, tag := range []string{"path", "sonde_host", "sonde_path"} {
		if got := Answered(tag); got != "" {
			t.Errorf("%s is of incoming calls of %q", tag, got)
		}
	}
}

func TestRoots(t *testing.T) {
	for _, test := range []struct {
		names []string
		want  string
	}{
		{nil, "[]"},
		{[]string{"db"}, "[java.sql.Statement.execute* java.sql.PreparedStatement.execute* java.sql.Statement+.executeLarge*]"},
		{[]string{"messaging"}, "[jakarta.jms.MessageListener.onMessage javax.jms.MessageListener.onMessage]"},
	} {
		roots, err := Roots(test.names...)
		if got := fmt.Sprint(roots); err != nil || got != test.want {
			t.Errorf("%v: %s (%v), not %s", test.names, got, err, test.want)
		}
	}
}

// TestJakartaIsAsJavax: libraries are tested with one of the two names that their packages have.
func TestJakartaIsAsJavax(t *testing.T) {
	r, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	rules := make(map[string]bool)
	for _, tag := range r.Set.Tags {
		rules[fmt.Sprint(tag.Name, tag.Value, tag.At, tag.As, tag.MayCall)] = true
	}
	for _, p := range r.Set.Probes {
		rules[fmt.Sprint(p.Category, p.Direction, p.Methods, p.When, p.Fails, p.MayCall, p.GroupBy)] = true
	}
	for rule := range rules {
		if other := strings.ReplaceAll(rule, "javax.", "jakarta."); !rules[other] {
			t.Errorf("there is %s, and not %s", rule, other)
		}
	}
}

// TestStatus: how the status of an answer is read is valid, and known where requests of servlets and of the JDK's server are answered.
func TestStatus(t *testing.T) {
	tags, err := Incoming()
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range tags {
		value, mayCall := Status(tag.At)
		text := tag.At.String()
		want := strings.Contains(text, "servlet") || strings.Contains(text, "httpserver")
		if (value != nil) != want || want && len(mayCall) != 1 {
			t.Errorf("at %s the status is %v, with %v", text, value, mayCall)
		}
	}
}
