package session_test

import (
	"context"
	"testing"

	"github.com/sonde-jvm/sonde/internal/arena"
	"github.com/sonde-jvm/sonde/internal/jvmtest"
	"github.com/sonde-jvm/sonde/internal/probe"
	"github.com/sonde-jvm/sonde/internal/session"
	"github.com/sonde-jvm/sonde/test/live"
)

func TestQuick(t *testing.T) {
	for _, jdk := range jvmtest.JDKs(t) {
		t.Run(jdk.Version, func(t *testing.T) {
			p := live.Start(t, jdk, live.Attach, live.Everyday...)
			p.Run(1)
			before := p.Counts()
			s, err := session.Open(context.Background(), p.PID, session.Settings{Command: "test", Notice: func(x string) { t.Log(x) }})
			if err != nil {
				t.Fatal(err)
			}
			set, err := probe.ParseSet("**", "!java.**", "!jdk.**", "!sun.**", "!harness.**")
			if err != nil {
				t.Fatal(err)
			}
			in, err := s.Instrument(context.Background(), session.Wanted{Methods: set, Flags: arena.On | arena.Timed | arena.Flat})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", in)
			for _, l := range s.LeftAlone() {
				t.Log(l)
			}
			p.Run(2)
			truth := p.Counts().Minus(before)
			sum, err := s.Sum()
			if err != nil {
				t.Fatal(err)
			}
			have := make(live.Counts)
			for _, m := range s.Methods() {
				tot := sum.Methods[m.ID]
				if tot == nil {
					continue
				}
				have[m.Class+"."+m.Name+m.Descriptor] = live.Count{Entered: int64(tot.Calls), Threw: int64(tot.Threw)}
			}
			t.Log(len(have), truth.Diff(have))
			f, err := s.Close(context.Background())
			t.Logf("%+v %v", f, err)
		})
	}
}
