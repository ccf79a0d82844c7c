// Package machines keeps state machines: their definitions, versions, aliases and settings.
//
// A [Machine] is a record that is never changed but replaced, so that readers need no lock. Each change of a
// definition, a role or a configuration makes a [Revision], and an execution keeps the revision of its start.
// A version is a name for a revision, an alias one for one or two versions; a [Target] is what the ARN of a
// machine, a version or an alias starts.
//
// A [Catalog] answers the operations that concern machines only ([Catalog.Operations]). The deletion of a
// machine, which ends its executions, is the caller's: Mark, WaitForStarts and Remove are its steps. A
// machine is not removed while an execution starts in it ([Catalog.Hold]).
package machines
