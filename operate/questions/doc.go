// Package questions answers questions about a whole system that take longer than a request may: whether orders fit their journals, what
// is set up wrongly, which orders are stuck.
//
// # Model
//
// A [Desk] belongs to a process that serves requests. [Desk.Ask] begins a run of a question and returns at once; [Desk.Run] does the
// runs, two at a time. A run reads, counts what it has looked at, and collects what needs a person. State and answer are stored in the
// table of the processes ([processes.Store]), so each process of the system shows them, also after a restart.
//
// # Guarantees
//
// Of a question and an owner one run goes on at a time, whichever process was asked: it holds a lease. A run ends after an hour, with
// its process, or when its lease was lost; then the state has a code that says so, and the answer before stays. An answer has at most
// 100 findings, and says how many there are. It is kept for a week.
//
// An answer is shown later than it is true. Before an act, look again.
package questions
