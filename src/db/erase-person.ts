// Erasing a person: everything that is stored about them is found and erased in steps of bounded size.
import { type Database, nameStatement, type Param, type Statement, storableJson } from './client.ts'
import {
  aPerson,
  countPerson,
  countReceiptPage,
  erasePersonAmbient,
  erasePersonAttachments,
  erasePersonNames,
  erasePersonPairings,
  erasePersonRecords,
  type Reach,
  type ReceiptStatements,
  receiptErasureStatements,
} from './erase-traces.ts'
import { emptyLine } from './sessions.ts'
import { escapedSenderThreadPrefixSql, platformNamedThreadKeySql } from './thread-names.ts'

/** What there was of a person, by kind. Receipts stay as empty rows, so that a redelivery is known. */
export type ErasedCounts = {
  /** Messages whose receipt was emptied. */
  readonly receipts: number
  /** Of these, messages that were still waiting or being answered. */
  readonly inFlight: number
  /** Lines of transcripts: deleted, or emptied where others take part. */
  readonly lines: number
  /** What rooms remembered of theirs. */
  readonly ambientContext: number
  readonly conversations: number
  /** Conversations that go on without them. */
  readonly sharedConversations: number
  readonly sessions: number
  readonly turns: number
  /** Calls to platforms whose content was emptied, and those that had not left yet. */
  readonly calls: number
  readonly unsent: number
  /** Approvals and tool requests. */
  readonly waits: number
  readonly timers: number
  /** Files they sent, or that were made for them. Their bytes go with the next sweep. */
  readonly attachments: number
  readonly grants: number
  readonly pairings: number
  readonly tokens: number
  readonly consents: number
  readonly tombstones: number
  readonly chains: number
  /** What channels knew of them. */
  readonly records: number
  readonly links: number
  readonly principals: number
}

export type PartialErasedCounts = Partial<ErasedCounts>

/** One page of receipts: where the next one begins; null after the last. */
type ReceiptPage = { readonly removed: PartialErasedCounts; readonly next: string | null }

export interface EraseStore {
  /** Every name a person goes by: the one given, and whatever an operator linked with it. */
  namesOf(principal: string): Promise<readonly string[]>
  count(names: readonly string[]): Promise<PartialErasedCounts>
  /** The next conversation they take part in. */
  nextConversation(names: readonly string[], after: string | null): Promise<string | undefined>
  /** Ends what is in flight there and takes it from the worker that holds it. */
  stop(names: readonly string[], conversation: string): Promise<PartialErasedCounts & { readonly isAlone: boolean }>
  /** Each of these erases one batch; nothing removed: there is no more. */
  eraseLines(names: readonly string[], conversation: string): Promise<PartialErasedCounts>
  eraseRuns(names: readonly string[], conversation: string): Promise<number>
  eraseTurns(names: readonly string[], conversation: string): Promise<PartialErasedCounts>
  /** Nothing removed: something new has come meanwhile. */
  leave(names: readonly string[], conversation: string): Promise<PartialErasedCounts>
  eraseAmbientContext(names: readonly string[]): Promise<PartialErasedCounts>
  erasePairings(names: readonly string[]): Promise<PartialErasedCounts>
  eraseReceipts(names: readonly string[], after: string | null): Promise<ReceiptPage>
  countReceipts(names: readonly string[], after: string | null): Promise<ReceiptPage>
  eraseAttachments(names: readonly string[]): Promise<PartialErasedCounts>
  eraseWritten(names: readonly string[]): Promise<PartialErasedCounts>
  /** The names themselves, last of all, and the audit line that says how much was removed, without a name. */
  close(names: readonly string[], end: EraseStep): Promise<PartialErasedCounts>
}

/** Without counting beforehand. */
export type ErasingStore = Omit<EraseStore, 'count' | 'countReceipts'> & {
  /** Receipts of no conversation, found without a walk. Where it is missing, the walk finds them, too. */
  eraseStrays?(names: readonly string[], after: string | null): Promise<ReceiptPage>
}

/** The conversation or the receipt that was looked at last. `strays`: they never took part in a conversation. */
export type EraseCursor = {
  readonly phase: 'conversations' | 'receipts' | 'strays'
  readonly after: string | null
}

/** `next`: where to go on; null when it is done. */
export type EraseStep = {
  readonly actor: string
  readonly next: EraseCursor | null
  readonly removed: PartialErasedCounts
}

/** Rows erased in one statement. */
export const eraseBatchSize = 500
/** Receipts looked at in one statement; few of them are the person's. */
const pageRows = 5_000

type Page = { readonly last: string | null; readonly receipts: number; readonly looked: number } & PartialErasedCounts

type Walk = Pick<
  EraseStore,
  'nextConversation' | 'stop' | 'eraseLines' | 'eraseRuns' | 'eraseTurns' | 'leave' | 'eraseReceipts'
>

/** Through conversations and receipts, as far as it reaches; `whom` is what the statements know them by. */
export function createPersonErasureSteps(
  database: Database,
  tenant: string,
  reach: Reach,
  whom: (names: readonly string[]) => string,
): Walk {
  const ask = conversationErasureStatements(reach)
  const eraseReceipts = createReceiptEraser(database, tenant, receiptErasureStatements(reach))
  const one = createSingleRowQuery(database, tenant)
  return {
    async nextConversation(names, after) {
      const [row] = await database.query<{ id: string }>(ask.nextConversation, [tenant, whom(names), after])
      return row?.id
    },
    stop: (names, conversation) =>
      database.transaction(async (sql) => {
        await sql.query(lockTurns, [tenant, conversation])
        await sql.query(lockSends, [tenant, conversation])
        const [row] = await sql.query<PartialErasedCounts & { isAlone: boolean }>(ask.stop, [
          tenant,
          whom(names),
          conversation,
        ])
        if (row === undefined) throw new RangeError('a count is always one row')
        return row
      }),
    eraseLines: (names, conversation) =>
      one<PartialErasedCounts>(ask.forgetLines, whom(names), conversation, eraseBatchSize),
    async eraseRuns(names, conversation) {
      return (await database.query(ask.forgetRuns, [tenant, whom(names), conversation, eraseBatchSize])).length
    },
    eraseTurns: (names, conversation) =>
      one<PartialErasedCounts>(ask.forgetTurns, whom(names), conversation, eraseBatchSize),
    leave: (names, conversation) => one<PartialErasedCounts>(ask.leave, whom(names), conversation),
    eraseReceipts: (names, after) => eraseReceipts(whom(names), after),
  }
}

/** One page of receipts, whichever of them the statements look at. */
export function createReceiptEraser(
  database: Database,
  tenant: string,
  { lockAnswers, forgetReceiptPage }: ReceiptStatements,
): (whom: string, after: string | null) => Promise<ReceiptPage> {
  return (whom, after) =>
    database.transaction(async (sql) => {
      const params = [tenant, whom, after, pageRows]
      await sql.query(lockAnswers, params)
      const [page] = await sql.query<Page>(forgetReceiptPage, params)
      if (page === undefined) throw new RangeError('a count is always one row')
      return toReceiptPage(page)
    })
}

function toReceiptPage({ last, looked, ...removed }: Page): ReceiptPage {
  return { removed, next: looked < pageRows ? null : last }
}

/** Asks for counts, which are always one row. */
export function createSingleRowQuery(
  database: Database,
  tenant: string,
): <Row>(asked: Statement, ...params: Param[]) => Promise<Row> {
  return async <Row>(asked: Statement, ...params: Param[]) => {
    const [row] = await database.query<Row>(asked, [tenant, ...params])
    if (row === undefined) throw new RangeError('a count is always one row')
    return row
  }
}

export function createEraseStore(database: Database, tenant: string): EraseStore {
  const one = createSingleRowQuery(database, tenant)
  return {
    async namesOf(principal) {
      return (await database.query<{ name: string }>(namesOf, [tenant, principal])).map(({ name }) => name)
    },
    count: (names) => one<PartialErasedCounts>(countPerson, storableJson(names)),
    countReceipts: async (names, after) =>
      toReceiptPage(await one<Page>(countReceiptPage, storableJson(names), after, pageRows)),
    ...createPersonErasureSteps(database, tenant, aPerson, storableJson),
    eraseAmbientContext: (names) => one<PartialErasedCounts>(erasePersonAmbient, storableJson(names)),
    erasePairings: (names) => one<PartialErasedCounts>(erasePersonPairings, storableJson(names)),
    eraseAttachments: (names) => one<PartialErasedCounts>(erasePersonAttachments, storableJson(names), eraseBatchSize),
    eraseWritten: (names) => one<PartialErasedCounts>(erasePersonRecords, storableJson(names)),
    close: (names, { actor, next, removed }) =>
      one<PartialErasedCounts>(
        erasePersonNames,
        storableJson(names),
        actor,
        next === null ? 'done' : 'begun',
        storableJson(removed),
      ),
  }
}

// Conversation by conversation and batch by batch. The same in all: $1 tenant, $2 whom (`Reach` in erase-traces.ts), $3 the
// conversation. What is left when a process dies in between is found again by the same names: those are erased last.

/** `is_alone`: no other person takes part, and nothing there is to stay. */
const onlyParticipantScopeSql = ({ isTheirs, isNewer }: Reach): string => `
scope as materialized (
  select not exists (select 1 from participants p where p.conversation_id = $3 and not ${isTheirs('p.subject')})
    and not ${isNewer} as is_alone
)`

/** `mine`: the turns that were theirs, with those that timers of theirs began. */
const turnsOfErasedPersonSql = (reach: Reach): string => `${onlyParticipantScopeSql(reach)},
begun as materialized (
  select t.id, s.origin from turns t join signals s on s.turn_id = t.id
  where t.tenant = $1 and t.conversation_id = $3 and t.kind = 'signal' and ${reach.isBegun}
),${reach.own},
mine(id) as (
  (select own.id from own
  union
  select t.id from turns t, scope where t.tenant = $1 and t.conversation_id = $3 and scope.is_alone)
  union
  select b.id from mine join begun b on b.origin = mine.id
)`

/** $1 tenant, $2 a subject, or the id a person goes by in the audit log. Whatever an operator said is the same person. */
const namesOf = nameStatement(
  'list_names',
  `
with recursive names(name) as (
  (select $2::text union all select p.subject from principals p where p.tenant = $1 and p.id::text = $2)
  union
  select n.name from names k cross join lateral (
    select l.principal as name from identity_links l where l.tenant = $1 and l.subject = k.name
    union all
    select l.subject from identity_links l where l.tenant = $1 and l.principal = k.name) n
)
select name from names order by name`,
)

/** $3 after which conversation, or null. */
const nextConversationToEraseStatement = ({ name, isTheirs, isHere }: Reach): Statement =>
  nameStatement(
    `next_conversation_to_erase${name}`,
    `
select p.conversation_id as id from participants p join conversations c on c.id = p.conversation_id and c.tenant = $1
where ${isHere} and ${isTheirs('p.subject')} and ($3::uuid is null or p.conversation_id > $3::uuid)
order by p.conversation_id limit 1`,
  )

/** Locked before anything is read: what the lock waited for is then seen. Turns first, then calls, as when a turn ends. */
const lockTurns = nameStatement(
  'lock_erased_turns',
  'select 1 as locked from lanes where tenant = $1 and conversation_id = $2 for update',
)
const lockSends = nameStatement(
  'lock_erased_sends',
  `
select 1 as locked from send_lanes l
where l.tenant = $1 and (l.connection, l.order_key) in (
  select c.connection, $2::text from conversations c where c.id = $2::text::uuid
  union
  -- Copies for others go out in lanes of their own.
  select o.connection, o.order_key from turns t join outbox o on o.turn_id = t.id
  where t.tenant = $1 and t.conversation_id = $2::text::uuid and o.settled_at is null)
order by l.connection, l.order_key for update`,
)

/**
 * Ends what is in flight. A holder that is in the middle of a turn, or has claimed the lane and not yet opened one, loses
 * it: whatever it still wants to write is fenced off. The same for a worker that is sending.
 */
const stopWorkOfErasedPersonStatement = (reach: Reach): Statement =>
  nameStatement(
    `stop_erased${reach.name}`,
    `
with recursive ${turnsOfErasedPersonSql(reach)},
lane as materialized (select l.turn_id, l.holder from lanes l where l.tenant = $1 and l.conversation_id = $3),
queued as (
  update inbox x set state = 'refused', reason = 'forgotten', ended_at = now(), message = null, raw = null, reply_to = null
  from scope
  where x.tenant = $1 and x.conversation_id = $3 and x.state = 'queued'
    and (scope.is_alone or ${reach.isSaid('x')})
  returning x.id
),
ended as (
  update turns t set state = 'dead', reason = 'forgotten', ended_at = now(), epoch = t.epoch + 1, response = null
  where t.tenant = $1 and t.conversation_id = $3 and t.ended_at is null and t.id in (select id from mine)
  returning t.id
),
members as (
  update inbox x set state = 'dead', reason = 'forgotten', ended_at = now(), message = null, raw = null, reply_to = null
  from ended where x.turn_id = ended.id and x.state = 'in_turn'
  returning x.turn_id
),
ran as (
  update runs r set status = 'cancelled', stop_reason = 'forgotten', cancel_requested_at = now(), ended_at = now()
  from ended where r.id = ended.id
),
-- Signals of a turn that is over end with it; those that wait to wake one of theirs never do.
unsignalled as (
  delete from signals s using scope
  where s.tenant = $1 and s.conversation_id = $3 and s.state = 'queued'
    and (scope.is_alone or s.origin in (select id from mine))
  returning s.id
),
carried as (delete from signals s using ended where s.turn_id = ended.id and s.state = 'in_turn' returning s.turn_id),
withdrawn as (
  update outbox o set state = 'cancelled', reason = 'forgotten', settled_at = now()
  where o.tenant = $1 and o.settled_at is null and o.id in (
    select p.id from mine join outbox p on p.turn_id = mine.id where p.settled_at is null
    union
    select p.id from scope, outbox p
    where scope.is_alone and p.tenant = $1 and p.connection = (select c.connection from conversations c where c.id = $3)
      and p.order_key = $3::text and p.settled_at is null)
  returning o.connection, o.order_key
),
unsent as (
  update send_lanes l set pending = l.pending - w.calls, epoch = l.epoch + 1, holder = null, lease_until = null, next_at = now()
  from (select connection, order_key, count(*)::int as calls from withdrawn group by 1, 2) w
  where l.tenant = $1 and l.connection = w.connection and l.order_key = w.order_key
),
freed as (
  update lanes l set
    pending = l.pending - (select count(*)::int from queued) - (select count(*)::int from unsignalled)
      - (select count(*)::int from members m where m.turn_id = lane.turn_id)
      - (select count(*)::int from carried c where c.turn_id = lane.turn_id),
    epoch = l.epoch + case when taken.away then 1 else 0 end,
    turn_id = case when taken.away then null else l.turn_id end,
    holder = case when taken.away then null else l.holder end,
    lease_until = case when taken.away then null else l.lease_until end,
    next_at = case when taken.away then now() else l.next_at end
  from lane, lateral (
    select case when lane.turn_id is null then lane.holder is not null
      else lane.turn_id in (select id from ended) end as away) taken
  where l.tenant = $1 and l.conversation_id = $3
)
select (select count(*)::int from queued) + (select count(*)::int from members) as "inFlight",
  (select count(*)::int from withdrawn) as unsent, (select is_alone from scope) as "isAlone"`,
  )

/** $4 batch. Among the lines of others a line keeps its number: theirs, and what was answered to them alone, is emptied. */
const erasePersonTranscriptStatement = (reach: Reach): Statement =>
  nameStatement(
    `erase_lines${reach.name}`,
    `
with recursive ${turnsOfErasedPersonSql(reach)},
old as materialized (
  select m.session_id, m.seq from scope, sessions s join messages m on m.session_id = s.id
  where s.tenant = $1 and s.conversation_id = $3
    and (scope.is_alone or ((m.envelope #>> '{metadata,deleted}') is distinct from 'true' and (
      m.turn_id in (select id from mine)
      or m.inbox_id in (
        select x.id from inbox x where x.id = m.inbox_id and ${reach.isSaid('x')}))))
  limit $4
),
gone as (
  delete from messages m using old, scope
  where scope.is_alone and m.session_id = old.session_id and m.seq = old.seq returning 1
),
emptied as (
  update messages m set envelope = m.envelope || ${emptyLine} from old, scope
  where not scope.is_alone and m.session_id = old.session_id and m.seq = old.seq returning 1
),
-- A turn of another person that was shown these lines must see that they are gone.
counted as (
  update sessions s set erasures = s.erasures + 1, metadata = s.metadata - 'state' from scope
  where not scope.is_alone and s.id in (select session_id from old)
)
select (select count(*)::int from gone) + (select count(*)::int from emptied) as lines`,
  )

/** $4 batch. Before their logs: who appends to a log holds its run, so that nothing is written after it is gone. */
const erasePersonRunsStatement = (reach: Reach): Statement =>
  nameStatement(
    `erase_runs${reach.name}`,
    `
with recursive ${turnsOfErasedPersonSql(reach)},
old as materialized (select r.id from mine join runs r on r.id = mine.id where r.status <> 'running' limit $4)
delete from runs r using old where r.id = old.id returning 1 as gone`,
  )

/** $4 batch. Turns with all that hangs on them; calls stay as receipts that say nothing. */
const erasePersonTurnsStatement = (reach: Reach): Statement =>
  nameStatement(
    `erase_turns${reach.name}`,
    `
with recursive ${turnsOfErasedPersonSql(reach)},
old as materialized (
  select t.id from mine join turns t on t.id = mine.id
  where t.ended_at is not null and not exists (select 1 from runs r where r.id = t.id)
  -- What a timer began is known by the turn that set it, so it goes first.
  order by t.started_at desc limit $4
),
steps as (delete from journal j using old where j.turn_id = old.id),
events as (delete from run_events e using old where e.run_id = old.id),
asked as (delete from pending_actions a using old where a.turn_id = old.id returning 1),
requested as (delete from runtime_tool_requests q using old where q.turn_id = old.id returning 1),
unset as (delete from timers t using old where t.origin = old.id returning 1),
signalled as (delete from signals s using old where s.turn_id = old.id and s.state <> 'queued'),
unsaid as (
  update outbox o set call = '{"erased":true}', question = null, vendor_id = null, live_reference = null, client_id = '', trace_id = '',
    history = '[]', order_key = coalesce(o.conversation_id, o.origin)::text
  from old where o.turn_id = old.id and o.settled_at is not null returning 1
),
gone as (delete from turns t using old where t.id = old.id returning 1)
select (select count(*)::int from gone) as turns, (select count(*)::int from unsaid) as calls,
  (select count(*)::int from asked) + (select count(*)::int from requested) as waits,
  (select count(*)::int from unset) as timers`,
  )

/**
 * The conversation is not found any more, by any name; the row that is left says nothing and is swept once no delivery that
 * was under way can still mean it. With others in it, it goes on without them.
 */
const removePersonFromConversationStatement = (reach: Reach): Statement =>
  nameStatement(
    `erase_conversation${reach.name}`,
    `
with ${onlyParticipantScopeSql(reach)},
idle as materialized (
  select c.id, c.connection, c.external_id, c.owner_subject, scope.is_alone from scope, conversations c
  where c.tenant = $1 and c.id = $3 and not ${reach.isNewer} and (not scope.is_alone or not exists (
    select 1 from lanes l where l.conversation_id = c.id and (l.pending > 0 or l.turn_id is not null)
    union all
    select 1 from turns t where t.conversation_id = c.id))
),
untasked as (
  delete from tasks k using idle where k.conversation_id = idle.id and (idle.is_alone or ${reach.isTheirs('k.owner')})
  returning k.id
),
untold as (delete from push_configs p using untasked u where p.tenant = $1 and p.task_id = u.id),
left_by as (
  delete from participants p using idle where p.conversation_id = idle.id and (idle.is_alone or ${reach.isTheirs('p.subject')})
  returning 1
),
unnamed as (delete from conversation_aliases a using idle where idle.is_alone and a.conversation_id = idle.id),
unsteered as (
  delete from thread_agents a using idle
  where idle.is_alone and a.tenant = $1 and a.connection = idle.connection
    and a.external_id = ${platformNamedThreadKeySql('idle.external_id')}
),
closed as (
  delete from sessions s using idle
  where idle.is_alone and s.conversation_id = idle.id and not exists (select 1 from messages m where m.session_id = s.id)
  returning s.id
),
unattached as (delete from attachments a using closed where a.tenant = $1 and a.session_id = closed.id returning 1),
disowned as (
  update sessions s set owner = case when ${reach.isTheirs('s.owner')} then null else s.owner end, provider_response_id = null
  from idle where not idle.is_alone and s.conversation_id = idle.id
),
decided as (delete from consents k using closed where k.tenant = $1 and k.session_id = closed.id returning 1),
resolved as (
  update pending_actions a set resolver = 'forgotten', resolution_metadata = a.resolution_metadata - 'reason' - 'by'
  from idle where a.tenant = $1 and a.conversation_id = idle.id and ${reach.isTheirs('a.resolver')}
),
shown as (
  update conversations c set
    -- Named as a thread that no platform verified and no person owns.
    external_id = case when idle.is_alone
        or (c.owner_subject is not null and starts_with(c.external_id, ${escapedSenderThreadPrefixSql('c.owner_subject')}))
      then '~~erased ' || c.id else c.external_id end,
    owner_subject = case when idle.is_alone or ${reach.isTheirs('c.owner_subject')} then null else c.owner_subject end,
    reply_to = case when not idle.is_alone then (
      select jsonb_object_agg(r.key, r.value) from jsonb_each(c.reply_to) r where not starts_with(r.key, 'reply_to_')) end,
    reply_token_hash = case when not idle.is_alone then c.reply_token_hash end,
    session_id = case when not idle.is_alone then c.session_id end, last_activity_at = now()
  from idle where c.id = idle.id returning 1
)
select (select count(*)::int from shown) as conversations, (select count(*)::int from closed) as sessions,
  (select count(*)::int from decided) as consents, (select count(*)::int from unattached) as attachments`,
  )

export type ConversationStatements = Readonly<
  Record<'nextConversation' | 'stop' | 'forgetLines' | 'forgetRuns' | 'forgetTurns' | 'leave', Statement>
>

function conversationErasureStatements(reach: Reach): ConversationStatements {
  return {
    nextConversation: nextConversationToEraseStatement(reach),
    stop: stopWorkOfErasedPersonStatement(reach),
    forgetLines: erasePersonTranscriptStatement(reach),
    forgetRuns: erasePersonRunsStatement(reach),
    forgetTurns: erasePersonTurnsStatement(reach),
    leave: removePersonFromConversationStatement(reach),
  }
}
