package control

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
)

// Secrets are what only one who could read the session's file knows: the agent
// shows the token, Sonde the proof. They serve for one session.
type Secrets struct {
	Token, Proof string // 32 hex digits each
}

// NewSecrets makes secrets that cannot be guessed.
func NewSecrets() Secrets { return Secrets{Token: secret(), Proof: secret()} }

func secret() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails: the program ends before it would
	return hex.EncodeToString(random[:])
}

// accepts takes as long for a token that is nearly right as for any other. No
// token opens a door without one.
func (s Secrets) accepts(token string) bool {
	return s.Token != "" && subtle.ConstantTimeCompare([]byte(s.Token), []byte(token)) == 1
}

// String keeps secrets out of what is printed.
func (Secrets) String() string { return "(secrets)" }

// GoString keeps secrets out of what is printed for debugging.
func (Secrets) GoString() string { return "control.Secrets{…}" }
