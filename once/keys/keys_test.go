package keys_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"ratchet/once/keys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func of(t rapidOrTest, tenant, operation string, parts ...string) string {
	t.Helper()

	key, err := keys.Of(tenant, operation, parts...)
	if err != nil {
		t.Fatalf("%q %q %q: %v", tenant, operation, parts, err)
	}

	return key
}

type rapidOrTest interface {
	Helper()
	Fatalf(string, ...any)
}

func TestPoint13_CompositionIsInjective(t *testing.T) {
	for _, pair := range [][2][]string{
		{{"t", "op", "a", "bc"}, {"t", "op", "ab", "c"}},
		{{"t", "op", "a"}, {"t", "op", "a", ""}},
		{{"ta", "op", "x"}, {"t", "aop", "x"}},
		{{"t", "op", "1:a"}, {"t", "op", "", "a"}},
		{{"t", "op", strings.Repeat("a", 3000), "b"}, {"t", "op", strings.Repeat("a", 3000) + "b"}},
	} {
		a, b := of(t, pair[0][0], pair[0][1], pair[0][2:]...), of(t, pair[1][0], pair[1][1], pair[1][2:]...)
		if a == b {
			t.Errorf("%.40q and %.40q make the same key", pair[0], pair[1])
		}
	}

	if key := of(t, "t", "op", strings.Repeat("é", 2000)); len(key) > keys.MaxBytes || !strings.HasPrefix(key, "sha256:") {
		t.Errorf("a long key is hashed: %.40q, %d bytes", key, len(key))
	}

	for name, parts := range map[string][]string{"no tenant": {"", "op", "a"}, "no operation": {"t", "", "a"},
		"no parts": {"t", "op"}, "empty parts": {"t", "op", "", ""}, "not UTF-8": {"t", "op", "\xff"}} {
		if _, err := keys.Of(parts[0], parts[1], parts[2:]...); !errors.Is(err, keys.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDifferentPartsMakeDifferentKeys(t *testing.T) {
	part := rapid.StringMatching(`[0-9:ab]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) []string { return rapid.SliceOfN(part, 1, 4).Draw(t, name) }

		a, b := append([]string{"t", "op", "x"}, draw("a")...), append([]string{"t", "op", "x"}, draw("b")...)
		same := len(a) == len(b) && strings.Join(a, "\x00") == strings.Join(b, "\x00")
		if (of(t, a[0], a[1], a[2:]...) == of(t, b[0], b[1], b[2:]...)) != same {
			t.Fatalf("%q and %q", a, b)
		}
	})
}

func TestAMessageIsNamedByItsPlaceInTheLog(t *testing.T) {
	key, err := keys.Message("orders-eu", 3, 991)
	if err != nil || key != "orders-eu-3-991" {
		t.Errorf("%q, %v", key, err)
	}

	for _, bad := range []struct {
		topic     string
		partition int32
		offset    int64
	}{{"", 0, 0}, {"t", -1, 0}, {"t", 0, -1}, {strings.Repeat("t", keys.MaxBytes), 0, 0}} {
		if _, err := keys.Message(bad.topic, bad.partition, bad.offset); !errors.Is(err, keys.ErrInvalid) {
			t.Errorf("%.20q %d %d: %v", bad.topic, bad.partition, bad.offset, err)
		}
	}
}

func TestTheHeaderMayBeQuotedOrNot(t *testing.T) {
	for field, want := range map[string]string{
		`"8e03978e-40d5-43e8-bc93-6894a57f9324"`: "8e03978e-40d5-43e8-bc93-6894a57f9324",
		`8e03978e-40d5-43e8-bc93-6894a57f9324`:   "8e03978e-40d5-43e8-bc93-6894a57f9324",
		`"with \"quotes\" and \\"`:               `with "quotes" and \`,
		"\t k:1 ":                                "k:1",
		`"a, b;c"`:                               "a, b;c",
	} {
		if got, err := keys.Header([]string{field}); err != nil || got != want {
			t.Errorf("%s: %q, %v", field, got, err)
		}
	}

	for name, fields := range map[string][]string{
		"none": nil, "two": {"a", "a"}, "empty": {""}, "empty string": {`""`}, "blank": {`"  "`},
		"a list": {"a, b"}, "parameters": {`"a";v=1`}, "bare parameters": {"a;v=1"}, "open": {`"a`}, "open escape": {`"a\`},
		"bad escape": {`"\n"`}, "control": {"\"a\x01\""}, "not ASCII": {`"é"`}, "bare not ASCII": {"é"},
		"a quote inside": {`a"b`}, "too long": {strings.Repeat("a", keys.MaxHeader+1)},
	} {
		if got, err := keys.Header(fields); !errors.Is(err, keys.ErrInvalid) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestAnExpiringKeyCarriesItsEnd(t *testing.T) {
	end := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

	key, err := keys.Expiring("coupon", "o-1", end)
	if err != nil || key != "coupon-o-1-tpcao0" {
		t.Fatalf("%q, %v", key, err)
	}

	if got, err := keys.Expiry(key); err != nil || !got.Equal(end) {
		t.Errorf("%s, %v", got, err)
	}

	for _, bad := range []string{"", "coupon", "coupon-1", "coupon--tpcao0", "-o-1-tpcao0", "coupon-o-1-TPCAO0", "coupon-o-1-0tpcao0",
		"coupon-o-1-", "coupon-o-1-0", "coupon-o-1-zzzzzzzzzzzz", "coupon-o-1-t c"} {
		if at, err := keys.Expiry(bad); !errors.Is(err, keys.ErrInvalid) {
			t.Errorf("%q: %s, %v", bad, at, err)
		}
	}

	for _, bad := range []struct {
		name, id string
		end      time.Time
	}{{"", "1", end}, {"a-b", "1", end}, {"a", "", end}, {"a", "1", time.Time{}}, {"a", strings.Repeat("1", keys.MaxBytes), end}} {
		if key, err := keys.Expiring(bad.name, bad.id, bad.end); !errors.Is(err, keys.ErrInvalid) {
			t.Errorf("%.20q: %v", key, err)
		}
	}
}

func FuzzExpiry(f *testing.F) {
	f.Add("coupon-o-1-tpcao0")
	f.Add("8e03978e-40d5-43e8-bc93-6894a57f9324")
	f.Fuzz(func(t *testing.T, key string) {
		end, err := keys.Expiry(key)
		if err != nil || len(key) > keys.MaxBytes {
			return
		}

		name, rest, _ := strings.Cut(key, "-")
		again, err := keys.Expiring(name, rest[:strings.LastIndexByte(rest, '-')], end)
		if err != nil || again != key {
			t.Errorf("%q reads back as %q, %v", key, again, err)
		}
	})
}

func FuzzHeader(f *testing.F) {
	f.Add(`"8e03978e"`)
	f.Add(`"a\"b\\"`)
	f.Fuzz(func(t *testing.T, field string) {
		key, err := keys.Header([]string{field})
		if err != nil {
			return
		}

		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := keys.Header([]string{quoted}); err != nil || again != key {
			t.Errorf("%q means %q, and quoted again %q, %v", field, key, again, err)
		}
	})
}
