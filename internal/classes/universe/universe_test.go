package universe

import (
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/classfile/classtest"
)

// file returns a class file with three methods: a static one without code, a bridge of the
// same name, and an abstract one.
func file(name, super string, interfaces ...string) []byte {
	b := classtest.NewBuilder(61, name)
	b.Super = b.Class(super)
	for _, i := range interfaces {
		b.Interfaces = append(b.Interfaces, b.Class(i))
	}
	b.AddMethod(uint16(classfile.AccStatic), "m", "(ILjava/util/Map$Entry;)V")
	b.AddMethod(uint16(classfile.AccBridge), "m", "(Ljava/lang/Object;)V")
	b.AddMethod(uint16(classfile.AccAbstract), "a", "()V")
	return b.Bytes()
}

func loaded(name string, loader uint32, super string, interfaces ...string) Loaded {
	return Loaded{Name: name, Loader: loader, File: file(name, super, interfaces...)}
}

func names(classes []*Class) (all []string) {
	for _, c := range classes {
		all = append(all, c.Name)
	}
	slices.Sort(all)
	return all
}

func TestLookup(t *testing.T) {
	u := Of(nil, []Loaded{
		loaded("a/Boot", 0, "java/lang/Object"),
		loaded("a/Boot", 2, "java/lang/Object"),
		loaded("a/Twice", 1, "java/lang/Object"),
		loaded("a/Twice", 2, "java/lang/Object"),
		loaded("a/Once", 1, "java/lang/Object"),
		{Name: "a/Damaged", Loader: 1, File: []byte{1, 2, 3}},
		{Name: "a/Other", Loader: 1, File: file("a/Once", "java/lang/Object")},
	})
	for _, test := range []struct {
		name  string
		from  int
		want  int // -1 for none
		ahead bool
	}{
		{name: "a/Boot", from: 1, want: 0},
		{name: "a/Boot", from: 2, want: 2},
		{name: "a/Twice", from: 1, want: 1},
		{name: "a/Twice", from: 3, want: -1},
		{name: "a/Twice", from: 1, want: -1, ahead: true},
		{name: "a/Once", from: 3, want: 1},
		{name: "a/Once", from: 3, want: 1, ahead: true},
		{name: "a/Damaged", from: 1, want: -1},
		{name: "a/Other", from: 1, want: -1},
		{name: "a/Absent", from: 1, want: -1},
	} {
		u.IsAhead = test.ahead
		got := -1
		if c := u.Lookup(test.name, &Class{Loader: test.from}); c != nil {
			got = c.Loader
		}
		if got != test.want {
			t.Errorf("%s from loader %d, ahead %t: found in loader %d, want %d", test.name, test.from, test.ahead, got, test.want)
		}
	}
}

func TestLoad(t *testing.T) {
	u := Of(nil, []Loaded{loaded("one/A", 3, "java/lang/Object"), loaded("two/A", 3, "java/lang/Object"), loaded("two/B", 4, "java/lang/Object")})
	for _, test := range []struct {
		name string
		want int
	}{
		{"one/C", 3},  // the package has one loader
		{"two/C", -1}, // it has two
		{"new/C", -2}, // it has none, and nothing is known of the loader before
	} {
		c := u.Load(test.name, file(test.name, "java/lang/Object"))
		if c.Loader != test.want || c.Origin != Fresh {
			t.Errorf("%s: loader %d, want %d; origin %d", test.name, c.Loader, test.want, c.Origin)
		}
		u.Add(Loaded{Name: test.name, Loader: 7, Reason: "a reason"})
		if list := u.Named(test.name); len(list) != 1 || c.Loader != 7 || c.Reason != "a reason" || u.Open(c) == nil {
			t.Errorf("%s: its loader became known: %+v", test.name, c)
		}
	}
	u.Settle()
	if c := u.Named("one/C")[0]; c.Origin != Arrived || u.Named("one/A")[0].Origin != Listed {
		t.Errorf("after Settle the origin is %d", c.Origin)
	}
	if u.Len() != 6 || len(slices.Collect(u.All())) != 6 {
		t.Errorf("%d classes", u.Len())
	}
}

func TestSubtypes(t *testing.T) {
	known := []Loaded{
		loaded("a/Top", 1, "java/lang/Object"), loaded("a/Middle", 1, "a/Top"), loaded("a/Low", 1, "a/Middle", "a/Face"), loaded("a/Side", 1, "java/lang/Object", "a/Face"),
	}
	for _, test := range []struct {
		what  string
		added []Loaded
		all   bool
	}{
		{"nothing", nil, true},
		{"a lambda", []Loaded{{Name: "a/Top$$Lambda/0x01", Loader: 1}}, true},
		{"a class of the boot loader without a file", []Loaded{{Name: "java/lang/Made"}}, true},
		{"a proxy", []Loaded{{Name: "a/$Proxy1", Loader: 1}}, true},
		{"a class without a file", []Loaded{{Name: "a/Unknown", Loader: 1}}, false},
		{"a hidden class", []Loaded{{Name: "a/Made/0x02", Loader: 1}}, false},
		{"a class of Sonde", []Loaded{{Name: "sonde/agent/Main", Loader: 1}}, true},
	} {
		u := Of(nil, slices.Concat(known, test.added))
		below, all := u.Subtypes("a/Top")
		if got := names(below); !slices.Equal(got, []string{"a/Low", "a/Middle"}) || all != test.all {
			t.Errorf("%s: %q, all %t, want %t", test.what, got, all, test.all)
		}
	}
	u := Of(nil, known)
	if below, _ := u.Subtypes("a/Face"); !slices.Equal(names(below), []string{"a/Low", "a/Side"}) {
		t.Errorf("%q", names(below))
	}
	u.Load("a/Late", file("a/Late", "a/Low"))
	if below, _ := u.Subtypes("a/Top"); !slices.Contains(names(below), "a/Late") {
		t.Errorf("%q", names(below))
	}
	want := []string{"a/Low", "a/Middle", "a/Face", "a/Top", "java/lang/Object"}
	if got := u.Ancestors(u.Named("a/Low")[0]); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMethods(t *testing.T) {
	u := Of(nil, []Loaded{loaded("a/Top", 1, "java/lang/Object"), loaded("a/Low", 1, "a/Top")})
	low := u.Named("a/Low")[0]
	methods := u.Methods(low)
	ref := classfile.MethodRef{Class: "a/Low", Name: "m", Descriptor: "(ILjava/util/Map$Entry;)V"}
	if len(methods) != 1 || methods[0].MethodRef != ref || methods[0].Owner != low {
		t.Fatalf("%+v", methods)
	}
	if m, is := u.Find(ref); !is || m.Owner != low {
		t.Errorf("%+v", m)
	}
	ref.Descriptor = "()V"
	if _, is := u.Find(ref); is {
		t.Error("a method was found that does not exist")
	}
	bridges := []string{"a/Low.m(Ljava/lang/Object;)V", "a/Top.m(Ljava/lang/Object;)V"}
	if got := u.Bridges(methods[0]); !slices.Equal(got, bridges) {
		t.Errorf("%q, want %q", got, bridges)
	}
	for number, want := range [][]string{{"int"}, {"Entry"}, nil} {
		if got := methods[0].ParameterNames(number); !slices.Equal(got, want) {
			t.Errorf("parameter %d: %q, want %q", number, got, want)
		}
	}
	if methods[0].Code() != nil {
		t.Error("a method without a body has code")
	}
}
