package api

import (
	"encoding/base64"
	"net/http"
	"testing"
)

// TestACursorOfAnotherFormatIsRefused names both numbers.
func TestACursorOfAnotherFormatIsRefused(t *testing.T) {
	s, err := newSealer(make([]byte, secretBytes))
	if err != nil {
		t.Fatal(err)
	}

	cursor := s.seal("o-1", "orders")
	if place, p := s.open(cursor, "orders"); p != nil || place != "o-1" {
		t.Errorf("%q, %v", place, p)
	}

	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	raw[0] = 2

	_, p := s.open(base64.RawURLEncoding.EncodeToString(raw), "orders")
	if p == nil || p.Status != http.StatusBadRequest || p.Detail != "The cursor has format 2, and this server reads format 1. Start without one." {
		t.Errorf("%+v", p)
	}
}
