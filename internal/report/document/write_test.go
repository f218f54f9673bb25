package document

import (
	"reflect"
	"strings"
	"testing"
)

func TestDocumentsStateTheirFormat(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{&Attached{PID: 7}, `{"format":"sonde-attached","version":1,"pid":7,`},
		{JVM{PID: 7}, `{"format":"sonde-jvm","version":1,"pid":7,`},
		{Hot{Format: HotFormat, Version: 3}, `{"format":"sonde-hot","version":3,`},
		{struct{}{}, "{}\n"},
		{map[string]int{"a": 1}, `{"a":1}`},
		{&Profile{Format: ProfileFormat}, `{"format":"sonde-profile","version":0,`},
	} {
		var out strings.Builder
		if err := Write(&out, test.value); err != nil || !strings.HasPrefix(out.String(), test.want) || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%T: got %q, %v, want one line that begins with %q", test.value, out.String(), err, test.want)
		}
	}
	for want, value := range map[string]any{"sonde-cache-list": CacheList{}, "sonde-pack-verify": &PackVerify{}, "sonde-class-diff": ClassDiff{}, "": 7} {
		if got := Format(reflect.TypeOf(value)); got != want {
			t.Errorf("%T: got %q, want %q", value, got, want)
		}
	}
}
