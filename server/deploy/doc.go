// Package deploy writes the templates with which a program is deployed to AWS: CloudFormation or Terraform.
//
// A [Program] says what the program needs: the state machine, activities, tables, the queue, the parts of its
// processes, and what each part may call. [ratchet/server.Deployment] derives it from the lists with which the program
// itself runs, so a template has what the program creates and calls, and nothing of another workflow. [Kind.Files]
// renders the templates, and [Write] puts them into a directory. The templates have no secret: they name the secrets as parameters.
//
// What the program does not say (the permissions of an own step, a key of KMS, the network) is a parameter or a
// commented place in the templates.
package deploy
