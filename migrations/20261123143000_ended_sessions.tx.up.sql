-- Sessions of the operators' pages that were ended before their cookie expires. A session is a sealed cookie that every node
-- opens; signing out must end it on all of them.
create table ended_sessions (
    id text constraint ended_sessions_pkey primary key,
    expires_at timestamptz not null
);
