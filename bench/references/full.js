// Reference `full`: the same three shared commits, with the facts that the gateway keeps about an answered message.
// bench/README.md lists them one by one, and what is not there.
import { createHash, randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { answerAtOnce, createSender, listenForUpdates, shareCommits } from './wire.js'

const tenant = 'default'
const connection = 'bench'
const agent = 'bench'
const lease = "interval '30 seconds'"

// A lane says of a turn that goes on which it is, who takes it, until when, and the how manyth time. What is over stands in
// `turns` and `runs`, written once.
const tables = `
  create table lanes (
    id uuid primary key,
    tenant text not null,
    connection text not null,
    room text not null,
    pending integer not null,
    turn_id uuid,
    attempt integer not null default 1,
    holder text,
    lease_until timestamptz,
    turn_started_at timestamptz,
    epoch bigint not null,
    next_seq bigint not null default 0
  ) with (fillfactor = 50);
  create table inbox (
    id uuid primary key,
    seq bigint generated always as identity,
    tenant text not null,
    connection text not null,
    lane_id uuid not null,
    dedupe_key text not null unique,
    agent text not null,
    state text not null,
    message jsonb not null,
    original jsonb not null,
    turn_id uuid,
    trace_id text not null,
    platform_at timestamptz not null,
    received_at timestamptz not null default now(),
    ended_at timestamptz
  ) with (fillfactor = 80);
  create index inbox_waiting on inbox (lane_id, seq) where state = 'queued';
  create table turns (
    id uuid primary key,
    tenant text not null,
    connection text not null,
    lane_id uuid not null,
    inbox_id uuid not null,
    agent text not null,
    state text not null,
    attempt integer not null,
    epoch bigint not null,
    response jsonb not null,
    trace_id text not null,
    started_at timestamptz not null,
    ended_at timestamptz not null
  );
  create index turns_lane on turns (lane_id, started_at);
  create table runs (
    id uuid primary key,
    tenant text not null,
    turn_id uuid not null,
    agent text not null,
    status text not null,
    stop_reason text not null,
    created_at timestamptz not null,
    ended_at timestamptz not null
  );
  create index runs_turn on runs (turn_id);
  create table transcript_lines (
    lane_id uuid not null,
    seq bigint not null,
    tenant text not null,
    turn_id uuid not null,
    inbox_id uuid,
    role text not null,
    body jsonb not null,
    created_at timestamptz not null default now(),
    primary key (lane_id, seq)
  );
  create table audit_log (
    seq bigint generated always as identity primary key,
    tenant text not null,
    at timestamptz not null default now(),
    action text not null,
    outcome text not null,
    rule text not null,
    actor text not null,
    connection text not null,
    agent text not null,
    inbox_id uuid not null,
    trace_id text not null
  );
  create index audit_log_inbox on audit_log (inbox_id);
  create table outbox (
    id uuid primary key,
    tenant text not null,
    connection text not null,
    lane_id uuid not null,
    turn_id uuid not null,
    ordinal integer not null,
    call jsonb not null,
    state text not null,
    reason text,
    attempt integer not null,
    epoch bigint not null,
    vendor_id text,
    trace_id text not null,
    created_at timestamptz not null default now(),
    sending_at timestamptz not null,
    settled_at timestamptz
  ) with (fillfactor = 80);
  create unique index outbox_origin on outbox (turn_id, ordinal);
  create index outbox_open on outbox (tenant, connection, lane_id) where settled_at is null`

// In one order, as accepting takes them: statements that share many lanes would otherwise wait for each other in a circle.
const lockLanes = `
    select lanes.id from given join lanes on lanes.id = given.lane and lanes.epoch = given.epoch and lanes.holder = $2
    order by lanes.id for update of lanes`

// Kept once by its key; the lane is taken with a lease and a higher epoch when nothing of it is pending; the decision to let
// the message in is a line of the audit log.
const acceptSql = `
  with given as (
    select * from json_to_recordset($1::text::json) as given (
      place integer, id uuid, lane uuid, room text, dedupe_key text, turn uuid, message jsonb, original jsonb,
      trace text, actor text, platform_at timestamptz
    )
  ), accepted as (
    insert into inbox (id, tenant, connection, lane_id, dedupe_key, agent, state, message, original, trace_id, platform_at)
    select id, '${tenant}', '${connection}', lane, dedupe_key, '${agent}', 'queued', message, original, trace, platform_at
    from given order by place
    on conflict (dedupe_key) do nothing
    returning id
  ), fresh as (
    select given.*, row_number() over (partition by lane order by place) as rank from given join accepted using (id)
  ), lane as (
    insert into lanes (id, tenant, connection, room, pending, turn_id, holder, lease_until, turn_started_at, epoch)
    select lane, '${tenant}', '${connection}', min(room), count(*), (array_agg(turn order by place))[1], $2,
           now() + ${lease}, now(), 1
    from fresh group by lane order by lane
    on conflict (id) do update set
      pending = lanes.pending + excluded.pending,
      turn_id = case when lanes.pending = 0 then excluded.turn_id else lanes.turn_id end,
      attempt = case when lanes.pending = 0 then 1 else lanes.attempt end,
      holder = case when lanes.pending = 0 then excluded.holder else lanes.holder end,
      lease_until = case when lanes.pending = 0 then excluded.lease_until else lanes.lease_until end,
      turn_started_at = case when lanes.pending = 0 then now() else lanes.turn_started_at end,
      epoch = lanes.epoch + case when lanes.pending = 0 then 1 else 0 end
    returning new.id, new.epoch, old.epoch is distinct from new.epoch as is_taken
  ), audited as (
    insert into audit_log (tenant, action, outcome, rule, actor, connection, agent, inbox_id, trace_id)
    select '${tenant}', 'message_admitted', 'allowed', 'public', actor, '${connection}', '${agent}', id, trace from fresh
  )
  select fresh.id, lane.epoch, lane.is_taken and fresh.rank = 1 as is_taken from fresh join lane on lane.id = fresh.lane`

// Fenced: a process whose lease another one took over changes nothing. The reply is marked as being sent before it is.
const completeSql = `
  with given as (
    select * from json_to_recordset($1::text::json) as given (
      lane uuid, epoch bigint, inbox uuid, turn uuid, run uuid, outbox uuid, call jsonb, asked jsonb, answered jsonb, trace text
    )
  ), locked as (
    ${lockLanes}
  ), lane as (
    update lanes set next_seq = next_seq + 2, lease_until = now() + ${lease}
    from locked where lanes.id = locked.id
    returning lanes.id, old.next_seq as seq, lanes.attempt, lanes.turn_started_at
  ), held as (
    select given.*, seq, attempt, turn_started_at from given join lane on lane.id = given.lane
  ), turn as (
    insert into turns (
      id, tenant, connection, lane_id, inbox_id, agent, state, attempt, epoch, response, trace_id, started_at, ended_at
    )
    select turn, '${tenant}', '${connection}', lane, inbox, '${agent}', 'completed', attempt, epoch, answered, trace,
           turn_started_at, now()
    from held
  ), run as (
    insert into runs (id, tenant, turn_id, agent, status, stop_reason, created_at, ended_at)
    select run, '${tenant}', turn, '${agent}', 'completed', 'end', turn_started_at, now() from held
  ), lines as (
    insert into transcript_lines (lane_id, seq, tenant, turn_id, inbox_id, role, body)
    select lane, seq, '${tenant}', turn, inbox, 'user', asked from held
    union all
    select lane, seq + 1, '${tenant}', turn, null, 'assistant', answered from held
  ), message as (
    update inbox set state = 'answered', turn_id = held.turn, ended_at = now() from held where inbox.id = held.inbox
  ), reply as (
    insert into outbox (
      id, tenant, connection, lane_id, turn_id, ordinal, call, state, attempt, epoch, trace_id, sending_at
    )
    select outbox, '${tenant}', '${connection}', lane, turn, 0, call, 'sending', 1, epoch, trace, now() from held
  )
  select turn from held`

// The lane is free for others again once the reply is settled, so that replies of one room keep their order.
const settleSql = `
  with given as (
    select * from json_to_recordset($1::text::json) as given (
      outbox uuid, lane uuid, epoch bigint, state text, reason text, vendor_id text
    )
  ), reply as (
    update outbox set state = given.state, reason = given.reason, vendor_id = given.vendor_id, settled_at = now()
    from given where outbox.id = given.outbox and outbox.state = 'sending' and outbox.epoch = given.epoch
  ), locked as (
    ${lockLanes}
  )
  update lanes set pending = pending - 1, turn_id = null, holder = null, lease_until = null
  from locked where lanes.id = locked.id
  returning lanes.id, pending`

// Rare: another message of the room came meanwhile.
const takeNextSql = `
  with waiting as (
    select id, message, trace_id from inbox where lane_id = $1 and state = 'queued' order by seq limit 1
  )
  update lanes set turn_id = $2, attempt = 1, holder = $3, lease_until = now() + ${lease}, turn_started_at = now(),
                   epoch = epoch + 1
  from waiting where lanes.id = $1 and lanes.holder is null
  returning waiting.id, waiting.message, waiting.trace_id as trace, epoch`

export async function start({ databaseUrl, path, webhookSecret, botToken, apiUrl }) {
  const holder = randomUUID()
  const sql = postgres(databaseUrl, { max: 3, onnotice: () => {} })
  await sql.unsafe(tables)
  const run = (text, rows) => sql.unsafe(text, [JSON.stringify(rows), holder], { prepare: true })
  const accept = shareCommits(async (rows) => {
    const placed = rows.map((row, place) => ({ ...row, place }))
    const found = new Map((await run(acceptSql, placed)).map((row) => [row.id, row]))
    return rows.map(({ id }) => found.get(id))
  })
  const complete = shareCommits(async (rows) => {
    const ended = new Set((await run(completeSql, rows)).map((row) => row.turn))
    return rows.map((row) => ended.has(row.turn))
  })
  const settle = shareCommits(async (rows) => {
    const pending = new Map((await run(settleSql, rows)).map((row) => [row.id, row.pending]))
    return rows.map((row) => pending.get(row.lane) ?? 0)
  })
  const { send, close: closeSender } = createSender({ apiUrl, botToken })

  const takeTurn = async ({ id: inbox, lane, epoch, turn, message, trace }) => {
    const text = answerAtOnce(message.text)
    const outbox = randomUUID()
    const call = { chat_id: Number(message.room), text }
    const asked = { text: message.text, sender: message.sender }
    const ending = { lane, epoch, inbox, turn, run: randomUUID(), outbox, call, asked, answered: { text }, trace }
    if (!(await complete(ending))) return
    const result = await send(call).then(
      (vendorId) => ({ state: 'delivered', vendor_id: vendorId }),
      (error) => ({ state: 'unknown', reason: error.message }),
    )
    if ((await settle({ outbox, lane, epoch, ...result })) === 0) return
    const nextTurn = randomUUID()
    const [next] = await sql.unsafe(takeNextSql, [lane, nextTurn, holder], { prepare: true })
    if (next !== undefined) await takeTurn({ ...next, lane, turn: nextTurn })
  }
  const { port, close } = await listenForUpdates({ path, webhookSecret }, async (update) => {
    const row = readUpdate(update)
    const kept = await accept(row)
    if (kept?.is_taken === true)
      takeTurn({ ...row, epoch: kept.epoch }).catch((error) => console.error(`full: ${error.message}`))
  })
  const stop = async () => {
    close()
    await sql.end({ timeout: 2 })
    closeSender()
  }
  return { port, stop, handled: () => 0 }
}

/** The original stays as it came; the message is what an agent needs of it. */
function readUpdate(update) {
  const { message_id: id, from, chat, date, text } = update.message
  const room = String(chat.id)
  const at = new Date(date * 1000).toISOString()
  const sender = { id: String(from.id), name: `${from.first_name} ${from.last_name ?? ''}`.trim() }
  return {
    id: randomUUID(),
    lane: nameToUuid(`${tenant} ${connection} ${room}`),
    room,
    dedupe_key: `${connection}:telegram:${update.update_id}`,
    turn: randomUUID(),
    message: { v: 1, channel: 'telegram', id: String(id), room, sender, text, at },
    original: update,
    trace: randomUUID().replaceAll('-', ''),
    actor: `telegram:${from.id}`,
    platform_at: at,
  }
}

/** The same room has the same lane, without asking the database which. */
function nameToUuid(name) {
  const hex = createHash('sha256').update(name).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}
