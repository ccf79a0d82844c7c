package stepfunctions

import (
	"cmp"

	"ratchet/embedded/internal/wire"
)

// The types of encryption.
const (
	ownedKey    = "AWS_OWNED_KEY"
	customerKey = "CUSTOMER_MANAGED_KMS_KEY"
)

// encryption says with which key data is encrypted. The engine describes it and encrypts nothing.
type encryption struct {
	Type   string `json:"type"`
	KeyID  string `json:"kmsKeyId,omitempty"`
	Reused int64  `json:"kmsDataKeyReusePeriodSeconds,omitempty"`
}

// encryptionIn is encryption in a request.
type encryptionIn struct {
	Type   *string `json:"type"`
	KeyID  *string `json:"kmsKeyId"`
	Reused *int64  `json:"kmsDataKeyReusePeriodSeconds"`
}

// stored checks the request and returns the encryption as it is described, nil without a request.
// Source of the members and bounds: https://docs.aws.amazon.com/step-functions/latest/apireference/API_EncryptionConfiguration.html
// The words of InvalidEncryptionConfiguration are not recorded.
func (in *encryptionIn) stored() (*encryption, error) {
	if in == nil {
		return nil, nil
	}

	if in.Type == nil {
		return nil, wire.Missing("encryptionConfiguration.type")
	}

	if err := wire.OneOf(*in.Type, "encryptionConfiguration.type", ownedKey, customerKey); err != nil {
		return nil, err
	}

	if err := wire.Within(in.Reused, "encryptionConfiguration.kmsDataKeyReusePeriodSeconds", 60, 900); err != nil {
		return nil, err
	}

	const refused = "InvalidEncryptionConfiguration"

	switch customer := *in.Type == customerKey; {
	case customer && (in.KeyID == nil || *in.KeyID == ""):
		return nil, wire.Errorf(refused, "Invalid Encryption Configuration: kmsKeyId is required for %s", customerKey)
	case !customer && (in.KeyID != nil || in.Reused != nil):
		return nil, wire.Errorf(refused, "Invalid Encryption Configuration: kmsKeyId and kmsDataKeyReusePeriodSeconds are for %s only", customerKey)
	case !customer:
		return &encryption{Type: ownedKey}, nil
	}

	const standard = 300

	seconds := int64(standard)
	if in.Reused != nil {
		seconds = *in.Reused
	}

	return &encryption{customerKey, *in.KeyID, seconds}, nil
}

// described returns the encryption as answers show it. e may be nil.
func (e *encryption) described() encryption {
	if e == nil {
		return encryption{Type: ownedKey}
	}

	return *e
}

// tracing says whether executions are traced. The engine describes it and traces nothing.
type tracing struct {
	Enabled bool `json:"enabled"`
}

// described returns the configuration as answers show it. t may be nil.
func (t *tracing) described() tracing { return *cmp.Or(t, &tracing{}) }
