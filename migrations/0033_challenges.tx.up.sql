-- Challenges: partners contest the decision on a claim.

create table claim_challenges (
    id uuid not null,
    partner text not null,
    claim_id uuid not null,
    status text not null,
    message_id uuid not null,
    attachment_ids uuid[] not null default '{}',
    opened_at timestamptz not null,
    decided_at timestamptz,
    reason_codes text[] not null default '{}',
    further_amount bigint,
    constraint claim_challenges_pkey primary key (id, partner),
    constraint claim_challenges_claim_id_fkey foreign key (claim_id, partner) references claims (id, partner),
    constraint claim_challenges_message_id_fkey foreign key (message_id, partner) references messages (id, partner),
    constraint claim_challenges_status_check check (status in ('open', 'rejected', 'accepted')),
    constraint claim_challenges_decided_check check ((status = 'open') = (decided_at is null)),
    constraint claim_challenges_further_amount_check check (further_amount is null or status = 'accepted' and further_amount > 0)
);
comment on table claim_challenges is
    'Challenges of decisions on claims by their partners. The partner''s text is a message of the claim, the evidence are its attachments.';
comment on column claim_challenges.message_id is 'The message with the partner''s reason.';
comment on column claim_challenges.attachment_ids is 'Attachments of the claim that the partner names as evidence.';
comment on column claim_challenges.reason_codes is 'Public reasons of the operator''s decision; empty while it is open.';
comment on column claim_challenges.further_amount is 'What an accepted challenge of an approved claim adds, in minor units.';
create unique index claim_challenges_open_key on claim_challenges (claim_id, partner) where status = 'open';
create index claim_challenges_claim_idx on claim_challenges (claim_id, partner, opened_at desc);

alter table operator_actions drop constraint operator_actions_operation_check;
alter table operator_actions add constraint operator_actions_operation_check check (operation in ('decide_claim', 'decide_challenge', 'withdraw_claim', 'cancel_policy', 'block_payout', 'unblock_payout', 'approve_payout', 'release_payout', 'resolve_payout', 'settle_payout', 'register_partner', 'disable_partner', 'enable_partner')) not valid;

-- claim.reopened leads to approved from closed and to deferred from declined, so that an event alone does not say the status.
create or replace view inv_status_transitions as
    select e.subject_id as subject, e.partner, format('%s followed %s', e.type, coalesce(e.was, 'nothing')) as message
    from (select e.subject_id, e.partner, e.subject_type, e.type, lag(e.type) over (partition by e.subject_id, e.partner order by e.subject_version) as was
        from events e where exists (select from status_transitions st where st.object = e.subject_type and st.event = e.type)) as e
    where not exists (select from status_transitions st where st.object = e.subject_type and st.event = e.type
        and (e.was is null and st.from_status = '' or exists (select from status_transitions b where b.object = st.object and b.event = e.was and b.to_status = st.from_status)));

create or replace view inv_statuses_have_events as
    select r.id as subject, r.partner, format('%s is %s, its last status event is %s', r.object, r.status, coalesce(e.type, 'none')) as message
    from records r left join lateral (select ev.type from events ev where ev.subject_id = r.id and ev.partner = r.partner
            and exists (select from status_transitions st where st.object = r.object and st.event = ev.type) order by ev.subject_version desc limit 1) as e on true
    where not exists (select from status_transitions st where st.object = r.object and st.event = e.type and st.to_status = r.status);
