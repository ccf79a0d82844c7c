package shipping

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"ratchet/internal/ids"
)

// Milestone is a stage of a shipment, or of one of its parcels, as a carrier reports it. The texts are
// stored.
type Milestone string

// The milestones of a parcel. A parcel is Booked, then Shipped, then Delivered or Lost. A parcel that
// is Shipped or Delivered may come back (Returned). A shipment that has not left may be Canceled, by its
// Cancel or by the carrier itself.
const (
	Booked    Milestone = "booked"
	Shipped   Milestone = "shipped"
	Delivered Milestone = "delivered"
	Lost      Milestone = "lost"
	Returned  Milestone = "returned"
	Canceled  Milestone = "canceled"
)

// reported are the milestones that a report may have.
var reported = []Milestone{Booked, Shipped, Delivered, Lost, Returned, Canceled}

// IsKnown reports whether the milestone is one of those above.
func (m Milestone) IsKnown() bool { return slices.Contains(reported, m) }

// Report is one callback of a carrier. A repeat has the same ID.
type Report struct {
	// ID has 1 to 200 printable ASCII characters without spaces. The carrier chooses it.
	ID string `json:"id"`
	// Shipment is the effect key under which the shipment was booked.
	Shipment string `json:"shipment"`
	OrderID  string `json:"orderId"`
	// Milestone says what has happened.
	Milestone Milestone `json:"milestone"`
	// Parcel names one of several parcels of the shipment: 1 to 128 characters of A-Z a-z 0-9 _ . : -.
	// Empty: the report is about the whole shipment.
	Parcel string `json:"parcel,omitempty"`
	// Lines are the pieces in the parcel. They are required if a Parcel is Shipped, optional if it is
	// Returned, and ignored for other milestones. Without a Parcel there must be none.
	Lines []Line `json:"lines,omitempty"`
	// Tracking is the carrier's tracking number, for people. It may be empty.
	Tracking string `json:"tracking,omitempty"`
	// At is when the milestone was reached, according to the carrier. No decision depends on it.
	At time.Time `json:"at,omitzero"`
}

// Line is a number of pieces of one SKU, at least 1.
type Line struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

// SameLines reports whether two parcels hold the same pieces.
func SameLines(a, b []Line) bool { return maps.Equal(pieces(a), pieces(b)) }

func pieces(lines []Line) map[string]int64 {
	count := map[string]int64{}
	for _, l := range lines {
		count[l.SKU] += l.Quantity
	}

	return count
}

// MaxReportID is how many characters the id of a report has at most.
const MaxReportID = 200

// ErrInvalidReport means that a report breaks a rule. The text names the field and the rule.
var ErrInvalidReport = errors.New("invalid report")

const (
	maxField = 200
	// maxShipment bounds an effect key, which has the order's id in its encoded form.
	maxShipment = 1024
)

var (
	reportIDRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\x21-\x7e]{1,200}$`) })
	parcelRule   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,128}$`) })
)

// Validate returns an ErrInvalidReport that names the first field that breaks a rule. Lines are
// checked against the order's rules when they are applied.
func (r Report) Validate() error {
	switch {
	case !reportIDRule().MatchString(r.ID):
		return fmt.Errorf("%w: id: 1 to 200 printable ASCII characters without spaces", ErrInvalidReport)
	case r.Shipment == "" || len(r.Shipment) > maxShipment:
		return fmt.Errorf("%w: shipment: 1 to %d bytes", ErrInvalidReport, maxShipment)
	case !ids.Valid(r.OrderID):
		return fmt.Errorf("%w: orderId: 1 to %d bytes of UTF-8 without control characters", ErrInvalidReport, ids.Most)
	case !r.Milestone.IsKnown():
		return fmt.Errorf("%w: milestone %.20q: one of %v", ErrInvalidReport, r.Milestone, reported)
	case len(r.Tracking) > maxField:
		return fmt.Errorf("%w: tracking: at most %d bytes", ErrInvalidReport, maxField)
	case r.Parcel != "" && !parcelRule().MatchString(r.Parcel):
		return fmt.Errorf("%w: parcel: 1 to 128 characters of A-Z a-z 0-9 _ . : -", ErrInvalidReport)
	case r.Parcel != "" && r.Milestone == Canceled:
		return fmt.Errorf("%w: parcel: only a whole shipment is canceled", ErrInvalidReport)
	case r.Parcel == "" && len(r.Lines) > 0:
		return fmt.Errorf("%w: lines: only with a parcel", ErrInvalidReport)
	case r.Parcel != "" && r.Milestone == Shipped && len(r.Lines) == 0:
		return fmt.Errorf("%w: lines: what the parcel holds", ErrInvalidReport)
	}

	return nil
}

// Answer is the shop's answer to a report.
type Answer int

// The answers of the shop.
const (
	// Accepted lets the carrier go on with the next milestone.
	Accepted Answer = iota
	// Retry asks for the report again, later: the order cannot take it yet.
	Retry
	// Rejected ends the reports of the shipment: the order can never take this report.
	Rejected
)

// Shipment is the carrier's record of a shipment.
type Shipment struct {
	// Status is the milestone that the whole shipment has reached.
	Status Milestone `json:"status"`
	// Tracking is the carrier's tracking number.
	Tracking string `json:"tracking"`
	// Parcels has the milestone of each parcel by its name, if the shipment has several parcels. Lines
	// has the pieces in each parcel by its name.
	Parcels map[string]Milestone `json:"parcels,omitempty"`
	Lines   map[string][]Line    `json:"lines,omitempty"`
}

// ErrUnknownShipment means that the carrier has no shipment under the key.
var ErrUnknownShipment = errors.New("unknown shipment")

// Asker is a [Carrier] that can be asked about a shipment. A report of such a carrier is believed only
// if the carrier's answer confirms it.
type Asker interface {
	// Get returns the shipment with the key. It fails with ErrUnknownShipment if there is
	// none.
	Get(ctx context.Context, key string) (Shipment, error)
}

// Confirms reports whether the carrier's answer confirms the report: the shipment, or the
// parcel, has reached the milestone or a later one.
func (s Shipment) Confirms(r Report) bool {
	reached := s.Status
	if r.Parcel != "" {
		reached = s.Parcels[r.Parcel]
	}

	return slices.Contains(confirming[r.Milestone], reached)
}

// confirming maps the milestone of a report to the milestones in the carrier's answer that confirm the
// report.
var confirming = map[Milestone][]Milestone{
	Booked:    {Booked, Shipped, Delivered, Lost, Returned},
	Shipped:   {Shipped, Delivered, Lost, Returned},
	Delivered: {Delivered, Returned},
	Lost:      {Lost},
	Returned:  {Returned},
	Canceled:  {Canceled},
}
