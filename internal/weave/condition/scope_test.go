package condition_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

// TestScopes checks the same conditions where more or less is known or allowed.
func TestScopes(t *testing.T) {
	without := func(names ...string) func(*fixture, *condition.Scope) {
		return func(f *fixture, s *condition.Scope) {
			lookup := f.lookup
			s.Lookup = func(name string) *condition.Class {
				if slices.Contains(names, name) {
					return nil
				}
				return lookup(name)
			}
		}
	}
	elsewhere := func(name string) func(*fixture, *condition.Scope) {
		return func(f *fixture, _ *condition.Scope) {
			f.classes[name] = &condition.Class{File: f.classes[name].File, Loader: 2}
		}
	}
	ownOnly := func(_ *fixture, s *condition.Scope) { s.OwnOnly, s.Subtypes = true, nil }
	nothing := func(*fixture, *condition.Scope) {}
	for _, x := range []struct {
		name, text string
		change     func(*fixture, *condition.Scope)
		want       condition.ErrorKind
	}{
		{"nestmates", "$this.inner.hidden > 0", nothing, ""},
		{"no nests before 11", "$this.inner.hidden > 0", func(f *fixture, s *condition.Scope) { s.Class.File.Major = 54 }, condition.Inaccessible},
		{"a host that is not known", "$this.inner.hidden > 0", without("app/Subject$Inner"), condition.Unproven},
		{"package", "$this.local.seen > 0", nothing, ""},
		{"a package of another loader", "$this.local.seen > 0", elsewhere("app/Local"), condition.Inaccessible},
		{"not exported", `$1.customer.city == "x"`, func(_ *fixture, s *condition.Scope) {
			s.Exported = func(c *condition.Class) bool { return c.Name() != "shop/Customer" }
		}, condition.Inaccessible},
		{"nothing known of subclasses", `$1.customer.tier == "x"`, func(_ *fixture, s *condition.Scope) { s.Subtypes = nil }, condition.Unproven},
		{"final needs nothing", `$1.customer.id == 3`, func(_ *fixture, s *condition.Scope) { s.Subtypes = nil }, ""},
		{"own only: a final getter of another class", `$1.customer.id == 3`, ownOnly, condition.Unproven},
		{"own only: a field of another class", `$1.customer.city == "x"`, ownOnly, ""},
		{"own only: a private getter", `$this.twice() == 2`, ownOnly, ""},
		{"own only: a getter that can be overridden", `$this.self() == 2`, ownOnly, condition.Unproven},
		{"own only: an inherited getter", `$this.getId() == 3`, ownOnly, condition.Unproven},
		{"own only: an inherited field", `$this.level == 3`, ownOnly, ""},
		{"own only: strings", `$3 matches "a*" && $3.length > 3`, ownOnly, ""},
		{"own only: an enum", `$1.status == "PAID" && $1.status.name() == "PAID" && $1.status.ordinal() > 0`, ownOnly, ""},
		{"hidden subclasses", `$1.customer.tier == "x"`, func(f *fixture, s *condition.Scope) {
			s.Subtypes = func(name string) ([]*condition.Class, bool) { list, _ := f.subtypes(name); return list, false }
		}, condition.Unproven},
		{"an impure override", "$1.lazy.size == 1", nothing, condition.Impure},
		{"before it loads", "$1.lazy.size == 1", func(f *fixture, _ *condition.Scope) {
			f.own = slices.DeleteFunc(f.own, func(n string) bool { return n == "shop/Lazy$Caching" })
		}, ""},
		{"a superclass that is not known", "$1.customer.vip", without("shop/Base"), ""},
		{"a member of it", "$1.customer.getId() == 1", without("shop/Base"), condition.Unproven},
		{"a class that is not known", `$1.customer.city == "x"`, without("shop/Customer"), condition.Unproven},
		{"a type argument that is not known", `$1.lines[0] == null`, without("shop/Line"), ""},
		{"its members", `$1.lines[0].cents > 0`, without("shop/Line"), condition.Unknown},
		{"an enum that is not known", `$1.status == "PAID"`, without("shop/Status"), condition.Mistyped},
		{"a probed getter", `$1.customer.tier == "x"`, func(_ *fixture, s *condition.Scope) {
			s.Probed = func(_, name, _ string) bool { return name == "getTier" }
		}, condition.Impure},
		{"no tags", `tx.tier == "x"`, func(_ *fixture, s *condition.Scope) { s.Tags = nil }, condition.Unknown},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := anyFixture(t)
			scope := f.scope(t, "Subject", "call", condition.Entry)
			x.change(f, &scope)
			_, err := check(x.text, scope)
			var e *condition.Error
			switch {
			case x.want == "" && err != nil:
				t.Errorf("%s: %v", x.text, err)
			case x.want != "" && (!errors.As(err, &e) || e.Kind != x.want):
				t.Errorf("%s: %v; want an error of kind %s", x.text, err, x.want)
			}
		})
	}
}

// TestDepends demands that a condition names what it relies on.
func TestDepends(t *testing.T) {
	f := anyFixture(t)
	c, err := check(`$1.customer.rank() > 3 && $1.priced.dear`, f.scope(t, "Subject", "call", condition.Entry))
	if err != nil {
		t.Fatal(err)
	}
	d := c.Depends()
	for _, m := range []condition.Method{
		{Class: "shop/Customer", Name: "rank", Descriptor: "()I"}, {Class: "shop/Customer", Name: "tierLength", Descriptor: "()I"},
		{Class: "java/lang/String", Name: "length", Descriptor: "()I"},
		{Class: "shop/Priced", Name: "isDear", Descriptor: "()Z"}, {Class: "shop/Line", Name: "getCents", Descriptor: "()J"},
	} {
		if !slices.Contains(d.Methods, m) {
			t.Errorf("%v is not among %v", m, d.Methods)
		}
	}
	if want := []string{"shop/Customer", "shop/Priced"}; !slices.Equal(d.Open, want) {
		t.Errorf("open: %v, want %v", d.Open, want)
	}
	for _, name := range []string{"shop/Order", "shop/Customer", "shop/Line", "shop/Gold"} {
		if !slices.Contains(d.Classes, name) {
			t.Errorf("%s is not among %v", name, d.Classes)
		}
	}
}
