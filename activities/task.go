package activities

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
)

// Token is a Step Functions task token. Everyone who has it can answer the task, so it prints and logs
// as a short digest. The conversion string(t) gives the token itself.
type Token string

// String returns the short hash.
func (t Token) String() string {
	sum := sha256.Sum256([]byte(t))
	return "token:" + hex.EncodeToString(sum[:6])
}

// GoString keeps the token out of %#v.
func (t Token) GoString() string { return t.String() }

// LogValue keeps the token out of logs.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// Task is one activity task as the service handed it out.
type Task struct {
	// Token answers the task. A handler needs it only to park the task.
	Token Token
	// Input is the JSON that the state machine passed.
	Input json.RawMessage
	// Activity and Worker are the configured names.
	Activity, Worker string
}

// LogValue logs the names and the token's digest, never the input.
func (t Task) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("activity", t.Activity),
		slog.String("worker", t.Worker),
		slog.Any("token", t.Token),
	)
}
