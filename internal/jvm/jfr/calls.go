package jfr

import (
	"cmp"
	"time"
)

// A Call is a call of a method that the recorder traces (jdk.MethodTrace). It is reported when the call ends.
type Call struct {
	Method *Method
	Thread Thread // also of a virtual thread
	Start  time.Time
	Took   time.Duration
}

// A Timing sums up the calls of a method that the recorder times (jdk.MethodTiming), since it began to time the method.
type Timing struct {
	Method *Method
	At     time.Time
	Calls  int64
	Mean   time.Duration
}

// A rawCall is a call or a timing whose thread and method are not looked up yet.
type rawCall struct {
	isTiming       bool
	nanos          int64
	took           int64 // in ns; of a timing, the mean
	calls          int64 // of a timing
	thread, method value
}

// readCall emits a call or a timing, or holds it back if its method may come with the next flush. Then later ones are
// held back, too: calls are reported after the calls that they contain.
func readCall(isTiming bool) eventReader {
	return func(ch *chunk, t *typeDef, body []byte) {
		if ch.recording != nil {
			return // a file: nothing shows them
		}
		raw := rawCall{isTiming: isTiming}
		c := cursor{data: body}
		for f, v := range ch.fields(t, &c) {
			switch f.name {
			case "startTime":
				raw.nanos = ch.header.nanos(v.int())
			case "duration", "average":
				raw.took = max(0, ch.header.span(v.int()))
			case "invocations":
				raw.calls = max(0, v.int())
			case "eventThread":
				raw.thread = v
			case "method":
				raw.method = v
			}
		}
		switch {
		case c.short:
			ch.lost[lostDamaged]++
		case raw.nanos < ch.since:
		case len(ch.out.Calls)+len(ch.out.Timings)+len(ch.heldCalls) >= maxSamples:
			ch.lost[lostMany]++
		case ch.live && (len(ch.heldCalls) > 0 || !ch.holds(raw.method) || !ch.holds(raw.thread)):
			ch.heldCalls = append(ch.heldCalls, raw)
		default:
			ch.emitCall(&raw)
		}
	}
}

func (ch *chunk) emitCall(raw *rawCall) {
	method := cmp.Or(once(ch.methods, raw.method, makeMethod), noMethod)
	if method.Class == "" {
		ch.lost[lostStacks]++
		return
	}
	at := time.Unix(0, raw.nanos)
	if raw.isTiming {
		ch.out.Timings = append(ch.out.Timings, Timing{Method: method, At: at, Calls: raw.calls, Mean: time.Duration(raw.took)})
		return
	}
	thread := *ch.thread(raw.thread)
	thread.JavaID = max(0, raw.thread.member("javaThreadId").int())
	ch.out.Calls = append(ch.out.Calls, Call{Method: method, Thread: thread, Start: at, Took: time.Duration(raw.took)})
}
