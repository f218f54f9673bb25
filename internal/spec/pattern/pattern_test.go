package pattern

import (
	"errors"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		yes, no []string // class.name(desc) in internal form
	}{
		{"com.acme.Order.pay",
			[]string{"com/acme/Order.pay()V", "com/acme/Order.pay(I)J"},
			[]string{"com/acme/Order.payAll()V", "com/acme/Orders.pay()V", "acme/Order.pay()V", "com/acme/Order$Item.pay()V"}},
		{"com.acme.**",
			[]string{"com/acme/A.x()V", "com/acme/b/c/A$B.<init>()V", "com/acme/A.<clinit>()V"},
			[]string{"com/acmes/A.x()V", "com/A.x()V"}},
		{"com.acme.Order.**",
			[]string{"com/acme/Order.x()V", "com/acme/Order$Item.x()V", "com/acme/Order$1.x()V"},
			[]string{"com/acme/Orders.x()V"}},
		{"**", []string{"A.x()V", "a/b/C$D.<init>()V"}, nil},
		{"com.acme.*.*",
			[]string{"com/acme/A.x()V", "com/acme/$Proxy1.x()V", "com/acme/A$$Lambda.x()V"},
			[]string{"com/acme/b/A.x()V", "com/acme/A$B.x()V", "com/acme.x()V"}},
		{"com.acme.*", []string{"com/acme.x()V"}, []string{"com/acme/A.x()V"}},
		{"**.Service.*(java.lang.String,int)",
			[]string{"Service.x(Ljava/lang/String;I)V", "a/b/Service.y(Ljava/lang/String;I)J", "a/X$Service.y(Ljava/lang/String;I)J"},
			[]string{"a/Service.x(Ljava/lang/String;)V", "a/Service.x(Ljava/lang/String;II)V", "a/MyService.x(Ljava/lang/String;I)V"}},
		{"a.Outer$Inner.x", []string{"a/Outer$Inner.x()V"}, []string{"a/Outer/Inner.x()V"}},
		{"a.Outer.Inner.x", []string{"a/Outer$Inner.x()V", "a/Outer/Inner.x()V"}, []string{"a/OuterxInner.x()V"}},
		{"a.Outer$*.x", []string{"a/Outer$Inner.x()V", "a/Outer$1.x()V"}, []string{"a/Outer.x()V", "a/Outer$A$B.x()V"}},
		{"a.Outer$**.x", []string{"a/Outer$Inner.x()V", "a/Outer$A$B.x()V"}, []string{"a/Outer/b/C.x()V", "a/Outer.x()V"}},
		{"**$Item.x", []string{"a/B$Item.x()V"}, []string{"a/Item.x()V", "Item.x()V"}},
		{"a.**.b.**.C.x", []string{"a/b/C.x()V", "a/1/b/b/2/C.x()V"}, []string{"a/C.x()V", "a/b/C/d.x()V"}},
		{"**.<init>", []string{"A.<init>()V"}, []string{"A.init()V", "A.<clinit>()V"}},
		{"**.get*By*", []string{"A.getXByY()V", "A.getBy()V"}, []string{"A.getX()V", "A.XgetBy()V"}},
		{"**.x()", []string{"A.x()V"}, []string{"A.x(I)V"}},
		{"**.x(..)", []string{"A.x()V", "A.x(IJ)V"}, nil},
		{"**.x(int, ..)", []string{"A.x(I)V", "A.x(IJD)V"}, []string{"A.x()V", "A.x(JI)V"}},
		{"**.x(*,long)", []string{"A.x(IJ)V", "A.x([[La;J)V"}, []string{"A.x(J)V", "A.x(JI)V"}},
		{"**.x(int[][])", []string{"A.x([[I)V"}, []string{"A.x([I)V", "A.x([[[I)V"}},
		{"**.x(*[])", []string{"A.x([I)V", "A.x([[La;)V"}, []string{"A.x(I)V"}},
		{"**.x(java.util.**)", []string{"A.x(Ljava/util/List;)V", "A.x(Ljava/util/a/B$C;)V"}, []string{"A.x(I)V", "A.x([Ljava/util/List;)V"}},
		{"**.x(java.util.Map.Entry)", []string{"A.x(Ljava/util/Map$Entry;)V"}, []string{"A.x(Ljava/util/Map;)V"}},
		{"**.x:void", []string{"A.x()V", "A.x(I)V"}, []string{"A.x()I"}},
		{"**.x(int):java.lang.String[]", []string{"A.x(I)[Ljava/lang/String;"}, []string{"A.x(I)Ljava/lang/String;"}},
		{"**(int)", []string{"a/A.x(I)V"}, []string{"a/A.x(J)V"}},
		{"**.lambda$*", []string{"A.lambda$x$0()V"}, []string{"A.lambda()V"}},
		{"Main.main", []string{"Main.main()V"}, []string{"a/Main.main()V"}},
	} {
		p, err := Parse(tt.pattern)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, method := range tt.yes {
			if !p.Match(splitMethod(method)) {
				t.Errorf("%s does not match %s", tt.pattern, method)
			}
		}
		for _, method := range tt.no {
			if p.Match(splitMethod(method)) {
				t.Errorf("%s matches %s", tt.pattern, method)
			}
		}
	}
}

// TestOtherSpellings: a pattern can be written as in Java, in documentation and in class files.
func TestOtherSpellings(t *testing.T) {
	for text, want := range map[string]string{
		"com.acme.Order#pay": "com.acme.Order.pay", "com.acme.Order::pay": "com.acme.Order.pay", "com.acme.Order::new": "com.acme.Order.<init>",
		"java/lang/String.length": "java.lang.String.length", "!java/lang/String/length": "!java.lang.String.length",
		"a.B#c(java/lang/String, int):void": "a.B.c(java.lang.String,int):void", "a.B::c::d": "a.B.c.d",
	} {
		p, err := Parse(text)
		if err != nil || p.String() != want {
			t.Errorf("%s: got %v, %v, want %s", text, p, err, want)
		}
	}
}

func splitMethod(s string) classfile.MethodRef {
	class, rest, _ := strings.Cut(s, ".")
	paren := strings.IndexByte(rest, '(')
	return classfile.MethodRef{Class: class, Name: rest[:paren], Descriptor: rest[paren:]}
}

func TestDefects(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		column  int
	}{
		{"", 1},
		{"pay", 1},
		{"!", 2},
		{"com..pay", 5},
		{".pay", 1},
		{"com.Order.", 11},
		{"com.a**b.x", 6},
		{"com.Order.pay(", 15},
		{"com.Order.pay(int", 18},
		{"com.Order.pay(int)x", 19},
		{"com.Order.pay(int,)", 19},
		{"com.Order.pay(..,int)", 15},
		{"com.Order.pay(void)", 15},
		{"com.Order.pay():void[]", 17},
		{"com.Order.pay:", 15},
		{"com.Order.<in>", 11},
		{"com.Order.a b", 12},
		{"com.Ördér.a b", 12},
		{"com.Order.x(int a)", 16},
		{"a.b.x(java..String)", 12},
	} {
		_, err := Parse(tt.pattern)
		var bad *Error
		if !errors.As(err, &bad) {
			t.Errorf("%q: error %v, want an Error", tt.pattern, err)
			continue
		}
		if bad.Column() != tt.column {
			t.Errorf("%v; want column %d", err, tt.column)
		}
		if want := strings.Repeat(" ", tt.column-1) + "^"; !strings.HasSuffix(bad.Caret(), "\n"+want) {
			t.Errorf("%q: caret\n%s", tt.pattern, bad.Caret())
		}
	}
}

func TestSet(t *testing.T) {
	set, err := ParseSet("com.acme.**", "!com.acme.gen.**", "!**.get*", "org.Main.main")
	if err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]bool{
		"com/acme/A.pay()V":     true,
		"com/acme/A.getX()V":    false,
		"com/acme/gen/A.pay()V": false,
		"org/Main.main()V":      true,
		"org/Main.other()V":     false,
	} {
		if got := set.Match(splitMethod(method)); got != want {
			t.Errorf("%s: %t, want %t", method, got, want)
		}
	}
	for class, want := range map[string]bool{
		"com/acme/A": true, "com/acme/gen/A": false, "org/Main": true, "org/Other": false,
	} {
		if got := set.MatchClass(class); got != want {
			t.Errorf("class %s: %t, want %t", class, got, want)
		}
	}
	if _, err := ParseSet("!com.acme.**"); !errors.Is(err, ErrNothingIncluded) {
		t.Errorf("only exclusions: error %v", err)
	}
}

func TestMatchingDoesNotAllocate(t *testing.T) {
	p, err := Parse("**.acme.*.get*(java.lang.String,..):int")
	if err != nil {
		t.Fatal(err)
	}
	n := testing.AllocsPerRun(100, func() {
		if !p.Match(classfile.MethodRef{Class: "com/acme/Order", Name: "getPrice", Descriptor: "(Ljava/lang/String;J)I"}) {
			t.Fatal("no match")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations a match", n)
	}
}

// FuzzPattern holds that a pattern parses to one that prints and matches the
// same after parsing again, or to an Error that points into it; and that
// an exclusion matches what the pattern without its "!" does.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{
		"com.acme.Order.pay", "com.acme.**", "**.Service.*(java.lang.String,int)", "!a.B$C.<init>(..):void",
		"**", "a.**.b$**.c*d", "x(", "a.b:int[]", "$.x", "a$.b", "**(*[], ..)",
	} {
		f.Add(p, "com/acme/Order$Item", "pay", "(Ljava/lang/String;[I)V")
	}
	f.Fuzz(func(t *testing.T, text, class, name, desc string) {
		p, err := Parse(text)
		if err != nil {
			var bad *Error
			if !errors.As(err, &bad) || bad.Offset > len(bad.Text) || bad.Caret() == "" {
				t.Fatalf("%q: error %v", text, err)
			}
			return
		}
		again, err := Parse(p.String())
		if err != nil {
			t.Fatalf("%q printed as %q: %v", text, p, err)
		}
		if again.String() != p.String() {
			t.Errorf("%q printed as %q, then %q", text, p, again)
		}
		m := classfile.MethodRef{Class: class, Name: name, Descriptor: desc}
		matched := p.Match(m)
		if again.Match(m) != matched {
			t.Errorf("%q and its print %q match differently", text, again)
		}
		if all, _ := Parse("**"); p.Excludes() {
			set, err := NewSet(all, p)
			if err != nil {
				t.Fatal(err)
			}
			if set.Match(m) == matched {
				t.Errorf("exclusion %q: in the set %t though it matches %t", text, !matched, matched)
			}
		}
	})
}
