package summary

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// summaryRow has where an occurrence was measured and its main value.
type summaryRow struct {
	ID    uuid.UUID
	Name  *string
	Value *string
	Unit  *string
	hazard.Point
	Located bool
}

// summarySQL reads the summaries of occurrences. An earthquake has the values of the report
// that decides, as occurrence.OccurrenceRow.ToFacts selects it; a storm its last position and its strongest wind;
// a station the sum of its rain or the number of days that count.
const summarySQL = `select oc.id, shown.located, coalesce(shown.latitude, 0) as latitude, coalesce(shown.longitude, 0) as longitude,
		case oc.kind when 'earthquake' then 'magnitude' when 'storm_fix' then 'wind' else days.name end as name,
		case oc.kind when 'earthquake' then shown.magnitude when 'storm_fix' then track.wind else days.value end as value,
		case oc.kind when 'earthquake' then shown.unit when 'storm_fix' then 'kn' when 'station_day' then case days.name when 'precipitation' then 'mm' else 'days' end end as unit
	from occurrences oc
	left join lateral (
		select o.body #>> '{location,latitude}' is not null as located, (o.body #>> '{location,latitude}')::float8 as latitude, (o.body #>> '{location,longitude}')::float8 as longitude,
			o.body #>> '{measures,magnitude,value}' as magnitude, o.body #>> '{measures,magnitude,unit}' as unit
		from observations o where o.occurrence_id = oc.id and o.stage <> 'retracted'
		order by case when oc.kind = 'storm_fix' then o.occurred_at end desc, o.stage = 'final' desc, coalesce(o.revision, -1) desc, o.updated_at desc limit 1
	) as shown on oc.kind <> 'station_day'
	left join lateral (
		select max((o.body #>> '{measures,wind,value}')::numeric)::text as wind from observations o where o.occurrence_id = oc.id and o.stage <> 'retracted'
	) as track on oc.kind = 'storm_fix'
	left join lateral (
		select case index when 'hot_days' then index when 'cold_days' then index else 'precipitation' end as name, case index
			when 'hot_days' then count(*) filter (where (o.body #>> '{measures,temperature_max,value}')::numeric >= threshold)
			when 'cold_days' then count(*) filter (where (o.body #>> '{measures,temperature_min,value}')::numeric <= threshold)
			else sum((o.body #>> '{measures,precipitation,value}')::numeric) end::text as value
		from split_part(oc.definition, '/', 1) as index
			cross join lateral (select case when index in ('hot_days', 'cold_days') then split_part(oc.definition, '/', 2)::numeric end as threshold) as counted
			left join observations o on o.station = oc.station and o.source = oc.source and o.scope = oc.scope
			and o.stage <> 'retracted' and o.day between (oc.occurred_at at time zone 'UTC')::date and (oc.last_at at time zone 'UTC')::date
		group by index
	) as days on oc.kind = 'station_day'
	where oc.id in (?)`

// Add sets Location and MainMeasure of records, by their ids, in one statement.
func Add(ctx context.Context, db bun.IDB, records map[string]*wire.Occurrence) error {
	ids := make([]uuid.UUID, 0, len(records))
	for id := range records {
		key, err := store.ResourceOccurrence.ParseID(id)
		if err != nil {
			return err
		}
		ids = append(ids, key)
	}
	if len(ids) == 0 {
		return nil
	}
	var rows []summaryRow
	if err := db.NewRaw(summarySQL, bun.List(ids)).Scan(ctx, &rows); err != nil {
		return store.TranslateError(fmt.Errorf("summarise occurrences: %w", err))
	}
	for _, row := range rows {
		record := records[store.ResourceOccurrence.FormatID(row.ID)]
		if row.Located {
			record.Location = &row.Point
		}
		if row.Value != nil {
			record.MainMeasure = &wire.NamedMeasure{Name: *row.Name, Measure: wire.Measure{Value: *row.Value, Unit: *row.Unit}}
		}
	}
	return nil
}
