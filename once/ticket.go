package once

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// Ticket lets another process, or a client of an HTTP API, continue a claim. It is a bearer
// secret: anyone who has it acts as the holder. It prints and logs as a placeholder;
// string(ticket) is the secret itself.
type Ticket string

const hiddenTicket = "[ticket]"

func (Ticket) String() string { return hiddenTicket }

// GoString keeps %#v from printing the ticket.
func (Ticket) GoString() string { return hiddenTicket }

// LogValue keeps loggers from printing the ticket.
func (Ticket) LogValue() slog.Value { return slog.StringValue(hiddenTicket) }

var ticketRule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Z2-7]{26})-([0-9]{1,18})-([0-9]{1,12})-([A-Za-z0-9_-]{0,64})(\.t)?$`)
})

// takenOverMark ends the ticket of a claim that is TakenOver.
const takenOverMark = ".t"

// Ticket returns the ticket of a claim that is held. It is empty for any other claim.
func (c *Claim) Ticket() Ticket {
	if c.claims == nil || c.state.Load() != claimHeld {
		return ""
	}

	mark := ""
	if c.Outcome == TakenOver {
		mark = takenOverMark
	}

	return Ticket(fmt.Sprintf("%s-%d-%d-%s%s", c.owner, c.fence, c.lease.Milliseconds(), base64.RawURLEncoding.EncodeToString(c.fingerprint), mark))
}

// Resume returns the claim of a ticket, TakenOver if the claim of the ticket was.
// It sends no request. If the claim was lost meanwhile, its next step returns ErrStaleOwner or
// ErrLeaseExpired. Extend extends its lease by at most Config.Lease.
func (c *Claims) Resume(key string, t Ticket) (*Claim, error) {
	keyEnd, err := c.keyEnd(key)
	if err != nil {
		return nil, err
	}

	malformed := fmt.Errorf("resume a claim: %w: ticket: must be one of Claim.Ticket", ErrInvalid)
	parts := ticketRule().FindStringSubmatch(string(t))
	if parts == nil {
		return nil, malformed
	}

	fence, _ := strconv.ParseInt(parts[2], 10, 64) // ticketRule bounds both numbers
	lease, _ := strconv.ParseInt(parts[3], 10, 64)

	fingerprint, err := base64.RawURLEncoding.DecodeString(parts[4])
	if err != nil {
		return nil, malformed
	}

	claim := &Claim{
		Outcome: Acquired,
		key:     key,
		owner:   parts[1],
		fence:   fence,
		// A ticket is not signed, so its lease is not trusted.
		lease:       min(time.Duration(lease)*time.Millisecond, c.cfg.Lease),
		fingerprint: fingerprint,
		keyEnd:      keyEnd,
		claims:      c,
	}
	if parts[5] != "" {
		claim.Outcome = TakenOver
	}
	claim.state.Store(claimHeld)

	return claim, nil
}
