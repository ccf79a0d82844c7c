package auth

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// JWTConfig configures a JWT authenticator. Both fields are required.
type JWTConfig struct {
	// Claims says what a token must contain.
	Claims Claims
	// PublicKey is one PEM block with the issuer's public key (PKIX: RSA, ECDSA or
	// Ed25519).
	PublicKey []byte
}

// JWT authenticates tokens that were signed with the private half of a configured key.
type JWT struct {
	claims Claims
	parser *jwt.Parser
	key    crypto.PublicKey
}

// NewJWT checks cfg. It fails with ErrInvalid if the public key cannot be read.
func NewJWT(cfg JWTConfig) (*JWT, error) {
	claims := cfg.Claims.withDefaults()

	key, err := parsePublicKey(cfg.PublicKey)
	if err := errors.Join(claims.validate(), err); err != nil {
		return nil, err
	}

	parser := jwt.NewParser(
		jwt.WithValidMethods(algorithms),
		jwt.WithIssuer(claims.Issuer),
		jwt.WithAudience(claims.Audience),
		// By default, a token without an expiry would be valid without an end.
		jwt.WithExpirationRequired(),
	)

	return &JWT{claims: claims, parser: parser, key: key}, nil
}

func parsePublicKey(text []byte) (crypto.PublicKey, error) {
	block, rest := pem.Decode(text)
	if block == nil || len(strings.TrimSpace(string(rest))) > 0 {
		return nil, fmt.Errorf("%w: public key: must be one PEM block", ErrInvalid)
	}

	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: public key: %w", ErrInvalid, err)
	}

	return key, nil
}

// Authenticate checks signature, issuer, audience and time of the token, and reads its
// claims. It fails with ErrRefused.
func (j *JWT) Authenticate(_ context.Context, token string) (Principal, error) {
	if _, err := j.claims.read(token); err != nil {
		return Principal{}, err
	}

	claims := jwt.MapClaims{}
	if _, err := j.parser.ParseWithClaims(token, claims, j.verificationKey); err != nil {
		return Principal{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}

	subject, _ := claims.GetSubject() // "" is refused below

	return j.claims.principal("jwt", subject, claims)
}

func (j *JWT) verificationKey(*jwt.Token) (any, error) { return j.key, nil }
