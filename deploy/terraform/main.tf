# Written by `ratchet deploy terraform`: change the program or its settings, and write it again.
# Tables, activities, queues and the state machine of the workflow order, version 1: the same as core.yaml of
# `ratchet deploy cloudformation`, and as `ratchet init` creates.
# Every process needs the setting order-lists=true; service.tf has it.

locals {
  tables = {
    accounts           = { keys = ["accountId"], types = { accountId = "S" } }
    actions            = { keys = ["actionId"], types = { actionId = "S" }, ttl = "forgetAt" }
    api-keys           = { keys = ["keyId"], types = { keyId = "S" } }
    audit              = { keys = ["day", "place"], types = { day = "S", place = "S" }, ttl = "expiresAt" }
    carrier-reports    = { keys = ["pk", "sk"], types = { pk = "S", sk = "S" }, ttl = "expiresAt" }
    dead-letters       = { keys = ["source", "id"], types = { source = "S", id = "S" }, ttl = "expireAt" }
    deliveries         = { keys = ["orderId", "delivery"], types = { orderId = "S", delivery = "S", queue = "S", due = "N" }, indexes = [{ name = "queue", keys = ["queue", "due"], projection = "INCLUDE", attributes = ["key", "state", "event", "from", "at", "recordedAt", "attributes", "cause", "status", "attempts", "answer", "response", "error", "createdAt", "triedAt", "resends", "version", "generation", "tried"] }], ttl = "expiresAt" }
    endpoints          = { keys = ["endpointId"], types = { endpointId = "S" } }
    holds              = { keys = ["accountId", "holdId"], types = { accountId = "S", holdId = "S" } }
    inventory          = { keys = ["sku"], types = { sku = "S" } }
    inventory-due      = { keys = ["shard", "due"], types = { shard = "S", due = "S" } }
    jobs               = { keys = ["partition", "place"], types = { partition = "S", place = "S" }, ttl = "expiresAt" }
    leases             = { keys = ["stream", "shardId"], types = { stream = "S", shardId = "S" } }
    ledger             = { keys = ["accountId", "sequence"], types = { accountId = "S", sequence = "N" } }
    once               = { keys = ["idempotencyKey"], types = { idempotencyKey = "S" }, ttl = "expiresAt" }
    order-events       = { keys = ["orderId", "entry"], types = { orderId = "S", entry = "S" } }
    order-lists        = { keys = ["listKey", "placeKey"], types = { listKey = "S", placeKey = "S" }, ttl = "expiresAt" }
    order-requests     = { keys = ["orderId", "req"], types = { orderId = "S", req = "B" } }
    orders             = { keys = ["orderId"], types = { orderId = "S" }, stream = "NEW_AND_OLD_IMAGES" }
    orders-due         = { keys = ["shard", "due"], types = { shard = "S", due = "S" } }
    parked-tasks       = { keys = ["orderId"], types = { orderId = "S" }, ttl = "expiresAt" }
    payments           = { keys = ["paymentId"], types = { paymentId = "S" } }
    payments-due       = { keys = ["shard", "due"], types = { shard = "S", due = "S" } }
    processes          = { keys = ["kind", "id"], types = { kind = "S", id = "S" }, ttl = "expiresAt" }
    refusals           = { keys = ["orderId"], types = { orderId = "S" }, ttl = "expiresAt" }
    sandbox-charges    = { keys = ["paymentKey"], types = { paymentKey = "S" } }
    sandbox-shipments  = { keys = ["pk", "sk"], types = { pk = "S", sk = "S" }, ttl = "expiresAt" }
    scheduled-requests = { keys = ["orderId", "entry"], types = { orderId = "S", entry = "S" }, ttl = "expiresAt" }
    transfers          = { keys = ["transferId"], types = { transferId = "S" } }
  }

  activities = [
    "accept",
    "compensate",
    "look",
    "pay",
  ]

  # The tables of the sandbox bank and carrier exist only for trials.
  wanted_tables = { for name, table in local.tables : name => table if var.tables && (var.sandbox || !startswith(name, "sandbox-")) }
}

resource "aws_dynamodb_table" "table" {
  for_each = local.wanted_tables

  name                        = "${var.prefix}${each.key}"
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = each.value.keys[0]
  range_key                   = try(each.value.keys[1], null)
  stream_enabled              = can(each.value.stream)
  stream_view_type            = try(each.value.stream, null)
  deletion_protection_enabled = true

  dynamic "attribute" {
    for_each = each.value.types
    content {
      name = attribute.key
      type = attribute.value
    }
  }

  dynamic "global_secondary_index" {
    for_each = try(each.value.indexes, [])
    content {
      name            = global_secondary_index.value.name
      hash_key        = global_secondary_index.value.keys[0]
      range_key       = try(global_secondary_index.value.keys[1], null)
      projection_type = global_secondary_index.value.projection

      non_key_attributes = try(global_secondary_index.value.attributes, null)
    }
  }

  dynamic "ttl" {
    for_each = can(each.value.ttl) ? [each.value.ttl] : []
    content {
      attribute_name = ttl.value
      enabled        = true
    }
  }

  dynamic "on_demand_throughput" {
    for_each = var.max_reads == -1 && var.max_writes == -1 ? [] : [true]
    content {
      max_read_request_units  = var.max_reads
      max_write_request_units = var.max_writes
    }
  }

  point_in_time_recovery {
    enabled = true
  }

  dynamic "server_side_encryption" {
    for_each = var.table_key == "" ? [] : [var.table_key]
    content {
      enabled     = true
      kms_key_arn = server_side_encryption.value
    }
  }

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_sqs_queue" "requests_dead_letters" {
  name                      = "${var.prefix}requests-dead-letters"
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = true

  lifecycle {
    prevent_destroy = true
  }
}

# The setting requests-queue.
resource "aws_sqs_queue" "requests" {
  name                      = "${var.prefix}requests"
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = true

  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.requests_dead_letters.arn
    maxReceiveCount     = 100
  })

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_sfn_activity" "activity" {
  for_each = toset(local.activities)
  name     = "${var.prefix}${each.key}"
}

resource "aws_iam_role" "state_machine" {
  name = "${var.prefix}state-machine${var.name_suffix}"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "states.amazonaws.com" }
      Action    = "sts:AssumeRole"
      Condition = { StringEquals = { "aws:SourceAccount" = local.account } }
    }]
  })
}

# A wait stores its task token (docs/internals/architecture.md).
resource "aws_iam_role_policy" "waits" {
  name = "waits"
  role = aws_iam_role.state_machine.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Action   = "dynamodb:UpdateItem"
      Resource = "arn:${local.partition}:dynamodb:${local.region}:${local.account}:table/${var.prefix}parked-tasks"
    }]
  })
}

resource "aws_sfn_state_machine" "order" {
  name     = "${var.prefix}order"
  type     = "STANDARD"
  role_arn = aws_iam_role.state_machine.arn

  definition = templatefile("${path.module}/statemachine.asl.json", {
    TaskTokensTable = "${var.prefix}parked-tasks"
    AcceptArn       = aws_sfn_activity.activity["accept"].id
    CompensateArn   = aws_sfn_activity.activity["compensate"].id
    LookArn         = aws_sfn_activity.activity["look"].id
    PayArn          = aws_sfn_activity.activity["pay"].id
  })
}
