package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ratchet/embedded/embeddedtest"
	"ratchet/once/actions"
	"ratchet/server"
)

func embed(t *testing.T, cfg server.Config) (*server.Backend, error) {
	t.Helper()

	b, err := server.Embed(cfg, embeddedtest.Quiet(), server.Events{})
	if err == nil {
		t.Cleanup(func() { _ = b.Close() })
	}

	return b, err
}

func TestADataDirectoryKeepsTheKeysOfItsActions(t *testing.T) {
	dir := t.TempDir()
	var id actions.ID
	for opening := range 2 {
		b, err := server.Embed(server.Config{Data: dir}, embeddedtest.Quiet(), server.Events{})
		if err != nil {
			t.Fatal(err)
		}

		if opening == 0 {
			if err := b.CreateTables(t.Context()); err != nil {
				t.Fatal(err)
			}

			made, err := b.Actions.Create(t.Context(), actions.Spec{ExpiresAt: time.Now().Add(time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			id = made.ID
		} else if r, err := b.Actions.Consume(t.Context(), actions.Request{ID: id}); err != nil || r.Outcome != actions.Consumed {
			t.Errorf("after reopening: %s, %v", r.Outcome, err)
		}

		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}

	name := filepath.Join(dir, "action-keys")
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}

	// The engine takes the access to its directory from others when it opens.
	if _, err := embed(t, server.Config{Data: dir}); err != nil {
		t.Error(err)
	}

	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read the keys: %v, %v", info.Mode(), err)
	}
}

func TestKeysOfActionsMayBeConfigured(t *testing.T) {
	dir := t.TempDir()
	if _, err := embed(t, server.Config{Data: dir, ActionKeys: "1:canary"}); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("bad keys: %v", err)
	}

	if _, err := embed(t, server.Config{Data: dir, ActionKeys: server.Secret(actions.NewKey(2).Reveal() + " " + actions.NewKey(1).Reveal())}); err != nil {
		t.Error(err)
	}

	if _, err := os.Stat(filepath.Join(dir, "action-keys")); err == nil {
		t.Error("a file of keys was created although keys are configured")
	}
}

func TestWebhookSettingsAreChecked(t *testing.T) {
	secret := server.Secret(strings.Repeat("s", 24))
	for name, cfg := range map[string]server.Config{
		"no secret":           {Notify: "http://127.0.0.1:1/"},
		"a short secret":      {Notify: "http://127.0.0.1:1/", WebhookSecret: "canary"},
		"one short of two":    {Notify: "http://127.0.0.1:1/", WebhookSecret: secret + " canary"},
		"a private address":   {Notify: "http://10.0.0.1/", WebhookSecret: secret},
		"loopback in public":  {Notify: "https://127.0.0.1/", WebhookSecret: secret, WebhookReach: "public"},
		"an unknown reach":    {WebhookReach: "everywhere"},
		"plain http to there": {Notify: "http://example.com/", WebhookSecret: secret, WebhookReach: "public"},
	} {
		cfg.Data = t.TempDir()
		if _, err := embed(t, cfg); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}

	for _, cfg := range []server.Config{
		{Notify: "http://127.0.0.1:1/", WebhookSecret: secret + " " + secret},
		{Notify: "http://10.0.0.1/", WebhookSecret: secret, WebhookReach: "private"},
		{Notify: "https://example.com/hook", WebhookSecret: secret},
	} {
		cfg.Data = t.TempDir()
		if _, err := embed(t, cfg); err != nil {
			t.Errorf("%s: %v", cfg.Notify, err)
		}
	}
}
