package deploy

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ratchet/server/deploy"
)

// program runs `ratchet` with arguments, and returns what it prints.
func program(t *testing.T, args ...string) (output string, err error) {
	t.Helper()

	return programOf(t, shopParts, args...)
}

// programOf is program, of a program with parts of its own.
func programOf(t *testing.T, name string, args ...string) (output string, err error) {
	t.Helper()

	command := exec.CommandContext(t.Context(), os.Args[0], args...)
	command.Env = append(os.Environ(), asProgram+"="+name)
	text, err := command.CombinedOutput()

	return string(text), err
}

// filesIn returns the texts of the files of a folder by name.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()

	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	files := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(text)
	}

	return files
}

// TestTheTemplatesAreGenerated: deploy/cloudformation and deploy/terraform are what the command writes for the shop,
// byte for byte. With -update the test writes them.
func TestTheTemplatesAreGenerated(t *testing.T) {
	for _, kind := range deploy.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "templates")
			if *update {
				dir = filepath.Join(root, string(kind))
			}

			output, err := program(t, "deploy", string(kind), "--order-lists", "--requests-queue", prefix+"requests", "--out", dir)
			if err != nil {
				t.Fatalf("%v: %s", err, output)
			}

			want, got := filesIn(t, dir), filesIn(t, filepath.Join(root, string(kind)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("deploy/%s (+) is not what `ratchet deploy` writes (-); go test ./tests/deploy -run %s -update:\n%s", kind, t.Name(), diff)
			}
		})
	}
}

// TestAFolderWithOtherContentIsRefused: a folder of an earlier call is written again, one with a file of another origin
// is not, unless it is forced; then the other file stays.
func TestAFolderWithOtherContentIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "templates")
	write := func(flags ...string) error {
		_, err := program(t, append([]string{"deploy", "terraform", "--out", dir}, flags...)...)
		return err
	}

	for range 2 {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}

	for name, text := range map[string]string{"backend.tf": "terraform {}\n", "main.tf": "locals {}\n"} {
		file := filepath.Join(dir, name)
		before := filesIn(t, dir)

		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}

		if err := write(); err == nil {
			t.Errorf("%s of another origin was not refused", name)
		}

		if after := filesIn(t, dir); after[name] != text {
			t.Errorf("%s was changed: %q", name, after[name])
		}

		if err := write("--force"); err != nil {
			t.Fatal(err)
		}

		after := filesIn(t, dir)
		if _, ours := before[name]; ours && after[name] != before[name] || !ours && after[name] != text {
			t.Errorf("with --force: %s is %q", name, after[name])
		}

		if _, ours := before[name]; !ours {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestNoSecretIsInATemplate: secrets of the settings are in no file.
func TestNoSecretIsInATemplate(t *testing.T) {
	secrets := map[string]string{
		"RATCHET_WEBHOOK_SECRET":  "webhook-secret-of-this-test-0123456789",
		"RATCHET_CALLBACK_SECRET": "callback-secret-of-this-test-0123456789",
		"RATCHET_CARRIER_SECRET":  "carrier-secret-of-this-test-0123456789",
		"RATCHET_CARRIER_TOKEN":   "carrier-token-of-this-test",
		"RATCHET_SMTP_FROM":       "shop@example.org",
		"RATCHET_SMTP_URL":        "smtp://user:password-of-this-test@localhost:25",
		"RATCHET_ACTION_KEYS":     "1:a2V5LW9mLXRoaXMtdGVzdC1rZXktb2YtdGhpcy10ZXN0",
		"AWS_SECRET_ACCESS_KEY":   "secret-access-key-of-this-test",
	}
	for name, value := range secrets {
		t.Setenv(name, value)
	}

	for _, kind := range deploy.Kinds() {
		dir := t.TempDir()
		if output, err := program(t, "deploy", string(kind), "--out", dir); err != nil {
			t.Fatalf("%v: %s", err, output)
		}

		all := strings.Join(slices.Collect(maps.Values(filesIn(t, dir))), "\n")
		for name, value := range secrets {
			if name != "RATCHET_SMTP_FROM" && strings.Contains(all, value) || strings.Contains(all, "password-of-this-test") {
				t.Errorf("%s: the value of %s is in a template", kind, name)
			}
		}
	}
}
