// Package doctor compares what is set up in AWS, a compatible endpoint or the embedded engine with
// what a program needs, and says what to do about each difference.
//
// # Model
//
// A [Config] describes the program's needs: tables, a state machine with its activities, a queue.
// [Examine] asks the services and returns a [Check] for each subject. A check is ok, a warning, a
// failure, or could not be made. A failure that explains others stands alone: without credentials or
// a reachable endpoint nothing behind them is asked, and if every table is missing, that is one
// failure.
//
// # Permissions
//
// A permission to write is tried with a write whose condition cannot hold: the service checks the
// permission first, so the write is refused either way and changes nothing. A permission to answer
// tasks is tried with a token that does not exist, one to delete messages with an invalid handle. What
// cannot be tried without an effect is not tried: starting executions, taking tasks and messages.
//
// On AWS, IAM is asked first (SimulatePrincipalPolicy). A permission that it allows is not tried. A
// permission that it denies counts as denied unless a trial shows that it is allowed, since a
// simulation knows no policies of resources and no values of conditions. Permissions that could
// neither be simulated nor tried are a check of their own.
//
// # Templates
//
// What the program's templates create on AWS beside tables, queues, the state machine and alarms is read by the Cloud
// Control API and compared by package stack. What could not be read is a check of its own.
//
// # Cost
//
// The doctor writes nothing and creates nothing. For each table it consumes at most one read unit
// for each read that is tried and one write unit for each write (two for a transaction), and one
// read of the stream's first shard.
package doctor
