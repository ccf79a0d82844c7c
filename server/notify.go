package server

import (
	"fmt"
	"log/slog"
	"strings"

	"ratchet/notify"
	"ratchet/webhooks"
)

// newSink returns the sink that cfg.Notify names.
func newSink(cfg Config, onThisMachine bool, log *slog.Logger) (notify.Sink, error) {
	kind, path, _ := strings.Cut(cfg.Notify, ":")
	switch {
	case cfg.Notify == "log":
		return notify.NewLog(log), nil
	case kind == "file" && path != "":
		return notify.OpenFile(path)
	case kind == "dir" && path != "":
		return notify.NewDir(path)
	case strings.HasPrefix(cfg.Notify, "http://"), strings.HasPrefix(cfg.Notify, "https://"):
		return newWebhookSink(cfg, onThisMachine)
	}

	return nil, fmt.Errorf(notifyRule, cfg.Notify)
}

// newWebhookSink returns a sink that sends signed webhooks to cfg.Notify. By default it
// sends to loopback addresses only if the data is on this machine, else to public ones.
func newWebhookSink(cfg Config, onThisMachine bool) (notify.Sink, error) {
	keys, err := webhookKeys("webhook-secret", cfg.WebhookSecret)
	if err != nil {
		return nil, err
	}

	reach := webhooks.Reach(cfg.WebhookReach)
	if reach == "" {
		reach = webhooks.ReachPublic
		if onThisMachine {
			reach = webhooks.ReachLoopback
		}
	}

	client, err := webhooks.NewClient(webhooks.ClientConfig{Keys: keys, Reach: reach})
	if err != nil {
		return nil, fmt.Errorf("webhook-reach: %w", err)
	}

	sink, err := notify.NewWebhook(notify.WebhookConfig{Client: client, URL: cfg.Notify})
	if err != nil {
		return nil, fmt.Errorf("notify: %w", err)
	}

	return sink, nil
}

// webhookKeys parses the secrets of a setting, which are separated by spaces. The first
// one signs; all of them verify.
func webhookKeys(setting, value string) (*webhooks.Keys, error) {
	var secrets []webhooks.Secret
	for text := range strings.FieldsSeq(value) {
		secret, err := webhooks.ParseSecret(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
		secrets = append(secrets, secret)
	}

	if len(secrets) == 0 {
		return nil, fmt.Errorf("%s: must be set, like %s", setting, webhooks.NewSecret().Reveal())
	}

	keys, err := webhooks.New(webhooks.Config{Secrets: secrets})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}

	return keys, nil
}
