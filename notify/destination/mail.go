package destination

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"net/url"
	"reflect"
	"strings"
	"time"

	"ratchet/internal/templates"
	"ratchet/notify"
)

// MailServer is the SMTP server that e-mails go through.
type MailServer struct {
	// URL is smtp://[USER:PASSWORD@]HOST:PORT. The connection is encrypted with STARTTLS. A server
	// on another machine must offer it.
	URL string
	// From is the sender's address.
	From string

	// The parts of URL and From, once they are validated.
	host, address, user, password, sender string
}

// Validate returns an error that names the field that breaks a rule. It does not show the URL,
// which may have a password.
func (s *MailServer) Validate() error {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "smtp" || u.Hostname() == "" || u.Port() == "" {
		return errors.New("smtp-url: must be smtp://[USER:PASSWORD@]HOST:PORT")
	}

	from, err := mail.ParseAddress(s.From)
	if err != nil {
		return fmt.Errorf("smtp-from %q: must be an address", s.From)
	}

	s.sender = from.Address
	s.host, s.address = u.Hostname(), u.Host
	s.user = u.User.Username()
	s.password, _ = u.User.Password()

	return nil
}

// The defaults of an e-mail's templates.
const (
	defaultSubject = `Order {{.OrderID}}: {{.State}}`
	defaultText    = "Order {{.OrderID}} is now {{.State}} (since {{.At}}).\n"

	maxMail = 32 << 10 // bytes of a subject or text
)

// mailTemplates are the templates of an endpoint. They see a notify.Notification: OrderID,
// TransitionID, State, From, Event, At, Key and Attributes.
type mailTemplates struct{ subject, text *templates.Template }

var mailOptions = templates.Options{Methods: map[reflect.Type]map[string]any{
	reflect.TypeFor[notify.Notification](): {"ID": notify.Notification.ID},
}}

func parseTemplates(subject, text string) (t mailTemplates, err error) {
	if t.subject, err = templates.Parse("subject", cmp.Or(subject, defaultSubject), mailOptions); err != nil {
		return t, fmt.Errorf("subject: %w", err)
	}

	if t.text, err = templates.Parse("text", cmp.Or(text, defaultText), mailOptions); err != nil {
		return t, fmt.Errorf("text: %w", err)
	}

	// A mistake in a field's name shows when the template is used.
	sample := notify.Notification{Key: "o-1/0/2/notify", OrderID: "o-1", Incarnation: "0", TransitionID: 2, State: "SHIPPED", Event: "ship", At: time.Unix(0, 0).UTC()}
	_, _, err = t.write(sample)

	return t, err
}

// write returns subject and text for a notification.
func (t mailTemplates) write(n notify.Notification) (subject, text string, err error) {
	if subject, err = execute(t.subject, n); err != nil {
		return "", "", fmt.Errorf("subject: %w", err)
	}

	if text, err = execute(t.text, n); err != nil {
		return "", "", fmt.Errorf("text: %w", err)
	}

	// Without line breaks, which would begin another header.
	return strings.Join(strings.Fields(subject), " "), text, nil
}

var errMailTooLong = fmt.Errorf("more than %d bytes", maxMail)

// limited is a buffer with a limit, so that a template cannot use up the memory.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxMail {
		return 0, errMailTooLong
	}

	return l.Buffer.Write(p)
}

func execute(t *templates.Template, data any) (string, error) {
	var out limited
	err := t.Execute(&out, data)

	return out.String(), err
}

// mailbox sends e-mails to an address.
type mailbox struct {
	server    MailServer
	to        string
	templates mailTemplates
}

// Send sends an e-mail through the server. Its Message-ID has the id of the message. An answer
// of 5xx is notify.ErrRejected.
func (b mailbox) Send(ctx context.Context, m notify.Message) (notify.Answer, error) {
	content, err := b.compose(m)
	if err != nil {
		return notify.Answer{}, fmt.Errorf("%w: %w", notify.ErrRejected, err)
	}

	err = b.deliver(ctx, content)

	var refused *textproto.Error
	if errors.As(err, &refused) {
		answer := notify.Answer{Status: refused.Code, Text: refused.Msg}
		// RFC 5321, 4.2.1: 5yz is permanent, 4yz may pass.
		if refused.Code >= 500 {
			return answer, fmt.Errorf("%w: %w", notify.ErrRejected, err)
		}

		return answer, err
	}

	if err != nil {
		return notify.Answer{}, fmt.Errorf("send an e-mail through %s: %w", b.server.host, err)
	}

	return notify.Answer{Status: 250}, nil
}

// compose writes the e-mail.
func (b mailbox) compose(m notify.Message) ([]byte, error) {
	subject, text, err := b.templates.write(m.Notification)
	if err != nil {
		return nil, err
	}

	var out bytes.Buffer
	for _, header := range [][2]string{
		{"From", b.server.From},
		{"To", b.to},
		{"Subject", mime.QEncoding.Encode("utf-8", subject)},
		{"Date", m.At.Format(time.RFC1123Z)},
		// The same for every attempt, so that a mailbox may drop a repeat.
		{"Message-ID", "<" + m.ID + "@ratchet>"},
		{"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"},
		{"Content-Type", `text/plain; charset="utf-8"`},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		fmt.Fprintf(&out, "%s: %s\r\n", header[0], header[1])
	}
	out.WriteString("\r\n")

	body := quotedprintable.NewWriter(&out)
	if _, err := io.WriteString(body, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		return nil, err
	}

	return out.Bytes(), body.Close()
}

// deliver hands the e-mail to the server.
func (b mailbox) deliver(ctx context.Context, content []byte) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", b.server.address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // an error of Close changes nothing: the result of deliver is known

	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}

	// Reads and writes do not end with ctx, but a deadline in the past ends them.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	client, err := smtp.NewClient(conn, b.server.host)
	if err != nil {
		return err
	}

	if err := b.secure(client); err != nil {
		return err
	}

	if b.server.user != "" {
		// PlainAuth refuses to send the password without encryption.
		if err := client.Auth(smtp.PlainAuth("", b.server.user, b.server.password, b.server.host)); err != nil {
			return loginError(err)
		}
	}

	if err := client.Mail(b.server.sender); err != nil {
		return err
	}

	if err := client.Rcpt(b.to); err != nil {
		return fmt.Errorf("%w: %w", errRecipient, err)
	}

	if err := writeContent(client, content); err != nil {
		return fmt.Errorf("%w: %w", errContent, err)
	}

	_ = client.Quit() // the server has the e-mail

	return nil
}

// loginError returns the error of a login without the server's words, which may repeat the password: tenants see the
// errors of their deliveries.
func loginError(err error) error {
	if refused, is := errors.AsType[*textproto.Error](err); is {
		return &textproto.Error{Code: refused.Code, Msg: "the server refuses the login"}
	}

	return err
}

func writeContent(client *smtp.Client, content []byte) error {
	w, err := client.Data()
	if err != nil {
		return err
	}

	if _, err := w.Write(content); err != nil {
		return err
	}

	return w.Close()
}

var errPlainText = errors.New("the server does not offer STARTTLS")

// secure encrypts the connection. Without encryption it fails, except for a server on this machine.
func (b mailbox) secure(client *smtp.Client) error {
	if offered, _ := client.Extension("STARTTLS"); offered {
		return client.StartTLS(&tls.Config{ServerName: b.server.host, MinVersion: tls.VersionTLS12})
	}

	if ip := net.ParseIP(b.server.host); b.server.host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}

	return errPlainText
}
