package original

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
)

func TestBugsByVersion(t *testing.T) {
	for version, want := range map[string]string{
		"1.8.0_402":     "8240908 8277444",
		"11.0.20":       "8240908 8277444",
		"17.0.15":       "8240908 8315575 8376185 8277444",
		"17.0.20":       "8315575 8376185 8277444",
		"17.0.20-ea":    "8240908 8315575 8376185 8277444",
		"18.0.2":        "8240908 8315575 8376185 8277444",
		"19":            "8315575 8376185 8277444",
		"21.0.1":        "8315575 8376185 8277444",
		"25.0.1":        "8376185 8277444",
		"25.0.3+9-LTS":  "8376185",
		"25.0.4":        "",
		"26":            "8376185",
		"27":            "",
		"28-ea+1-build": "",
	} {
		var got []string
		for _, b := range Bugs(mustParse(t, version)) {
			got = append(got, strings.TrimPrefix(b.ID, "JDK-"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", version, got, want)
		}
	}
}

// shape is the file of one class of testdata/fixture, and what a JDK before 19 rebuilds
// of it: no MethodParameters.
func shape(t *testing.T, name string, flags ...string) (file, rebuilt []byte) {
	t.Helper()
	directory, _ := shapes(t, jvmtest.Need(t, 17), flags...)
	file, err := os.ReadFile(filepath.Join(directory, "fixture", name+".class"))
	if err != nil {
		t.Fatal(err)
	}
	return file, edit(t, file, func(c *classfile.Class) {
		for i := range c.Methods {
			m := &c.Methods[i]
			var kept []classfile.Attribute
			for _, a := range m.Attributes {
				if c.Kind(a.Name) != classfile.KindMethodParameters {
					kept = append(kept, a)
				}
			}
			m.Attributes = kept
		}
	})
}

func edit(t *testing.T, data []byte, change func(*classfile.Class)) []byte {
	t.Helper()
	c, err := classfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	change(c)
	out, err := c.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestChoose(t *testing.T) {
	file, rebuilt := shape(t, "Shapes$Friend", "-parameters")
	bare, bareRebuilt := shape(t, "Shapes$Square")
	other, _ := shape(t, "Shapes$Inner", "-parameters")
	later := edit(t, rebuilt, func(c *classfile.Class) { c.Pool.AddString("of another agent") })
	changed := edit(t, later, func(c *classfile.Class) {
		code := c.Find(c.Methods[0].Attributes, classfile.KindCode)
		code.Data = bytes.Clone(code.Data)
		code.Data[1]++ // max_stack
	})
	linking := edit(t, rebuilt, func(c *classfile.Class) {
		code := c.Find(c.Methods[0].Attributes, classfile.KindCode)
		code.Data = bytes.Clone(code.Data)
		code.Data[10] ^= 0xff
	})
	for _, test := range []struct {
		name        string
		jdk         string
		file, given []byte
		loading     bool
		source      Source
		restore     bool
		damage      string
	}{
		{"the file, to be put back", "17.0.15", file, rebuilt, false, FromFile, true, ""},
		{"with constants of an earlier redefinition", "17.0.15", file, later, false, FromFile, true, ""},
		{"a JDK that keeps names", "25.0.3", file, file, false, FromFile, false, ""},
		{"no names to lose", "17.0.15", bare, bareRebuilt, false, FromFile, false, ""},
		{"no file, names at stake", "17.0.15", nil, rebuilt, false, FromGiven, false, parameterNames.ID},
		{"no file, never had names", "17.0.15", nil, bareRebuilt, false, FromGiven, false, ""},
		{"no file, a JDK that keeps names", "25.0.3", nil, file, false, FromGiven, false, ""},
		{"no file, shown whole", "17.0.15", nil, file, false, FromGiven, false, ""},
		{"another class's file", "17.0.15", other, rebuilt, false, FromGiven, false, parameterNames.ID},
		{"no class file", "17.0.15", []byte("<html>"), rebuilt, false, FromGiven, false, parameterNames.ID},
		{"changed by another agent", "17.0.15", file, changed, false, FromGraft, true, ""},
		{"changed, names kept", "25.0.3", file, edit(t, file, func(c *classfile.Class) { c.Methods = c.Methods[:1] }), false, FromGiven, false, ""},
		{"linked meanwhile", "17.0.15", file, linking, false, FromGiven, false, linkingRace.ID},
		{"being loaded", "17.0.15", nil, rebuilt, true, FromGiven, false, ""},
	} {
		choice, err := Choose(Input{JDK: mustParse(t, test.jdk), File: test.file, Given: test.given, Loading: test.loading})
		var damage *Damage
		id := ""
		if errors.As(err, &damage) {
			id = damage.Bug.ID
		} else if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if choice.Source != test.source || (choice.Restore != nil) != test.restore || id != test.damage {
			t.Errorf("%s: from %s (%s), restore %v, %v", test.name, choice.Source, choice.Unproven, choice.Restore != nil, err)
		}
		if test.source == FromGraft {
			c, err := classfile.Parse(choice.Weave)
			if err != nil || !hasParameters(c) || c.Check() != nil {
				t.Errorf("%s: the graft has no parameters or is no class: %v", test.name, err)
			}
		}
	}
}

func TestDamageNamesWhatIsLost(t *testing.T) {
	_, rebuilt := shape(t, "Shapes$Friend", "-parameters")
	_, err := Choose(Input{JDK: mustParse(t, "17.0.15"), Given: rebuilt})
	want := "JDK 17.0.15 loses the parameter names of fixture.Shapes$Friend when it is redefined (JDK-8240908), and its own class file cannot be had"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestChooseRefusesWhatIsNoClass(t *testing.T) {
	var damage *Damage
	if _, err := Choose(Input{JDK: mustParse(t, "25"), Given: []byte("no")}); err == nil || errors.As(err, &damage) {
		t.Errorf("got %v", err)
	}
}
