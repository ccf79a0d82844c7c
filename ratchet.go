package ratchet

import "embed"

// StateMachine is statemachine.asl.json: Amazon States Language with ${Name}
// placeholders where the activities' ARNs go.
//
//go:embed statemachine.asl.json
var StateMachine string

// Permissions are the files deploy/permissions/PART.txt: the IAM actions that each part needs, a line
// for each action and resource, as a test records them (tests/deploy). Resources are named without the
// prefix; what follows " # " is a remark.
//
//go:embed deploy/permissions/*.txt
var Permissions embed.FS
