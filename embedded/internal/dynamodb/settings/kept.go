package settings

import "ratchet/embedded/internal/wire"

// OnDemand is an OnDemandThroughput: the most units of a table or an index without provisioned throughput.
type OnDemand struct {
	MaxReadRequestUnits  *int64 `json:",omitempty"`
	MaxWriteRequestUnits *int64 `json:",omitempty"`
}

// Warm is a WarmThroughput: the units that a table or an index is to be ready for.
type Warm struct {
	ReadUnitsPerSecond  *int64 `json:",omitempty"`
	WriteUnitsPerSecond *int64 `json:",omitempty"`
}

// Throughput is the throughput that a request sets beside the provisioned one.
type Throughput struct {
	OnDemandThroughput *OnDemand
	WarmThroughput     *Warm
}

// Given reports whether the request sets any of these.
func (t *Throughput) Given() bool { return t.OnDemandThroughput != nil || t.WarmThroughput != nil }

// Kept are the settings of a table or an index as the store holds them.
type Kept struct {
	OnDemand *OnDemand `json:"onDemand,omitempty"`
	Warm     *Warm     `json:"warm,omitempty"`
}

// The least warm throughput on demand, which every table and index has.
// Source: finding DDB-TABLE-061 of ack-api-quirks, services/dynamodb, recorded on the service
const (
	warmReads  = 12_000
	warmWrites = 4_000
)

// Owner is what has the settings: "table", or "index" with its name.
type Owner struct {
	Index   string
	Billing string
	// The provisioned units.
	Reads, Writes int64
}

func (o *Owner) String() string {
	if o.Index == "" {
		return "table"
	}

	return "index " + o.Index
}

// Set takes the throughput of a request. create is set for a new table or index.
// Source of the rules and words: findings DDB-TABLE-033, DDB-TABLE-059, DDB-TABLE-061 and DDB-TABLE-456 of
// ack-api-quirks, services/dynamodb, recorded on the service. An empty structure alone is an error of the service
// there; here it changes nothing.
func (s *Kept) Set(in *Throughput, o Owner, create bool) error {
	if err := s.setOnDemand(in.OnDemandThroughput, o, create); err != nil {
		return err
	}

	return s.setWarm(in.WarmThroughput, o, create)
}

func (s *Kept) setOnDemand(in *OnDemand, o Owner, create bool) error {
	if in == nil {
		return nil
	}

	var next OnDemand
	if s.OnDemand != nil {
		next = *s.OnDemand
	}

	of := o.String()
	if o.Index != "" {
		of = "index : " + o.Index
	}

	for _, units := range []struct {
		name string
		in   *int64
		to   **int64
	}{
		{"MaxReadRequestUnits", in.MaxReadRequestUnits, &next.MaxReadRequestUnits},
		{"MaxWriteRequestUnits", in.MaxWriteRequestUnits, &next.MaxWriteRequestUnits},
	} {
		switch {
		case units.in == nil:
		case o.Billing == "PROVISIONED":
			return wire.Invalid("One or more parameter values were invalid: %s for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED", units.name)
		case *units.in == -1 && !create:
			*units.to = nil
		case *units.in < 1 || *units.in > maxUnits:
			return wire.Invalid("One or more parameter values were invalid: Requested %s for OnDemandThroughput for %s is outside of valid range", units.name, of)
		default:
			*units.to = units.in
		}
	}

	s.OnDemand = nil
	if next != (OnDemand{}) {
		s.OnDemand = &next
	}

	return nil
}

func (s *Kept) setWarm(in *Warm, o Owner, create bool) error {
	if in == nil {
		return nil
	}

	next := s.warm(o)
	for _, units := range []struct {
		name, provisioned string
		in                *int64
		now               **int64
	}{
		{"ReadUnitsPerSecond", "ReadCapacityUnits", in.ReadUnitsPerSecond, &next.ReadUnitsPerSecond},
		{"WriteUnitsPerSecond", "WriteCapacityUnits", in.WriteUnitsPerSecond, &next.WriteUnitsPerSecond},
	} {
		words := "One or more parameter values were invalid: Requested " + units.name + " for WarmThroughput for " + o.String() + " is lower than "

		switch {
		case units.in == nil:
		case *units.in >= **units.now:
			*units.now = units.in
		case !create:
			return wire.Invalid("%scurrent WarmThroughput, decreasing WarmThroughput is not supported", words)
		case o.Billing == "PROVISIONED":
			return wire.Invalid("%s%s of ProvisionedThroughput", words, units.provisioned)
		default:
			return wire.Invalid("%sinitial throughput for OnDemand. See: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html#on-demand-capacity-mode-initial", words)
		}
	}

	s.Warm = &next

	return nil
}

// warm returns the warm throughput: what was set, and at least what the billing mode gives.
func (s *Kept) warm(o Owner) Warm {
	reads, writes := int64(warmReads), int64(warmWrites)
	if o.Billing == "PROVISIONED" {
		reads, writes = o.Reads, o.Writes
	}

	if s.Warm != nil {
		reads, writes = max(reads, *s.Warm.ReadUnitsPerSecond), max(writes, *s.Warm.WriteUnitsPerSecond)
	}

	return Warm{&reads, &writes}
}

// Describe adds the settings to a description.
func (s *Kept) Describe(d map[string]any, o Owner) {
	warm := s.warm(o)
	d["WarmThroughput"] = map[string]any{
		"ReadUnitsPerSecond": *warm.ReadUnitsPerSecond, "WriteUnitsPerSecond": *warm.WriteUnitsPerSecond, "Status": "ACTIVE",
	}

	if s.OnDemand != nil {
		d["OnDemandThroughput"] = s.OnDemand
	}
}
