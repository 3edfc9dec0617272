// Two tenants on one PostgreSQL, each with a gateway process of its own and everything called the same: connections, chats,
// people, messages, threads, runs. Whatever one of them was told or says carries its canaries; the other's are nowhere.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApp } from '../../../src/api/app.ts'
import type { AppDeps } from '../../../src/api/deps.ts'
import { namingBot } from '../../doubles/bot-mention.ts'
import { type GatewayChild, startGatewayChild } from '../../doubles/gateway-child.ts'
import { apiFault, rateLimited, startTelegramApi, type TelegramApi } from '../../doubles/telegram-api.ts'
import { describeOnPostgres, type TestDatabase } from '../../setup/databases.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'

const names = ['acme', 'globex'] as const
type Name = (typeof names)[number]

/** What may be found of a tenant, and by nobody else. */
const canaries = (tenant: Name) => {
  const canary = (what: string): string => `${tenant}-canary-${what}`
  return {
    text: canary('text'),
    sender: canary('sender'),
    botToken: `7000001:${canary('bot-token')}`,
    webhookSecret: `${canary('webhook-secret')}-long-enough-to-be-one`,
    adminToken: canary('admin-token-0000'),
    tokenLabel: canary('token-label'),
    reply: canary('reply'),
    toolResult: canary('tool-result'),
    applyInput: canary('apply-input'),
    summary: canary('summary'),
    failure: canary('failure'),
    event: canary('event'),
    vendorError: canary('vendor-error'),
  }
}
const markOf = (tenant: Name): string => `${tenant}-canary-`
const otherOf = (tenant: Name): Name => (tenant === 'acme' ? 'globex' : 'acme')

const configOf = (tenant: Name) => {
  const { reply, toolResult, applyInput, summary, failure, event } = canaries(tenant)
  return `export default {
  // One says it in its file, the other in its environment.
  ${tenant === 'acme' ? "tenant: 'acme'," : ''}
  agents: [{
    slug: 'demo',
    async run(message, context) {
      const said = message.parts.map((part) => part.content ?? '').join(' ')
      if (said.includes('throw')) throw new Error('${failure}')
      const found = await context.step('look', async () => '${toolResult}')
      context.show('${event}')
      context.schedule('later', 1, { note: '${event}' })
      if (said.includes('ask')) return (await context.pause.approval({
        summary: '${summary}', apply_input: { key: '${applyInput}' }, preview: { size: 1 } })).question
      return '${reply} ' + said + ' ' + found
    },
    onSignal: () => '${reply} after a signal',
  }],
  turns: { retryFirstMs: 1, maxFailures: 2, pollMs: 100 },
}`
}

/** Rows without a tenant of their own belong to a row that has one. */
const belongsTo: Readonly<Record<string, string>> = {
  participants: 'select p.tenant from conversations p where p.id = r.conversation_id',
  journal: 'select p.tenant from turns p where p.id = r.turn_id',
  run_events: 'select p.tenant from runs p where p.id = r.run_id',
}

type Tenant = {
  readonly name: Name
  readonly folder: string
  readonly api: TelegramApi
  readonly gateway: GatewayChild
  readonly secrets: ReturnType<typeof canaries>
  /** Bodies of all answers: to webhooks, to the API, to the operator. */
  readonly answers: string[]
}

describeOnPostgres('two tenants', (adminUrl) => {
  let clone: TestDatabase
  let sql: postgres.Sql
  let tenants: readonly Tenant[] = []

  beforeAll(async () => {
    clone = await takeDatabase(adminUrl)
    sql = postgres(clone.url, { max: 2, onnotice: () => {} })
    tenants = await Promise.all(names.map((name) => startTenant(name, clone.url)))
  }, 120_000)
  afterAll(async () => {
    for (const { gateway, api, folder } of tenants) {
      await gateway.stop()
      await api.close()
      await rm(folder, { recursive: true, force: true, maxRetries: 10 })
    }
    await sql.end()
    await clone.drop()
  }, 60_000)

  const request = async ({ gateway, answers }: Tenant, path: string, init: RequestInit = {}) => {
    const response = await fetch(`${gateway.url}${path}`, init)
    const body = await response.text()
    answers.push(body)
    return { status: response.status, body }
  }
  const asOperator = (tenant: Tenant, path: string, init: RequestInit = {}) =>
    request(tenant, path, { ...init, headers: { authorization: `Bearer ${tenant.secrets.adminToken}`, ...json } })
  const json = { 'content-type': 'application/json' }
  /** The same update for whichever tenant: ids, chat and person are the same, the words are its own. */
  const update = ({ secrets }: Tenant, id: number, words: string, from = 7) => ({
    update_id: 1000 + id,
    message: {
      message_id: id,
      date: Math.floor(Date.now() / 1000),
      chat: { id: -id, type: 'group', title: 'Room' },
      from: { id: from, is_bot: false, first_name: secrets.sender },
      text: words,
      entities: namingBot(secrets.botToken),
    },
  })
  const deliver = (tenant: Tenant, body: object) => {
    const headers = { ...json, 'x-telegram-bot-api-secret-token': tenant.secrets.webhookSecret }
    return request(tenant, '/hooks/telegram/default', { method: 'POST', headers, body: JSON.stringify(body) })
  }
  const say = (tenant: Tenant, id: number, words: string, from = 7) =>
    deliver(tenant, update(tenant, id, `${words} ${tenant.secrets.text}`, from))
  const both = (act: (tenant: Tenant) => Promise<unknown>) => Promise.all(tenants.map(act))
  const booksOf = async (tenant: Tenant) =>
    (JSON.parse((await asOperator(tenant, '/admin/stats')).body) as { stats: Record<string, number>[] }).stats
  const settled = (tenant: Tenant) =>
    expect
      .poll(async () => (await booksOf(tenant)).every((line) => line['inFlight'] === 0), { timeout: 60_000 })
      .toBe(true)
  const idsIn = async (tenant: Tenant, path: string, field: string, id = 'id'): Promise<readonly string[]> => {
    const list = JSON.parse((await asOperator(tenant, path)).body) as Record<string, Record<string, string>[]>
    return (list[field] ?? []).map((each) => each[id] ?? '')
  }
  const deliveries = '/admin/deliveries?state=queued,sending,retry,delivered,refused,unknown,dead,cancelled'

  test('are busy at the same time, with everything that can go well or wrong', async () => {
    await both((tenant) => say(tenant, 1, 'hello'))
    await both(settled)
    // Delivered again, to each its own.
    await both(async (tenant) => {
      const body = update(tenant, 2, tenant.secrets.text)
      await Promise.all([deliver(tenant, body), deliver(tenant, body), deliver(tenant, body)])
    })
    await both(async (tenant) => {
      tenant.api.failNext(
        'sendMessage',
        apiFault(500, tenant.secrets.vendorError),
        rateLimited(1),
        apiFault(403, `Forbidden: ${tenant.secrets.vendorError}`),
        { kind: 'drop', when: 'after' },
      )
      for (const id of [3, 4, 5]) await say(tenant, id, 'hello')
      await say(tenant, 6, 'throw')
      await say(tenant, 7, 'let me in', 8)
      await say(tenant, 8, 'ask')
      await say(tenant, 9, '/status')
      await say(tenant, 9, '/stop')
      await deliver(tenant, { update_id: 2000, message: { message_id: {}, text: tenant.secrets.text } })
      const run = {
        threadId: 'thread',
        runId: 'run',
        messages: [{ id: 'm', role: 'user', content: tenant.secrets.text }],
      }
      await request(tenant, '/api/v1/agent/run', { method: 'POST', headers: json, body: JSON.stringify(run) })
      const label = JSON.stringify({ label: tenant.secrets.tokenLabel })
      await asOperator(tenant, '/admin/tokens', { method: 'POST', body: label })
    })
    await both(settled)
    await both(async (tenant) => {
      const [action] = await idsIn(tenant, '/admin/approvals', 'actions', 'action_id')
      const decision = JSON.stringify({ decision: 'accepted' })
      expect(
        (await asOperator(tenant, `/admin/approvals/${action}/resolve`, { method: 'POST', body: decision })).status,
      ).toBe(200)
      const [dead] = await idsIn(tenant, '/admin/dead-letters', 'deadLetters')
      await asOperator(tenant, `/admin/dead-letters/${dead}/resubmit`, { method: 'POST' })
      await asOperator(tenant, `/admin/replay/${dead}`, { method: 'POST' })
    })
    await both(settled)
  }, 240_000)

  test('have the same books: what came twice to one of them came once to the other', async () => {
    const [acme, globex] = await Promise.all(tenants.map(booksOf))
    const counted = (lines: readonly Record<string, unknown>[] = []) =>
      lines.map(({ connection, received, duplicates }) => ({ connection, received, duplicates }))
    expect(counted(acme)).toEqual(counted(globex))
    expect(acme).toMatchObject([
      { tenant: 'acme', connection: 'agui/demo', received: 1 },
      { tenant: 'acme', connection: 'telegram/default', duplicates: 2 },
    ])
  })

  test('have no row that carries a canary of the other', async () => {
    const tables = await sql<{ name: string; hasTenant: boolean }[]>`
      select t.tablename as name, exists (select 1 from information_schema.columns c
        where c.table_name = t.tablename and c.column_name = 'tenant') as "hasTenant"
      from pg_tables t where t.schemaname = 'public' and t.tablename <> 'parley_migrations'`
    // A new table without a tenant has to say here whose its rows are.
    expect(
      tables
        .filter(({ hasTenant }) => !hasTenant)
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(Object.keys(belongsTo).toSorted())
    const leaks: string[] = []
    const marked = new Set<string>()
    for (const { name, hasTenant } of tables) {
      const owner = hasTenant ? 'r.tenant' : `(${belongsTo[name]})`
      const rows = await sql.unsafe<{ owner: Name; row: string }[]>(
        `select ${owner} as owner, to_jsonb(r)::text as row from ${name} r`,
      )
      for (const { owner: of, row } of rows) {
        expect(names).toContain(of)
        if (row.includes(markOf(otherOf(of)))) leaks.push(`${name} of ${of}: ${row.slice(0, 200)}`)
        if (row.includes(markOf(of))) marked.add(name)
      }
    }
    expect(leaks).toEqual([])
    // The canaries did come to where they would leak from.
    for (const name of [
      'inbox',
      'messages',
      'outbox',
      'turns',
      'journal',
      'run_events',
      'pending_actions',
      'timers',
      'tokens',
    ])
      expect([...marked]).toContain(name)
  })

  test.each(names)(
    '%s: no answer, log line, metric or vendor call carries a canary of the other',
    async (name) => {
      const tenant = tenants.find((each) => each.name === name)
      if (tenant === undefined) throw new Error('no tenant')
      const other = tenants.find((each) => each.name !== name) ?? tenant
      const everyId = async (of: Tenant) => [
        ...(await idsIn(of, '/admin/runs?limit=500', 'runs')),
        ...(await idsIn(of, '/admin/sessions?limit=100', 'sessions')),
        ...(await idsIn(of, '/admin/approvals', 'actions', 'action_id')),
        ...(await idsIn(of, deliveries, 'deliveries')),
        ...(await idsIn(of, '/admin/dead-letters', 'deadLetters')),
        ...(await sql<{ id: string }[]>`select id from inbox where tenant = ${of.name}`).map(({ id }) => id),
      ]
      const app = createApp({ gateway: { connections: [] } } as unknown as AppDeps)
      const readable = app.routes.flatMap(({ method, path }) => (method === 'GET' ? [path] : []))
      const own = await everyId(tenant)
      const foreign = await everyId(other)
      expect(own.length).toBeGreaterThan(10)
      tenant.answers.length = 0
      let shown = 0
      for (const path of readable.filter((each) => !each.includes('*'))) {
        if (!path.includes(':id')) await asOperator(tenant, path === '/admin/deliveries' ? deliveries : path)
        else {
          for (const id of own) shown += Number((await asOperator(tenant, path.replace(':id', id))).status === 200)
          for (const id of foreign) {
            const { status } = await asOperator(tenant, path.replace(':id', id))
            // The operator's token is nobody's on the routes of callers.
            expect([400, 401, 404], `${path} for an id of ${other.name}`).toContain(status)
          }
        }
      }
      expect(shown).toBeGreaterThan(10)
      // What both have of one name is its own in each: message, vendor and update ids.
      for (const id of ['-1:1', '1', '1001', 'run', 'thread'])
        await asOperator(tenant, `/admin/explain/${encodeURIComponent(id)}`)
      await asOperator(tenant, '/admin/sessions?owner=telegram:7')
      expect(
        (await request(other, '/admin/stats', { headers: { authorization: `Bearer ${tenant.secrets.adminToken}` } }))
          .status,
      ).toBe(401)
      const calls = tenant.api.calls.map(({ path, headers, body }) => JSON.stringify([path, headers, body]))
      const surfaces: Record<string, readonly string[]> = {
        answers: tenant.answers,
        log: tenant.gateway.output().split('\n'),
        metrics: [(await asOperator(tenant, '/metrics')).body],
        'vendor calls': calls,
      }
      for (const [surface, lines] of Object.entries(surfaces)) {
        expect(lines.filter((line) => line.trim() !== '').length, `${surface} says something`).toBeGreaterThan(0)
        expect(
          lines.filter((line) => line.includes(markOf(other.name))),
          surface,
        ).toEqual([])
      }
      expect(tenant.answers.join('\n')).toContain(markOf(name))
      expect(calls.join('\n')).toContain(tenant.secrets.reply)
      expect(tenant.api.unexpected).toEqual([])
    },
    240_000,
  )

  test('change nothing of each other, though they know the ids', async () => {
    const [acme, globex] = tenants
    if (acme === undefined || globex === undefined) throw new Error('no tenants')
    const before = await booksOf(globex)
    const runs = await idsIn(globex, '/admin/runs?limit=500', 'runs')
    const failed = await idsIn(globex, deliveries, 'deliveries')
    const dead = await idsIn(globex, '/admin/dead-letters', 'deadLetters')
    const sessions = await idsIn(globex, '/admin/sessions?limit=100', 'sessions')
    const attempts = [
      ...runs.map((id) => ['POST', `/admin/runs/${id}/cancel`]),
      ...failed.flatMap((id) => [
        ['POST', `/admin/deliveries/${id}/retry`],
        ['POST', `/admin/deliveries/${id}/drop`],
      ]),
      ...dead.flatMap((id) => [
        ['POST', `/admin/dead-letters/${id}/resubmit`],
        ['POST', `/admin/replay/${id}`],
      ]),
      ...sessions.map((id) => ['DELETE', `/admin/sessions/${id}`]),
    ]
    expect(attempts.length).toBeGreaterThan(10)
    for (const [method = '', path = ''] of attempts)
      expect([404, 409], path).toContain((await asOperator(acme, path, { method })).status)
    expect(await booksOf(globex)).toEqual(before)
    expect(await idsIn(globex, '/admin/sessions?limit=100', 'sessions')).toEqual(sessions)
  }, 120_000)
})

async function startTenant(name: Name, databaseUrl: string): Promise<Tenant> {
  const secrets = canaries(name)
  const folder = await mkdtemp(join(tmpdir(), 'parley-tenant-'))
  await writeFile(join(folder, 'parley.config.mjs'), configOf(name))
  const api = await startTelegramApi({ token: secrets.botToken })
  const gateway = await startGatewayChild({
    cwd: folder,
    env: {
      PARLEY_PORT: '0',
      PARLEY_DATA_DIR: folder,
      PARLEY_ADMIN_TOKEN: secrets.adminToken,
      PARLEY_LOG_LEVEL: 'trace',
      DATABASE_URL: databaseUrl,
      TELEGRAM_BOT_TOKEN: secrets.botToken,
      TELEGRAM_WEBHOOK_SECRET: secrets.webhookSecret,
      TELEGRAM_API_ROOT: api.apiRoot,
      TELEGRAM_ALLOW: '7',
      ...(name === 'globex' ? { PARLEY_TENANT: name } : {}),
    },
  })
  return { name, folder, api, gateway, secrets, answers: [] }
}
