package settings

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"

	"ratchet/server"
)

// TestTheRegionIsThatOfTheSDK: server.ConfiguredRegion reads less than the SDK does for a call.
func TestTheRegionIsThatOfTheSDK(t *testing.T) {
	profiles := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(profiles, []byte("[default]\nregion = eu-west-1\n[profile shop]\nregion = eu-west-2\n[profile plain]\noutput = json\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(t.TempDir(), "none")

	for _, row := range []struct{ file, region, fallback, profile, want string }{
		{file: none},
		{file: profiles, want: "eu-west-1"},
		{file: profiles, profile: "shop", want: "eu-west-2"},
		{file: profiles, profile: "plain"},
		{file: profiles, profile: "missing"},
		{file: none, profile: "missing", region: "us-east-2"},
		{file: none, region: "us-east-2", want: "us-east-2"},
		{file: none, fallback: "us-west-2", want: "us-west-2"},
		{file: profiles, region: "us-east-2", fallback: "us-west-2", profile: "shop", want: "us-east-2"},
	} {
		for name, value := range map[string]string{
			"AWS_CONFIG_FILE": row.file, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_CA_BUNDLE": "",
			"AWS_REGION": row.region, "AWS_DEFAULT_REGION": row.fallback, "AWS_PROFILE": row.profile, "AWS_DEFAULT_PROFILE": "",
		} {
			t.Setenv(name, value)
		}

		sdk, err := config.LoadDefaultConfig(t.Context())
		if got := server.ConfiguredRegion(t.Context()); got != row.want || err == nil && got != sdk.Region {
			t.Errorf("%+v: %q, the SDK has %q, %v", row, got, sdk.Region, err)
		}
	}
}
