package control

import (
	"errors"
	"fmt"
	"strings"
)

// The defects of a frame.
var (
	ErrTruncated   = errors.New("it is cut off")
	ErrTooLong     = errors.New("it is too long")
	ErrUnknownKind = errors.New("its kind is unknown")
	ErrMalformed   = errors.New("it is malformed")
	ErrOutOfTurn   = errors.New("it is not allowed at this point of the conversation")
)

// A FrameError is an invalid frame; it wraps one of the errors above. An invalid frame from the
// agent ends the session.
type FrameError struct {
	Kind    Kind // 0 if it was not read
	Request uint32
	Defect  error
	Detail  string
}

func (e *FrameError) Error() string {
	text := "a frame of the control protocol"
	if e.Kind != 0 {
		text = fmt.Sprintf("%v %d of the control protocol", e.Kind, e.Request)
	}
	text += ": " + e.Defect.Error()
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Unwrap returns the defect.
func (e *FrameError) Unwrap() error { return e.Defect }

// The reasons why a conversation ends.
var (
	// ErrLost is wrapped by every error of a conversation that has ended.
	ErrLost   = errors.New("the agent is gone")
	ErrClosed = errors.New("the session was closed")
	ErrHungUp = errors.New("the agent ended the connection")
	ErrSilent = errors.New("the agent stopped answering")
)

// A LostError is the end of a conversation. It wraps ErrLost and the cause.
type LostError struct {
	Cause error
}

func (e *LostError) Error() string { return fmt.Sprintf("%v: %v", ErrLost, e.Cause) }

// Unwrap returns ErrLost and the cause.
func (e *LostError) Unwrap() []error { return []error{ErrLost, e.Cause} }

// A RefusedError is an agent's refusal because its JVM belongs to another session.
type RefusedError struct {
	Holder string
}

func (e *RefusedError) Error() string {
	return "the JVM is held by " + oneLine(e.Holder) + ": wait for its end, or end it"
}

// A FailedError is a request that the agent could not carry out.
type FailedError struct {
	Asked  Kind
	Reason string
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("the agent could not do %v: %s", e.Asked, oneLine(e.Reason))
}

// A VersionError is an agent that speaks another version of the protocol.
type VersionError struct {
	Agent uint16
	Build string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("the agent (%s) speaks version %d of the control protocol, sonde version %d: start the JVM with the agent of this sonde, or none",
		oneLine(e.Build), e.Agent, Protocol)
}

// A NoAgentError reports that no agent arrived at a Door.
type NoAgentError struct {
	TurnedAway int   // callers that did not prove themselves
	Last       error // why the last of them did not; nil if there was none
	Cause      error // why the wait ended
}

func (e *NoAgentError) Error() string {
	text := "no connection: " + e.Cause.Error()
	if e.TurnedAway > 0 {
		text += fmt.Sprintf(" (%d turned away, the last because: %v)", e.TurnedAway, e.Last)
	}
	return text
}

// Unwrap returns why the wait ended.
func (e *NoAgentError) Unwrap() error { return e.Cause }

// A StrangerError is a caller that is not the expected process.
type StrangerError struct {
	PID int
	UID uint32
}

func (e *StrangerError) Error() string {
	return fmt.Sprintf("the caller is process %d of user %d", e.PID, e.UID)
}

// oneLine shortens text of the agent to one line.
func oneLine(text string) string {
	const most = 1000
	if len(text) > most {
		text = validPrefix(text, most) + "…"
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
}

// validPrefix returns a copy of the beginning of a text, without splitting a character.
func validPrefix(text string, most int) string {
	return strings.Clone(strings.ToValidUTF8(text[:most], ""))
}
