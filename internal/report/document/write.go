package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
)

// formatVersion is the version of documents that do not state their own. It changes when a field changes its
// meaning or disappears; new fields do not change it.
const formatVersion = 1

// Write writes a document on one line. Each begins with its format and version.
func Write(w io.Writer, value any) error {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	text := encoded.Bytes()
	if name := Format(reflect.TypeOf(value)); name != "" && !statesFormat(reflect.TypeOf(value)) && bytes.HasPrefix(text, []byte("{")) {
		head := fmt.Sprintf(`{"format":%q,"version":%d`, name, formatVersion)
		if !bytes.HasPrefix(text, []byte("{}")) {
			head += ","
		}
		text = append([]byte(head), text[1:]...)
	}
	_, err := w.Write(text)
	return err
}

// formatNames are names of formats that are clearer than the names of their types.
var formatNames = map[string]string{
	"service.Description": "look", "service.List": "looks", "service.About": "service", "handover.Status": "apply-status", "cli.hostDocument": "host",
	"document.Transaction": "trace-transaction", "document.RootCause": "climb",
}

// Format returns the format of the documents of a type: sonde-count for Count; "" if the type has no name.
func Format(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct || t.Name() == "" {
		return ""
	}
	if name, is := formatNames[t.String()]; is {
		return "sonde-" + name
	}
	var name strings.Builder
	before := ' '
	for _, r := range t.Name() {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			name.WriteByte('-')
		}
		name.WriteRune(unicode.ToLower(r))
		before = r
	}
	return "sonde-" + name.String()
}

// statesFormat reports whether documents of a type have a field for their format.
func statesFormat(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	field, is := t.FieldByName("Format")
	return is && field.Tag.Get("json") == "format"
}
