package dynamodb

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Settings of tables and indexes that the engine keeps and describes, and that have no effect.

type onDemandThroughput struct {
	MaxReadRequestUnits  *int64 `json:",omitempty"`
	MaxWriteRequestUnits *int64 `json:",omitempty"`
}

type warmThroughput struct {
	ReadUnitsPerSecond  *int64 `json:",omitempty"`
	WriteUnitsPerSecond *int64 `json:",omitempty"`
}

type sseSpecification struct {
	Enabled        *bool
	SSEType        string
	KMSMasterKeyId *string //nolint:revive // the wire's name
}

// keptThroughput is the throughput that a request sets beside the provisioned one.
type keptThroughput struct {
	OnDemandThroughput *onDemandThroughput
	WarmThroughput     *warmThroughput
}

// given reports whether the request sets any of these.
func (t *keptThroughput) given() bool { return t.OnDemandThroughput != nil || t.WarmThroughput != nil }

// throughputSettings are the settings of a table or an index as the store holds them.
type throughputSettings struct {
	OnDemand *onDemandThroughput `json:"onDemand,omitempty"`
	Warm     *warmThroughput     `json:"warm,omitempty"`
}

// The least warm throughput on demand, which every table and index has.
// Source: finding DDB-TABLE-061 of ack-api-quirks, services/dynamodb, recorded on the service
const (
	warmReads  = 12_000
	warmWrites = 4_000
)

// owner is what has the settings: "table", or "index" with its name.
type owner struct {
	index   string
	billing string
	// The provisioned units.
	reads, writes int64
}

func (o *owner) String() string {
	if o.index == "" {
		return "table"
	}

	return "index " + o.index
}

// set takes the throughput of a request. create is set for a new table or index.
// Source of the rules and words: findings DDB-TABLE-033, DDB-TABLE-059, DDB-TABLE-061 and DDB-TABLE-456 of
// ack-api-quirks, services/dynamodb, recorded on the service. An empty structure alone is an error of the service
// there; here it changes nothing.
func (s *throughputSettings) set(in *keptThroughput, o owner, create bool) error {
	if err := s.setOnDemand(in.OnDemandThroughput, o, create); err != nil {
		return err
	}

	return s.setWarm(in.WarmThroughput, o, create)
}

func (s *throughputSettings) setOnDemand(in *onDemandThroughput, o owner, create bool) error {
	if in == nil {
		return nil
	}

	var next onDemandThroughput
	if s.OnDemand != nil {
		next = *s.OnDemand
	}

	of := o.String()
	if o.index != "" {
		of = "index : " + o.index
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
		case o.billing == "PROVISIONED":
			return invalid("One or more parameter values were invalid: %s for OnDemandThroughput cannot be specified when the table BillingMode is PROVISIONED", units.name)
		case *units.in == -1 && !create:
			*units.to = nil
		case *units.in < 1 || *units.in > maxUnits:
			return invalid("One or more parameter values were invalid: Requested %s for OnDemandThroughput for %s is outside of valid range", units.name, of)
		default:
			*units.to = units.in
		}
	}

	s.OnDemand = nil
	if next != (onDemandThroughput{}) {
		s.OnDemand = &next
	}

	return nil
}

func (s *throughputSettings) setWarm(in *warmThroughput, o owner, create bool) error {
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
			return invalid("%scurrent WarmThroughput, decreasing WarmThroughput is not supported", words)
		case o.billing == "PROVISIONED":
			return invalid("%s%s of ProvisionedThroughput", words, units.provisioned)
		default:
			return invalid("%sinitial throughput for OnDemand. See: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html#on-demand-capacity-mode-initial", words)
		}
	}

	s.Warm = &next

	return nil
}

// warm returns the warm throughput: what was set, and at least what the billing mode gives.
func (s *throughputSettings) warm(o owner) warmThroughput {
	reads, writes := int64(warmReads), int64(warmWrites)
	if o.billing == "PROVISIONED" {
		reads, writes = o.reads, o.writes
	}

	if s.Warm != nil {
		reads, writes = max(reads, *s.Warm.ReadUnitsPerSecond), max(writes, *s.Warm.WriteUnitsPerSecond)
	}

	return warmThroughput{&reads, &writes}
}

// describe adds the settings to a description.
func (s *throughputSettings) describe(d map[string]any, o owner) {
	warm := s.warm(o)
	d["WarmThroughput"] = map[string]any{
		"ReadUnitsPerSecond": *warm.ReadUnitsPerSecond, "WriteUnitsPerSecond": *warm.WriteUnitsPerSecond, "Status": "ACTIVE",
	}

	if s.OnDemand != nil {
		d["OnDemandThroughput"] = s.OnDemand
	}
}

// owner returns what the table's own throughput settings depend on.
func (r *tableRecord) owner() owner {
	return owner{billing: r.Billing, reads: r.ReadUnits, writes: r.WriteUnits}
}

// owner returns what the index's throughput settings depend on.
func (x *indexRecord) owner(billing string) owner {
	return owner{index: x.Name, billing: billing, reads: x.ReadUnits, writes: x.WriteUnits}
}

// constrain checks the members against the API model.
func (in *sseSpecification) constrain(c *constraints) {
	if in == nil {
		return
	}

	c.OneOf(in.SSEType, "sSESpecification.sSEType", "AES256", "KMS")

	if in.KMSMasterKeyId != nil {
		c.Length(len(*in.KMSMasterKeyId), *in.KMSMasterKeyId, "sSESpecification.kMSMasterKeyId", 1, 2048)
	}
}

// keyARN checks the specification and returns the ARN of the key, empty for the key that AWS owns. There is no
// KMS: an id without a key is as good as any, and an alias has a key of its own. now is the ARN of the table's
// key.
// Source of the rules and words: ack-api-quirks, services/dynamodb, "SSEType can not be specified if Enabled is
// false" and finding DDB-TABLE-437, recorded on the service
func (s *Service) keyARN(in *sseSpecification, now string) (string, error) {
	const prefix = "One or more parameter values were invalid: "
	enabled := in.Enabled == nil && now != "" || in.Enabled != nil && *in.Enabled

	switch {
	case !enabled && in.SSEType != "":
		return "", invalid(prefix + "SSEType can not be specified if Enabled is false")
	case !enabled && in.KMSMasterKeyId != nil:
		return "", invalid(prefix + "KMSMasterKeyId can not be specified if Enabled is false")
	case !enabled:
		return "", nil
	case in.SSEType == "AES256":
		return "", invalid(prefix + "SSEType AES256 is not supported")
	case in.KMSMasterKeyId == nil:
		return s.keyOfAlias("alias/aws/dynamodb"), nil
	case in.SSEType != "KMS":
		return "", invalid(prefix + "SSEType KMS is required if KMSMasterKeyId is specified")
	}

	id := *in.KMSMasterKeyId
	switch _, alias, isAlias := strings.Cut(":"+id, ":alias/"); {
	case isAlias:
		return s.keyOfAlias("alias/" + alias), nil
	case strings.HasPrefix(id, "arn:"):
		return id, nil
	default:
		return s.keyPrefix() + id, nil
	}
}

func (s *Service) keyPrefix() string {
	return "arn:aws:kms:" + s.cfg.Region + ":" + s.cfg.AccountID + ":key/"
}

// keyOfAlias returns the ARN of the key to which an alias would lead.
func (s *Service) keyOfAlias(alias string) string {
	h := sha256.Sum256([]byte(alias))
	return s.keyPrefix() + fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
