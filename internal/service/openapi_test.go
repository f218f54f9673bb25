package service

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestOpenAPI: the document names every call once, and everything that it refers to is there.
func TestOpenAPI(t *testing.T) {
	s := serve(t)
	text, err := json.Marshal(s.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths      map[string]map[string]struct{ OperationID string }
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	var names []string
	for path, operations := range document.Paths {
		for method, operation := range operations {
			if operation.OperationID == "" || slices.Contains(names, operation.OperationID) {
				t.Errorf("%s %s has the name %q, which must be there and its own", method, path, operation.OperationID)
			}
			names = append(names, operation.OperationID)
		}
	}
	if want := len(s.calls()) - 1 + len(s.Commands()); len(names) != want {
		t.Errorf("%d calls are described, want %d", len(names), want)
	}
	for part := range strings.SplitSeq(string(text), `"$ref":"#/components/schemas/`) {
		if name, _, _ := strings.Cut(part, `"`); part[0] != '{' && document.Components.Schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
}

type embedded struct {
	Inner  int    `json:"inner"`
	Hidden string `json:"hidden"`
}

type optional struct {
	Maybe int `json:"maybe"`
}

func TestSchemas(t *testing.T) {
	b := &schemas{named: object{}, types: map[reflect.Type]string{}}
	type whole struct {
		embedded
		*optional
		Hidden *struct{}         `json:"hidden,omitempty"`
		State  State             `json:"state"`
		At     *time.Time        `json:"at,omitempty"`
		Many   []Cost            `json:"many"`
		By     map[string]uint64 `json:"by"`
		Not    int               `json:"-"`
		Any    any               `json:"any"`
		own    int
	}
	_ = whole{}.own
	b.of(reflect.TypeFor[whole]())
	have, err := json.Marshal(b.named["Whole"])
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"properties":{"any":{},"at":{"format":"date-time","type":"string"},"by":{"additionalProperties":{"format":"int64","type":"integer"},"type":"object"},` +
		`"inner":{"format":"int64","type":"integer"},"many":{"items":{"$ref":"#/components/schemas/Cost"},"type":"array"},"maybe":{"format":"int64","type":"integer"},` +
		`"state":{"enum":["running","ended","lost"],"type":"string"}},"required":["inner","state","many","by","any"],"type":"object"}`
	if string(have) != want {
		t.Errorf("have %s\nwant %s", have, want)
	}
	// A name that another type has already gets its package.
	type Cost struct{}
	if name := b.name(reflect.TypeFor[Cost]()); name != "ServiceCost" {
		t.Errorf("another type Cost has the name %s", name)
	}
	if name := fmt.Sprint(b.name(reflect.TypeFor[os.File]()), b.name(reflect.TypeFor[os.File]())); name != "FileFile" {
		t.Errorf("os.File has the names %s", name)
	}
}
