package server_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"ratchet/server"
)

// TestASecretIsNeverPrinted by any verb, encoder or logger, alone or as a part of a configuration.
func TestASecretIsNeverPrinted(t *testing.T) {
	var out strings.Builder

	cfg := server.Config{WebhookSecret: "marked-secret", Console: server.ConsoleConfig{Secret: "marked-secret"}}
	for _, v := range []any{cfg.WebhookSecret, &cfg.WebhookSecret, cfg, &cfg, []any{cfg}, map[string]any{"a": cfg.WebhookSecret}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10.20s", "%t"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		fmt.Fprintln(&out, v)

		for _, log := range []*slog.Logger{slog.New(slog.NewTextHandler(&out, nil)), slog.New(slog.NewJSONHandler(&out, nil))} {
			log.Info("a setting", "setting", v, slog.Group("group", "setting", v))
		}
	}

	text, err := json.Marshal(map[string]any{"secret": cfg.WebhookSecret, "console": cfg.Console})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)

	func() {
		defer func() { fmt.Fprint(&out, recover()) }()
		panic(cfg.WebhookSecret)
	}()

	// As hexadecimal digits, too.
	if shown := regexp.MustCompile(`.{0,40}(?i:marked-sec|6d61726b6564).{0,40}`).FindString(out.String()); shown != "" {
		t.Errorf("printed: %s", shown)
	}

	if got := cfg.WebhookSecret.Reveal(); got != "marked-secret" {
		t.Errorf("revealed: %s", got)
	}
}

// TestEachSecretSettingHasTheTypeOfSecrets: no setting that is one by its name is a plain text.
func TestEachSecretSettingHasTheTypeOfSecrets(t *testing.T) {
	byName := regexp.MustCompile(`secret|token|password|smtp-url|(^|-)keys?$`)
	public := map[string]string{"console-claims-token": "names a kind of token", "auth-public-key": "a file with a public key", "tls-key": "the name of a file", "orders-key": "the name of an attribute"}
	secrets := 0

	for _, index := range textFields(reflect.ValueOf(server.Config{})) {
		field := reflect.TypeFor[server.Config]().FieldByIndex(index)
		name := field.Tag.Get("koanf")

		switch is := field.Type == reflect.TypeFor[server.Secret](); {
		case is:
			secrets++
		case byName.MatchString(name) && public[name] == "":
			t.Errorf("%s is a secret by its name: it needs the type Secret, or a reason here", name)
		}
	}

	if secrets < 8 {
		t.Errorf("only %d settings are secrets", secrets)
	}
}
