package actions

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// ID names an action: an id that [Actions.Create] allotted, or a code. Whoever has it
// may use the action (if they also have its PIN, where it has one), so it prints and
// logs as a digest.
//
// An allotted id is "act_" and 43 characters: the version of its key, the action's
// expiry, 96 random bits, and a MAC over all of it. So an id cannot be guessed or
// made up, a late one is known to be expired after everything else about it has been
// forgotten, and none is ever good for another action. The table does not hold the MAC:
// what is read there cannot be used.
type ID string

// digest is what may be printed of an id.
func (id ID) digest() string {
	sum := sha256.Sum256([]byte(id))
	return "action #" + hex.EncodeToString(sum[:4])
}

func (id ID) String() string { return id.digest() }

// GoString keeps %#v from printing the id.
func (id ID) GoString() string { return id.digest() }

// LogValue keeps loggers from printing the id.
func (id ID) LogValue() slog.Value { return slog.StringValue(id.digest()) }

// ref is what an id says about an action.
type ref struct {
	// key is the action's partition key, without the tenant.
	key string
	// expires is the moment after which the action certainly has expired; zero for a
	// code that a person chose, which does not say.
	expires time.Time
}

// second is the expiry as an item holds it, 0 for none.
func (r ref) second() int64 {
	if r.expires.IsZero() {
		return 0
	}
	return r.expires.Unix()
}

const (
	idPrefix  = "act_"
	idBytes   = 32
	idRandom  = 6  // where the random part begins: after version and expiry
	idMAC     = 18 // where the MAC begins
	maxIDText = 128
)

// mint makes an id for an action that expires then. Seed is the random part, and names
// the item: an id and an item belong together when their expiry is equal, too.
func (k tenantKey) mint(expires time.Time, seed [idMAC - idRandom]byte) (ID, ref) {
	raw := make([]byte, 0, idBytes)
	raw = append(raw, byte(k.version))
	second := binary.BigEndian.AppendUint64(nil, uint64(ceilSecond(expires)))
	raw = append(raw, second[3:]...)
	raw = append(raw, seed[:]...)
	r := idRef(raw)
	raw = append(raw, mac(k.id, string(raw))[:idBytes-idMAC]...)

	return ID(idPrefix + base64.RawURLEncoding.EncodeToString(raw)), r
}

func idRef(raw []byte) ref {
	second := binary.BigEndian.Uint64(append([]byte{0, 0, 0}, raw[1:idRandom]...))
	return ref{key: idPrefix + base64.RawURLEncoding.EncodeToString(raw[idRandom:idMAC]), expires: time.Unix(int64(second), 0)}
}

// resolve reads an id that came from outside. It reports false for everything that
// was never made here: whether the MAC is wrong or the form does not matter.
func (a *Actions) resolve(id ID) (ref, bool) {
	text := string(id)
	encoded, allotted := strings.CutPrefix(text, idPrefix)
	switch {
	case len(text) > maxIDText:
		return ref{}, false
	case !allotted:
		return a.resolveCode(text)
	}

	raw, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil || len(raw) != idBytes {
		return ref{}, false
	}

	key, known := a.keys.version(int(raw[0]))
	if !known || !hmac.Equal(raw[idMAC:], mac(key.id, string(raw[:idMAC]))[:idBytes-idMAC]) {
		return ref{}, false
	}

	return idRef(raw), true
}

// itemKey is the partition key of a tenant's action. Neither part holds a slash.
func (a *Actions) itemKey(r ref) string {
	if a.tenant == "" {
		return r.key
	}
	return a.tenant + "/" + r.key
}

// seedOf is the random part of an id: drawn, or derived from the request's name. The
// MAC, not the seed, makes the id unguessable.
func seedOf(request string) (seed [idMAC - idRandom]byte) {
	if request == "" {
		_, _ = rand.Read(seed[:]) // never fails since Go 1.24
		return seed
	}
	sum := sha256.Sum256([]byte("request:" + request))
	copy(seed[:], sum[:])

	return seed
}

// ceilSecond is the moment in epoch seconds, rounded up.
func ceilSecond(t time.Time) int64 { return t.Add(time.Second - 1).Unix() }

// failed says what was attempted on which action.
func failed(verb string, id ID, err error) error {
	return fmt.Errorf("%s %s: %w", verb, id.digest(), err)
}
