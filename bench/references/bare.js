// Reference `bare`: the least that keeps an answered message. An inbox and an outbox, three shared commits: accepted, answered
// with the reply marked as being sent, result of the send. bench/README.md says what it keeps and what it does not.
import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { answerAtOnce, createSender, listenForUpdates, shareCommits } from './wire.js'

const tables = `
  create table inbox (
    id uuid primary key,
    dedupe_key text not null unique,
    chat_id bigint not null,
    original jsonb not null,
    state text not null,
    received_at timestamptz not null default now(),
    ended_at timestamptz
  ) with (fillfactor = 80);
  create table outbox (
    id uuid primary key,
    inbox_id uuid not null,
    call jsonb not null,
    state text not null,
    reason text,
    vendor_id text,
    sending_at timestamptz not null default now(),
    settled_at timestamptz
  ) with (fillfactor = 80)`

// A row that comes again is not returned, so that no turn is taken for it.
const acceptSql = `
  insert into inbox (id, dedupe_key, chat_id, original, state)
  select id, dedupe_key, chat_id, original, 'queued'
  from json_to_recordset($1::text::json) as given (id uuid, dedupe_key text, chat_id bigint, original jsonb)
  on conflict (dedupe_key) do nothing
  returning id`

const completeSql = `
  with given as (
    select * from json_to_recordset($1::text::json) as given (id uuid, inbox_id uuid, call jsonb)
  ), answered as (
    update inbox set state = 'answered', ended_at = now()
    from given where inbox.id = given.inbox_id and inbox.state = 'queued'
    returning inbox.id
  )
  insert into outbox (id, inbox_id, call, state)
  select given.id, inbox_id, call, 'sending' from given join answered on answered.id = given.inbox_id
  returning inbox_id`

const settleSql = `
  update outbox set state = given.state, reason = given.reason, vendor_id = given.vendor_id, settled_at = now()
  from json_to_recordset($1::text::json) as given (id uuid, state text, reason text, vendor_id text)
  where outbox.id = given.id and outbox.state = 'sending'`

export async function start({ databaseUrl, path, webhookSecret, botToken, apiUrl }) {
  const sql = postgres(databaseUrl, { max: 3, onnotice: () => {} })
  await sql.unsafe(tables)
  const run = (text, rows) => sql.unsafe(text, [JSON.stringify(rows)], { prepare: true })
  const accept = shareCommits(async (rows) => {
    const fresh = new Set((await run(acceptSql, rows)).map(({ id }) => id))
    return rows.map(({ id }) => fresh.has(id))
  })
  const complete = shareCommits(async (rows) => {
    const ended = new Set((await run(completeSql, rows)).map((row) => row.inbox_id))
    return rows.map((row) => ended.has(row.inbox_id))
  })
  const settle = shareCommits(async (rows) => {
    await run(settleSql, rows)
    return rows
  })
  const { send, close: closeSender } = createSender({ apiUrl, botToken })

  const takeTurn = async ({ id: inboxId, chat_id: chatId, original }) => {
    const id = randomUUID()
    const call = { chat_id: chatId, text: answerAtOnce(original.message.text) }
    if (!(await complete({ id, inbox_id: inboxId, call }))) return
    const result = await send(call).then(
      (vendorId) => ({ state: 'delivered', vendor_id: vendorId }),
      (error) => ({ state: 'unknown', reason: error.message }),
    )
    await settle({ id, ...result })
  }
  const { port, close } = await listenForUpdates({ path, webhookSecret }, async (update) => {
    const dedupeKey = `telegram:${update.update_id}`
    const row = { id: randomUUID(), dedupe_key: dedupeKey, chat_id: update.message.chat.id, original: update }
    if (await accept(row)) takeTurn(row).catch((error) => console.error(`bare: ${error.message}`))
  })
  const stop = async () => {
    close()
    await sql.end({ timeout: 2 })
    closeSender()
  }
  return { port, stop, handled: () => 0 }
}
