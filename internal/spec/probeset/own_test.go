package probeset

import (
	"reflect"
	"strings"
	"testing"
)

const ownTemplate = `version: 1
probes:
  - name: orders
    methods: com.acme.Order.pay
    template: lib/Orders.java:around
    template-class: yv66vg==
    trusted: true
    group-by: tenant
`

// TestOwnTemplate checks that a template of the user survives a round trip, and that its class is compared.
func TestOwnTemplate(t *testing.T) {
	set, err := Parse([]byte(ownTemplate), "probes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	own := set.Probes[0].Own
	if own == nil || own.Source() != "lib/Orders.java" || own.Method() != "around" || !own.Trusted || string(own.Class) != "\xca\xfe\xba\xbe" {
		t.Errorf("got %+v", own)
	}
	again, err := Parse(set.YAML(), "again")
	if err != nil || !reflect.DeepEqual(set, again) {
		t.Errorf("%v: got\n%s", err, set.YAML())
	}
	again.Probes[0].Own.Class = []byte("other")
	changes := Diff(set, again)
	if len(changes) != 1 || len(changes[0].Fields) != 1 || changes[0].Fields[0].Name != "template-class" || len(changes[0].Fields[0].Want) != 12 {
		t.Errorf("another class: got %+v, want one change of template-class", changes)
	}
}

func TestOwnTemplateProblems(t *testing.T) {
	if _, err := Parse([]byte(ownTemplate+"    when: $1 > 5\n"), "probes.yaml"); err != nil {
		t.Errorf("a condition that is known at entry: %v", err)
	}
	for _, test := range []struct{ with, want string }{
		{"when: $1 > 5 && $return == 2", "probes.yaml:9: probe orders: when uses a value that exists only at the end of a call, but a template of your own runs from the beginning; test it in the template"},
		{"captures: [$1]", "runs in every counted call, so captures cannot be combined with it; test it in the template"},
		{"sample: 1/10", "sample cannot be combined with it"},
		{"level: trace", "level cannot be combined with it"},
	} {
		_, err := Parse([]byte(ownTemplate+"    "+test.with+"\n"), "probes.yaml")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.with, err, test.want)
		}
	}
	for _, test := range []struct{ from, to, want string }{
		{"    template: lib/Orders.java:around\n", "", "template is missing"},
		{"yv66vg==", "no", "is not a class file in base64"},
		{"lib/Orders.java:around", "Orders.txt", "or a file of your own, such as Orders.java"},
		{"trusted: true", "trusted: 1", "true or false"},
	} {
		_, err := Parse([]byte(strings.Replace(ownTemplate, test.from, test.to, 1)), "probes.yaml")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.to, err, test.want)
		}
	}
}
