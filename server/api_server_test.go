package server_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"ratchet/embedded/embeddedtest"
	"ratchet/server"
)

// write writes DER to a PEM file and returns its name.
func write(t *testing.T, dir, name, kind string, der []byte) string {
	t.Helper()

	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}

	return path
}

// certificate creates a certificate for 127.0.0.1 and a pool that trusts it.
func certificate(t *testing.T, dir string) (certFile, keyFile string, trusts *x509.CertPool) {
	t.Helper()

	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "test"},
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}

	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}

	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}

	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	trusts = x509.NewCertPool()
	trusts.AddCert(parsed)

	return write(t, dir, "cert.pem", "CERTIFICATE", der), write(t, dir, "key.pem", "PRIVATE KEY", key), trusts
}

// serving runs the API and returns its address and a function that stops it.
func serving(t *testing.T, cfg server.Config, dev bool) (b *server.Backend, address string, stop func() error) {
	t.Helper()

	cfg.Data = filepath.Join(t.TempDir(), "data")
	b, err := server.Embed(cfg, embeddedtest.Quiet(), server.Events{})
	if err != nil {
		t.Fatal(err)
	}

	if err := b.Init(t.Context()); err != nil {
		t.Fatal(err)
	}

	if cfg.API.Listen == "" {
		cfg.API.Listen = "127.0.0.1:0"
	}

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", cfg.API.Listen)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.ServeAPI(ctx, listener, dev) }()
	t.Cleanup(func() {
		cancel()

		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})

	return b, listener.Addr().String(), func() error { cancel(); return <-ended }
}

func get(t *testing.T, client *http.Client, url, bearer string) (status int, body string) {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+bearer)

	return fetch(t, client, r)
}

// fetch returns status and body of the answer.
func fetch(t *testing.T, client *http.Client, request *http.Request) (status int, body string) {
	t.Helper()

	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()

	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}

	return answer.StatusCode, string(text)
}

// TestTheAPISpeaksTLSAndTakesTokens uses an issuer whose public key is in a file.
func TestTheAPISpeaksTLSAndTakesTokens(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile, trusts := certificate(t, dir)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}

	_, address, stop := serving(t, server.Config{API: server.APIConfig{
		TLSCert:   certFile,
		TLSKey:    keyFile,
		Issuer:    "us",
		Audience:  "ratchet",
		PublicKey: write(t, dir, "issuer.pem", "PUBLIC KEY", der),
	}}, false)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusts, MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()

	token, err := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{"iss": "us", "aud": "ratchet", "sub": "alice", "tenant": "acme",
		"scope": "ratchet:read", "exp": time.Now().Add(time.Hour).Unix()}).SignedString(private)
	if err != nil {
		t.Fatal(err)
	}

	if status, body := get(t, client, "https://"+address+"/v1/orders", token); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}

	if status, _ := get(t, client, "https://"+address+"/v1/orders", token+"x"); status != http.StatusUnauthorized {
		t.Errorf("a token with another signature: %d", status)
	}
	client.CloseIdleConnections()

	if err := stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// TestAnOpenAPIStaysOnThisMachine checks that the address of the listener decides, not the
// configured one.
func TestAnOpenAPIStaysOnThisMachine(t *testing.T) {
	_, _, stop := serving(t, server.Config{API: server.APIConfig{Listen: "0.0.0.0:0"}}, true)
	if err := stop(); err == nil || !strings.Contains(err.Error(), "without authentication only loopback") {
		t.Errorf("%v", err)
	}
}

// follow opens a stream of events of the order o-1, and reads its beginning.
func follow(t *testing.T, address string) io.Reader {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/orders/o-1/events", nil)
	if err != nil {
		t.Fatal(err)
	}

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })

	if _, err := io.ReadFull(answer.Body, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}

	return answer.Body
}

func TestACallerHasOnlySoManyStreams(t *testing.T) {
	b, address, stop := serving(t, server.Config{API: server.APIConfig{Watches: 2}}, true)
	if _, err := b.Orders.Create(t.Context(), mug); err != nil {
		t.Fatal(err)
	}

	follow(t, address)
	follow(t, address)

	if status, body := get(t, http.DefaultClient, "http://"+address+"/v1/orders/o-1/events", ""); status != http.StatusTooManyRequests {
		t.Errorf("the third stream: %d %s", status, body)
	}

	if err := stop(); err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestAStopLetsRequestsFinishAndStreamsEnd(t *testing.T) {
	b, address, stop := serving(t, server.Config{}, true)
	if _, err := b.Orders.Create(t.Context(), mug); err != nil {
		t.Fatal(err)
	}

	stream := follow(t, address)
	started := time.Now()

	if err := stop(); err != nil {
		t.Errorf("stop: %v", err)
	}

	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("the stop waited %s for the stream", took)
	}

	if _, err := io.ReadAll(stream); err != nil {
		t.Errorf("the stream was cut off: %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
}
