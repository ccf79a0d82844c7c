package settings

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"ratchet/embedded/internal/dynamodb/model"
	"ratchet/embedded/internal/wire"
)

// Encryption says with which key a table is encrypted.
type Encryption struct {
	Enabled        *bool
	SSEType        string
	KMSMasterKeyId *string //nolint:revive // the wire's name
}

// Constrain checks the members against the API model.
func (in *Encryption) Constrain(c *model.Constraints) {
	if in == nil {
		return
	}

	c.OneOf(in.SSEType, "sSESpecification.sSEType", "AES256", "KMS")

	if in.KMSMasterKeyId != nil {
		c.Length(len(*in.KMSMasterKeyId), *in.KMSMasterKeyId, "sSESpecification.kMSMasterKeyId", 1, 2048)
	}
}

// KeyARN checks the specification and returns the ARN of the key, empty for the key that AWS owns. There is no
// KMS: an id without a key is as good as any, and an alias has a key of its own. now is the ARN of the table's
// key, arns the beginning of the ARNs of keys.
// Source of the rules and words: ack-api-quirks, services/dynamodb, "SSEType can not be specified if Enabled is
// false" and finding DDB-TABLE-437, recorded on the service
func (in *Encryption) KeyARN(now, arns string) (string, error) {
	const prefix = "One or more parameter values were invalid: "
	enabled := in.Enabled == nil && now != "" || in.Enabled != nil && *in.Enabled

	switch {
	case !enabled && in.SSEType != "":
		return "", wire.Invalid(prefix + "SSEType can not be specified if Enabled is false")
	case !enabled && in.KMSMasterKeyId != nil:
		return "", wire.Invalid(prefix + "KMSMasterKeyId can not be specified if Enabled is false")
	case !enabled:
		return "", nil
	case in.SSEType == "AES256":
		return "", wire.Invalid(prefix + "SSEType AES256 is not supported")
	case in.KMSMasterKeyId == nil:
		return arns + keyOfAlias("alias/aws/dynamodb"), nil
	case in.SSEType != "KMS":
		return "", wire.Invalid(prefix + "SSEType KMS is required if KMSMasterKeyId is specified")
	}

	id := *in.KMSMasterKeyId
	switch _, alias, isAlias := strings.Cut(":"+id, ":alias/"); {
	case isAlias:
		return arns + keyOfAlias("alias/"+alias), nil
	case strings.HasPrefix(id, "arn:"):
		return id, nil
	default:
		return arns + id, nil
	}
}

// keyOfAlias returns the id of the key to which an alias would lead.
func keyOfAlias(alias string) string {
	h := sha256.Sum256([]byte(alias))
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
