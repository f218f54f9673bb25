package page

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sonde-jvm/sonde/internal/measure/cct"
)

func samplesPage(t *testing.T, name string) string {
	t.Helper()
	var page bytes.Buffer
	err := WriteSamples(&page, &Samples{
		Target: cct.Target{PID: 4711, Command: name, JDK: "17.0.15"}, Began: time.Unix(0, 0).UTC(), Took: 10 * time.Second, Count: 500,
		Bias: "by " + name, Methods: []cct.Method{{Class: name, Name: "run", Descriptor: "()V"}},
		Nodes: []SampleNode{{Parent: -1, Method: -1, Total: 1e9}, {Parent: 0, Method: 0, Self: 1e9, Total: 1e9, Kinds: map[string]float64{"compiled": 1}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func TestSamplesPage(t *testing.T) {
	page := samplesPage(t, "com.acme.Main")
	for _, part := range []string{"<title>com.acme.Main – hot</title>", "<b>500\u00a0samples</b>", `"name":"run"`, `"compiled":1`} {
		if !strings.Contains(strings.ReplaceAll(page, "500 samples", "500\u00a0samples"), part) {
			t.Errorf("lacks %q", part)
		}
	}
	hostile := samplesPage(t, "</script><script>alert(1)</script><!--")
	for _, tag := range []string{"<script", "</script", "<!--"} {
		if strings.Count(hostile, tag) != strings.Count(page, tag) {
			t.Errorf("a hostile name adds %s", tag)
		}
	}
	for _, names := range [][]string{sampleSheets, sampleScripts} {
		source, err := join(names)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page, string(source)) || bytes.Contains(source, []byte("</")) {
			t.Errorf("%v do not stand in the page as they are, so its policy would refuse them", names)
		}
	}
}
