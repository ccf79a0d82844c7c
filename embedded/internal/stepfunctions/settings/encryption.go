package settings

import (
	"ratchet/embedded/internal/wire"
)

// The types of encryption.
const (
	ownedKey    = "AWS_OWNED_KEY"
	customerKey = "CUSTOMER_MANAGED_KMS_KEY"
)

// Encryption says with which key data is encrypted. The engine describes it and encrypts nothing.
type Encryption struct {
	Type   string `json:"type"`
	KeyID  string `json:"kmsKeyId,omitempty"`
	Reused int64  `json:"kmsDataKeyReusePeriodSeconds,omitempty"`
}

// EncryptionRequest is encryption in a request.
type EncryptionRequest struct {
	Type   *string `json:"type"`
	KeyID  *string `json:"kmsKeyId"`
	Reused *int64  `json:"kmsDataKeyReusePeriodSeconds"`
}

// Stored checks the request and returns the encryption as it is described, nil without a request.
// Source of the members and bounds: https://docs.aws.amazon.com/step-functions/latest/apireference/API_EncryptionConfiguration.html
// The words of InvalidEncryptionConfiguration are not recorded.
func (in *EncryptionRequest) Stored() (*Encryption, error) {
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
		return &Encryption{Type: ownedKey}, nil
	}

	const standard = 300

	seconds := int64(standard)
	if in.Reused != nil {
		seconds = *in.Reused
	}

	return &Encryption{customerKey, *in.KeyID, seconds}, nil
}

// Described returns the encryption as answers show it. e may be nil.
func (e *Encryption) Described() Encryption {
	if e == nil {
		return Encryption{Type: ownedKey}
	}

	return *e
}
