package condition_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sonde-jvm/sonde/internal/weave"
	"github.com/sonde-jvm/sonde/internal/weave/condition"
)

// TestBinding binds what does not fit.
func TestBinding(t *testing.T) {
	f := anyFixture(t)
	entry, err := check("$1 > 3", f.scope(t, "Subject", "half", condition.Entry))
	if err != nil {
		t.Fatal(err)
	}
	exit, err := check("$elapsed > 3ms", f.scope(t, "Subject", "half", condition.Exit))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		template string
		with     []weave.Lowered
		want     string
	}{
		{"entry", []weave.Lowered{entry}, ""},
		{"entry", []weave.Lowered{nil}, ""},
		{"entry", nil, "only 0 are given"},
		{"entry", []weave.Lowered{exit}, "another moment"},
		{"exit", []weave.Lowered{entry}, "another moment"},
		{"exit", []weave.Lowered{exit}, ""},
		{"exit", []weave.Lowered{nil}, ""},
		{"value", []weave.Lowered{entry}, "a value where a condition is wanted"},
		{"value", []weave.Lowered{nil}, ""},
		{"plain", nil, ""},
	} {
		_, err := f.template(t, x.template).Bind(x.with...)
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.template, err, x.want)
		}
	}
}

// TestUnbound leaves methods alone rather than weave a template that lacks its
// condition, or a condition into the wrong method.
func TestUnbound(t *testing.T) {
	f := anyFixture(t)
	c, err := check("$1 > 3", f.scope(t, "Subject", "half", condition.Entry))
	if err != nil {
		t.Fatal(err)
	}
	bound, err := f.template(t, "entry").Bind(c)
	if err != nil {
		t.Fatal(err)
	}
	for method, template := range map[string]*weave.Template{"half": f.template(t, "entry"), "noArguments": bound, "name": bound, "isGood": bound} {
		result, err := weave.NewWeaver().Weave(readFile(t, filepath.Join(f.dir, "app/Subject.class")), func(m weave.MethodInfo) []*weave.Template {
			if m.Name == method {
				return []*weave.Template{template}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var reason *weave.Reason
		if len(result.Methods) != 1 || !errors.As(result.Methods[0].Reason, &reason) || reason.Kind != weave.DoesNotFit {
			t.Errorf("%s: %+v", method, result.Methods)
		}
	}
}
