package destination

import (
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"regexp"
	"strconv"

	"ratchet/notify"
)

// The command of SMTP at which an e-mail failed. An error that wraps neither of them is about the
// connection, the login or the sender.
var (
	errRecipient = errors.New("RCPT")
	errContent   = errors.New("DATA")
)

// mailReply is what is kept of a server's answer to an e-mail for a customer: the code and the
// enhanced status code (RFC 3463). The text is dropped, because it may contain the address.
type mailReply struct {
	code            int
	class           string // "" without an enhanced status code
	subject, detail int
}

var enhancedRule = regexp.MustCompile(`^([245])\.(\d)\.(\d{1,3})(?:\s|$)`)

func parseReply(refused *textproto.Error) mailReply {
	r := mailReply{code: refused.Code}

	// An enhanced code whose class does not match the code is ignored.
	if found := enhancedRule.FindStringSubmatch(refused.Msg); found != nil && found[1] == strconv.Itoa(refused.Code/100) {
		r.class = found[1]
		r.subject, _ = strconv.Atoi(found[2]) // digits
		r.detail, _ = strconv.Atoi(found[3])
	}

	return r
}

// enhanced returns the enhanced status code, such as 5.1.1, "" without one.
func (r mailReply) enhanced() string {
	if r.class == "" {
		return ""
	}

	return fmt.Sprintf("%s.%d.%d", r.class, r.subject, r.detail)
}

func (r mailReply) String() string {
	if r.class == "" {
		return strconv.Itoa(r.code)
	}

	return strconv.Itoa(r.code) + " " + r.enhanced()
}

// isPermanent reports whether no repeat can succeed.
func (r mailReply) isPermanent() bool { return r.code >= 500 }

// The subjects of enhanced status codes that are about the address and the mailbox.
const (
	undefinedSubject = 0
	addressSubject   = 1
	mailboxSubject   = 2
)

// isOfRecipient reports whether the enhanced status code is about the recipient's address or mailbox.
func (r mailReply) isOfRecipient() bool {
	switch {
	case r.class == "":
		return false
	case r.subject == addressSubject:
		return r.detail != 7 && r.detail != 8 // the sender's address
	}

	return r.subject == mailboxSubject
}

// isAboutRecipient reports whether the answer is about this recipient only, and not about the
// server or the sender. The enhanced status code decides. Without one, the code of an answer to
// RCPT decides (RFC 5321, 4.2.3). For example, 452 is about the storage of the server, and 550
// 5.7.1 is about the rights of the sender.
func (r mailReply) isAboutRecipient(err error) bool {
	toRecipient := errors.Is(err, errRecipient)
	if !toRecipient && !errors.Is(err, errContent) {
		return false
	}

	// X.0.X says nothing about the subject (RFC 3463, 3.1), so the plain code decides.
	if r.class != "" && r.subject != undefinedSubject {
		return r.isOfRecipient()
	}

	switch r.code {
	case 450, 550, 551, 552, 553, 554, 556:
		return toRecipient
	}

	return false
}

// isUnknownMailbox reports whether a permanent answer about the recipient says that there is no such
// mailbox.
func (r mailReply) isUnknownMailbox() bool {
	if r.class != "" && r.subject != undefinedSubject {
		return r.subject == addressSubject
	}

	return r.code != 552 && r.code != 554
}

// conclude returns the answer and the error of a failed e-mail to a customer. They contain no text
// of the server, which may show the address.
func conclude(err error) (notify.Answer, error) {
	if refused, is := errors.AsType[*textproto.Error](err); is {
		r := parseReply(refused)

		return notify.Answer{Status: r.code, Text: r.enhanced()}, r.conclude(err)
	}

	if errors.Is(err, errRecipient) || errors.Is(err, errContent) {
		if timeout, is := errors.AsType[net.Error](err); is && timeout.Timeout() {
			return notify.Answer{}, errors.New("the server did not answer in time")
		}

		return notify.Answer{}, errors.New("the connection to the server broke, or its answer is none of SMTP")
	}

	return notify.Answer{}, err
}

func (r mailReply) conclude(err error) error {
	about := r.isAboutRecipient(err)

	switch {
	case about && r.isPermanent() && r.isUnknownMailbox():
		return fmt.Errorf("%w: the server refuses the order's address: %s", notify.ErrSkipped, r)
	case about && r.isPermanent():
		return fmt.Errorf("%w: %w: %s", notify.ErrRejected, notify.ErrRecipient, r)
	case about:
		return fmt.Errorf("%w: %s", notify.ErrRecipient, r)
	case r.isPermanent():
		return fmt.Errorf("%w: %s", notify.ErrRejected, r)
	}

	return fmt.Errorf("the server answered %s", r)
}
