package auth

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// header is the part of a token's header that is read before its signature is checked.
type header struct {
	Type     string `json:"typ"`
	Critical any    `json:"crit"`
}

// tokenTypes are the values of typ that an access token may have (RFC 9068, 2.1; RFC 7519, 5.1). Logout tokens, DPoP
// proofs and security events have others.
var tokenTypes = []string{"", "jwt", "at+jwt", "application/at+jwt"}

// standardClaims are the claims that decide about a token, and must not be there under a similar name, which another
// reader could take for them.
var standardClaims = []string{"iss", "sub", "aud", "azp", "exp", "nbf", "iat", "cnf", "typ", "token_use", "nonce", "at_hash", "c_hash", "scope", "scp"}

// errNotAccess refuses a token that is no bearer's access token.
var errNotAccess = errors.New("it is no access token that its bearer may use")

// read returns the claims of a token whose signature is not checked yet. It fails with ErrRefused for everything that
// is no access token for any bearer: other types of tokens, tokens that are bound to a key, extensions that must be
// understood, and members whose names differ only in case or occur twice.
func (c Claims) read(token string) (map[string]any, error) {
	parts := strings.Split(token, ".")
	if len(token) > maxToken || len(parts) != 3 {
		return nil, ErrRefused
	}

	var head header
	if err := decodePart(parts[0], &head); err != nil {
		return nil, err
	}

	if head.Critical != nil {
		return nil, fmt.Errorf("%w: its header has extensions that must be understood (crit)", ErrRefused)
	}

	if !containsFold(tokenTypes, head.Type) {
		return nil, fmt.Errorf("%w: %w: typ %q", ErrRefused, errNotAccess, head.Type)
	}

	var claims map[string]any
	if err := decodePart(parts[1], &claims); err != nil {
		return nil, err
	}

	if err := errors.Join(c.checkNames(claims), checkTimes(claims)); err != nil {
		return nil, err
	}

	return claims, checkUse(claims, head.Type)
}

// checkTimes refuses times that are no numbers (RFC 7519, 2: NumericDate), or that are too large to be a time: a sum with
// them would be in the past.
func checkTimes(claims map[string]any) error {
	const most = 1 << 53

	for _, name := range []string{"exp", "nbf", "iat"} {
		claim, has := claims[name]
		if at, is := claim.(float64); has && (!is || at > most || at < -most) {
			return fmt.Errorf("%w: %s is no time", ErrRefused, name)
		}
	}

	return nil
}

// decodePart decodes a part of a token. A member that occurs twice is an error.
func decodePart(part string, into any) error {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}

	if err != nil {
		return fmt.Errorf("%w: it is no JSON Web Token: %w", ErrRefused, err)
	}

	return nil
}

// Expiry returns when a verified token ends: the zero time if it does not say so.
func Expiry(token string) time.Time {
	parts := strings.Split(token, ".")

	var claims struct {
		Expiry float64 `json:"exp"`
	}
	if len(parts) != 3 || decodePart(parts[1], &claims) != nil {
		return time.Time{}
	}

	return time.Unix(int64(claims.Expiry), 0)
}

// CheckNames refuses a token of any type with a claim that occurs twice, or whose name differs only in case from one that is
// read. It does not check the signature. It fails with ErrRefused.
func (c Claims) CheckNames(token string) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ErrRefused
	}

	var claims map[string]any
	if err := decodePart(parts[1], &claims); err != nil {
		return err
	}

	return c.checkNames(claims)
}

// checkNames refuses claims whose names differ only in case from those that are read.
func (c Claims) checkNames(claims map[string]any) error {
	for name := range claims {
		for _, known := range append([]string{c.TenantClaim, c.ScopeClaim}, standardClaims...) {
			if name != known && strings.EqualFold(name, known) {
				return fmt.Errorf("%w: it has the claim %q beside %q", ErrRefused, name, known)
			}
		}
	}

	return nil
}

// checkUse refuses tokens that are for something else than access, or not for any bearer.
func checkUse(claims map[string]any, headerType string) error {
	if claims["cnf"] != nil {
		return fmt.Errorf("%w: %w: it is bound to a key (cnf)", ErrRefused, errNotAccess)
	}

	// Keycloak writes the use into typ, Cognito into token_use.
	use, _ := claims["typ"].(string)
	if tokenUse, has := claims["token_use"].(string); has {
		use = tokenUse
	}

	if use != "" && !containsFold([]string{"bearer", "access", "jwt", "at+jwt"}, use) {
		return fmt.Errorf("%w: %w: it is of the kind %q", ErrRefused, errNotAccess, use)
	}

	// Only ID tokens have them, and access tokens of older issuers, which say that they are.
	isAccess := use != "" || containsFold([]string{"at+jwt", "application/at+jwt"}, headerType)
	if claims["at_hash"] != nil || claims["c_hash"] != nil || claims["nonce"] != nil && !isAccess {
		return fmt.Errorf("%w: %w: it is an ID token", ErrRefused, errNotAccess)
	}

	return nil
}

func containsFold(list []string, text string) bool {
	for _, member := range list {
		if strings.EqualFold(member, text) {
			return true
		}
	}

	return false
}
