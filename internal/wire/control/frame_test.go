package control

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"runtime"
	"testing"
)

func encoded(t testing.TB, kind Kind, request uint32, body any) []byte {
	t.Helper()
	data, err := encode(kind, request, body)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestFrameLayout(t *testing.T) {
	for _, tt := range []struct {
		kind Kind
		body any
		want []byte // after the request
	}{
		{KindMap, mapping{"/a", 1 << 32, 9}, []byte{0, 0, 0, 2, '/', 'a', 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9}},
		{KindHello, hello{258, "t", "", "j", "h"}, []byte{1, 2, 0, 0, 0, 1, 't', 0, 0, 0, 0, 0, 0, 0, 1, 'j', 0, 0, 0, 1, 'h'}},
		{KindClasses, classes{true, []Class{{1, 2, 3, "c"}}}, []byte{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 3, 0, 0, 0, 1, 'c'}},
		{KindWoven, Woven{[]byte{7}, nil}, []byte{0, 0, 0, 1, 7, 0, 0, 0, 0}},
		{KindWatches, Watches{Anchors: []Anchor{{"m", 5}}, Bridges: []string{"b"}},
			[]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 'm', 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 1, 'b'}},
	} {
		want := append([]byte{0, 0, 0, byte(headSize + len(tt.want)), byte(tt.kind), 0, 0, 0, 7}, tt.want...)
		if got := encoded(t, tt.kind, 7, tt.body); !bytes.Equal(got, want) {
			t.Errorf("%v: % x, want % x", tt.kind, got, want)
		}
	}
}

func TestDefectiveFrames(t *testing.T) {
	whole := encoded(t, KindNotice, 0, "text")
	for length := 1; length < len(whole); length++ {
		if _, err := readFrame(bytes.NewReader(whole[:length]), MaxFrame); !errors.Is(err, ErrTruncated) {
			t.Errorf("cut after %d bytes: %v", length, err)
		}
	}
	if _, err := readFrame(bytes.NewReader(nil), MaxFrame); !errors.Is(err, io.EOF) {
		t.Errorf("no frame: %v", err)
	}
	for _, tt := range []struct {
		name   string
		data   []byte
		defect error
	}{
		{"oversized", []byte{4, 0, 0, 1, byte(KindNotice), 0, 0, 0, 0}, ErrTooLong},
		{"all ones", []byte{255, 255, 255, 255, byte(KindNotice), 0, 0, 0, 0}, ErrTooLong},
		{"no head", []byte{0, 0, 0, 4, byte(KindDone), 0, 0, 0}, ErrMalformed},
		{"kind 0", []byte{0, 0, 0, 5, 0, 0, 0, 0, 1}, ErrUnknownKind},
		{"kind 99", []byte{0, 0, 0, 5, 99, 0, 0, 0, 1}, ErrUnknownKind},
	} {
		_, err := readFrame(bytes.NewReader(tt.data), MaxFrame)
		var typed *FrameError
		if !errors.Is(err, tt.defect) || !errors.As(err, &typed) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestLargestFrame(t *testing.T) {
	full := Transform{Bytes: make([]byte, MaxFrame-headSize-16)}
	data := encoded(t, KindTransform, 2, full)
	if f, err := readFrame(bytes.NewReader(data), MaxFrame); err != nil || len(f.body) != MaxFrame-headSize {
		t.Errorf("a full frame: %d bytes, %v", len(f.body), err)
	}
	full.Bytes = append(full.Bytes, 0)
	if _, err := encode(KindTransform, 2, full); !errors.Is(err, ErrTooLong) {
		t.Errorf("a byte more: %v", err)
	}
}

// TestLengthIsNotBelieved declares the most there may be and sends little.
func TestLengthIsNotBelieved(t *testing.T) {
	data := []byte{0, 0, 0, 0, byte(KindNotice), 0, 0, 0, 0, 'x'}
	binary.BigEndian.PutUint32(data, MaxFrame)
	const rounds = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		if _, err := readFrame(bytes.NewReader(data), MaxFrame); !errors.Is(err, ErrTruncated) {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / rounds; each > 2*firstPiece {
		t.Errorf("%d bytes allocated for one", each)
	}
}

// A codec is a body's decoder, its type forgotten.
type codec func(frame) (any, error)

func codecOf[T any]() codec {
	return func(f frame) (any, error) { return decode[T](f) }
}

// bodyOf is what follows the head of a frame.
func bodyOf(t testing.TB, kind Kind, body any) []byte {
	t.Helper()
	return encoded(t, kind, 0, body)[lengthSize+headSize:]
}

var codecs = map[Kind]codec{
	KindHello: codecOf[hello](), KindWelcome: codecOf[welcome](), KindRefused: codecOf[string](),
	KindPing: codecOf[nothing](), KindDone: codecOf[nothing](), KindFailed: codecOf[string](),
	KindMap: codecOf[mapping](), KindList: codecOf[nothing](), KindClasses: codecOf[classes](),
	KindFetch: codecOf[[]uint32](), KindOriginal: codecOf[original](), KindSees: codecOf[[]uint32](),
	KindSeen: codecOf[[]sight](), KindInstall: codecOf[[]uint32](), KindInstalled: codecOf[Installed](),
	KindProbes: codecOf[[]uint64](), KindSwitch: codecOf[[]uint64](), KindWatch: codecOf[view](), KindWatches: codecOf[Watches](), KindFollow: codecOf[bool](), KindRestore: codecOf[nothing](),
	KindRestored: codecOf[Restored](), KindRestoring: codecOf[Restoring](), KindBye: codecOf[nothing](), KindThreads: codecOf[nothing](),
	KindNamed: codecOf[[]Thread](), KindCalibrate: codecOf[Calibration](), KindCalibrated: codecOf[[]Run](),
	KindTransform: codecOf[Transform](), KindWoven: codecOf[Woven](), KindNotice: codecOf[string](), KindLeaves: codecOf[string](),
}

// samples are bodies with something in every field.
var samples = map[Kind]any{
	KindHello: hello{1, "0123", "b", "17", "java.lang.X"}, KindWelcome: welcome{"4567", 10_000},
	KindRefused: "sonde count, process 4711", KindPing: nothing{}, KindDone: nothing{},
	KindFailed: "no", KindMap: mapping{"/tmp/a", 1 << 40, 3}, KindList: nothing{},
	KindClasses: classes{true, []Class{{1, 0, Modifiable, "java.lang.Object"}, {2, 1, Interface, "ä.B"}}},
	KindFetch:   []uint32{1, 2, 1 << 31}, KindOriginal: original{7, false, []byte{0xca, 0xfe}, []string{"java/lang/reflect/Proxy", "a/B"}}, KindSees: []uint32{},
	KindSeen: []sight{{1, ""}, {2, "it does not delegate"}}, KindInstall: []uint32{9},
	KindInstalled: Installed{1 << 63, []uint32{4}, "VerifyError"}, KindProbes: []uint64{1, 1 << 63}, KindSwitch: []uint64{3},
	KindWatches: Watches{true, false, []uint64{1 << 63, 2}, []Anchor{{"a/Ä.b()V", 3}}, []string{"a/B.c()V", ""}},
	KindWatch:   view{[]Filter{{"com.", "Service"}, {"", ""}}, []string{"com.sun."}}, KindFollow: true, KindRestore: nothing{},
	KindRestored: Restored{5, 6, true, []string{"a remark", ""}}, KindRestoring: Restoring{3, 7}, KindBye: nothing{}, KindThreads: nothing{},
	KindNamed: []Thread{{1, "main"}, {1 << 40, "ü"}}, KindCalibrate: Calibration{100, 3, BodyIndependent, 5}, KindCalibrated: []Run{{1, 2, 3, 4}},
	KindTransform: Transform{0, 3, "a/B", []byte{1, 2, 3}}, KindWoven: Woven{[]byte{4}, []byte{}}, KindNotice: "late", KindLeaves: "it has heard nothing",
}

func TestEveryKindHasABody(t *testing.T) {
	for number, info := range kinds {
		kind := Kind(number)
		if known := info.from != fromNobody; known != (codecs[kind] != nil) || known != (samples[kind] != nil) {
			t.Errorf("%v: in the table %v, with a codec %v, with a sample %v", kind, known, codecs[kind] != nil, samples[kind] != nil)
		}
		if info.last != 0 && (info.from != fromSonde || !info.last.sentByAgent()) {
			t.Errorf("%v is answered by %v", kind, info.last)
		}
	}
}

func TestBodiesComeBack(t *testing.T) {
	for kind, sample := range samples {
		data := bodyOf(t, kind, sample)
		got, err := codecs[kind](frame{kind: kind, body: data})
		if err != nil || !reflect.DeepEqual(got, sample) {
			t.Errorf("%v: %+v came back as %+v, %v", kind, sample, got, err)
		}
		for length := range data {
			if _, err := codecs[kind](frame{kind: kind, body: data[:length]}); err == nil {
				t.Errorf("%v: %d of %d bytes are taken", kind, length, len(data))
			}
		}
		if _, err := codecs[kind](frame{kind: kind, body: append(data, 0)}); err == nil {
			t.Errorf("%v: a byte too many is taken", kind)
		}
	}
}

// FuzzBody holds that a body is refused, or is the only form of what it says;
// and that decoding it takes memory in proportion to its length.
func FuzzBody(f *testing.F) {
	for kind, sample := range samples {
		f.Add(byte(kind), bodyOf(f, kind, sample))
	}
	f.Add(byte(KindFetch), []byte{255, 255, 255, 255})
	f.Add(byte(KindClasses), []byte{2, 0, 0, 0, 0})
	f.Add(byte(KindNotice), []byte{0, 0, 0, 1, 0xff})
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		read := codecs[Kind(kind)]
		if read == nil {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		value, err := read(frame{kind: Kind(kind), body: data})
		runtime.ReadMemStats(&after)
		// The slack is for what else runs in a fuzzing process.
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(8*len(data))+1<<20 {
			t.Fatalf("%v of %d bytes took %d", Kind(kind), len(data), used)
		}
		if err != nil {
			return
		}
		again := bodyOf(t, Kind(kind), value)
		if !bytes.Equal(again, data) {
			t.Fatalf("%v: % x came back as % x", Kind(kind), data, again)
		}
		if second, err := read(frame{kind: Kind(kind), body: again}); err != nil || !reflect.DeepEqual(second, value) {
			t.Fatalf("%v: %+v came back as %+v, %v", Kind(kind), value, second, err)
		}
	})
}

// encodedRaw is a frame with a body as it was read.
func encodedRaw(t testing.TB, f frame) []byte {
	t.Helper()
	data := append(encoded(t, f.kind, f.request, nothing{}), f.body...)
	binary.BigEndian.PutUint32(data, uint32(headSize+len(f.body)))
	return data
}

// FuzzFrames holds that a stream is read frame by frame up to its first defect,
// that frames are the only form of what they say, and that no more is allocated
// than came.
func FuzzFrames(f *testing.F) {
	var stream []byte
	for kind, sample := range samples {
		data := encoded(f, kind, 3, sample)
		stream = append(stream, data...)
		f.Add(data)
	}
	f.Add(stream)
	f.Add([]byte{4, 0, 0, 0, byte(KindNotice), 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		for {
			start := len(data) - r.Len()
			got, err := readFrame(r, MaxFrame)
			if err != nil {
				if errors.Is(err, io.EOF) && start != len(data) {
					t.Fatalf("an end at %d of %d", start, len(data))
				}
				return
			}
			if cap(got.body) > len(data) {
				t.Fatalf("%d bytes allocated for %d", cap(got.body), len(data))
			}
			if again := encodedRaw(t, got); !bytes.Equal(again, data[start:len(data)-r.Len()]) {
				t.Fatalf("% x came back as % x", data[start:], again)
			}
		}
	})
}
