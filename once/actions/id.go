package actions

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"strings"
	"time"
)

// ID names an action: an id that [Actions.Create] made, or a code. Anyone who has the ID, and
// the PIN if the action has one, may use the action. Therefore an ID prints and logs as a
// digest; string(id) is the id itself.
//
// An id that Create makes is "act_" and 43 characters: the version of its key, the
// action's expiry, 96 random bits, and a MAC of all of these. The id cannot be guessed or
// made up. A late id is known to have expired even after its item has been deleted. No id
// ever names a second action. The table does not contain the MAC, so an id cannot be
// restored from the table.
type ID string

// digest is the printable form of an id.
func (id ID) digest() string {
	sum := sha256.Sum256([]byte(id))
	return "action #" + hex.EncodeToString(sum[:4])
}

func (id ID) String() string { return id.digest() }

// GoString keeps %#v from printing the id.
func (id ID) GoString() string { return id.digest() }

// LogValue keeps loggers from printing the id.
func (id ID) LogValue() slog.Value { return slog.StringValue(id.digest()) }

// ref is the content of an id.
type ref struct {
	// key is the action's partition key, without the tenant.
	key string
	// expires is the moment after which the action has certainly expired. It is zero for a
	// code that a person chose, which contains no expiry.
	expires time.Time
}

// second returns the expiry as an item holds it, 0 for none.
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

// newID makes an id for an action that expires at a time. The seed is the random part and
// names the item. An id belongs to an item only if their expiries are equal, too.
func (k tenantKey) newID(expires time.Time, seed [idMAC - idRandom]byte) (ID, ref) {
	raw := make([]byte, 0, idBytes)
	raw = append(raw, byte(k.version))
	second := binary.BigEndian.AppendUint64(nil, uint64(ceilSecond(expires)))
	// Five bytes are enough for the seconds of 34,000 years.
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

// resolve reads an id that a caller sent. It returns false for every id that was not made
// here, and does not say whether the MAC or the form is wrong.
func (a *Actions) resolve(id ID) (ref, bool) {
	text := string(id)
	encoded, made := strings.CutPrefix(text, idPrefix)
	switch {
	case len(text) > maxIDText:
		return ref{}, false
	case !made:
		return a.resolveCode(text)
	}

	// Strict, so that an id has only one spelling.
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

// itemKey returns the partition key of a tenant's action. Neither part contains a slash.
func (a *Actions) itemKey(r ref) string {
	if a.tenant == "" {
		return r.key
	}
	return a.tenant + "/" + r.key
}

// seedOf returns the random part of an id, derived from the request's name if there is one.
// The id is unguessable because of the MAC, not because of the seed.
func seedOf(request string) (seed [idMAC - idRandom]byte) {
	if request == "" {
		_, _ = rand.Read(seed[:]) // never fails since Go 1.24
		return seed
	}
	sum := sha256.Sum256([]byte("request:" + request))
	copy(seed[:], sum[:])

	return seed
}

// ceilSecond returns the moment in epoch seconds, rounded up.
func ceilSecond(t time.Time) int64 { return t.Add(time.Second - 1).Unix() }
