package model

import (
	"slices"
	"time"

	"ratchet/transitions"
	"ratchet/workflow"
)

// configuration is how a process is configured that works with orders.
type configuration struct {
	definition *workflow.Definition
	// knows lists the other versions of the definition that it may move.
	knows []int
	// requests is the table of request ids, "" for none.
	requests string
	journal  journaling
	// memory is how many edits an order remembers, age for how long at least.
	memory int
	age    time.Duration
}

// journaling is who writes the journal.
type journaling int

const (
	unjournaled journaling = iota // no journal is configured
	byStream
	transactional
)

const week = 7 * 24 * time.Hour

// first and second are two versions of the definition. The second has no release: what was released
// before stays so, and is remembered.
var first, second = workflow.Order(), withoutRelease()

// configurations are those of the orders. A program has some of them, and changes from call to call.
var configurations = []configuration{
	{definition: first, knows: []int{2}, journal: transactional, memory: 8, age: week},
	{definition: first, knows: []int{2}, journal: byStream, memory: 4, age: week},
	{definition: first, knows: []int{2}, requests: requestsTable, journal: transactional, memory: 8, age: time.Minute},
	{definition: first, knows: []int{2}, requests: requestsTable, journal: byStream, memory: 64, age: week},
	{definition: first, knows: []int{2}, requests: requestsTable, journal: unjournaled, memory: 8, age: week},
	{definition: first, knows: []int{2}, journal: unjournaled, memory: 4, age: time.Minute},
	{definition: first, requests: requestsTable, journal: byStream, memory: 32, age: time.Minute},
	{definition: second, knows: []int{1}, requests: requestsTable, journal: transactional, memory: 12, age: week},
	{definition: second, knows: []int{1}, requests: requestsTable, journal: byStream, memory: 4, age: week},
	{definition: second, knows: []int{1}, journal: byStream, memory: 8, age: time.Hour},
	{definition: second, requests: requestsTable, journal: transactional, memory: 64, age: week},
}

// migrations lead from each version to the other.
var migrations = mustMigrations()

func withoutRelease() *workflow.Definition {
	spec := workflow.Order().Spec()
	spec.Version = 2
	spec.Shipping.Held = nil // who holds an order of this version never releases it
	spec.Transitions = slices.DeleteFunc(spec.Transitions, func(t workflow.Transition) bool { return t.Event == workflow.Release })

	d, err := workflow.New(spec)
	if err != nil {
		panic(err)
	}

	return d
}

func mustMigrations() *workflow.Migrations {
	m, err := workflow.NewMigrations([]*workflow.Definition{first, second}, []workflow.Migration{{From: 1, To: 2}, {From: 2, To: 1}})
	if err != nil {
		panic(err)
	}

	return m
}

func (c configuration) config() transitions.Config {
	cfg := transitions.Config{
		Table: orderTable, RequestsTable: c.requests, Definition: c.definition, Versions: c.knows,
		EditMemory: c.memory, EditAge: c.age,
	}
	if c.journal != unjournaled {
		cfg.JournalTable = journalTable
	}

	if c.journal == transactional {
		cfg.Journal = transitions.JournalTransactional
	}

	return cfg
}

// judges reports whether it may move an order of that version.
func (c configuration) judges(version int) bool {
	return version == c.definition.Version() || slices.Contains(c.knows, version)
}
