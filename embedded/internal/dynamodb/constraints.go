package dynamodb

import "ratchet/embedded/internal/dynamodb/model"

// constraints collects the members of a request that break the API model.
type constraints struct{ model.Constraints }
