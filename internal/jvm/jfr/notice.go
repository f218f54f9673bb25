package jfr

import "time"

// A notice is an event by which the JVM says that others are missing.
type notice uint8

const (
	noticeNone notice = iota
	noticeData
	noticeSamples
)

var notices = map[string]notice{"jdk.DataLoss": noticeData, "jdk.CPUTimeSamplesLost": noticeSamples}

func (ch *chunk) notice(t *Type, body []byte) {
	e := Event{Type: t, chunk: ch, body: body}
	if e.Start().Before(time.Unix(0, ch.since)) {
		return
	}
	if t.notice == noticeSamples {
		ch.lostSamples += e.Field("lostSamples").Int()
	} else {
		ch.lostBytes += e.Field("amount").Int()
	}
}

// sample takes a sample, or holds it back where the chunk does not hold its
// stack yet but may do so after the next flush.
func (ch *chunk) sample(t *Type, body []byte) {
	raw, whole := ch.rawSample(t, body)
	if !whole {
		ch.damaged++
		return
	}
	if raw.nanos < ch.since {
		return
	}
	if ch.live && !ch.resolved(&raw) {
		ch.held = append(ch.held, raw)
		return
	}
	ch.emit(&raw)
}

// resolved says whether the chunk holds the stack and thread of a sample. One
// without a stack, whose key is 0, is as complete as it will be.
func (ch *chunk) resolved(raw *rawSample) bool {
	return ch.holds(raw.stack) && ch.holds(raw.thread)
}

func (ch *chunk) holds(v Value) bool {
	return !v.pooled || v.bits == 0 || ch.pools.find(v.field.Type, v.bits) != nil
}

// release gives out what was held back before. What is still not resolved then
// will not be.
func (ch *chunk) release() {
	held := ch.held
	ch.held = nil
	for i := range held {
		ch.emit(&held[i])
	}
}

func (ch *chunk) emit(raw *rawSample) {
	if !ch.resolved(raw) {
		ch.missing++
	}
	ch.out.Samples = append(ch.out.Samples, Sample{
		At:     time.Unix(0, raw.nanos),
		Source: raw.plan.source,
		State:  ch.state(raw.state),
		Thread: ch.thread(raw.thread),
		Stack:  ch.stackOf(raw.stack),
	})
}
