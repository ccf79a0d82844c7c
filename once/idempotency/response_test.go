package idempotency

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
)

// Fingerprint returns the fingerprint of a POST without a content type.
func Fingerprint(target string, body []byte) []byte {
	return fingerprint(httptest.NewRequest(http.MethodPost, target, nil), body)
}

func FuzzDecode(f *testing.F) {
	f.Add((&response{Status: 201, Header: http.Header{"Location": {"/x"}}, Body: []byte("body")}).encode([]string{"Location"}))
	f.Add([]byte{format, 2, '{', '}'})
	f.Add([]byte{format, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := decode(text)
		if err != nil {
			return
		}

		var all []string
		for name := range r.Header {
			all = append(all, name)
		}

		again, err := decode(r.encode(all))
		if err != nil || again.Status != r.Status || !bytes.Equal(again.Body, r.Body) || len(again.Header) != len(r.Header) ||
			len(r.Header) > 0 && !reflect.DeepEqual(again.Header, r.Header) {
			t.Errorf("%+v reads back as %+v, %v", r, again, err)
		}
	})
}

// A stored response that is not whole is refused.
func TestStoredResponsesThatAreBrokenAreRefused(t *testing.T) {
	whole := (&response{Status: 201, Header: http.Header{"Location": {"/x"}}, Body: []byte("body")}).encode([]string{"Location"})
	empty := (&response{Status: 204}).encode(nil)

	for name, text := range map[string][]byte{"with a body": whole, "without a body": empty} {
		if r, err := decode(text); err != nil || r.Header == nil {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}

	for name, text := range map[string][]byte{
		"nothing":                      nil,
		"another format":               append([]byte{format + 1}, whole[1:]...),
		"only the format":              {format},
		"a length that does not end":   {format, 0xff},
		"a head that is cut off":       whole[:len(whole)-len("body")-1],
		"a head of no JSON":            {format, 2, '{', '{'},
		"a status below 200":           {format, 14, '{', '"', 's', 't', 'a', 't', 'u', 's', '"', ':', '1', '9', '9', '}'},
		"a status above 999":           []byte("\x01\x0f{\"status\":1000}"),
		"a head that is no object":     {format, 1, '1'},
		"a head longer than the text":  {format, 200, 1, '{', '}'},
		"a length beyond what is left": {format, 3, '{', '}'},
	} {
		if r, err := decode(text); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// The limit is for the whole body, in however many pieces it is written.
func TestABodyUpToTheLimitIsKept(t *testing.T) {
	for _, row := range []struct {
		pieces   []int
		overflow bool
	}{
		{[]int{10}, false},
		{[]int{11}, true},
		{[]int{5, 5}, false},
		{[]int{5, 6}, true},
	} {
		r := &recorder{header: http.Header{}, limit: 10}
		for _, n := range row.pieces {
			_, err := r.Write(make([]byte, n))
			if last := len(r.body)+n > 10 && row.overflow; err != nil && !last {
				t.Errorf("%v: %v", row.pieces, err)
			}
		}

		if r.overflow != row.overflow || r.status != http.StatusOK {
			t.Errorf("%v: overflow %v, status %d", row.pieces, r.overflow, r.status)
		}
	}
}

// The content type is guessed for a body without one, and for nothing else.
func TestTheContentTypeIsGuessedOnlyForABody(t *testing.T) {
	for name, row := range map[string]struct {
		write func(r *recorder)
		want  []string
	}{
		"a body":              {func(r *recorder) { _, _ = r.Write([]byte("<html>")) }, []string{"text/html; charset=utf-8"}},
		"a body with a type":  {func(r *recorder) { r.Header().Set("Content-Type", "a/b"); _, _ = r.Write([]byte("<html>")) }, []string{"a/b"}},
		"no body":             {func(r *recorder) { r.WriteHeader(http.StatusNoContent) }, nil},
		"no body with a type": {func(r *recorder) { r.Header().Set("Content-Type", "a/b"); r.WriteHeader(http.StatusOK) }, []string{"a/b"}},
	} {
		r := &recorder{header: http.Header{}, limit: 10}
		row.write(r)

		if got := r.response().Header["Content-Type"]; !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}
