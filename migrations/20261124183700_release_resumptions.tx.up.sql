-- Runs that end a stop of releases and make due, in batches, the payouts that waited for its end.
create table release_resumptions (
    id uuid constraint release_resumptions_pkey primary key,
    stop_id uuid not null constraint release_resumptions_stop_id_fkey references release_stops (id),
    state text not null constraint release_resumptions_state_check check (state in ('checking', 'resuming', 'completed', 'refused', 'stopped')),
    started_at timestamptz not null,
    started_by text not null,
    reason text not null,
    acknowledge boolean not null,
    done bigint not null default 0,
    total bigint not null default 0,
    finished_at timestamptz,
    refusal text,
    constraint release_resumptions_finished_check check ((finished_at is null) = (state in ('checking', 'resuming'))),
    constraint release_resumptions_refusal_check check ((refusal is null) = (state <> 'refused'))
);
--bun:split
create unique index release_resumptions_unfinished_key on release_resumptions ((finished_at is null)) where finished_at is null;
--bun:split
-- Payouts that waited for the end of a stop are made due by a run, which may take longer than ten minutes; those whose policy a
-- report line of no known debt names wait for its answer.
create or replace view inv_next_actions as
    select po.id as subject, po.partner, format('it is %s and nothing will happen to it', po.status) as wrong
    from payouts po where po.next_attempt_at is null and (po.status in ('releasing', 'reconciling')
        or po.status = 'pending' and not exists (select from release_stops where resumed_at is null or resumed_at > business_now() - interval '10 minutes')
            and not exists (select from release_resumptions where finished_at is null)
            and not exists (select from findings fi join rail_report_lines rl on rl.report_id = fi.report_id and rl.number = fi.line
                where fi.policy_id = po.policy_id and fi.kind in ('unknown', 'unmatched') and (fi.closed_at is null or rl.result is null)))
    union all
    select c.id, c.partner, format('it is %s and nothing will happen to it', c.status)
    from claims c where c.status = 'deferred' and c.next_review_at is null or c.status = 'opened' and c.origin = 'trigger'
        or c.status = 'approved' and c.amount = (select coalesce(sum(po.amount), 0) from payouts po where po.claim_id = c.id and po.partner = c.partner and (po.status = 'reconciled' or po.settled));
