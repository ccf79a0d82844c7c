package server

import "ratchet/operate/audit"

func (b *Backend) assembleAudit() (err error) {
	b.Audit, err = audit.New(audit.Config{DynamoDB: b.DynamoDB, Table: b.Tables.Audit, Retention: b.Config.AuditRetention})
	return err
}
