// Package legacy reads the parameters that expressions have replaced: Expected, AttributeUpdates, KeyConditions,
// QueryFilter, ScanFilter and AttributesToGet. They become the same trees as expressions. An empty map counts as no map.
//
// Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LegacyConditionalParameters.html
package legacy
