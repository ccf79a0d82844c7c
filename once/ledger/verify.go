package ledger

import (
	"bytes"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
	"ratchet/internal/plural"
)

// The kinds of findings. The texts are part of the output of `ratchet ledger verify` and
// never change.
const (
	// The legs or the postings of a transfer do not sum to zero, or disagree.
	kindSum = "sum"
	// A transfer's content does not have its stored digest.
	kindContent = "content"
	// An entry or an account of a transfer does not exist.
	kindMissing = "missing"
	// An entry is not among the postings of its transfer.
	kindForeign = "foreign"
	// The entries of an account are not numbered without a gap, or the balance of an entry is
	// not the balance before plus the entry's amount.
	kindChain = "chain"
	// The balance of an account differs from the balance of its last entry.
	kindBalance = "balance"
	// The held money of an account differs from the rest of its active holds.
	kindHeld = "held"
	// The balance of a debit account, or the available money of a credit account, stands on
	// the other side, and the account has no overdraft.
	kindOverdrawn = "overdrawn"
)

// Finding is one contradiction.
type Finding struct {
	// Kind is sum, content, missing, foreign, chain, balance, held or overdrawn.
	Kind string `json:"kind"`
	// Account is the key of the account's item: the id, and #N for shard N from 1.
	Account  string `json:"account,omitempty"`
	Transfer string `json:"transfer,omitempty"`
	Detail   string `json:"detail"`
}

// Proof counts what Verify has read and found.
type Proof struct {
	Accounts  int `json:"accounts"`
	Entries   int `json:"entries"`
	Transfers int `json:"transfers"`
	Holds     int `json:"holds"`
	// Busy is the number of shards that were not compared with their holds, because they
	// changed during every try.
	Busy     int `json:"busy"`
	Findings int `json:"findings"`
	// Sums is the sum of all balances by currency, in minor units. It is zero unless
	// transfers were made while Verify read the accounts.
	Sums map[string]int64 `json:"sums"`
}

// verification is one call of Verify.
type verification struct {
	*Ledger
	ctx    context.Context //nolint:containedctx // the call's own, for one call
	report func(Finding) error
	step   func(Proof)
	proof  Proof
}

// Verify checks that every transfer sums to zero and has exactly its entries, that the
// entries of every account are numbered without a gap and end in its balance, and that every
// account holds the rest of its active holds. It also checks that every entry of the table is
// among the postings of its transfer, even if the entry's account has not counted it or does
// not exist.
//
// It reads all tables page by page and writes nothing; its memory does not grow with the
// tables. Transfers may go on: each shard is compared as it was when it was read. Found is
// called with each contradiction; its error ends the call. Step, if not nil, is called with
// the progress.
func (l *Ledger) Verify(ctx context.Context, found func(Finding) error, step func(Proof)) (Proof, error) {
	if step == nil {
		step = func(Proof) {}
	}

	v := &verification{Ledger: l, ctx: ctx, report: found, step: step, proof: Proof{Sums: map[string]int64{}}}

	// Transfers first: a transfer is written together with its entries, so whatever it names
	// exists when it is looked up. Transfers that come later are found by their entries.
	err := v.scan(l.cfg.Tables.Transfers, v.transfers)
	if err == nil {
		err = v.scan(l.cfg.Tables.Accounts, v.accounts)
	}

	if err == nil {
		err = v.scan(l.cfg.Tables.Entries, v.origins)
	}

	if err != nil {
		return v.proof, fmt.Errorf("verify ledger: %w", err)
	}

	return v.proof, nil
}

func (v *verification) found(kind, account, transfer, format string, args ...any) error {
	v.proof.Findings++

	return v.report(Finding{Kind: kind, Account: account, Transfer: transfer, Detail: fmt.Sprintf(format, args...)})
}

// pageSize is how many items of a table Verify reads together.
const pageSize = 100

// scan calls check with each page of a table.
func (v *verification) scan(table string, check func([]dynamo.Item) error) error {
	in := &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(pageSize)}
	for {
		out, err := v.cfg.DynamoDB.Scan(v.ctx, in)
		if err != nil {
			return err
		}

		if err := check(out.Items); err != nil {
			return err
		}

		v.step(v.proof)

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return nil
		}
	}
}

// transfers checks a page of transfers, each against its entries and accounts.
func (v *verification) transfers(page []dynamo.Item) error {
	var entryKeys, accountKeys []dynamo.Item
	wanted := map[string]bool{} // accounts that accountKeys contains
	for _, item := range page {
		t := decodePosted(item)

		v.proof.Transfers++
		if err := v.record(t, dynamo.Bytes(item, "digest")); err != nil {
			return err
		}

		for _, p := range t.Postings {
			key := shardKey(p.Account, p.Shard)
			entryKeys = append(entryKeys, entryKey(key, p.Sequence))
			if !wanted[key] {
				wanted[key] = true
				accountKeys = append(accountKeys, accountKey(key))
			}
		}
	}

	entryItems, err := v.getAll(v.cfg.Tables.Entries, entryKeys)
	if err != nil {
		return err
	}

	// After the entries, so that an account has counted every entry that was found.
	accountItems, err := v.getAll(v.cfg.Tables.Accounts, accountKeys)
	if err != nil {
		return err
	}

	entries := map[entryID]Entry{}
	for _, item := range entryItems {
		e := decodeEntry(item)
		entries[entryID{shardKey(e.Account, e.Shard), e.Sequence}] = e
	}

	counted := map[string]int64{}
	for _, item := range accountItems {
		counted[dynamo.Text(item, "accountId")] = dynamo.Number(item, "sequence")
	}

	for _, item := range page {
		if err := v.postings(decodePosted(item), entries, counted); err != nil {
			return err
		}
	}

	return nil
}

// entryID is the key of an entry: the key of its account's item, and the entry's number there.
type entryID struct {
	account  string
	sequence int64
}

// record checks the record of a transfer by itself.
func (v *verification) record(t Posted, digest []byte) error {
	legs, total := map[string]int64{}, int64(0)
	for _, leg := range t.Legs {
		legs[leg.Account] += leg.Amount
		total += leg.Amount
	}

	if total != 0 {
		return v.found(kindSum, "", t.ID, "the legs sum to %d", total)
	}

	postings := map[string]int64{}
	for _, p := range t.Postings {
		postings[p.Account] += p.Amount
	}

	for account, amount := range legs {
		// The lengths differ if an account has an entry and no leg.
		if postings[account] != amount || len(postings) != len(legs) {
			return v.found(kindSum, account, t.ID, "the leg is %d, its entries %d", amount, postings[account])
		}
	}

	if !bytes.Equal(digest, t.digest()) {
		return v.found(kindContent, "", t.ID, "the record was changed")
	}

	return nil
}

// postings checks that the entries of a transfer exist as its record says. Counted is the
// number of entries by account.
func (v *verification) postings(t Posted, entries map[entryID]Entry, counted map[string]int64) error {
	for _, want := range t.Postings {
		key := shardKey(want.Account, want.Shard)
		e, ok := entries[entryID{key, want.Sequence}]
		last, known := counted[key]

		var err error
		switch {
		case !known:
			err = v.found(kindMissing, key, t.ID, "there is no such account")
		case !ok:
			err = v.found(kindMissing, key, t.ID, "entry %d is missing", want.Sequence)
		case e.Posting != want || e.TransferID != t.ID:
			err = v.found(kindForeign, key, t.ID, "entry %d is %d of transfer %s", want.Sequence, e.Amount, e.TransferID)
		// The account was restored or changed from outside: its update and the entry are one write.
		case last < want.Sequence:
			err = v.found(kindChain, key, t.ID, "the account has made %s, the transfer made %d", plural.Of(last, "entry"), want.Sequence)
		}

		if err != nil {
			return err
		}
	}

	return nil
}

func entryKey(account string, sequence int64) dynamo.Item {
	return dynamo.Item{"accountId": dynamo.S(account), "sequence": dynamo.N(sequence)}
}

// getAll reads the items under any number of keys.
func (v *verification) getAll(table string, keys []dynamo.Item) (items []dynamo.Item, err error) {
	for len(keys) > 0 {
		n := min(len(keys), maxBatchKeys)

		batch, err := v.batchGet(v.ctx, table, keys[:n])
		if err != nil {
			return nil, err
		}

		items, keys = append(items, batch...), keys[n:]
	}

	return items, nil
}
