package control

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
)

// TestCommands holds what each method asks, and what it makes of the answer.
func TestCommands(t *testing.T) {
	type reply struct {
		kind Kind
		body body
	}
	installed := Installed{5, []uint32{2}, "VerifyError"}
	restored := Restored{5, 6, true, []string{"a remark"}}
	one, two := Class{1, 0, Modifiable, "a.A"}, Class{2, 3, Interface, "b.B"}
	done := []reply{{KindDone, nothing{}}}
	for _, tt := range []struct {
		kind    Kind
		body    body
		replies []reply
		want    any
		call    func(ctx context.Context, p *Peer) (any, error)
	}{
		{KindPing, nothing{}, done, nil, func(ctx context.Context, p *Peer) (any, error) { return nil, p.Ping(ctx) }},
		{KindMap, mapping{"/a", 1, 2}, done, nil, func(ctx context.Context, p *Peer) (any, error) { return nil, p.Map(ctx, "/a", 1, 2) }},
		{KindProbes, words{1, 2}, done, nil, func(ctx context.Context, p *Peer) (any, error) { return nil, p.Probes(ctx, []uint64{1, 2}) }},
		{KindProbes, words{}, done, nil, func(ctx context.Context, p *Peer) (any, error) { return nil, p.Probes(ctx, nil) }},
		{KindSwitch, words{3}, done, nil, func(ctx context.Context, p *Peer) (any, error) { return nil, p.Switch(ctx, []uint64{3}) }},
		{KindWatch, view{[]Filter{{"a", "b"}}, []string{"c"}}, done, nil,
			func(ctx context.Context, p *Peer) (any, error) {
				return nil, p.Watch(ctx, []Filter{{"a", "b"}}, []string{"c"})
			}},
		{KindWatches, Watches{[]uint64{1, 2, 3, 4}, []Anchor{{"a/B.c()V", 5}}, []string{"a/B.d()V"}, true}, done, nil,
			func(ctx context.Context, p *Peer) (any, error) {
				return nil, p.Watches(ctx, Watches{[]uint64{1, 2, 3, 4}, []Anchor{{"a/B.c()V", 5}}, []string{"a/B.d()V"}, true})
			}},
		{KindFollow, choice(true), done, nil, func(ctx context.Context, p *Peer) (any, error) { return nil, p.Follow(ctx, true) }},
		{KindThreads, nothing{}, []reply{{KindNamed, threads{{1, "main"}}}}, []Thread{{1, "main"}},
			func(ctx context.Context, p *Peer) (any, error) { return p.Threads(ctx) }},
		{KindCalibrate, Calibration{7, 1, BodyDependent, 2}, []reply{{KindCalibrated, runs{{8, 9, 10, 11}}}}, []Run{{8, 9, 10, 11}},
			func(ctx context.Context, p *Peer) (any, error) {
				return p.Calibrate(ctx, Calibration{7, 1, BodyDependent, 2})
			}},
		{KindInstall, handles{1, 2}, []reply{{KindInstalled, installed}}, installed,
			func(ctx context.Context, p *Peer) (any, error) { return p.Install(ctx, []uint32{1, 2, 1}) }},
		{KindRestore, nothing{}, []reply{{KindRestored, restored}}, restored,
			func(ctx context.Context, p *Peer) (any, error) { return p.Restore(ctx) }},
		{KindList, nothing{}, []reply{{KindClasses, classes{false, []Class{one}}}, {KindClasses, classes{true, []Class{two}}}}, []Class{one, two},
			func(ctx context.Context, p *Peer) (any, error) { return p.List(ctx) }},
		{KindSees, handles{1, 2}, []reply{{KindSeen, seen{{2, ""}, {1, "isolated"}}}}, map[uint32]string{1: "isolated", 2: ""},
			func(ctx context.Context, p *Peer) (any, error) { return p.Sees(ctx, []uint32{1, 2}) }},
		{KindFetch, handles{1, 2}, []reply{{KindOriginal, original{2, true, []byte("file")}}, {KindOriginal, original{1, false, []byte("why")}}, {KindDone, nothing{}}},
			map[uint32]string{1: "why", 2: "file"},
			func(ctx context.Context, p *Peer) (any, error) {
				got := map[uint32]string{}
				err := p.Fetch(ctx, []uint32{1, 2}, func(handle uint32, file []byte, reason string) { got[handle] += string(file) + reason })
				return got, err
			}},
	} {
		p, a := connect(t, Settings{})
		go func() {
			f := a.receive(tt.kind)
			if f.request%2 != 1 || !slices.Equal(f.body, tt.body.append(nil)) {
				t.Errorf("%v %d: % x", tt.kind, f.request, f.body)
			}
			for _, r := range tt.replies {
				a.send(r.kind, f.request, r.body)
			}
			f = a.receive(tt.kind)
			a.send(KindFailed, f.request, message("no\nway"))
		}()
		got, err := tt.call(t.Context(), p)
		if err != nil || tt.want != nil && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%v: %+v, %v", tt.kind, got, err)
		}
		var failed *FailedError
		if _, err = tt.call(t.Context(), p); !errors.As(err, &failed) || failed.Asked != tt.kind || p.Err() != nil {
			t.Errorf("%v that fails: %v, then %v", tt.kind, err, p.Err())
		}
		p.Close()
	}
}

func TestBye(t *testing.T) {
	p, a := connect(t, Settings{})
	restored := Restored{5, 6, false, []string{"a thread is in a hook"}}
	go func() {
		a.send(KindRestored, a.receive(KindBye).request, restored)
		a.conn.Close()
	}()
	got, err := p.Bye(t.Context(), func(Restoring) {})
	if err != nil || !reflect.DeepEqual(got, restored) {
		t.Errorf("%+v, %v", got, err)
	}
	<-p.Done()
	if err := p.Err(); !errors.Is(err, ErrLost) || !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := p.Bye(t.Context(), func(Restoring) {}); !errors.Is(err, ErrLost) {
		t.Errorf("a second bye: %v", err)
	}
}

func TestProbesArePowersOfTwo(t *testing.T) {
	p, _ := connect(t, Settings{})
	if err := p.Probes(t.Context(), make([]uint64, 3)); err == nil || p.Err() != nil {
		t.Errorf("%v, then %v", err, p.Err())
	}
}

// TestFetchIsBatched asks for more than is asked for at a time.
func TestFetchIsBatched(t *testing.T) {
	p, a := connect(t, Settings{})
	go a.serve(func(f frame) {
		asked, err := decode[handles](f)
		if err != nil || len(asked) > fetchBatch {
			t.Errorf("%d handles, %v", len(asked), err)
		}
		for _, handle := range asked {
			a.send(KindOriginal, f.request, original{handle, true, []byte{1}})
		}
		a.send(KindDone, f.request, nothing{})
	})
	want, got := map[uint32]int{}, map[uint32]int{}
	var list []uint32
	for handle := range uint32(5*fetchBatch + 1) {
		list = append(list, handle+1, handle+1)
		want[handle+1] = 1
	}
	if err := p.Fetch(t.Context(), list, func(handle uint32, _ []byte, _ string) { got[handle]++ }); err != nil || !maps.Equal(got, want) {
		t.Errorf("%d of %d classes, %v", len(got), len(want), err)
	}
}
