package stepfunctions

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"

	"ratchet/embedded/internal/stepfunctions/execution"
	"ratchet/embedded/internal/stepfunctions/keys"
	"ratchet/embedded/internal/stepfunctions/requests"
	"ratchet/embedded/internal/wire"
)

// taskToken identifies a started task and has the secret of its attempt.
type taskToken struct {
	execution keys.Execution
	thread    int64
	secret    [execution.TokenSize]byte
}

const (
	tokenVersion = 1
	tokenBytes   = 1 + 8 + 8 + 8 + execution.TokenSize
)

func newSecret() (secret [execution.TokenSize]byte) {
	_, _ = rand.Read(secret[:]) // never fails: crypto/rand crashes the process instead
	return secret
}

// String returns the token as workers see it.
func (t taskToken) String() string {
	b := make([]byte, 1, tokenBytes)
	b[0] = tokenVersion
	b = binary.BigEndian.AppendUint64(b, t.execution.Machine)
	b = binary.BigEndian.AppendUint64(b, t.execution.ID)
	b = binary.BigEndian.AppendUint64(b, uint64(t.thread))

	return base64.RawURLEncoding.EncodeToString(append(b, t.secret[:]...))
}

func readToken(text string) (t taskToken, err error) {
	const most = 2048
	if err := requests.AtMost(text, "taskToken", most); err != nil {
		return t, err
	}

	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != tokenBytes || b[0] != tokenVersion {
		return t, wire.Errorf("InvalidToken", "Invalid Token: 'Invalid token'")
	}

	t.execution.Machine = binary.BigEndian.Uint64(b[1:])
	t.execution.ID = binary.BigEndian.Uint64(b[9:])
	t.thread = int64(binary.BigEndian.Uint64(b[17:]))
	copy(t.secret[:], b[25:])

	return t, nil
}
