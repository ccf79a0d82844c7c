package session

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

var errSeal = errors.New("it was not sealed here")

// seal makes texts that only processes with the same secret can make and read.
type seal struct {
	name string
	open []cipher.AEAD // the first one seals
}

// newSeal derives the keys of one purpose from the secrets: a text that was sealed for another one is refused.
func newSeal(purpose string, secrets [][]byte) (*seal, error) {
	s := &seal{name: purpose}

	for _, secret := range secrets {
		key, err := hkdf.Key(sha256.New, secret, nil, "console of ratchet 1 "+purpose, 32)
		if err != nil {
			return nil, fmt.Errorf("derive the key of %s: %w", purpose, err)
		}

		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("the key of %s: %w", purpose, err)
		}

		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("the key of %s: %w", purpose, err)
		}
		s.open = append(s.open, aead)
	}

	return s, nil
}

func (s *seal) put(v any) (string, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return "", err
	}

	return base64.RawURLEncoding.EncodeToString(s.open[0].Seal(nil, nil, plain, []byte(s.name))), nil //nolint:gosec // G407: the seal makes a random nonce itself
}

func (s *seal) take(text string, into any) error {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return errSeal
	}

	for _, aead := range s.open {
		if plain, err := aead.Open(nil, nil, sealed, []byte(s.name)); err == nil {
			return json.Unmarshal(plain, into)
		}
	}

	return errSeal
}
