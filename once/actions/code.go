package actions

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A code is an id that people type. A generated code is PREFIX-AAAAA-AAAAA-AAAAA-AAAAA in
// Crockford's base32 (https://www.crockford.com/base32.html): 1 character for the version
// of the key, 4 for the hour of expiry, 7 that name the action, and 8 (40 bits) of a MAC.
// It is read in upper and lower case, with and without hyphens, with O for 0 and I or L
// for 1.
//
// A chosen code, such as SUMMER-24, contains nothing. Only its item remembers that it has
// been used, so that item is never deleted.
const (
	codeAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	codeLength   = 20
	codeExpiry   = 1 // where the expiry begins, after the version of the key
	codeName     = 5 // where the name begins
	codeMAC      = 12
	codeGroup    = 5 // characters between two hyphens
)

var (
	codePrefixRule = regexp.MustCompile(`^[A-Z0-9]{2,16}$`)
	chosenRule     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z0-9][A-Z0-9-]{1,62}[A-Z0-9]$`) })
	// codeEpoch is hour 0 of the expiry in a code. The last hour is in 2139.
	codeEpoch  = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	codeTyping = strings.NewReplacer("O", "0", "I", "1", "L", "1", "-", "")
)

// normalCode returns a code in the form in which codes are compared: in upper case, with
// hyphens for spaces.
func normalCode(text string) string {
	return strings.ToUpper(strings.Join(strings.Fields(text), "-"))
}

// splitGenerated splits a normal code that has the form of a generated one.
func splitGenerated(code string) (prefix, body string, ok bool) {
	prefix, rest, _ := strings.Cut(code, "-")
	body = codeTyping.Replace(rest)
	return prefix, body, len(body) == codeLength && codePrefixRule.MatchString(prefix)
}

func (a *Actions) resolveCode(text string) (ref, bool) {
	code := normalCode(text)
	prefix, body, isGenerated := splitGenerated(code)
	if !isGenerated {
		return chosenRef(code), chosenRule().MatchString(code)
	}

	// Trim leaves something if any character is outside the alphabet.
	if strings.Trim(body, codeAlphabet) != "" {
		return ref{}, false
	}

	key, known := a.keys.version(strings.IndexByte(codeAlphabet, body[0]))
	if !known || !hmac.Equal([]byte(body[codeMAC:]), []byte(key.codeMAC(prefix, body[:codeMAC]))) {
		return ref{}, false
	}

	hours := int64(0)
	for _, c := range []byte(body[codeExpiry:codeName]) {
		hours = hours<<5 | int64(strings.IndexByte(codeAlphabet, c))
	}

	return generatedRef(prefix, body[codeExpiry:codeMAC], hours), true
}

func chosenRef(code string) ref { return ref{key: "code:" + code} }

func generatedRef(prefix, name string, hours int64) ref {
	return ref{key: "bulk:" + prefix + "-" + name, expires: codeEpoch.Add(time.Duration(hours) * time.Hour)}
}

func (k tenantKey) codeMAC(prefix, body string) string {
	return base32(mac(k.code, prefix, body), codeLength-codeMAC)
}

// codeOf returns the code of an index of a batch. Each try gives another code, because the
// name of the first one may be taken.
func (k tenantKey) codeOf(b Batch, index, try int) (ID, ref) {
	// The hours are rounded up, so that no code looks expired before its action is.
	hours := int64((b.ExpiresAt.Sub(codeEpoch) + time.Hour - 1) / time.Hour)
	expiry := make([]byte, codeName-codeExpiry)
	for i := range expiry {
		expiry[len(expiry)-1-i] = codeAlphabet[hours>>(5*i)&31]
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s/%d/%d", len(b.ID), b.ID, index, try))
	name := string(expiry) + base32(sum[:], codeMAC-codeName)

	body := string(codeAlphabet[k.version]) + name
	body += k.codeMAC(b.Prefix, body)
	text := b.Prefix
	for i := 0; i < codeLength; i += codeGroup {
		text += "-" + body[i:i+codeGroup]
	}

	return ID(text), generatedRef(b.Prefix, name, hours)
}

// base32 encodes the first 5*n bits of b as n characters.
func base32(b []byte, n int) string {
	out := make([]byte, n)
	for i := range out {
		bit := i * 5
		// The five bits may lie in two bytes.
		pair := uint16(b[bit/8])<<8 | uint16(b[bit/8+1])
		out[i] = codeAlphabet[pair>>(11-bit%8)&31]
	}

	return string(out)
}

// checkChosen returns an error that names the rule that a chosen code breaks.
func checkChosen(code string) error {
	switch _, _, isGenerated := splitGenerated(code); {
	case !chosenRule().MatchString(code):
		return fmt.Errorf("%w: code: 3 to 64 letters, digits and hyphens", ErrInvalid)
	case isGenerated:
		return fmt.Errorf("%w: code: a word, a hyphen and %d characters is the form of generated codes", ErrInvalid, codeLength)
	}

	return nil
}
