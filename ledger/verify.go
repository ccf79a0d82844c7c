package ledger

import (
	"bytes"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ratchet/internal/dynamo"
)

// FindingKind says what is wrong. The texts are part of the output of `ratchet ledger
// verify`; none is ever renamed.
type FindingKind string

// The kinds of findings.
const (
	// FindingSum: a transfer's entries, or legs, do not sum to zero, or its entries are
	// not its legs.
	FindingSum FindingKind = "sum"
	// FindingContent: a transfer is not what its digest says.
	FindingContent FindingKind = "content"
	// FindingMissing: a transfer's entry, or its account, is not there.
	FindingMissing FindingKind = "missing"
	// FindingForeign: an entry is not one of its transfer's.
	FindingForeign FindingKind = "foreign"
	// FindingChain: an account's entries are not numbered without a gap, or one's
	// balance is not the one before plus its amount.
	FindingChain FindingKind = "chain"
	// FindingBalance: an account's balance is not its last entry's.
	FindingBalance FindingKind = "balance"
	// FindingHeld: an account holds other than its active holds sum to.
	FindingHeld FindingKind = "held"
	// FindingOverdrawn: an account without overdraft stands on the other side.
	FindingOverdrawn FindingKind = "overdrawn"
)

// Finding is one contradiction.
type Finding struct {
	Kind FindingKind `json:"kind"`
	// Account is the item of the account: with #N for its shard N.
	Account  string `json:"account,omitempty"`
	Transfer string `json:"transfer,omitempty"`
	Detail   string `json:"detail"`
}

// Proof is what Verify has looked at.
type Proof struct {
	Accounts  int `json:"accounts"`
	Entries   int `json:"entries"`
	Transfers int `json:"transfers"`
	Holds     int `json:"holds"`
	// Busy counts accounts whose holds changed all the time and were not compared.
	Busy     int `json:"busy"`
	Findings int `json:"findings"`
	// Sums is the sum of all balances by currency: zero, unless transfers were made
	// between the reading of one account and another.
	Sums map[string]int64 `json:"sums"`
}

// verification is one call of Verify.
type verification struct {
	*Ledger
	ctx   context.Context //nolint:containedctx // the call's own, for one call
	found func(Finding) error
	step  func(Proof)
	proof Proof
}

// Verify proves that every transfer sums to zero and is exactly its entries, that the
// entries of every account are a chain without a gap which ends in its balance, that no
// entry is without a transfer, and that what is held is what the holds say. From this
// follows that all entries sum to zero at every moment. It reads all tables a page at a
// time and writes nothing; transfers may go on: an account is compared as it was when
// it was read. found is told each contradiction, and its error ends the call; step, if
// not nil, how far it has come.
func (l *Ledger) Verify(ctx context.Context, found func(Finding) error, step func(Proof)) (Proof, error) {
	if step == nil {
		step = func(Proof) {}
	}

	v := &verification{Ledger: l, ctx: ctx, found: found, step: step, proof: Proof{Sums: map[string]int64{}}}
	err := v.pages(l.cfg.Tables.Transfers, v.transfers)
	if err == nil {
		err = v.pages(l.cfg.Tables.Accounts, v.accounts)
	}

	if err != nil {
		return v.proof, fmt.Errorf("verify ledger: %w", err)
	}

	return v.proof, nil
}

func (v *verification) report(kind FindingKind, account, transfer, format string, args ...any) error {
	v.proof.Findings++
	return v.found(Finding{Kind: kind, Account: account, Transfer: transfer, Detail: fmt.Sprintf(format, args...)})
}

// pages calls fn with each page of a table.
func (v *verification) pages(table string, fn func([]image) error) error {
	in := &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(pageSize)}
	for {
		out, err := v.cfg.DynamoDB.Scan(v.ctx, in)
		if err != nil {
			return err
		}

		if err := fn(out.Items); err != nil {
			return err
		}
		v.step(v.proof)

		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return nil
		}
	}
}

// pageSize is how much of a table is looked at together; mostKeys is what one batch
// of reads takes.
const (
	pageSize = 100
	mostKeys = 100
)

// transfers checks a page of transfers, each against its entries and accounts.
func (v *verification) transfers(page []image) error {
	var entryKeys, accountKeys []image
	accounts := map[string]bool{}
	for _, item := range page {
		t := postedOf(item)
		v.proof.Transfers++
		if err := v.transfer(t, dynamo.Bytes(item, "digest")); err != nil {
			return err
		}

		for _, e := range t.Postings {
			key := shardKey(e.Account, e.Shard)
			entryKeys = append(entryKeys, entryKey(key, e.Sequence))
			if !accounts[key] {
				accounts[key] = true
				accountKeys = append(accountKeys, accountKey(key))
			}
		}
	}

	entries, err := v.all(v.cfg.Tables.Entries, entryKeys)
	if err != nil {
		return err
	}

	owners, err := v.all(v.cfg.Tables.Accounts, accountKeys)
	if err != nil {
		return err
	}

	have := map[string]Entry{}
	for _, item := range entries {
		e := entryOf(item)
		have[fmt.Sprint(shardKey(e.Account, e.Shard), e.Sequence)] = e
	}

	sequences := map[string]int64{}
	for _, item := range owners {
		sequences[dynamo.Text(item, "accountId")] = dynamo.Number(item, "sequence")
	}

	for _, item := range page {
		if err := v.written(postedOf(item), have, sequences); err != nil {
			return err
		}
	}

	return nil
}

// transfer checks what a transfer's record says by itself.
func (v *verification) transfer(t Posted, digest []byte) error {
	legs, postings, total := map[string]int64{}, map[string]int64{}, int64(0)
	for _, leg := range t.Legs {
		legs[leg.Account] += leg.Amount
		total += leg.Amount
	}

	if total != 0 {
		return v.report(FindingSum, "", t.ID, "the legs sum to %d", total)
	}

	for _, e := range t.Postings {
		postings[e.Account] += e.Amount
	}

	for account, amount := range legs {
		if postings[account] != amount || len(postings) != len(legs) {
			return v.report(FindingSum, account, t.ID, "the leg is %d, its entries %d", amount, postings[account])
		}
	}

	if !bytes.Equal(digest, t.digest()) {
		return v.report(FindingContent, "", t.ID, "the record was changed")
	}

	return nil
}

// written checks that a transfer's entries are there as it says.
func (v *verification) written(t Posted, have map[string]Entry, sequences map[string]int64) error {
	for _, want := range t.Postings {
		key := shardKey(want.Account, want.Shard)
		e, ok := have[fmt.Sprint(key, want.Sequence)]
		var err error
		switch last, known := sequences[key]; {
		case !known:
			err = v.report(FindingMissing, key, t.ID, "there is no such account")
		case !ok:
			err = v.report(FindingMissing, key, t.ID, "entry %d is missing", want.Sequence)
		case e.Posting != want || e.TransferID != t.ID:
			err = v.report(FindingForeign, key, t.ID, "entry %d is %d of transfer %s", want.Sequence, e.Amount, e.TransferID)
		case last < want.Sequence:
			err = v.report(FindingChain, key, t.ID, "the account has made %d entries, the transfer made %d", last, want.Sequence)
		}

		if err != nil {
			return err
		}
	}

	return nil
}

func entryKey(account string, sequence int64) image {
	return image{"accountId": dynamo.S(account), "sequence": dynamo.N(sequence)}
}

// all reads the items under any number of keys.
func (v *verification) all(table string, keys []image) (items []image, err error) {
	for len(keys) > 0 {
		n := min(len(keys), mostKeys)

		some, err := v.batch(v.ctx, table, keys[:n])
		if err != nil {
			return nil, err
		}
		items, keys = append(items, some...), keys[n:]
	}

	return items, nil
}
