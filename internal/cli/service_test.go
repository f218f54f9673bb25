package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/sonde-jvm/sonde/internal/service"
)

var updateAPI = flag.Bool("update-api", false, "write docs/formats/service.json")

const apiFile = "../../docs/formats/service.json"

// TestAPI compares the document that describes the service with what the code answers.
func TestAPI(t *testing.T) {
	s, err := service.New(service.Settings{Runner: newHost(), State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var have bytes.Buffer
	encoder := json.NewEncoder(&have)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(s.OpenAPI()); err != nil {
		t.Fatal(err)
	}
	if *updateAPI {
		if err := os.WriteFile(apiFile, have.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(apiFile)
	if err != nil || !bytes.Equal(have.Bytes(), want) {
		t.Errorf("docs/formats/service.json does not describe the service (%v): go test ./internal/cli -run TestAPI -update-api writes it", err)
	}
}
