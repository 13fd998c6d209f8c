package main

import (
	"fmt"
	"maps"
	"net/http"
	"time"

	"parapet/internal/signin"
	"parapet/jobs"
	"parapet/model"
)

// jobsPath is where River's console is.
const jobsPath = signin.Path + "/jobs"

// openDesk adds the operators' pages to the doors.
func (a *app) openDesk(queue *jobs.Queue, keys model.Keys) error {
	if !a.settings.Desk {
		return nil
	}
	config := signin.Config{
		Issuer: a.settings.Issuers[0], Client: a.settings.DeskClient, Secret: a.settings.DeskSecret,
		Origin: a.settings.BaseURL, Plain: a.settings.Loopback, Now: time.Now,
		Links: []signin.Link{{Path: jobsPath + "/jobs", Title: "Jobs", About: "What is queued, runs or failed: River's console, with retry, cancel and pause."}},
	}
	for _, key := range keys.Seal {
		config.Keys = append(config.Keys, key.Secret)
	}
	desk, err := signin.New(config)
	if err != nil {
		return fmt.Errorf("PARAPET_DESK: %w", err)
	}
	if a.console, err = queue.NewConsole(jobsPath, a.log); err != nil {
		return fmt.Errorf("job console: %w", err)
	}
	a.desk = desk.Doors()
	maps.Copy(a.desk, map[string]http.Handler{
		"GET " + jobsPath: http.RedirectHandler(jobsPath+"/jobs", http.StatusSeeOther),
		jobsPath + "/":    desk.Guard(a.console),
	})
	return nil
}
