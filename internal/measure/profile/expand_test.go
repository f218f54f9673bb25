package profile

import (
	"slices"
	"testing"
)

func TestSkipped(t *testing.T) {
	s, err := newSkipping([]string{"java.util.concurrent.**"}, []string{"com.acme.log.**"}, []string{"com.acme.Main.main"})
	if err != nil {
		t.Fatal(err)
	}
	for class, want := range map[string]bool{
		"com/acme/Main":                         false,
		"com/acme/log/Log":                      true,
		"java/lang/String":                      true,
		"java/util/concurrent/FutureTask":       false,
		"javax/servlet/Servlet":                 false,
		"javax/crypto/Cipher":                   true,
		"com/sun/tools/javac/main/JavaCompiler": true,
	} {
		if s.class(class) != want {
			t.Errorf("%s: skipped %t, want %t", class, !want, want)
		}
	}
	if slices.Contains(s.excludes, "java/") {
		t.Error("classes are excluded that java.util.concurrent.** may name")
	}
	if !slices.Contains(s.excludes, "sun/") {
		t.Error("classes are shown that nothing names")
	}
}

func TestARootAmongTheJDKsIsShownWhenItLoads(t *testing.T) {
	s, err := newSkipping(nil, nil, []string{"com.sun.tools.javac.main.JavaCompiler.compile"})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(s.excludes, "com/sun/") {
		t.Error("the root's class would not be seen")
	}
}
