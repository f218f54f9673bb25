package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

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
	{"sonde status PID --json", document.Status{}},
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

// versionField returns the field that is called version in JSON, with its type.
func versionField(t reflect.Type) string {
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name == "version" {
			return field.Name + " " + field.Type.String()
		}
	}
	return ""
}
