package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"parapet/migrations"
)

// version and commit are set by the linker in release builds; see make release.
var version, commit = "development", ""

// buildInfo describes a build.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Schema   string `json:"schema"` // the newest migration that it knows
}

func newVersionCommand() *cobra.Command {
	var format outputFormat
	cmd := &cobra.Command{
		Use: "version", Example: "  parapet version --output json",
		Short: "print version, commit, Go and the newest migration that it knows", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return printVersion(format, cmd.OutOrStdout()) },
	}
	format.addFlag(cmd)
	return cmd
}

func printVersion(format outputFormat, out io.Writer) error {
	schema, err := migrations.Newest()
	if err != nil {
		return err
	}
	info := buildInfo{Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Schema: schema}
	if build, known := debug.ReadBuildInfo(); known && info.Commit == "" {
		for _, setting := range build.Settings {
			if setting.Key == "vcs.revision" {
				info.Commit = setting.Value
			}
		}
	}
	if format == formatJSON {
		return printJSON(out, info)
	}
	_, err = fmt.Fprintf(out, "parapet %s\ncommit  %s\ngo      %s, %s\nschema  %s\n", info.Version, cmp.Or(info.Commit, "unknown"), info.Go, info.Platform, info.Schema)
	return err
}
