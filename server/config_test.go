package server_test

import (
	"strings"
	"testing"
	"time"

	"ratchet/server"
)

func TestARequestsQueueLeavesRoomForItsDeadLetters(t *testing.T) {
	for name, valid := range map[string]bool{
		strings.Repeat("q", 67):           true,
		strings.Repeat("q", 68):           false,
		strings.Repeat("q", 62) + ".fifo": true,
		strings.Repeat("q", 63) + ".fifo": false,
	} {
		cfg := server.Config{RequestsQueue: name}.WithDefaults()

		err := cfg.Validate()
		if (err == nil) != valid || err != nil && !strings.Contains(err.Error(), "-dead-letters") {
			t.Errorf("%d characters: %v", len(name), err)
		}
	}
}

func TestZeroConfigWithDefaultsIsValid(t *testing.T) {
	if err := (server.Config{}).WithDefaults().Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidateReportsEveryFault(t *testing.T) {
	cfg := server.Config{
		EndpointURL:    "127.0.0.1:8700",
		Prefix:         "a prefix",
		Notify:         "pigeon",
		WebhookReach:   "everywhere",
		Journal:        "ledger",
		RequestsQueue:  "no name",
		Slots:          1001,
		CallsPerSecond: -1,
		FreshFor:       time.Nanosecond,
		DeclinePercent: 101,
		TimeoutPercent: -1,
		EffectLease:    time.Millisecond,
		CarrierDelay:   -time.Second,
		Carrier:        "pigeon",
		API: server.APIConfig{
			TLSCert:  "cert.pem",
			InFlight: -1,
			Watches:  1001,
			WatchFor: -time.Second,
			Audit:    "file:",
			Audience: "ratchet",
		},
	}

	err := cfg.WithDefaults().Validate()
	if err == nil {
		t.Fatal("the configuration is valid")
	}

	for _, want := range []string{
		`endpoint-url "127.0.0.1:8700": must be http://HOST:PORT or https://HOST`,
		`prefix "a prefix": at most 40 of A-Z a-z 0-9 _ -`,
		`notify "pigeon": must be "log", "none", "file:FILE", "dir:DIR" or an http(s) URL`,
		`webhook-reach "everywhere": public, loopback or private`,
		`journal "ledger": must be "stream" or "transactional"`,
		`requests-queue "no name": the queue's URL, or its name`,
		"slots 1001: 1 to 1000",
		"calls-per-second -1: 1 to 10000",
		"fresh-for 1ns: at least 1ms",
		"decline-percent 101: 0 to 100",
		"timeout-percent -1: 0 to 100",
		"effect-lease 1ms: 1s to 1h",
		"carrier-delay -1s: must not be negative",
		`carrier "pigeon": must be "sandbox", an http(s) URL or "execution:ARN"`,
		"tls-cert and tls-key: both or none",
		"api-in-flight -1: 1 to 10000",
		"api-watches 1001: 1 to 1000",
		"watch-for -1s: must not be negative",
		`audit "file:": must be "log" or "file:FILE"`,
		"auth-issuer: must be set with auth-audience or auth-public-key",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is missing in:\n%v", want, err)
		}
	}
}

func TestAnIssuerNeedsAnAudience(t *testing.T) {
	cfg := server.Config{API: server.APIConfig{Issuer: "https://issuer.example"}}

	err := cfg.WithDefaults().Validate()
	if err == nil || !strings.Contains(err.Error(), "auth-audience: must be set with auth-issuer") {
		t.Errorf("got %v", err)
	}
}

func TestNotifyTargetsNeedAFileOrADirectory(t *testing.T) {
	for target, valid := range map[string]bool{
		"log":                  true,
		"log:out":              false,
		"file:out.jsonl":       true,
		"file:":                false,
		"dir:out":              true,
		"dir:":                 false,
		"https://example.com/": true,
		"https:":               false,
		"mailto:a@example.com": false,
	} {
		cfg := server.Config{Notify: target}
		if err := cfg.WithDefaults().Validate(); (err == nil) != valid {
			t.Errorf("notify %q: %v", target, err)
		}
	}
}
