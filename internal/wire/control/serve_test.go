package control

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTransformWithinInstall is how classes are woven: the agent's requests
// come while Sonde's is open.
func TestTransformWithinInstall(t *testing.T) {
	p, a := connect(t, Settings{Weave: func(_ context.Context, c Transform) (Woven, error) {
		switch c.Handle {
		case 1:
			return Woven{New: append(slices.Clone(c.Bytes), c.Name...), Original: c.Bytes}, nil
		case 2:
			return Woven{}, nil
		}
		return Woven{}, errors.New("cannot\nbe woven")
	}})
	go func() {
		install := a.receive(KindInstall)
		for i, want := range []struct {
			kind Kind
			body any
		}{
			{KindWoven, Woven{[]byte("1a/A"), []byte("1")}},
			{KindWoven, Woven{[]byte{}, []byte{}}},
			{KindFailed, "cannot be woven"},
		} {
			request := uint32(2*i + 2)
			a.send(KindTransform, request, Transform{uint32(i + 1), 0, "a/A", []byte("1")})
			f := a.receive(want.kind)
			if got, err := codecs[f.kind](f); err != nil || f.request != request || !reflect.DeepEqual(got, want.body) {
				t.Errorf("%d became %d %+v, %v", request, f.request, got, err)
			}
		}
		a.send(KindInstalled, install.request, Installed{Nanos: 1})
	}()
	if installed, err := p.Install(t.Context(), []uint32{1, 2, 3}); err != nil || installed.Nanos != 1 {
		t.Errorf("%+v, %v", installed, err)
	}
}

// TestSlowWeaveBlocksNothing has every worker busy and others waiting.
func TestSlowWeaveBlocksNothing(t *testing.T) {
	const workers, classes = 3, 20
	release, started := make(chan struct{}), make(chan struct{}, classes)
	p, a := connect(t, Settings{Workers: workers, Weave: func(ctx context.Context, _ Transform) (Woven, error) {
		started <- struct{}{}
		<-release
		return Woven{}, nil
	}})
	for i := range uint32(classes) {
		a.send(KindTransform, 2*i+2, Transform{Handle: i})
	}
	for range workers {
		<-started
	}
	go func() { a.send(KindDone, a.receive(KindPing).request, nothing{}) }()
	if err := p.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(started) > 0 {
		t.Errorf("%d weaves more than workers", len(started))
	}
	close(release)
	answered := map[uint32]bool{}
	for range classes {
		f, err := readFrame(a.reader, MaxFrame)
		if err != nil || answered[f.request] {
			t.Fatalf("%v %d: %v", f.kind, f.request, err)
		}
		answered[f.request] = true
	}
}

// TestWeaveEndsWhenTheAgentNoLongerWaits for those at work and those that wait.
func TestWeaveEndsWhenTheAgentNoLongerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a := connect(t, Settings{Workers: 1, Weave: func(ctx context.Context, _ Transform) (Woven, error) {
			<-ctx.Done()
			return Woven{}, ctx.Err()
		}})
		begun := time.Now()
		a.send(KindTransform, 2, Transform{})
		a.send(KindTransform, 4, Transform{})
		for range 2 {
			a.receive(KindFailed)
		}
		if took := time.Since(begun); took != weaveLimit {
			t.Errorf("it took %v", took)
		}
		p.Close()
	})
}

func TestTransformNumberInUse(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	p, a := connect(t, Settings{Weave: func(ctx context.Context, _ Transform) (Woven, error) {
		defer close(ended)
		close(started)
		<-ctx.Done()
		return Woven{}, ctx.Err()
	}})
	a.send(KindTransform, 2, Transform{})
	<-started
	a.send(KindTransform, 2, Transform{})
	<-p.Done()
	if err := p.Err(); !errors.Is(err, ErrOutOfTurn) {
		t.Error(err)
	}
	<-ended
}

// TestFloodOfTransforms is refused at a bound, not kept.
func TestFloodOfTransforms(t *testing.T) {
	p, a := connect(t, Settings{Workers: 1, Weave: func(ctx context.Context, _ Transform) (Woven, error) {
		<-ctx.Done()
		return Woven{}, ctx.Err()
	}})
	p.weaves.mu.Lock()
	p.weaves.bytes = maxWaitingBytes
	p.weaves.mu.Unlock()
	a.send(KindTransform, 2, Transform{})
	if reason, err := decode[string](a.receive(KindFailed)); err != nil || !strings.Contains(reason, "busy") {
		t.Errorf("%q, %v", reason, err)
	}
}

// TestWovenTooLong leaves the class alone instead of ending the session.
func TestWovenTooLong(t *testing.T) {
	_, a := connect(t, Settings{Weave: func(context.Context, Transform) (Woven, error) {
		return Woven{New: make([]byte, MaxFrame)}, nil
	}})
	a.send(KindTransform, 2, Transform{})
	if f := a.receive(KindFailed); f.request != 2 {
		t.Errorf("%d is answered", f.request)
	}
}

func TestNoHandlerLeavesClassesAlone(t *testing.T) {
	_, a := connect(t, Settings{})
	a.send(KindTransform, 2, Transform{Bytes: []byte{1}})
	if woven, err := decode[Woven](a.receive(KindWoven)); err != nil || len(woven.New)+len(woven.Original) > 0 {
		t.Errorf("%+v, %v", woven, err)
	}
}

// TestNotices come in order; a slow reader loses some and learns their number.
func TestNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		release := make(chan struct{})
		p, a := connect(t, Settings{Notice: func(text string) {
			<-release
			got = append(got, text)
		}})
		const dropped = 5
		a.send(KindNotice, 0, "first")
		synctest.Wait() // it is at the reader
		a.send(KindNotice, 0, strings.Repeat("ä", maxNotice))
		for range maxNotices - 1 + dropped {
			a.send(KindNotice, 0, "x")
		}
		synctest.Wait()
		p.Close()
		close(release)
		synctest.Wait()
		if len(got) != 1+maxNotices+1 || got[0] != "first" || got[len(got)-1] != "5 notices of the agent were dropped" {
			t.Errorf("%d notices, the last %q", len(got), got[len(got)-1])
		}
		if len(got) > 1 && len(got[1]) > maxNotice+40 {
			t.Errorf("a notice of %d bytes", len(got[1]))
		}
	})
}
