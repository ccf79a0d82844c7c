package webhooks_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ratchet/notify/webhooks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The published vector of Standard Webhooks.
const (
	vectorSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorBody      = `{"test": 2432232314}`
	vectorSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

var vectorTime = time.Unix(1614265330, 0)

func secret(t testing.TB, text string) webhooks.Secret {
	t.Helper()

	s, err := webhooks.ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}

	return s
}

// keysAt are keys whose clock stands.
func keysAt(t testing.TB, now time.Time, secrets ...webhooks.Secret) *webhooks.Keys {
	t.Helper()

	keys, err := webhooks.New(webhooks.Config{Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	keys.SetClock(now)

	return keys
}

func TestPublishedVector(t *testing.T) {
	keys := keysAt(t, vectorTime, secret(t, vectorSecret))
	h, err := keys.Sign(vectorID, []byte(vectorBody))
	if err != nil || h.Get(webhooks.HeaderSignature) != vectorSignature || h.Get(webhooks.HeaderTimestamp) != "1614265330" {
		t.Errorf("signed %v, %v", h, err)
	}
	// As the reference implementation's tests send it: beside others, and other versions.
	h.Set(webhooks.HeaderSignature, "v1,bm9wZQ== v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg== "+vectorSignature)

	got, err := keys.Verify(h, []byte(vectorBody))
	if err != nil || got.ID != vectorID || !got.SentAt.Equal(vectorTime) || string(got.Body) != vectorBody {
		t.Errorf("verified %+v, %v", got, err)
	}
}

func TestOnlyTheSignedMessageIsAccepted(t *testing.T) {
	keys := keysAt(t, vectorTime, secret(t, vectorSecret))
	signed := func(change func(http.Header)) http.Header {
		h, err := keys.Sign(vectorID, []byte(vectorBody))
		if err != nil {
			t.Fatal(err)
		}
		change(h)

		return h
	}
	set := func(name, value string) func(http.Header) {
		return func(h http.Header) { h.Set(name, value) }
	}
	for name, test := range map[string]struct {
		change func(http.Header)
		want   error
	}{
		"as it was sent":                   {func(http.Header) {}, nil},
		"another id":                       {set(webhooks.HeaderID, "msg_2"), webhooks.ErrSignature},
		"another second":                   {set(webhooks.HeaderTimestamp, "1614265331"), webhooks.ErrSignature},
		"a dotted id shifts the boundary":  {set(webhooks.HeaderID, vectorID+".1"), webhooks.ErrMalformed},
		"no id":                            {func(h http.Header) { h.Del(webhooks.HeaderID) }, webhooks.ErrMalformed},
		"an empty id":                      {set(webhooks.HeaderID, ""), webhooks.ErrMalformed},
		"an id with a line break":          {set(webhooks.HeaderID, "a\nb"), webhooks.ErrMalformed},
		"two ids":                          {func(h http.Header) { h.Add(webhooks.HeaderID, "msg_2") }, webhooks.ErrMalformed},
		"two signature headers":            {func(h http.Header) { h.Add(webhooks.HeaderSignature, "v1,aaaa") }, webhooks.ErrMalformed},
		"no timestamp":                     {func(h http.Header) { h.Del(webhooks.HeaderTimestamp) }, webhooks.ErrMalformed},
		"a signed number":                  {set(webhooks.HeaderTimestamp, "+1614265330"), webhooks.ErrMalformed},
		"a leading zero":                   {set(webhooks.HeaderTimestamp, "01614265330"), webhooks.ErrMalformed},
		"a fraction":                       {set(webhooks.HeaderTimestamp, "1614265330.0"), webhooks.ErrMalformed},
		"a negative time":                  {set(webhooks.HeaderTimestamp, "-1"), webhooks.ErrMalformed},
		"a time beyond all clocks":         {set(webhooks.HeaderTimestamp, "9223372036854775807"), webhooks.ErrMalformed},
		"an empty signature":               {set(webhooks.HeaderSignature, ""), webhooks.ErrSignature},
		"a version without a signature":    {set(webhooks.HeaderSignature, "v1,"), webhooks.ErrSignature},
		"only another version":             {set(webhooks.HeaderSignature, strings.Replace(vectorSignature, "v1,", "v1a,", 1)), webhooks.ErrSignature},
		"a signature cut short":            {set(webhooks.HeaderSignature, "v1,g0hM9SsE"), webhooks.ErrSignature},
		"not base64":                       {set(webhooks.HeaderSignature, "v1,***"), webhooks.ErrMalformed},
		"ten signatures, the last matches": {set(webhooks.HeaderSignature, strings.Repeat("v1,bm9wZQ== ", 9)+vectorSignature), nil},
		"eleven signatures":                {set(webhooks.HeaderSignature, strings.Repeat("v1,bm9wZQ== ", 10)+vectorSignature), webhooks.ErrMalformed},
		"a header of 5 KiB":                {set(webhooks.HeaderSignature, "v1,"+strings.Repeat("A", 5<<10)), webhooks.ErrMalformed},
	} {
		if _, err := keys.Verify(signed(test.change), []byte(vectorBody)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}

	for i := range vectorBody {
		body := []byte(vectorBody)
		body[i] ^= 1
		if _, err := keys.Verify(signed(func(http.Header) {}), body); !errors.Is(err, webhooks.ErrSignature) {
			t.Fatalf("byte %d of the body was changed: %v", i, err)
		}
	}
}

func TestTimestampToleranceIsFiveMinutes(t *testing.T) {
	sender := keysAt(t, vectorTime, secret(t, vectorSecret))
	h, err := sender.Sign(vectorID, nil)
	if err != nil {
		t.Fatal(err)
	}

	for skew, want := range map[time.Duration]error{
		0: nil, 5 * time.Minute: nil, -5 * time.Minute: nil,
		5*time.Minute + time.Second: webhooks.ErrTimestamp, -5*time.Minute - time.Second: webhooks.ErrTimestamp,
		1000 * time.Hour: webhooks.ErrTimestamp,
	} {
		receiver := keysAt(t, vectorTime.Add(skew), secret(t, vectorSecret))
		if _, err := receiver.Verify(h, nil); !errors.Is(err, want) {
			t.Errorf("clock %s ahead: %v, want %v", skew, err, want)
		}
	}
}

func TestSecretsRotateWithoutARefusedMessage(t *testing.T) {
	old, fresh := webhooks.NewSecret(), webhooks.NewSecret()
	for name, pair := range map[string][2][]webhooks.Secret{
		"both know the new one, the sender still signs with both": {{fresh, old}, {fresh, old}},
		"the receiver is ahead":                                   {{old}, {fresh, old}},
		"the sender is ahead":                                     {{fresh, old}, {old}},
		"the old one is dropped by one side":                      {{fresh, old}, {fresh}},
	} {
		h, err := keysAt(t, vectorTime, pair[0]...).Sign(vectorID, []byte(vectorBody))
		if err != nil {
			t.Fatal(err)
		}

		if _, err := keysAt(t, vectorTime, pair[1]...).Verify(h, []byte(vectorBody)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	h, err := keysAt(t, vectorTime, old).Sign(vectorID, nil)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := keysAt(t, vectorTime, fresh).Verify(h, nil); !errors.Is(err, webhooks.ErrSignature) {
		t.Errorf("the old secret is no longer taken: %v", err)
	}
}

func TestBodyIsReadUpToItsLimit(t *testing.T) {
	keys := keysAt(t, vectorTime, secret(t, vectorSecret))
	h, err := keys.Sign(vectorID, []byte(vectorBody))
	if err != nil {
		t.Fatal(err)
	}

	for limit, want := range map[int64]error{int64(len(vectorBody)): nil, int64(len(vectorBody)) - 1: webhooks.ErrTooLarge} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(vectorBody))
		r.Header = h
		if m, err := keys.Read(r, limit); !errors.Is(err, want) || (err == nil && string(m.Body) != vectorBody) {
			t.Errorf("limit %d: %v, want %v", limit, err, want)
		}
	}
}

func TestNewChecksItsConfig(t *testing.T) {
	good := webhooks.NewSecret()
	for name, cfg := range map[string]webhooks.Config{
		"no secret":            {},
		"an empty secret":      {Secrets: []webhooks.Secret{{}}},
		"23 bytes":             {Secrets: []webhooks.Secret{make([]byte, 23)}},
		"65 bytes":             {Secrets: []webhooks.Secret{make([]byte, 65)}},
		"eleven secrets":       {Secrets: []webhooks.Secret{good, good, good, good, good, good, good, good, good, good, good}},
		"a negative tolerance": {Secrets: []webhooks.Secret{good}, Tolerance: -1},
	} {
		if _, err := webhooks.New(cfg); !errors.Is(err, webhooks.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}

	for _, id := range []string{"", "a.b", "a b", "ä", strings.Repeat("x", 129)} {
		if _, err := keysAt(t, vectorTime, good).Sign(id, nil); !errors.Is(err, webhooks.ErrInvalid) {
			t.Errorf("id %q: %v", id, err)
		}
	}

	inner := good.Reveal()
	for _, text := range []string{
		"", "short", "whsec_", "whsec_***", "whsec_c2hvcnQ=",
		"v1," + inner, " " + inner, "secret=" + inner, `"` + inner, strings.ToUpper(inner), inner + inner,
	} {
		if _, err := webhooks.ParseSecret(text); !errors.Is(err, webhooks.ErrInvalid) {
			t.Errorf("secret %q: %v", text, err)
		}
	}

	if again := secret(t, good.Reveal()); string(again) != string(good) {
		t.Error("a revealed secret reads back as itself")
	}
}

func TestSecretIsRedacted(t *testing.T) {
	s := webhooks.Secret("canary-canary-canary-canary")
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "s", s, "all", []webhooks.Secret{s})

	asJSON, err := json.Marshal(map[string]any{"s": s})
	text := fmt.Sprintf("%s %v %#v %x %s %s %+v", s, s, s, s, log.String(), asJSON, webhooks.Config{Secrets: []webhooks.Secret{s}})
	if err != nil || strings.Contains(text, "canary") || strings.Contains(text, "63616e617279") || strings.Contains(text, "Y2FuYXJ5") {
		t.Errorf("printed as %s", text)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(vectorID, "1614265330", vectorSignature, []byte(vectorBody))
	f.Add("", "", "", []byte(nil))
	keys := keysAt(f, vectorTime, secret(f, vectorSecret))
	f.Fuzz(func(t *testing.T, id, sent, signature string, body []byte) {
		m, err := keys.Verify(http.Header{webhooks.HeaderID: {id}, webhooks.HeaderTimestamp: {sent}, webhooks.HeaderSignature: {signature}}, body)
		if err != nil {
			return
		}

		h, err := keys.Sign(m.ID, m.Body)
		if err != nil || !strings.Contains(signature, h.Get(webhooks.HeaderSignature)) && sent == "1614265330" {
			t.Errorf("accepted %q %q %q, which we would not sign: %v", id, sent, signature, err)
		}
	})
}
