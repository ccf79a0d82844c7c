# Written by `ratchet deploy terraform`: change the program or its settings, and write it again.

terraform {
  required_version = ">= 1.5"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
  }
}

variable "prefix" {
  description = "Before the names of everything; the setting prefix of every process."
  type        = string
  default     = "ratchet-"

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,40}$", var.prefix))
    error_message = "At most 40 of A-Z a-z 0-9 _ -."
  }
}

variable "sandbox" {
  description = "Also the tables and permissions of the sandbox bank and carrier, for trials."
  type        = bool
  default     = false
}

variable "tables" {
  description = "Also the tables; false if they are there, restored from a backup (docs/operate/runbooks/tables-restored.md)."
  type        = bool
  default     = true
}

variable "table_key" {
  description = "ARN of a KMS key that encrypts the tables, in place of DynamoDB's own; docs/operate/production.md has its policy."
  type        = string
  default     = ""
}

variable "name_suffix" {
  description = "Behind the names of roles and policies, which are global in an account; like -eu for a second Region."
  type        = string
  default     = ""
}

variable "max_reads" {
  description = "Most read units a second of a table, against surprises; -1 for the quota of the account."
  type        = number
  default     = -1
}

variable "max_writes" {
  description = "Most write units a second of a table, against surprises; -1 for the quota of the account."
  type        = number
  default     = -1
}

variable "compute" {
  description = "What runs the parts, and so may take their roles: ecs-tasks, ec2 or lambda."
  type        = string
  default     = "ecs-tasks"

  validation {
    condition     = contains(["ecs-tasks", "ec2", "lambda"], var.compute)
    error_message = "One of ecs-tasks, ec2, lambda."
  }
}

data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  account   = data.aws_caller_identity.current.account_id
  partition = data.aws_partition.current.partition
  region    = data.aws_region.current.region
}
