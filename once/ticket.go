package once

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"time"
)

// Ticket is what the holder of a claim needs to go on with it elsewhere, in another
// process or behind an HTTP API: whoever has it is the holder. It prints as a
// placeholder; string(ticket) is the secret itself.
type Ticket string

func (Ticket) String() string { return "[ticket]" }

// GoString hides the ticket from %#v.
func (Ticket) GoString() string { return "[ticket]" }

// LogValue hides the ticket from slog.
func (Ticket) LogValue() slog.Value { return slog.StringValue("[ticket]") }

var ticketRule = regexp.MustCompile(`^([A-Z2-7]{26})-([0-9]{1,18})-([0-9]{1,12})-([A-Za-z0-9_-]{0,64})$`)

// Ticket writes down a claim that is held. It is empty for any other claim.
func (c *Claim) Ticket() Ticket {
	if c.claims == nil || c.state.Load() != claimHeld {
		return ""
	}
	return Ticket(fmt.Sprintf("%s-%d-%d-%s", c.owner, c.fence, c.lease.Milliseconds(), base64.RawURLEncoding.EncodeToString(c.print)))
}

// Resume is the claim of a ticket. It asks nobody: that the claim was lost meanwhile
// shows in its next step, as ErrStaleOwner or ErrLeaseExpired. Its lease is extended by
// Config.Lease at most.
func (c *Claims) Resume(key string, t Ticket) (*Claim, error) {
	keyEnd, err := c.endOf(key)
	if err != nil {
		return nil, err
	}

	parts := ticketRule.FindStringSubmatch(string(t))
	if parts == nil {
		return nil, fmt.Errorf("resume a claim: %w: ticket: must be one of Claim.Ticket", ErrInvalid)
	}
	fence, _ := strconv.ParseInt(parts[2], 10, 64) // the rule bounds both
	lease, _ := strconv.ParseInt(parts[3], 10, 64)

	print, err := base64.RawURLEncoding.DecodeString(parts[4])
	if err != nil {
		return nil, fmt.Errorf("resume a claim: %w: ticket: must be one of Claim.Ticket", ErrInvalid)
	}
	claim := &Claim{Outcome: Acquired, key: key, owner: parts[1], fence: fence, print: print, keyEnd: keyEnd, claims: c,
		lease: min(time.Duration(lease)*time.Millisecond, c.cfg.Lease)} // a ticket is not signed
	claim.state.Store(claimHeld)

	return claim, nil
}
