package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
)

// convertStorms returns the Atlantic tracks without the wind radii: the first eight
// fields of each fix.
func convertStorms(f sourceFolder) ([]byte, error) {
	content, err := f.readFile("hurdat2-atlantic-1851-2025.txt")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for line := range strings.Lines(string(content)) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		out.WriteString(strings.Join(fields[:min(8, len(fields))], ","))
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}

// stationNames maps stations to the short names that products and quotes use.
var stationNames = map[string]string{
	"Milwaukee Mitchell Airport, Wisconsin": "Milwaukee",
	"Merced, California":                    "Merced",
}

// convertStationDays returns the days with any measurement: precipitation, highest and
// lowest temperature. If the source lists a day twice, the first row counts.
func convertStationDays(f sourceFolder) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString("location,date,precipitation,temp_max,temp_min\n")
	long, err := f.readRows("ghcn-daily-milwaukee-merced-1899-2026.csv")
	if err != nil {
		return nil, err
	}
	before := ""
	for _, row := range long {
		if row[0]+row[4] == before {
			continue
		}
		before = row[0] + row[4]
		name := stationNames[row[1]]
		if name == "" {
			return nil, fmt.Errorf("the station %q has no short name", row[1])
		}
		writeDay(&out, name, row[4], row[5], row[6], row[7])
	}
	short, err := f.readRows("ghcn-daily-seattle-newyork-2012-2015.csv")
	if err != nil {
		return nil, err
	}
	for _, row := range short {
		writeDay(&out, row[0], row[1], row[2], row[3], row[4])
	}
	return out.Bytes(), nil
}

func writeDay(out *bytes.Buffer, name, date, precipitation, highest, lowest string) {
	if precipitation != "" || highest != "" || lowest != "" {
		_, _ = fmt.Fprintf(out, "%s,%s,%s,%s,%s\n", name, date, precipitation, highest, lowest)
	}
}

// readRows returns the rows of a CSV file after the header.
func (f sourceFolder) readRows(name string) ([][]string, error) {
	content, err := f.readFile(name)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return rows[1:], nil
}
