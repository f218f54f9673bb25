package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/handover"
	"github.com/sonde-jvm/sonde/internal/report/document"
	"github.com/sonde-jvm/sonde/internal/service"
)

// documents are what commands write with --json.
var documents = []struct {
	command string
	value   any
}{
	{"sonde ps --json", document.JVM{}},
	{"sonde hot PID --json", document.Hot{}},
	{"sonde walk PID --json", document.RootCause{}},
	{"sonde drill PID METHOD --json", document.Drill{}},
	{"sonde profile PID --json", document.Profile{}},
	{"sonde diff A B --json", document.Diff{}},
	{"sonde trace PID METHOD --json, for each transaction", document.Transaction{}},
	{"sonde trace PID METHOD --json, at the end", document.TraceEnd{}},
	{"sonde trace PID METHOD -o FILE.json", document.Trace{}},
	{"sonde count PID PATTERN --json", document.Count{}},
	{"sonde monitor PID METHOD --json, and by sonde calls", document.Monitor{}},
	{"sonde find PID PATTERN --json", document.Find{}},
	{"sonde callees PID METHOD --json", document.Callees{}},
	{"sonde observe PID --json", document.Proposal{}},
	{"sonde apply PID -f FILE --json", document.Applied{}},
	{"on-miss of a goal, which sonde apply runs or posts to", document.GoalMissed{}},
	{"sonde apply PID -f FILE --json, if another one is running", document.Handover{}},
	{"sonde apply PID --json", handover.Status{}},
	{"sonde apply PID --end --json", document.ApplyEnded{}},
	{"sonde doctor PID --json", document.Doctor{}},
	{"sonde status PID --json", service.Status{}},
	{"sonde status --json", hostDocument{}},
	{"sonde attach PID --json", document.Attached{}},
	{"sonde undo PID --json", document.Undone{}},
	{"sonde looks --json", service.List{}},
	{"sonde show LOOK --json, while it runs", service.Description{}},
	{"sonde status --service --json", service.About{}},
	{"sonde plan JAR -f FILE --json", document.Plan{}},
	{"sonde pack JAR -f FILE -o OUT --json", document.Pack{}},
	{"sonde pack show PACK --json", document.PackShow{}},
	{"sonde pack verify PACK --json", document.PackVerify{}},
	{"sonde report PID --json", document.Report{}},
	{"sonde instrument JAR --json", document.Instrument{}},
	{"sonde dump JAR --json", document.Class{}},
	{"sonde dump JAR --diff OTHER --json", document.ClassDiff{}},
	{"sonde cache ls --json", document.CacheList{}},
	{"sonde cache show CLASS --json", document.CacheShow{}},
	{"sonde cache stats --json", document.CacheStats{}},
	{"sonde cache verify --json", document.CacheVerify{}},
	{"sonde cache prune --json", document.CachePrune{}},
}

const (
	documentsFile = "../../docs/formats/documents.json"
	documentsPage = "../../docs/formats/json.md"
)

// TestDocuments: the schemas and the list of documents are those of the types that commands write. No two formats have
// one name.
func TestDocuments(t *testing.T) {
	var values []any
	var table strings.Builder
	table.WriteString("| format | written by |\n| --- | --- |\n")
	formats := map[string]bool{}
	for _, d := range documents {
		name := document.Format(reflect.TypeOf(d.value))
		if formats[name] {
			t.Errorf("two documents have the format %s", name)
		}
		formats[name] = true
		if field := versionField(reflect.TypeOf(d.value)); field != "" && field != "Version int" {
			t.Errorf("%s: %s has the name version in JSON, which is that of the format", name, field)
		}
		values = append(values, d.value)
		fmt.Fprintf(&table, "| `%s` | `%s`%s |\n", name, strings.SplitN(d.command, ",", 2)[0], strings.TrimPrefix(d.command, strings.SplitN(d.command, ",", 2)[0]))
	}
	var schemas bytes.Buffer
	encoder := json.NewEncoder(&schemas)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "components": map[string]any{"schemas": service.Schemas(values...)}}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(documentsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, isFound := strings.Cut(string(page), "| format | written by |\n")
	_, after, _ := strings.Cut(rest, "\n\n")
	want := before + table.String() + "\n" + after
	if *updateAPI {
		if err := os.WriteFile(documentsFile, schemas.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(documentsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(documentsFile)
	if err != nil || !bytes.Equal(have, schemas.Bytes()) || !isFound || string(page) != want {
		t.Errorf("docs/formats/documents.json or json.md differs from the types (%v): go test ./internal/cli -run TestDocuments -update-api writes them", err)
	}
}

// A schema is what documents.json uses of JSON Schema.
type schema struct {
	Ref                         string `json:"$ref"`
	Type                        kinds
	Format                      string
	Const                       any
	Enum, Required              []string
	Properties                  map[string]*schema
	Items, AdditionalProperties *schema
}

// kinds are the types that a value may have; any if there are none.
type kinds []string

func (k *kinds) UnmarshalJSON(text []byte) error {
	*k = kinds{""}
	if json.Unmarshal(text, &(*k)[0]) == nil {
		return nil
	}
	return json.Unmarshal(text, (*[]string)(k))
}

// schemas are those of documents.json, by the names of types.
var schemas = sync.OnceValue(func() map[string]*schema {
	var file struct {
		Components struct{ Schemas map[string]*schema }
	}
	text, err := os.ReadFile(documentsFile)
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		panic(err)
	}
	return file.Components.Schemas
})

// checkDocuments compares documents that a command has written with their schemas, and returns their formats. Unlike
// the readers of documents, it knows all their fields.
func checkDocuments(t testing.TB, text string) (formats []string) {
	t.Helper()
	for decoder := json.NewDecoder(strings.NewReader(text)); ; {
		decoder.UseNumber()
		var d map[string]any
		err := decoder.Decode(&d)
		if errors.Is(err, io.EOF) {
			return formats
		}
		if err != nil {
			t.Errorf("no JSON: %v: %.300s", err, text)
			return formats
		}
		name, _ := d["format"].(string)
		formats = append(formats, name)
		s := &schema{}
		for _, one := range schemas() {
			if is := one.Properties["format"]; is != nil && is.Const == name {
				s = one
			}
		}
		if s.Properties == nil || d["version"] == nil {
			t.Errorf("a document has the format %q and the version %v, want those of docs/formats/documents.json: %.300s", name, d["version"], text)
			continue
		}
		if err := s.check(name, d); err != nil {
			t.Errorf("docs/formats/documents.json: %v", err)
		}
	}
}

// check compares a value of a place in a document.
func (s *schema) check(at string, value any) error {
	if s.Ref != "" {
		return schemas()[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]].check(at, value)
	}
	got := map[reflect.Kind]string{reflect.Map: "object", reflect.Slice: "array", reflect.String: "string", reflect.Bool: "boolean"}[reflect.ValueOf(value).Kind()]
	text, isText := value.(string)
	if number, is := value.(json.Number); is {
		if got = "number"; slices.Contains(s.Type, "integer") && !strings.ContainsAny(number.String(), ".eE") {
			got = "integer"
		}
	}
	if value == nil {
		got = "null"
	}
	if s.Type != nil && !slices.Contains(s.Type, got) || s.Const != nil && value != s.Const || len(s.Enum) > 0 && !slices.Contains(s.Enum, text) {
		return fmt.Errorf("%s: got %.100v, want %s %v %v", at, value, strings.Join(s.Type, " or "), s.Const, s.Enum)
	}
	if _, err := time.Parse(time.RFC3339Nano, text); s.Format == "date-time" && isText && err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if list, is := value.([]any); is && s.Items != nil {
		for i, one := range list {
			if err := s.Items.check(fmt.Sprintf("%s[%d]", at, i), one); err != nil {
				return err
			}
		}
	}
	object, isObject := value.(map[string]any)
	if !isObject || s.Type == nil {
		return nil
	}
	for _, name := range s.Required {
		if _, has := object[name]; !has {
			return fmt.Errorf("%s: %s is missing", at, name)
		}
	}
	for name, one := range object {
		of := s.Properties[name]
		if of == nil {
			of = s.AdditionalProperties
		}
		if of == nil {
			return fmt.Errorf("%s: %s is not described", at, name)
		}
		if err := of.check(at+"."+name, one); err != nil {
			return err
		}
	}
	return nil
}

// versionField returns the field that is called version in JSON, with its type.
func versionField(t reflect.Type) string {
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name == "version" {
			return field.Name + " " + field.Type.String()
		}
	}
	return ""
}
