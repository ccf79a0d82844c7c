package server

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"ratchet"
	"ratchet/operate/doctor"
)

// The parts that only some settings use. Without these settings their permissions are not needed.
const (
	sandboxPart  = "sandbox"
	requestsPart = string(PartRequests)
	// doctorPart is only needed to compare what is deployed: the doctor says if it cannot.
	doctorPart = "doctor"
)

// PermissionParts returns the parts that have a list of permissions below deploy/permissions, sorted:
// the parts of a worker, and api, doctor, operator, sandbox and viewer.
func PermissionParts() (parts []string) {
	files, _ := fs.Glob(ratchet.Permissions, "deploy/permissions/*.txt") // the pattern is well-formed
	for _, name := range files {
		part, _ := strings.CutSuffix(name[strings.LastIndexByte(name, '/')+1:], ".txt")
		parts = append(parts, part)
	}

	return parts
}

// errPermissionPart means that there is no list of permissions for a part.
var errPermissionPart = errors.New("part")

// permissions returns the permissions that the parts need with this configuration, each once. If no
// part is named, it takes all parts that the settings use.
func (b *Backend) permissions(parts []string) ([]doctor.Permission, error) {
	known := PermissionParts()
	if len(parts) == 0 {
		parts = slices.DeleteFunc(slices.Clone(known), func(part string) bool {
			return part == doctorPart || part == sandboxPart && b.Bank == nil && b.Carrier == nil || part == requestsPart && b.Config.RequestsQueue == ""
		})
	}

	var all []doctor.Permission
	seen := map[doctor.Permission]bool{}

	for _, part := range parts {
		if !slices.Contains(known, part) {
			return nil, fmt.Errorf("%w %q: must be one of %s", errPermissionPart, part, strings.Join(known, ", "))
		}

		recorded, err := recordedPermissions(part)
		if err != nil {
			return nil, err
		}

		for _, line := range recorded {
			action, resource, _ := strings.Cut(line, " ")

			for _, named := range b.resources(resource) {
				if p := (doctor.Permission{Action: action, Resource: named}); !seen[p] {
					seen[p] = true
					all = append(all, p)
				}
			}
		}
	}

	return all, nil
}

// recordedPermissions returns the lines of the part's list, each an action and a resource.
func recordedPermissions(part string) (lines []string, err error) {
	text, err := ratchet.Permissions.ReadFile("deploy/permissions/" + part + ".txt")
	if err != nil {
		return nil, err
	}

	// "action resource # comment"; lines without a resource are headings or empty.
	for line := range strings.Lines(string(text)) {
		content, _, _ := strings.Cut(strings.TrimSpace(line), " # ")
		if strings.Contains(content, " ") {
			lines = append(lines, content)
		}
	}

	return lines, nil
}

// resources returns the last parts of the ARNs that a resource of a list means with this configuration.
// It returns none for a resource that the settings do not use.
func (b *Backend) resources(resource string) []string {
	kind, name, _ := strings.Cut(resource, "/")

	switch kind {
	case "table":
		return b.tableResources(name)
	case "activity":
		// The list has activities of the shop. They stand for the activities that this flow needs.
		var all []string
		for _, a := range b.neededActivities() {
			all = append(all, "activity:"+b.Config.Prefix+a.Name)
		}

		return all
	case "stateMachine":
		return []string{"stateMachine:" + b.stateMachineName()}
	case "execution":
		return []string{"execution:" + b.stateMachineName() + ":*"}
	case "role", "policy", "topic", "rule", "function":
		return nil // these permissions are for the doctor's own calls
	case "queue":
		return b.queueResources(name)
	}

	return []string{resource}
}

func (b *Backend) tableResources(name string) []string {
	table, rest, _ := strings.Cut(name, "/")

	// The orders may be in a table of another name.
	if table == ordersTable && b.Config.OrdersTable.Name != "" {
		return []string{strings.TrimSuffix("table/"+b.Tables.Orders+"/"+rest, "/")}
	}

	switch table = b.Config.Prefix + table; {
	case table == b.Tables.SandboxCharges && b.Bank == nil,
		table == b.Tables.SandboxShipments && b.Carrier == nil,
		table == b.Tables.OrderLists && b.Lists == nil:
		return nil
	}

	return []string{"table/" + b.Config.Prefix + name}
}

func (b *Backend) queueResources(name string) []string {
	requests := b.Config.RequestsQueue

	switch {
	case name == "requests" && isURL(requests):
		return []string{requests[strings.LastIndexByte(requests, '/')+1:]}
	case name == "requests" && requests != "":
		return []string{requests}
	case name == "requests-dead-letters" && requests != "" && !isURL(requests):
		return []string{deadLetterQueue(requests)}
	case strings.HasPrefix(name, "requests"):
		return nil
	}

	return []string{b.Config.Prefix + name}
}
