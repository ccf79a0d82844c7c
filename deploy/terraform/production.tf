# Written by `ratchet deploy terraform`: change the program or its settings, and write it again.
# What an installation for production may have around it: the same as production.yaml of `ratchet deploy cloudformation`. Each is
# off until its variable is given; docs/operate/production.md says which to take.

variable "load_balancer" {
  description = "The load balancer of the API: the ARN of its certificate, its subnets, who may reach it, and the share of green."
  type = object({
    certificate    = string
    vpc            = string
    subnets        = list(string)
    security_group = string # of the services
    clients        = optional(string, "0.0.0.0/0")
    green_percent  = optional(number, 0)
  })
  default = null
}

variable "vpc_endpoints" {
  description = "Endpoints of AWS's services in the VPC, in place of a NAT gateway."
  type = object({
    vpc            = string
    route_tables   = list(string)
    security_group = string # of the services
  })
  default = null
}

variable "budget" {
  description = "USD a month of the whole account, of which 80 % and a forecast of all are reported to an address."
  type        = object({ amount = number, email = string })
  default     = null
}

resource "aws_security_group" "load_balancer" {
  count = var.load_balancer == null ? 0 : 1

  name_prefix = "${var.prefix}load-balancer-"
  description = "The load balancer of the API"
  vpc_id      = var.load_balancer.vpc

  ingress {
    description = "HTTPS of clients"
    protocol    = "tcp"
    from_port   = 443
    to_port     = 443
    cidr_blocks = [var.load_balancer.clients]
  }

  egress {
    description     = "To the API"
    protocol        = "tcp"
    from_port       = 8701
    to_port         = 8701
    security_groups = [var.load_balancer.security_group]
  }
}

resource "aws_security_group_rule" "from_load_balancer" {
  count = var.load_balancer == null ? 0 : 1

  type                     = "ingress"
  description              = "From the load balancer"
  security_group_id        = var.load_balancer.security_group
  protocol                 = "tcp"
  from_port                = 8701
  to_port                  = 8701
  source_security_group_id = aws_security_group.load_balancer[0].id
}

resource "aws_lb" "api" {
  count = var.load_balancer == null ? 0 : 1

  load_balancer_type         = "application"
  internal                   = false
  subnets                    = var.load_balancer.subnets
  security_groups            = [aws_security_group.load_balancer[0].id]
  enable_deletion_protection = true
  drop_invalid_header_fields = true
}

# Two services may answer: the one of today, and the one that takes over (blue and green).
resource "aws_lb_target_group" "api" {
  for_each = var.load_balancer == null ? toset([]) : toset(["blue", "green"])

  vpc_id               = var.load_balancer.vpc
  target_type          = "ip"
  protocol             = "HTTP"
  port                 = 8701
  deregistration_delay = 60

  health_check {
    path     = "/readyz"
    interval = 10
  }
}

resource "aws_lb_listener" "api" {
  count = var.load_balancer == null ? 0 : 1

  load_balancer_arn = aws_lb.api[0].arn
  protocol          = "HTTPS"
  port              = 443
  ssl_policy        = "ELBSecurityPolicy-TLS13-1-2-2021-06"
  certificate_arn   = var.load_balancer.certificate

  default_action {
    type = "forward"

    forward {
      target_group {
        arn    = aws_lb_target_group.api["green"].arn
        weight = var.load_balancer.green_percent
      }

      target_group {
        arn    = aws_lb_target_group.api["blue"].arn
        weight = 100 - var.load_balancer.green_percent
      }
    }
  }
}

# DynamoDB and S3 cost nothing through a gateway endpoint.
resource "aws_vpc_endpoint" "gateway" {
  for_each = var.vpc_endpoints == null ? toset([]) : toset(["dynamodb", "s3"])

  vpc_id            = var.vpc_endpoints.vpc
  vpc_endpoint_type = "Gateway"
  service_name      = "com.amazonaws.${local.region}.${each.key}"
  route_table_ids   = var.vpc_endpoints.route_tables
}

resource "aws_security_group" "endpoints" {
  count = var.vpc_endpoints == null ? 0 : 1

  name_prefix = "${var.prefix}endpoints-"
  description = "The VPC endpoints"
  vpc_id      = var.vpc_endpoints.vpc

  ingress {
    description     = "From the services"
    protocol        = "tcp"
    from_port       = 443
    to_port         = 443
    security_groups = [var.vpc_endpoints.security_group]
  }
}

resource "aws_vpc_endpoint" "interface" {
  for_each = var.vpc_endpoints == null ? toset([]) : toset(["states", "dynamodb-streams", "logs", "ecr.api", "ecr.dkr", "secretsmanager", "sqs"])

  vpc_id              = var.vpc_endpoints.vpc
  vpc_endpoint_type   = "Interface"
  service_name        = "com.amazonaws.${local.region}.${each.key}"
  private_dns_enabled = true
  subnet_ids          = var.subnets
  security_group_ids  = [aws_security_group.endpoints[0].id]
}

resource "aws_budgets_budget" "month" {
  count = var.budget == null ? 0 : 1

  name         = "${var.prefix}month"
  budget_type  = "COST"
  time_unit    = "MONTHLY"
  limit_amount = var.budget.amount
  limit_unit   = "USD"

  dynamic "notification" {
    for_each = { ACTUAL = 80, FORECASTED = 100 }
    content {
      notification_type          = notification.key
      comparison_operator        = "GREATER_THAN"
      threshold                  = notification.value
      threshold_type             = "PERCENTAGE"
      subscriber_email_addresses = [var.budget.email]
    }
  }
}

output "target_groups" {
  description = "For target_group of the services api: blue, or green."
  value       = { for color, group in aws_lb_target_group.api : color => group.arn }
}
