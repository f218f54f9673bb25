package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
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

// TestWrongOptions: the service refuses a request with an option that the command would refuse.
func TestWrongOptions(t *testing.T) {
	h := newHost()
	for _, tt := range []struct{ kind, body, want string }{
		{"count", `{"methods":["a.**"],"sort":"beauty"}`, "--sort"},
		{"count", `{"methods":["a..b"]}`, "a..b"},
		{"count", `{"methods":[]}`, "missing"},
		{"count", `{"methods":["a.**"],"budget":"7"}`, `--budget "7": must be a share, such as 2% or 0.02`},
		{"count", `{"methods":["a.**"],"cache-share":"all"}`, "--cache-share"},
		{"trace", `{"methods":["a.b"],"when":"$1 >"}`, "--when"},
		{"profile", `{"root":["a.b"],"timing":"exact","budget":"1%"}`, "--budget needs --timing auto"},
		{"profile", `{}`, "--root"},
		{"walk", `{"until":["a b"]}`, "must be a package"},
		{"hot", `{"sampler":"gut"}`, "--sampler"},
		{"observe", `{"duration":"1h30m"}`, "--duration"},
		{"callees", `{"methods":["a.b"],"hooks":5}`, "--hooks needs --watch"},
		{"apply", `{"probes":"version: 1\nprobes:\n  - name: x\n    level: beauty\n"}`, "beauty"},
	} {
		request := service.Request{Kind: tt.kind, PID: 1}
		if err := json.Unmarshal([]byte(tt.body), &request.Options); err != nil {
			t.Fatal(err)
		}
		if err := h.Check(request); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %s: %v, want one line with %s", tt.kind, tt.body, err, tt.want)
		}
	}
	right := service.Request{Kind: "count", PID: 1, Options: map[string]json.RawMessage{"methods": json.RawMessage(`["a.**"]`), "duration": json.RawMessage(`"1s"`)}}
	if err := h.Check(right); err != nil {
		t.Errorf("a request without a fault: %v", err)
	}
}

// TestLineOfALook: looks are listed with the command that starts them, without secrets.
func TestLineOfALook(t *testing.T) {
	for _, tt := range []struct{ kind, options, want string }{
		{"hot", `{"wall":true,"duration":"5s"}`, "sonde hot 7 --duration 5s --wall"},
		{"profile", `{"root":["shop.Shop.checkout"],"settle":false}`, "sonde profile 7 --root shop.Shop.checkout '--settle=false'"},
		{"trace", `{"methods":["a.B.c"],"slower-than":"20ms","otlp":"http://me:secret@host/x","otlp-settings":"{\"token\":\"secret\"}"}`, "sonde trace 7 a.B.c --otlp http://me:xxxxx@host/x --slower-than 20ms"},
		{"apply", `{"probes":"version: 1","title":"p.yaml"}`, "sonde apply 7 -f p.yaml"},
		{"count", `{"methods":["a.**"],"top":3}`, "sonde count 7 'a.**' --top 3"},
	} {
		if got := kindOf(tt.kind).line(service.Request{PID: 7, Options: parse[map[string]json.RawMessage](t, tt.options)}); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}
