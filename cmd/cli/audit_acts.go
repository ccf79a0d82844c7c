package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ratchet/cmd/cli/internal/arguments"
	"ratchet/cmd/cli/internal/settings"
	"ratchet/once/actions"
	"ratchet/operate/audit"
)

// act says which ids the audit row of a command that changes something names.
type act struct {
	// args is how many of the arguments, from the first, are ids of things that the command acts
	// on. The others may hold content.
	args int
	// flags are flags whose values are ids, or which select the things that the command acts on.
	flags []string
	// secret says that the first argument is a secret: its digest is written.
	secret bool
	// reads reports whether a call only reads. Nil: no call does.
	reads func(c *cobra.Command, args []string) bool
}

// all is a value of act.args: every argument is an id.
const all = 1 << 10

// acts are the commands that change something, by their names without the name of the program. A
// call with --dry-run changes nothing.
var acts = map[string]act{
	"accounts close":            {args: 1},
	"accounts create":           {args: 1},
	"actions bulk":              {args: 1},
	"actions cancel":            {args: 1, secret: true},
	"actions consume":           {args: 1, secret: true},
	"actions create":            {},
	"actions release":           {args: 1, secret: true},
	"actions reserve":           {args: 1, secret: true},
	"backup":                    {args: 1},
	"claims force-release":      {args: 1},
	"compact":                   {},
	"deadletters discard":       {args: all, flags: []string{"handler", "all", "order", "since"}},
	"deadletters redrive":       {args: all, flags: []string{"handler", "all", "order", "since"}},
	"deliveries resend":         {args: all, flags: []string{"endpoint", "since"}},
	"endpoints change":          {args: 1},
	"endpoints create":          {args: 1},
	"endpoints delete":          {args: 1},
	"endpoints disable":         {args: 1},
	"endpoints enable":          {args: 1},
	"endpoints rotate-secret":   {args: 1},
	"endpoints test":            {args: 1},
	"executions redrive":        {args: all, flags: []string{"all", "error", "since", "until"}},
	"executions repair":         {args: all, reads: func(_ *cobra.Command, args []string) bool { return len(args) == 0 }},
	"executions start":          {args: 1},
	"holds create":              {args: 2},
	"holds release":             {args: 2},
	"inventory add-items":       {args: 1},
	"inventory commit":          {args: 1},
	"inventory expire":          {},
	"inventory release":         {args: 1},
	"inventory reserve":         {args: 1},
	"inventory set":             {args: 2},
	"jobs pause":                {args: 1, flags: []string{"tenant"}},
	"jobs resume":               {args: 1, flags: []string{"tenant"}},
	"jobs start":                {args: all, flags: []string{"tenant", "handler", "endpoint", "since", "until", "ended-before"}},
	"jobs stop":                 {args: 1, flags: []string{"tenant"}},
	"keys create":               {flags: []string{"name", "scope", "tenant"}},
	"keys revoke":               {args: 1},
	"keys rotate":               {args: 1},
	"orders adopt":              {args: all, flags: []string{"all"}},
	"orders apply":              {args: 2},
	"orders create":             {args: 1},
	"orders edit add-item":      {args: 1},
	"orders edit add-note":      {args: 1},
	"orders edit change-item":   {args: 1},
	"orders edit remove-item":   {args: 1},
	"orders edit set-address":   {args: 1},
	"orders edit set-own":       {args: 1},
	"orders erase":              {args: all, flags: []string{"tenant", "ended-before"}},
	"orders import":             {args: 1, flags: []string{"table"}},
	"orders rebuild":            {args: 1, reads: func(c *cobra.Command, _ []string) bool { return !c.Flags().Changed("write") }},
	"orders rebuild-lists":      {},
	"orders rebuild-timers":     {},
	"orders renew":              {args: all, flags: []string{"all", "before"}},
	"orders scheduled move":     {args: all, flags: []string{"to"}},
	"orders scheduled withdraw": {args: all},
	"orders ship":               {args: 1},
	"payments authorize":        {args: 1},
	"payments capture":          {args: 2},
	"payments recover":          {},
	"payments refund":           {args: 2},
	"payments void":             {args: 1},
	"shipments book-again":      {args: 1},
	"shipments reports done":    {args: 1},
	"streams pause":             {args: 1},
	"streams rebuild":           {flags: []string{"handler", "order", "since"}},
	"streams replay":            {flags: []string{"handler", "order", "since"}},
	"streams resume":            {args: 1},
	"tasks complete":            {args: 1, flags: []string{"state"}},
	"tasks fail":                {args: 1, flags: []string{"state"}},
	"transfers create":          {args: 1},
	"trigger":                   {args: 1, flags: []string{"order"}},
	"workflow migrate":          {},
}

// on returns the ids of the things that a call acts on.
func (a act) on(c *cobra.Command, args []string) string {
	var ids []string

	for i, arg := range args[:min(a.args, len(args))] {
		if i == 0 && a.secret {
			arg = actions.ID(arg).String() // a digest: the id is the right to use the action
		}
		ids = append(ids, arg)
	}

	for _, name := range a.flags {
		// Defaults say nothing about the call.
		if f := c.Flags().Lookup(name); f != nil && f.Changed {
			ids = append(ids, name+"="+f.Value.String())
		}
	}

	return strings.Join(ids, " ")
}

// auditActs makes every command below c that is in acts store its row in the settings, so that
// WithEvents writes it before the command changes anything. The command also gets the flags of such
// a row.
func auditActs(c *cobra.Command, s *settings.Settings) {
	for _, sub := range c.Commands() {
		auditActs(sub, s)
	}

	name := settings.CommandName(c)

	rule, audited := acts[name]
	if !audited {
		return
	}

	s.Takes(c, settings.AuditFlags)

	// The wrapper runs when the flags are parsed, because they decide whether the call changes
	// something.
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		dry, _ := c.Flags().GetBool("dry-run") // false if there is no such flag
		if dry || rule.reads != nil && rule.reads(c, args) {
			return run(c, args)
		}

		host, _ := os.Hostname()
		reason, _ := c.Flags().GetString("reason")
		// The row is only noted here. It is written when the table is open.
		s.Act = &audit.Entry{Who: "cli:" + arguments.UserName(), Via: "cli", From: host, Act: name, On: rule.on(c, args), Reason: reason}

		return run(c, args)
	}
}
