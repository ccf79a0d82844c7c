package idempotency

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
)

// Fingerprint is that of a POST without a content type.
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
