package destination_test

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"

	"ratchet/notify"
	"ratchet/notify/destination"
)

// mailServer is an SMTP server (RFC 5321) that keeps the e-mails that it gets.
type mailServer struct {
	mu       sync.Mutex
	mails    []string
	from, to string
	refuse   string // the answer to RCPT, if set
	// answers are those to the other commands, and to the content ("."). After "" it hangs up.
	answers map[string]string
}

func startMailServer(t *testing.T) (*mailServer, destination.MailServer) {
	t.Helper()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &mailServer{}

	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		group.Wait()
	})

	through := destination.MailServer{URL: "smtp://" + listener.Addr().String(), From: "Shop <orders@example.com>"}
	if err := through.Validate(); err != nil {
		t.Fatal(err)
	}

	return s, through
}

func (s *mailServer) serve(conn net.Conn) {
	defer conn.Close()

	in := bufio.NewScanner(conn)
	answer := func(text string) { _, _ = io.WriteString(conn, text+"\r\n") }
	answer("220 test ESMTP")

	var data *strings.Builder
	for in.Scan() {
		line := in.Text()

		s.mu.Lock()

		verb, rest, _ := strings.Cut(line, " ")
		own, has := s.answers[verb]

		switch {
		case has && own == "":
			s.mu.Unlock()
			return
		case has && (data == nil || verb == "."):
			data = nil
			answer(own)
		case data != nil && line == ".":
			s.mails, data = append(s.mails, data.String()), nil
			answer("250 stored")
		case data != nil:
			data.WriteString(strings.TrimPrefix(line, ".") + "\r\n")
		case verb == "EHLO":
			answer("250 test")
		case verb == "MAIL":
			s.from = rest
			answer("250 ok")
		case verb == "RCPT" && s.refuse != "":
			answer(s.refuse)
		case verb == "RCPT":
			s.to = rest
			answer("250 ok")
		case verb == "DATA":
			data = &strings.Builder{}
			answer("354 go on")
		case verb == "QUIT":
			answer("221 bye")
			s.mu.Unlock()

			return
		default:
			answer("500 what?")
		}
		s.mu.Unlock()
	}
}

func mailbox(t *testing.T, server destination.MailServer, edit func(*notify.Settings)) (notify.Destination, error) {
	t.Helper()

	s := notify.Settings{Destination: "mailto:warehouse@example.com"}
	edit(&s)

	return destination.Opener{Mail: &server}.Open(notify.Endpoint{ID: "mail", Settings: s})
}

func TestAnEmailIsWrittenFromItsTemplates(t *testing.T) {
	server, through := startMailServer(t)

	box, err := mailbox(t, through, func(s *notify.Settings) {
		s.Subject = "Bestellung {{.OrderID}}: größer\r\nBcc: everyone@example.com"
		s.Text = "{{.State}} since {{.TransitionID}}\n.\n{{.Attributes.currency}}"
	})
	if err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if _, err := box.Send(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}

	got, err := mail.ReadMessage(strings.NewReader(server.mails[0]))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(got.Body)

	if got.Header.Get("Bcc") != "" || got.Header.Get("To") != "warehouse@example.com" || got.Header.Get("Message-ID") != "<ntf_1@ratchet>" {
		t.Errorf("headers %v", got.Header)
	}

	if want := "SHIPPED since 3\r\n.\r\n"; !strings.HasPrefix(string(body), want) {
		t.Errorf("text %q, want %q", body, want)
	}

	if !strings.Contains(server.from, "<orders@example.com>") || !strings.Contains(server.to, "<warehouse@example.com>") || server.mails[0] != server.mails[1] {
		t.Errorf("from %s to %s, repeat %t", server.from, server.to, server.mails[0] == server.mails[1])
	}
}

func TestARefusedEmailIsRejectedOrTriedAgain(t *testing.T) {
	server, through := startMailServer(t)

	box, err := mailbox(t, through, func(*notify.Settings) {})
	if err != nil {
		t.Fatal(err)
	}

	for answer, rejected := range map[string]bool{"550 no such mailbox": true, "451 later": false} {
		server.mu.Lock()
		server.refuse = answer
		server.mu.Unlock()

		if got, err := box.Send(t.Context(), message); err == nil || errors.Is(err, notify.ErrRejected) != rejected || fmt.Sprint(got.Status) != answer[:3] {
			t.Errorf("%s: %+v, %v", answer, got, err)
		}
	}
}

// TestARefusedLoginShowsNoPassword: tenants see the errors of their deliveries, and the server is the operator's.
func TestARefusedLoginShowsNoPassword(t *testing.T) {
	server, through := startMailServer(t)
	through.URL = strings.Replace(through.URL, "smtp://", "smtp://user:marked-password@", 1)

	if err := through.Validate(); err != nil {
		t.Fatal(err)
	}

	box, err := mailbox(t, through, func(*notify.Settings) {})
	if err != nil {
		t.Fatal(err)
	}

	login := base64.StdEncoding.EncodeToString([]byte("\x00user\x00marked-password"))
	server.answers = map[string]string{"EHLO": "250-test\r\n250 AUTH PLAIN", "AUTH": "535 not " + login + " marked-password"}

	got, err := box.Send(t.Context(), message)
	if said := fmt.Sprint(got, err); err == nil || got.Status != 535 || strings.Contains(said, login) || strings.Contains(said, "marked") {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTemplatesAreCheckedBeforeTheyAreStored(t *testing.T) {
	through := destination.MailServer{URL: "smtp://mail.example.com:587", From: "a@example.com"}
	if err := through.Validate(); err != nil {
		t.Fatal(err)
	}

	for _, template := range []string{"{{.Nothing}}", "{{", "{{.OrderID", "{{call .OrderID}}", `{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`, strings.Repeat("x", 33<<10), `{{printf "%900000d" 1}}`} {
		if _, err := mailbox(t, through, func(s *notify.Settings) { s.Text = template }); !errors.Is(err, notify.ErrInvalid) {
			t.Errorf("%.40s: %v", template, err)
		}
	}

	for _, to := range []string{"", "x", "a@b, c@d", "a@b\r\nBcc: c@d"} {
		if _, err := mailbox(t, through, func(s *notify.Settings) { s.Destination = "mailto:" + to }); !errors.Is(err, notify.ErrInvalid) {
			t.Errorf("to %q: %v", to, err)
		}
	}
}

func FuzzTemplates(f *testing.F) {
	for _, seed := range []string{"{{.OrderID}}", "{{range .Attributes}}{{.}}{{end}}", "{{.At.Year}}", "{{len .Key}}", "{{if eq .State \"SHIPPED\"}}a{{end}}"} {
		f.Add(seed)
	}

	through := destination.MailServer{URL: "smtp://127.0.0.1:1", From: "a@example.com"}
	if err := through.Validate(); err != nil {
		f.Fatal(err)
	}

	f.Fuzz(func(_ *testing.T, template string) {
		e := notify.Endpoint{ID: "mail", Settings: notify.Settings{Destination: "mailto:a@example.com", Subject: template, Text: template}}
		_, _ = destination.Opener{Mail: &through}.Open(e) // returns, with an error or without
	})
}
