package probes

import (
	"testing"

	"github.com/sonde-jvm/sonde/classfile"
	"github.com/sonde-jvm/sonde/internal/spec/categories"
	"github.com/sonde-jvm/sonde/internal/spec/probeset"
)

// TestAnswers: the methods where tags of incoming calls are set answer calls of their category.
func TestAnswers(t *testing.T) {
	tags, err := categories.Incoming()
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRequest(&probeset.Set{Tags: tags}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &Plan{Request: r}
	for class, want := range map[string]string{"com/sun/net/httpserver/Filter$Chain": "web", "com/sun/net/httpserver/Filter": "", "jakarta/jms/MessageListener": ""} {
		s := &Spot{}
		s.answers, s.status = p.answeredBy(classfile.MethodRef{Class: class, Name: "doFilter", Descriptor: "(Lcom/sun/net/httpserver/HttpExchange;)V"})
		if got := s.Describe(1); got.Category != want || got.Answers != (want != "") || (s.status != nil) != (want == "web") {
			t.Errorf("%s: category %q, answers %v, want %q", class, got.Category, got.Answers, want)
		}
	}
	if got, _ := p.answeredBy(classfile.MethodRef{Class: "jakarta/jms/MessageListener", Name: "onMessage", Descriptor: "(Ljakarta/jms/Message;)V"}); got != "messaging" {
		t.Errorf("a listener answers %q", got)
	}
}
