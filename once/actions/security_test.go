package actions_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ratchet/once/actions"
)

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func attributeText(v types.AttributeValue) string {
	if n, ok := v.(*types.AttributeValueMemberN); ok {
		return n.Value
	}
	return ""
}

func TestEveryUnknownIDIsAnsweredAlike(t *testing.T) {
	s := newSignedActions(t)
	other := newSignedActions(t) // other keys, another table
	mine, foreign := s.make(t, withPIN), other.make(t, withPIN)
	id := string(mine.ID)

	tenant, err := s.For("b")
	if err != nil {
		t.Fatal(err)
	}

	theirs, err := tenant.Create(t.Context(), actions.Spec{ExpiresAt: start.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}

	unknown := map[string]actions.ID{
		"empty": "", "a prefix": "act_", "of another installation": foreign.ID, "of another tenant": theirs.ID, "shorter": mine.ID[:len(id)-1],
		"longer": mine.ID + "A", "padded": mine.ID + "=", "upper case": actions.ID("ACT_" + id[4:]), "a chosen code that was never made": "SUMMER-24",
		"a generated code that was not": "SUMMER-00000-00000-00000-00000", "very long": actions.ID(strings.Repeat("A", 100_000)),
		"not text": "\xff\xfe", "a record's key": "code:SUMMER-24", "a tenant's key": "b/" + mine.ID, "letters that base64 has twice": actions.ID(strings.ReplaceAll(id, "_", "/")[:4] + id[4:]),
	}
	for i := 4; i < len(id); i++ { // each character of the id, changed
		c := byte('A')
		if id[i] == c {
			c = 'B'
		}
		unknown[fmt.Sprintf("character %d changed", i)] = actions.ID(id[:i] + string(c) + id[i+1:])
	}

	for name, id := range unknown {
		for _, r := range []actions.Request{{ID: id}, {ID: id, PIN: "1234"}} {
			if got := s.want(t, r, actions.NotFound); body(t, got) != `{"outcome":"action_not_found"}` {
				t.Errorf("%s: %s", name, body(t, got))
			}
		}

		r, err := s.Cancel(t.Context(), id)
		if outcome(t, r, err, actions.NotFound); body(t, r) != `{"outcome":"action_not_found"}` {
			t.Errorf("%s: %s", name, body(t, r))
		}
	}

	if v, _, err := s.Get(t.Context(), mine.ID); err != nil || v.AttemptsLeft != 3 {
		t.Errorf("no request for an unknown id may count a try: %+v, %v", v, err)
	}
}

func TestTenantsShareNothing(t *testing.T) {
	s := newSignedActions(t)
	a, err := s.For("a")
	if err != nil {
		t.Fatal(err)
	}

	b, err := s.For("b")
	if err != nil {
		t.Fatal(err)
	}

	spec := actions.Spec{Code: "SUMMER-24", PIN: "1234", ExpiresAt: start.Add(time.Hour)}
	for _, tenant := range []*actions.Actions{s.Actions, a, b} {
		if _, err := tenant.Create(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	r, err := a.Consume(t.Context(), actions.Request{ID: "SUMMER-24", PIN: "1234"})
	outcome(t, r, err, actions.Consumed)
	r, err = b.Consume(t.Context(), actions.Request{ID: "SUMMER-24", PIN: "1234"})
	outcome(t, r, err, actions.Consumed)

	for _, name := range []string{"", "a/b", "a b", strings.Repeat("a", 65)} {
		if _, err := s.For(name); !errors.Is(err, actions.ErrInvalid) {
			t.Errorf("tenant %q: %v", name, err)
		}
	}
}

// The test sends recognizable secrets through every path that could print them.
func TestNothingSecretIsPrinted(t *testing.T) {
	s := newSignedActions(t)
	const pin = "canary-pin"
	made := s.make(t, func(spec *actions.Spec) { spec.PIN = pin })
	key := actions.Key{Version: 3, Secret: []byte("canary-key-canary-key-canary-key-")}
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	request := actions.Request{ID: made.ID, PIN: pin}
	log.Info("x", "id", made.ID, "pin", request.PIN, "key", key, "request", request, "keys", []actions.Key{key})
	fmt.Fprintf(&out, "%v %+v %#v %s %x %q %v %+v %#v", request, request, request, request.PIN, request.PIN, request.ID, key, key, key)
	hidden, err := json.Marshal(map[string]any{"pin": request.PIN, "key": key})
	out.Write(hidden)
	var errs []error
	errs = append(errs, err)
	_, err = s.Create(t.Context(), actions.Spec{PIN: actions.PIN(strings.Repeat(pin, 10)), ExpiresAt: start.Add(time.Hour)})
	errs = append(errs, err)
	_, err = s.Create(t.Context(), actions.Spec{Payload: json.RawMessage(`{canary`), ExpiresAt: start.Add(time.Hour)})
	errs = append(errs, err)
	_, err = actions.ParseKeys("1:canary")
	errs = append(errs, err)
	s.die(0)
	_, err = s.Consume(t.Context(), request)
	errs = append(errs, err)
	_, _, err = s.Get(t.Context(), made.ID)
	errs = append(errs, err)
	fmt.Fprint(&out, errors.Join(errs...))

	for _, secret := range []string{"canary", string(made.ID), string(made.ID)[4:], "63616e617279", "Y2FuYXJ5"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q was printed: %s", secret, out.String())
		}
	}

	if !strings.Contains(out.String(), "action #") {
		t.Error("the digests of two actions in a log must differ")
	}
}

// The test checks in the source that secrets are compared by crypto/hmac and crypto/subtle
// only. A measurement would not find 30 nanoseconds on a busy machine.
func TestSecretsAreComparedInConstantTime(t *testing.T) {
	pkgs := token.NewFileSet()
	used := map[string]int{}
	for _, name := range []string{"pin.go", "id.go", "code.go", "call.go", "keys.go"} {
		file, err := parser.ParseFile(pkgs, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok {
					if from, ok := f.X.(*ast.Ident); ok {
						used[name+" "+from.Name+"."+f.Sel.Name]++
						if from.Name == "bytes" && (f.Sel.Name == "Equal" || f.Sel.Name == "Compare") {
							t.Errorf("%s compares with bytes.%s", pkgs.Position(n.Pos()), f.Sel.Name)
						}
					}
				}
			}

			if op, ok := n.(*ast.BinaryExpr); ok && (op.Op == token.EQL || op.Op == token.NEQ) {
				for _, side := range []ast.Expr{op.X, op.Y} {
					if f, ok := side.(*ast.SelectorExpr); ok {
						switch f.Sel.Name {
						case "consumeID", "ConsumeID", "holder", "PIN", "Secret":
							if l, ok := op.Y.(*ast.BasicLit); ok && l.Value == `""` {
								continue // whether a secret exists is not secret
							}

							if f.Sel.Name == "holder" && name == "call.go" {
								continue // comparing holders here reveals only whether the hold is another's
							}
							t.Errorf("%s compares %s with ==", pkgs.Position(n.Pos()), f.Sel.Name)
						}
					}
				}
			}

			return true
		})
	}

	for _, want := range []string{"pin.go hmac.Equal", "id.go hmac.Equal", "code.go hmac.Equal", "call.go subtle.ConstantTimeCompare"} {
		if used[want] == 0 {
			t.Errorf("%s is not used", want)
		}
	}
}

func TestKeysAreChecked(t *testing.T) {
	good := actions.NewKey(1)
	for name, keys := range map[string][]actions.Key{
		"version 0": {{Version: 0, Secret: good.Secret}}, "version 32": {{Version: 32, Secret: good.Secret}},
		"a short secret": {{Version: 1, Secret: good.Secret[1:]}}, "no secret": {{Version: 1}},
		"a long secret": {{Version: 1, Secret: make([]byte, 65)}}, "one version twice": {good, actions.NewKey(1)},
	} {
		if _, err := actions.New(actions.Config{DynamoDB: newSignedActions(t).db, Table: "actions", Keys: keys}); !errors.Is(err, actions.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}

	other := actions.NewKey(31)
	keys, err := actions.ParseKeys(good.Reveal() + "\n" + other.Reveal() + ",")
	if err != nil || len(keys) != 2 || keys[0].Reveal() != good.Reveal() || keys[1].Reveal() != other.Reveal() {
		t.Errorf("%v, %v", keys, err)
	}

	for _, text := range []string{"x", "1:", "1:***", ":AAAA", "1:AAAA", "1"} {
		if _, err := actions.ParseKeys(text); !errors.Is(err, actions.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}

	// The error names the key and its rule.
	long := actions.Key{Version: 2, Secret: make([]byte, 65)}
	for text, want := range map[string]string{
		good.Reveal() + " x" + good.Reveal():  "key 2: must be VERSION:BASE64",
		good.Reveal() + " 2:***":              "key 2: must be VERSION:BASE64",
		good.Reveal() + " 0" + good.Reveal():  "key 2: version 1 is listed twice",
		good.Reveal() + " 3" + other.Reveal(): "key 2: version 331: 1 to 31",
		good.Reveal() + " " + long.Reveal():   "key 2: secret: 32 to 64 bytes, got 65",
	} {
		if _, err := actions.ParseKeys(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}

	longest := actions.Key{Version: 31, Secret: make([]byte, 64)}
	if _, err := actions.ParseKeys(longest.Reveal()); err != nil {
		t.Error(err)
	}
}

func TestWithoutAKeyEveryCallReturnsErrNoKey(t *testing.T) {
	s := newSignedActions(t)
	made := s.make(t, withPIN)
	bare := s.with(t, func(c *actions.Config) { c.Keys = nil })
	_, create := bare.Create(t.Context(), actions.Spec{ExpiresAt: start.Add(time.Hour)})
	_, chosen := bare.Create(t.Context(), actions.Spec{Code: "SUMMER", ExpiresAt: start.Add(time.Hour)})
	_, consume := bare.Consume(t.Context(), actions.Request{ID: made.ID})

	_, cancel := bare.Cancel(t.Context(), made.ID)
	_, _, get := bare.Get(t.Context(), made.ID)
	bulk := bare.Bulk(t.Context(), coupons(1), func(actions.BatchAction) error { return nil })
	for i, err := range []error{create, chosen, consume, cancel, get, bulk} {
		if !errors.Is(err, actions.ErrNoKey) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

func TestBadRequestsAreNamed(t *testing.T) {
	s := newSignedActions(t)
	made := s.make(t, nil)
	long := strings.Repeat("x", 256)

	consume := func(r actions.Request) error {
		r.ID = made.ID
		_, err := s.Consume(t.Context(), r)
		return err
	}
	reserve := func(r actions.Request, d time.Duration) error {
		r.ID = made.ID
		_, err := s.Reserve(t.Context(), r, d)
		return err
	}
	release := func(r actions.Request) error {
		r.ID = made.ID
		_, err := s.Release(t.Context(), r)
		return err
	}
	for name, err := range map[string]error{
		"consumeId": consume(actions.Request{ConsumeID: long}), "consumeId ": consume(actions.Request{ConsumeID: "a\nb"}),
		"holder": consume(actions.Request{Holder: long, Fence: 1}), "holder and fence": consume(actions.Request{Fence: 1}), "both": consume(actions.Request{Holder: "h"}),
		"fence":   consume(actions.Request{Holder: "h", Fence: -1}),
		"holder:": reserve(actions.Request{}, time.Minute), "fence not": reserve(actions.Request{Holder: "h", Fence: 1}, time.Minute),
		"hold": reserve(actions.Request{Holder: "h"}, 0), "24h": reserve(actions.Request{Holder: "h"}, 25*time.Hour),
		"must be set": release(actions.Request{Holder: "h"}),
	} {
		if !errors.Is(err, actions.ErrInvalid) || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%s: %v", name, err)
		}
	}

	for rule, spec := range map[string]actions.Spec{
		"requestId:": {RequestID: long}, "requestId and code": {RequestID: "r", Code: "CODE"}, "payload:": {Payload: json.RawMessage(`{`)},
		"payload: a JSON": {Payload: json.RawMessage(`"` + strings.Repeat("x", 32<<10) + `"`)},
		"maxAttempts:":    {MaxAttempts: 1}, "maxAttempts 11": {PIN: "1234", MaxAttempts: 11}, "pin:": {PIN: "123"}, "pin: 4": {PIN: "12\x004"},
		"activeAt": {ActiveAt: start.Add(time.Hour)},
	} {
		spec.ExpiresAt = start.Add(time.Hour)
		if _, err := s.Create(t.Context(), spec); !errors.Is(err, actions.ErrInvalid) || !strings.Contains(err.Error(), rule) {
			t.Errorf("%s %v", rule, err)
		}
	}

	for _, at := range []time.Time{{}, start, start.Add(6 * 366 * 24 * time.Hour)} {
		if _, err := s.Create(t.Context(), actions.Spec{ExpiresAt: at}); !errors.Is(err, actions.ErrInvalid) {
			t.Errorf("expiresAt %s: %v", at, err)
		}
	}
}

func FuzzConsume(f *testing.F) {
	s := newSignedActions(f)
	made := s.make(f, func(spec *actions.Spec) { spec.PIN, spec.MaxAttempts = "1234", 10 })
	codes, _ := s.bulk(f, coupons(1))
	known := map[actions.ID]bool{made.ID: true}
	f.Add(string(made.ID), "0000", "c", "", int64(0))
	f.Add(string(codes[0]), "", "", "h", int64(1))
	f.Add("SUMMER-24", "", "", "", int64(0))
	f.Fuzz(func(t *testing.T, id, pin, consumeID, holder string, fence int64) {
		r, err := s.Consume(t.Context(), actions.Request{ID: actions.ID(id), PIN: actions.PIN(pin), ConsumeID: consumeID, Holder: holder, Fence: fence})
		switch {
		case err != nil && !errors.Is(err, actions.ErrInvalid):
			t.Fatal(err)
		case err != nil || r.Outcome == actions.NotFound:
		case known[actions.ID(id)] && (pin != "1234" || r.Outcome != actions.Consumed):
			if r.Payload != nil {
				t.Fatalf("%+v", r)
			}
		case !known[actions.ID(id)] && !strings.HasPrefix(strings.ToUpper(strings.TrimSpace(id)), "SUMMER"):
			t.Fatalf("%q was known: %+v", id, r)
		}
	})
}

func FuzzParseKeys(f *testing.F) {
	f.Add(actions.NewKey(1).Reveal())
	f.Add("1:AAAA, 2:BBBB")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := actions.ParseKeys(text)
		if err != nil {
			return
		}

		var again []string
		for _, k := range keys {
			again = append(again, k.Reveal())
		}

		if back, err := actions.ParseKeys(strings.Join(again, " ")); err != nil || len(back) != len(keys) {
			t.Fatalf("%v, %v", back, err)
		}
	})
}
