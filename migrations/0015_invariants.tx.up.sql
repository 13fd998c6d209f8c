-- Invariants: each is a view with a row for every violation, and the comment states what must be true. A periodic job reads
-- the views, and stops releases when one has a row. subject is the id by which a few records can be checked.

create table status_transitions (
    object text not null,
    from_status text not null,
    to_status text not null,
    event text not null,
    constraint status_transitions_pkey primary key (object, from_status, to_status)
);
comment on table status_transitions is
    'The transitions that records may make, for the invariants. from_status is empty for a new record. Written by parapet migrate, from model.StatusTransitions.';
comment on column status_transitions.object is 'Type of the record, as in events.subject_type.';
comment on column status_transitions.event is 'Type of the event that the transition records.';

create table invariant_violations (
    name text not null,
    subject uuid not null,
    partner text not null,
    message text not null,
    found_at timestamptz not null,
    acknowledged_at timestamptz,
    acknowledged_by text,
    constraint invariant_violations_pkey primary key (name, subject, partner)
);
comment on table invariant_violations is
    'Violations of invariants that are open. The check deletes a row when the violation is gone.';
comment on column invariant_violations.name is 'The view.';
comment on column invariant_violations.subject is 'The record.';
comment on column invariant_violations.acknowledged_at is 'An acknowledged violation does not stop releases.';

create table invariant_checks (
    name text not null,
    checked_at timestamptz not null,
    last_full_check_at timestamptz,
    duration_ms bigint not null,
    constraint invariant_checks_pkey primary key (name)
);
comment on table invariant_checks is
    'Last check of each invariant.';
comment on column invariant_checks.last_full_check_at is 'When the last check of all records ended without an error.';
comment on column invariant_checks.duration_ms is 'How long the last check took.';

create table invariant_full_check (
    only_row boolean not null default true,
    last_checked_id uuid,
    started_at timestamptz,
    slice_size integer not null default 2000,
    failed_invariants text[] not null default '{}',
    constraint invariant_full_check_pkey primary key (only_row),
    constraint invariant_full_check_only_row_check check (only_row)
);
comment on table invariant_full_check is
    'Progress of the check of all records, one row: the check is done in slices, by any process.';
comment on column invariant_full_check.last_checked_id is 'Null while no check is running.';
comment on column invariant_full_check.slice_size is 'Records in the next slice; adapted to the time that the last one took.';
comment on column invariant_full_check.failed_invariants is 'Invariants that could not be checked everywhere.';
insert into invariant_full_check default values;

create view records as
    select 'quote' as object, id, partner, version, status from quotes
    union all select 'policy', id, partner, version, status from policies
    union all select 'claim', id, partner, version, status from claims
    union all select 'payout', id, partner, version, status from payouts
    union all select 'payout_method', id, partner, version, status from payout_methods;
comment on view records is 'The records that have events, for the invariants.';

create view inv_postings_balance as
    select event_id as subject, partner, format('the posting sums to %s minor units of %s', sum(amount), currency) as message
    from ledger_entries group by event_id, partner, currency having sum(amount) <> 0;
comment on view inv_postings_balance is 'Every posting of the ledger sums to zero in each currency.';

create view inv_ledger_matches_payouts as
    select po.id as subject, po.partner, format('the ledger does not match its status %s', po.status) as message
    from payouts po cross join lateral (
        select coalesce(sum(amount) filter (where account = 'claims_incurred'), 0) as incurred, coalesce(-sum(amount) filter (where account = 'reserve'), 0) as reserve,
            coalesce(-sum(amount) filter (where account = 'rail_clearing'), 0) as clearing, coalesce(-sum(amount) filter (where account = 'payout'), 0) as payout,
            coalesce(sum(amount) filter (where account = 'return'), 0) as returned,
            count(*) filter (where le.claim_id <> po.claim_id or le.policy_id <> po.policy_id or le.currency <> po.currency or le.account like 'premium%' or le.account like 'commission%') as wrong_account
        from ledger_entries le where le.payout_id = po.id and le.partner = po.partner) as l
    where l.wrong_account > 0
        or l.incurred <> po.amount * (po.status not in ('returned', 'cancelled') or po.settled_externally)::int
        or l.reserve <> po.amount * (po.status in ('pending', 'releasing', 'blocked', 'reconciling'))::int
        or l.clearing <> po.amount * (po.status = 'released')::int
        or l.payout <> po.amount * (po.status in ('reconciled', 'returned') or po.settled_externally)::int
        or l.returned <> po.amount * (po.status = 'returned')::int;
comment on view inv_ledger_matches_payouts is 'Ledger balances match every payout''s status.';

create view inv_ledger_matches_premiums as
    select p.id as subject, p.partner, 'the premium in the ledger is not the policy''s' as message
    from policies p cross join lateral (
        select coalesce(sum(amount) filter (where account = 'premium_receivable'), 0) as receivable, coalesce(-sum(amount) filter (where account = 'premium_written'), 0) as written
        from ledger_entries le where le.policy_id = p.id and le.partner = p.partner and le.currency = p.currency and le.payout_id is null) as l
        cross join lateral (select case when p.cancelled_at < p.effective_at then 0 else p.premium_amount end as premium) as w
    where l.receivable <> w.premium or l.written <> w.premium;
comment on view inv_ledger_matches_premiums is 'The ledger has each policy''s premium exactly once, and none for cover that was cancelled before it began.';

create view inv_reports_match_payouts as
    select po.id as subject, po.partner, format('it is %s; reports settled it %s times and returned it %s times', po.status, l.settled, l.returned) as message
    from payouts po cross join lateral (
        select count(*) filter (where match_result = 'reconciled') as settled, count(*) filter (where match_result = 'returned') as returned,
            coalesce(bool_or(rl.amount <> po.amount or rl.currency <> po.currency) filter (where match_result in ('reconciled', 'returned')), false) as other
        from rail_report_lines rl where rl.payout_id = po.id) as l
    where l.other or l.settled > 1 or l.returned > 1
        or (po.status = 'reconciled') <> (l.settled = 1 and l.returned = 0)
        or (po.status = 'returned') <> (l.returned = 1);
comment on view inv_reports_match_payouts is 'A payout is reconciled or returned exactly if the rail''s reports say so, once and in full.';

create view inv_paid_once as
    select claim_id as subject, partner, format('installment %s of the claim has %s payouts', installment, count(*)) as message
    from payouts where status not in ('returned', 'cancelled') or settled_externally group by claim_id, partner, installment having count(*) > 1;
comment on view inv_paid_once is 'Each installment of a claim has at most one payout that was neither returned nor cancelled.';

create view inv_sent_once as
    select po.id as subject, po.partner, format('it was sent as %s after %s, which was never refused', b.key, a.key) as message
    from payouts po join payout_attempts a on a.payout_id = po.id and a.partner = po.partner
        join payout_attempts b on b.payout_id = a.payout_id and b.partner = a.partner and b.number > a.number and b.key <> a.key
    where not exists (select from payout_attempts r where r.payout_id = a.payout_id and r.partner = a.partner and r.key = a.key and r.outcome = 'refused');
comment on view inv_sent_once is 'No payout was sent under another key before the rail had refused the former key.';

create view inv_claims_paid as
    select c.id as subject, c.partner, format('%s is approved and its payouts add up to %s', c.amount, l.amount) as message
    from claims c cross join lateral (select coalesce(sum(po.amount), 0) as amount from payouts po
        where po.claim_id = c.id and po.partner = c.partner and (po.status not in ('returned', 'cancelled') or po.settled_externally)) as l
    where c.status in ('approved', 'closed') and c.amount <> l.amount or c.status not in ('approved', 'closed') and l.amount <> 0;
comment on view inv_claims_paid is 'The payouts of an approved claim add up to the approved amount; other claims have none.';

create view inv_limits_not_exceeded as
    select p.id as subject, p.partner, format('of a limit of %s, %s remains, %s was approved and %s is paid or reserved', p.limit_amount, p.limit_remaining, c.owed, l.held) as message
    from policies p
        cross join lateral (select coalesce(sum(amount), 0) as owed from claims c where c.policy_id = p.id and c.partner = p.partner and c.status in ('approved', 'closed')) as c
        cross join lateral (select coalesce(-sum(amount), 0) as held from ledger_entries le where le.policy_id = p.id and le.partner = p.partner
            and le.account in ('reserve', 'rail_clearing', 'payout', 'return')) as l
    where p.limit_amount - p.limit_remaining <> c.owed or l.held > p.limit_amount;
comment on view inv_limits_not_exceeded is 'What is paid and reserved never exceeds a policy''s limit; the remaining limit is the limit less the approved amounts.';

create view inv_events_per_change as
    select r.id as subject, r.partner, format('%s of version %s has %s events', r.object, r.version, e.n) as message
    from records r cross join lateral (select count(*) as n, count(distinct subject_version) as versions, max(subject_version) as last
        from events e where e.subject_id = r.id and e.partner = r.partner) as e
    where e.n <> r.version or e.versions <> r.version or e.last <> r.version;
comment on view inv_events_per_change is 'Every change of a record has exactly one event.';

create view inv_statuses_have_events as
    select r.id as subject, r.partner, format('%s is %s, its events say %s', r.object, r.status, coalesce(e.to_status, 'nothing')) as message
    from records r left join lateral (select st.to_status from events e join status_transitions st on st.object = r.object and st.event = e.type
        where e.subject_id = r.id and e.partner = r.partner order by e.subject_version desc limit 1) as e on true
    where e.to_status is distinct from r.status;
comment on view inv_statuses_have_events is 'The last status event of a record names the status that the record has.';

create view inv_status_transitions as
    select e.subject_id as subject, e.partner, format('%s followed %s', e.to_status, coalesce(nullif(e.was, ''), 'nothing')) as message
    from (select e.subject_id, e.partner, st.object, st.to_status, coalesce(lag(st.to_status) over (partition by e.subject_id, e.partner order by e.subject_version), '') as was
        from events e join (select distinct object, event, to_status from status_transitions) st on st.object = e.subject_type and st.event = e.type) as e
    where not exists (select from status_transitions st where st.object = e.object and st.from_status = e.was and st.to_status = e.to_status);
comment on view inv_status_transitions is 'The statuses of every record follow the allowed transitions.';

create view inv_timelines as
    select c.id as subject, c.partner, format('its timeline has %s entries up to %s and should have %s', t.n, t.last, c.timeline_sequence) as message
    from claims c cross join lateral (select count(*) as n, coalesce(max(sequence), 0) as last from timeline_entries t where t.claim_id = c.id and t.partner = c.partner) as t
    where t.n <> c.timeline_sequence or t.last <> c.timeline_sequence
    union all
    select c.id, c.partner, format('%s is not in its timeline exactly once', e.type)
    from claims c cross join lateral (select c.id union all select po.id from payouts po where po.claim_id = c.id and po.partner = c.partner) as s (id)
        join events e on e.subject_id = s.id and e.partner = c.partner
    where (select count(*) from timeline_entries t where t.claim_id = c.id and t.partner = c.partner and t.event_id = e.id and t.kind = e.type) <> 1;
comment on view inv_timelines is 'A claim''s timeline has no gaps, and has every event of the claim and its payouts exactly once.';

-- Exempt are payouts that a resumption makes due, which may take over ten minutes, and those whose policy is named by a report
-- line of an unknown debt that is not resolved.
create view inv_next_actions as
    select po.id as subject, po.partner, format('it is %s and nothing is scheduled', po.status) as message
    from payouts po where po.next_attempt_at is null and (po.status in ('releasing', 'reconciling')
        or po.status = 'pending' and not exists (select from release_stops where resumed_at is null or resumed_at > business_now() - interval '10 minutes')
            and not exists (select from release_resumptions where finished_at is null)
            and not exists (select from reconciliation_exceptions fi join rail_report_lines rl on rl.report_id = fi.report_id and rl.number = fi.line
                where fi.policy_id = po.policy_id and fi.kind in ('unknown', 'unmatched') and (fi.closed_at is null or rl.match_result is null)))
    union all
    select c.id, c.partner, format('it is %s and nothing is scheduled', c.status)
    from claims c where c.status = 'deferred' and c.next_review_at is null or c.status = 'opened' and c.origin = 'trigger'
        or c.status = 'approved' and c.amount = (select coalesce(sum(po.amount), 0) from payouts po where po.claim_id = c.id and po.partner = c.partner and (po.status = 'reconciled' or po.settled_externally));
comment on view inv_next_actions is 'Every record that is not final has a next step that is due or scheduled.';

create view inv_partners as
    select x.id as subject, x.partner, 'its policy is another partner''s' as message from claims x join policies y on y.id = x.policy_id and y.partner <> x.partner
    union all select x.id, x.partner, 'its claim is another partner''s' from payouts x join claims y on y.id = x.claim_id and y.partner <> x.partner
    union all select x.id, x.partner, 'its policy is another partner''s' from payout_methods x join policies y on y.id = x.policy_id and y.partner <> x.partner
    union all select x.id, x.partner, 'its quote is another partner''s' from policies x join quotes y on y.id = x.quote_id and y.partner <> x.partner
    union all select x.id, x.partner, 'it goes to another partner''s account' from payouts x join payout_methods y on y.id = x.payout_method_id and y.partner <> x.partner
    union all select x.id, x.partner, 'an event about it is another partner''s' from records x join events y on y.subject_id = x.id and y.partner <> x.partner
    union all select x.id, x.partner, 'another partner''s ledger has entries about it' from policies x join ledger_entries y on y.policy_id = x.id and y.partner <> x.partner
    union all select x.id, x.partner, 'an entry of its timeline is another partner''s' from claims x join timeline_entries y on y.claim_id = x.id and y.partner <> x.partner;
comment on view inv_partners is 'Everything that belongs to a record has the record''s partner.';

create view inv_sequences as
    select n.event_id as subject, n.partner, format('no event has the sequence %s', n.sequence - 1) as message
    from event_sequence n where n.sequence <> 1 and not exists (select from event_sequence m where m.partner = n.partner and m.sequence = n.sequence - 1);
comment on view inv_sequences is 'The sequence of a partner''s events has no gaps.';

-- While a restore is open no event gets a sequence, so the minute begins when the restore ends.
create view inv_events_sequenced as
    select e.id as subject, e.partner, 'it has no sequence and does not wait for one' as message
    from events e where not exists (select from event_sequence n where n.event_id = e.id and n.partner = e.partner)
        and not exists (select from event_outbox o where o.event_id = e.id and o.partner = e.partner)
    union all
    select e.id, e.partner, case when o.ordinal > r.last_ordinal or r.pending_gaps @> o.ordinal then 'it has waited for its sequence for over a minute'
        else 'the relay has skipped it' end
    from event_relay r cross join event_outbox o join events e on e.id = o.event_id and e.partner = o.partner
    where greatest(e.occurred_at, (select max(ended_at) from database_restores)) < (select clock_timestamp() + offset_interval - interval '60 seconds' from clock)
            and not exists (select from database_restores where ended_at is null)
        or not (o.ordinal > r.last_ordinal or r.pending_gaps @> o.ordinal);
comment on view inv_events_sequenced is 'Every event has a sequence, or has waited for one for less than a minute.';

create view inv_embedded_counts as
    select c.id as subject, c.partner, format('its policy has no claim %s', c.policy_sequence - 1) as message
    from claims c where c.policy_sequence <> 1
        and not exists (select from claims b where b.policy_id = c.policy_id and b.partner = c.partner and b.policy_sequence = c.policy_sequence - 1)
    union all
    select po.id, po.partner, format('its claim has no payout %s', po.claim_sequence - 1)
    from payouts po where po.claim_sequence <> 1
        and not exists (select from payouts b where b.claim_id = po.claim_id and b.partner = po.partner and b.claim_sequence = po.claim_sequence - 1);
comment on view inv_embedded_counts is 'The claims of a policy and the payouts of a claim are counted without gaps: the highest sequence is their count.';
