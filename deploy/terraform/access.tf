# Who may call what: deploy/permissions, which a test records (tests/deploy), as one policy for each part.

locals {
  parts = ["activities", "api", "notifications", "operator", "requests", "sandbox", "stream", "sweeps", "viewer"]

  # Each line is an action, a resource and, sometimes, a comment.
  lines = { for part in local.parts : part => [
    for line in split("\n", trimspace(file("${path.module}/../permissions/${part}.txt"))) : split(" ", line)
  ] }

  actions_on = { for part, lines in local.lines : part => { for line in lines : line[1] => line[0]... } }

  # Resources with the same actions share a statement.
  statements = { for part, actions_on in local.actions_on : part => {
    for resource, actions in actions_on : join(",", sort(actions)) => resource...
  } }

  in_account = "${local.region}:${local.account}:"

  # As the files name resources: a kind, and a name without the prefix.
  arns = {
    table        = "arn:${local.partition}:dynamodb:${local.in_account}table/${var.prefix}"
    queue        = "arn:${local.partition}:sqs:${local.in_account}${var.prefix}"
    activity     = "arn:${local.partition}:states:${local.in_account}activity:${var.prefix}"
    stateMachine = "arn:${local.partition}:states:${local.in_account}stateMachine:${var.prefix}"
    role         = "arn:${local.partition}:iam::${local.account}:role/${var.prefix}"
    execution    = "arn:${local.partition}:states:${local.in_account}execution:${var.prefix}"
  }

  policies = { for part, statements in local.statements : part => {
    Version = "2012-10-17"
    Statement = [for actions, resources in statements : {
      Effect = "Allow"
      Action = split(",", actions)
      Resource = [for resource in resources : resource == "*" ? "*" : join("", [
        local.arns[split("/", resource)[0]],
        replace(join("/", slice(split("/", resource), 1, length(split("/", resource)))), "order/*", "order:*"),
      ])]
    }]
  } }

  # The parts of a process.
  roles = {
    worker        = ["activities", "stream", "requests", "notifications", "sweeps"]
    api           = ["api"]
    activities    = ["activities"]
    stream        = ["stream"]
    requests      = ["requests"]
    notifications = ["notifications"]
    sweeps        = ["sweeps"]
  }

  people = {
    viewer   = ["viewer"]
    operator = ["viewer", "operator"]
  }

  attachments = merge(
    { for pair in flatten([for role, parts in merge(local.roles, local.people) : [for part in parts : { role = role, part = part }]]) : "${pair.role}/${pair.part}" => pair },
    { for role in keys(local.roles) : "${role}/sandbox" => { role = role, part = "sandbox" } if var.sandbox },
  )
}

resource "aws_iam_policy" "part" {
  for_each = { for part, policy in local.policies : part => policy if var.sandbox || part != "sandbox" }

  name   = "${var.prefix}${each.key}"
  policy = jsonencode(each.value)
}

resource "aws_iam_role" "process" {
  for_each = local.roles

  name = "${var.prefix}${each.key}"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "${var.compute}.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role" "person" {
  for_each = local.people

  name = "${var.prefix}${each.key}"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { AWS = "arn:${local.partition}:iam::${local.account}:root" }
      Action    = "sts:AssumeRole"
      Condition = { Bool = { "aws:MultiFactorAuthPresent" = "true" } }
    }]
  })
}

resource "aws_iam_role_policy_attachment" "part" {
  for_each = local.attachments

  role       = contains(keys(local.people), each.value.role) ? aws_iam_role.person[each.value.role].name : aws_iam_role.process[each.value.role].name
  policy_arn = aws_iam_policy.part[each.value.part].arn
}
