package session

import "testing"

func TestSplitMember(t *testing.T) {
	class, name, descriptor, ok := SplitMember("a/B.m(La/C;)V")
	if !ok || class != "a/B" || name != "m" || descriptor != "(La/C;)V" {
		t.Errorf("%q %q %q %t", class, name, descriptor, ok)
	}
	for _, text := range []string{"", "m()V", ".m()V", "a/B.m"} {
		if _, _, _, ok := SplitMember(text); ok {
			t.Errorf("%q was taken for a method", text)
		}
	}
}
