package statements

import (
	"strings"

	"ratchet/embedded/internal/attr"
	"ratchet/embedded/internal/partiql"
	"ratchet/embedded/internal/wire"
)

// maxStatement is the length of the longest PartiQL statement in characters.
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteStatement.html
const maxStatement = 8192

// Request is a PartiQL statement with its parameters.
type Request struct {
	Statement                           *string
	Parameters                          []attr.Value
	ReturnValuesOnConditionCheckFailure string
}

// Parse reads the statement. member names it in messages.
func (in *Request) Parse(member string) (*partiql.Statement, error) {
	if err := wire.OneOf(in.ReturnValuesOnConditionCheckFailure, "returnValuesOnConditionCheckFailure", "ALL_OLD", "NONE"); err != nil {
		return nil, err
	}

	switch {
	case in.Statement == nil:
		return nil, wire.Missing(member)
	case *in.Statement == "":
		return nil, wire.BadParameter("''", member, "Member must have length greater than or equal to 1")
	case len([]rune(*in.Statement)) > maxStatement:
		return nil, wire.BadParameter("'"+*in.Statement+"'", member, "Member must have length less than or equal to 8192")
	}

	// Source: https://github.com/aws/aws-sdk-js-v3/issues/3529, observed on the service
	if in.Parameters != nil && len(in.Parameters) == 0 {
		return nil, wire.BadParameter("'[]'", strings.TrimSuffix(member, "statement")+"parameters", "Member must have length greater than or equal to 1")
	}

	return partiql.Parse(*in.Statement, in.Parameters)
}
