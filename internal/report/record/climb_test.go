package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/measure/rootcause"
)

var update = flag.Bool("update", false, "write the goldens anew; read the difference before you commit it")

// TestClimbGolden holds the form still. Other packages' tests read the file.
func TestClimbGolden(t *testing.T) {
	encoded, err := EncodeClimb(sampleClimb())
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, encoded, "", " "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	path := filepath.Join("testdata", "climb.json")
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("not as in %s (-update writes it)", path)
	}
}

func TestClimbIsReadBack(t *testing.T) {
	for name, want := range map[string]*rootcause.Climb{"sample": sampleClimb(), "empty": {}} {
		var out bytes.Buffer
		if err := WriteClimb(&out, want); err != nil {
			t.Fatal(err)
		}
		got, err := ReadClimb(&out)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: came back different", name)
		}
	}
}

func TestWhatIsNoClimbIsRefused(t *testing.T) {
	const begin = `{"format":"sonde-climb","version":1,"methods":[{"name":"a"}],`
	for _, text := range []string{
		"", "[]", `{"format":"sonde-profile","version":1}`,
		begin + `"spots":[{"method":1}]}`,
		begin + `"spots":[{"method":0,"callers":[{"below":-1,"method":-1}]}]}`,
		begin + `"spots":[{"method":0,"callers":[{"below":0,"method":0}]}]}`,
		begin + `"spots":[{"method":0,"callers":[{"below":-2,"method":0}]}]}`,
		begin + `"callerList":[{"method":0,"callers":[3]}]}`,
		begin + `"hooks":[{"method":0,"spot":0}]}`,
	} {
		if _, err := ReadClimb(strings.NewReader(text)); !errors.Is(err, ErrNotClimb) {
			t.Errorf("%s: %v, want ErrNotClimb", text, err)
		}
	}
	var version *VersionError
	if _, err := ReadClimb(strings.NewReader(`{"format":"sonde-climb","version":9}`)); !errors.As(err, &version) || version.Version != 9 {
		t.Errorf("another version: %v", err)
	}
}
