// Canaries: strings put wherever a secret, a name or a text can stand, through success, failure and outage of the real
// process. Afterwards every surface is searched. A new surface is one line in `surfaces`; a route without one fails below.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApp } from '../../../src/api/app.ts'
import type { AppDeps } from '../../../src/api/deps.ts'
import { namingBot } from '../../doubles/bot-mention.ts'
import { type DatabaseProxy, startDatabaseProxy } from '../../doubles/database-proxy.ts'
import { type GatewayChild, runParley, startGatewayChild } from '../../doubles/gateway-child.ts'
import { readPrometheusText } from '../../doubles/prometheus-text.ts'
import { apiFault, htmlBadGateway, rateLimited, startTelegramApi } from '../../doubles/telegram-api.ts'
import { describeOnPostgres, type TestDatabase } from '../../setup/databases.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'

const run = Math.random().toString(36).slice(2, 10)
const canary = (name: string): string => `canary-${name}-${run}`

/** Never to be seen, wherever one looks. */
const hidden = {
  botToken: `700${Date.now()}:${canary('bot-token')}`,
  webhookSecret: `${canary('webhook-secret')}-long-enough-to-be-one`,
  adminToken: canary('admin-token'),
  databasePassword: canary('database-password'),
  wrongDatabasePassword: canary('wrong-database-password'),
  wrongAdminToken: canary('wrong-admin-token'),
  wrongWebhookSecret: canary('wrong-webhook-secret'),
  header: canary('header'),
  query: canary('query'),
  senderName: canary('sender-name'),
  strangerName: canary('stranger-name'),
  forgottenPromise: canary('forgotten-promise'),
  vendorError: canary('vendor-error'),
  garbage: canary('garbage'),
  applyInput: canary('apply-input'),
  filePath: canary('file-path'),
} as const

/** What the agent's own code threw: for operators, with the turn. */
const thrown = {
  agentError: canary('agent-error'),
  stepError: canary('step-error'),
  fakedStack: canary('faked-stack'),
} as const

/** What people said; to be seen only by the agent, the vendor, and where `showsText` says so. */
const text = canary('message-text')

const config = `export default {
  agents: [{
    slug: 'canary',
    async run(message, context) {
      const said = message.parts.map((part) => part.content ?? '').join(' ')
      if (said.includes('/throw')) throw new Error('${thrown.agentError} after ' + said)
      if (said.includes('/stack')) throw new TypeError('oops\\n    at ${thrown.fakedStack} (/x/${thrown.fakedStack}.js:1:1)')
      if (said.includes('/step')) return context.step('charge', async () => { throw new Error('${thrown.stepError}') })
      if (said.includes('/ask')) return (await context.pause.approval({
        summary: 'do it', apply_input: { key: '${hidden.applyInput}' }, preview: { size: 1 } })).question
      if (said.includes('/forget')) void Promise.reject(new Error('${hidden.forgottenPromise}'))
      context.show('you said ' + said)
      return 'you said ' + said
    },
  }],
  turns: { retryFirstMs: 1, maxFailures: 2, pollMs: 100 },
}`

type Surface = {
  readonly name: string
  readonly read: () => Promise<string>
  readonly showsText?: boolean
  readonly showsErrors?: boolean
}

describeOnPostgres('canaries', (adminUrl) => {
  let clone: TestDatabase
  let proxy: DatabaseProxy
  let api: Awaited<ReturnType<typeof startTelegramApi>>
  let folder: string
  let gateway: GatewayChild
  let environment: Record<string, string>
  let nextId = 1
  const role = `canary_${run}`
  /** Every answer that was an error, and every answer to a webhook. */
  const answers: string[] = []

  const asAdmin = async (statement: string) => {
    const sql = postgres(adminUrl, { max: 1, onnotice: () => {} })
    await sql.unsafe(statement)
    await sql.end()
  }

  beforeAll(async () => {
    clone = await takeDatabase(adminUrl)
    await asAdmin(`create role ${role} login superuser password '${hidden.databasePassword}'`)
    const url = new URL(clone.url)
    url.username = role
    url.password = hidden.databasePassword
    proxy = await startDatabaseProxy(url.href)
    api = await startTelegramApi({ token: hidden.botToken })
    folder = await mkdtemp(join(tmpdir(), 'parley-canary-'))
    await writeFile(join(folder, 'parley.config.mjs'), config)
    environment = {
      PARLEY_PORT: '0',
      PARLEY_DATA_DIR: folder,
      PARLEY_ADMIN_TOKEN: hidden.adminToken,
      PARLEY_LOG_LEVEL: 'trace',
      DATABASE_URL: proxy.url,
      TELEGRAM_BOT_TOKEN: hidden.botToken,
      TELEGRAM_WEBHOOK_SECRET: hidden.webhookSecret,
      TELEGRAM_API_ROOT: api.apiRoot,
      TELEGRAM_ALLOW: '7',
    }
    gateway = await startGatewayChild({ cwd: folder, env: environment })
  }, 90_000)
  afterAll(async () => {
    proxy.restore()
    await gateway.stop()
    await proxy.close()
    await api.close()
    await clone.drop()
    await asAdmin(`drop role ${role}`)
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  }, 60_000)

  const request = async (path: string, init: RequestInit = {}) => {
    const headers = { 'x-canary': hidden.header, traceparent: hidden.header, cookie: hidden.header, ...init.headers }
    const response = await fetch(`${gateway.url}${path}`, { ...init, headers })
    return { status: response.status, body: await response.text() }
  }
  const asOperator = async (path: string, method = 'GET') =>
    (await request(path, { method, headers: { authorization: `Bearer ${hidden.adminToken}` } })).body
  const post = async (body: BodyInit, headers: Record<string, string> = {}) => {
    const secret = { 'x-telegram-bot-api-secret-token': hidden.webhookSecret }
    const answer = await request('/hooks/telegram/default', {
      method: 'POST',
      body,
      headers: { ...secret, ...headers },
    })
    answers.push(answer.body)
    return answer.status
  }
  const say = (words: string, from = { id: 7, is_bot: false, first_name: hidden.senderName }, more = {}) => {
    const id = nextId++
    const date = Math.floor(Date.now() / 1000)
    const message = {
      message_id: id,
      date,
      chat: { id: -id, type: 'group', title: 'Test' },
      from,
      text: words,
      entities: namingBot(hidden.botToken),
      ...more,
    }
    return post(JSON.stringify({ update_id: 1000 + id, message }), { 'content-type': 'application/json' })
  }
  const books = async () => {
    const { stats: lines } = JSON.parse(await asOperator('/admin/stats')) as { stats: Record<string, number>[] }
    return lines.find((line) => String(line['connection']) === 'telegram/default') ?? {}
  }
  const settled = () => expect.poll(async () => (await books())['inFlight'], { timeout: 60_000, interval: 100 }).toBe(0)
  const firstId = async (path: string, field: string): Promise<string> => {
    const list = JSON.parse(await asOperator(path)) as Record<string, { id: string }[]>
    return list[field]?.[0]?.id ?? 'none'
  }
  const deliveryStates = 'queued,sending,retry,delivered,refused,unknown,dead,cancelled'
  const everyDelivery = async () => {
    const list = JSON.parse(await asOperator(`/admin/deliveries?state=${deliveryStates}`)) as {
      deliveries: { id: string }[]
    }
    return (await Promise.all(list.deliveries.map(({ id }) => asOperator(`/admin/deliveries/${id}`)))).join('\n')
  }
  const everyRun = async (more: string) => {
    const list = JSON.parse(await asOperator('/admin/runs?limit=500')) as { runs: { id: string }[] }
    return (await Promise.all(list.runs.map(({ id }) => asOperator(`/admin/runs/${id}${more}`)))).join('\n')
  }
  const everySession = async () => {
    const list = JSON.parse(await asOperator('/admin/sessions?limit=100')) as { sessions: { id: string }[] }
    return (await Promise.all(list.sessions.map(({ id }) => asOperator(`/admin/sessions/${id}`)))).join('\n')
  }
  const everyApproval = async () => {
    const list = JSON.parse(await asOperator('/admin/approvals')) as { actions: { action_id: string }[] }
    expect(list.actions).not.toHaveLength(0)
    return (await Promise.all(list.actions.map((each) => asOperator(`/admin/approvals/${each.action_id}`)))).join('\n')
  }
  const everyFile = async () => {
    const list = JSON.parse(await asOperator('/admin/attachments')) as { attachments: { id: string }[] }
    expect(list.attachments).not.toHaveLength(0)
    return (await Promise.all(list.attachments.map(({ id }) => asOperator(`/admin/attachments/${id}`)))).join('\n')
  }
  const ofEveryMessage = async (path: (id: string) => string) => {
    const sql = postgres(clone.url, { max: 1, onnotice: () => {} })
    const inbox = await sql<{ id: string }[]>`select id from inbox`
    await sql.end()
    return (await Promise.all(inbox.map(({ id }) => asOperator(path(id))))).join('\n')
  }
  const everyStory = () => ofEveryMessage((id) => `/admin/explain/${id}`)
  const everyEffect = () => ofEveryMessage((id) => `/admin/dead-letters/${id}/effects`)
  const runApi = (body: string) =>
    request('/api/v1/agent/run', { method: 'POST', body, headers: { 'content-type': 'application/json' } })

  const own = '/api/v1/agent'
  const noId = '00000000-0000-0000-0000-000000000000'
  const ownLists = [`${own}/sessions`, `${own}/approvals`, `${own}/approvals/summary`, `${own}/tool-requests`]
  const ownThings = [`${own}/sessions/:id`, `${own}/approvals/:id`, `${own}/tool-requests/:id`]

  /** Everywhere something can be read. Some are meant to show what was said: to its sender, and to an operator. */
  const surfaces: readonly Surface[] = [
    { name: 'standard output and error', read: async () => gateway.output() },
    { name: 'error bodies and webhook answers', read: async () => answers.join('\n') },
    { name: 'GET /', read: async () => (await request('/')).body },
    { name: 'GET /healthz', read: async () => (await request('/healthz')).body },
    { name: 'GET /readyz', read: async () => (await request('/readyz')).body },
    { name: 'GET /metrics', read: async () => (await request('/metrics')).body },
    { name: 'GET /admin/agents', read: () => asOperator('/admin/agents') },
    { name: 'GET /admin/stats', read: () => asOperator('/admin/stats') },
    { name: 'GET /admin/connections', read: () => asOperator('/admin/connections') },
    // An error that quotes what was said brings it along.
    { name: 'GET /admin/explain/:id', showsText: true, showsErrors: true, read: everyStory },
    { name: 'GET /admin/audit', read: () => asOperator('/admin/audit?limit=500') },
    { name: 'GET /admin/audit/config', read: () => asOperator('/admin/audit/config') },
    { name: 'GET /admin/rejected', read: () => asOperator('/admin/rejected') },
    { name: 'GET /admin/tokens', read: () => asOperator('/admin/tokens') },
    { name: 'GET /admin/sessions', read: () => asOperator('/admin/sessions') },
    { name: 'GET /admin/sessions/:id', showsText: true, read: everySession },
    { name: 'GET /admin/dead-letters', read: () => asOperator('/admin/dead-letters') },
    { name: 'GET /admin/dead-letters/:id/effects', read: everyEffect },
    { name: 'GET /admin/refused', read: () => asOperator('/admin/refused') },
    { name: 'GET /admin/ignored', read: () => asOperator('/admin/ignored') },
    { name: 'GET /admin/deliveries', read: () => asOperator(`/admin/deliveries?state=${deliveryStates}`) },
    { name: 'GET /admin/approvals', read: () => asOperator('/admin/approvals') },
    { name: 'GET /admin/approvals/summary', read: () => asOperator('/admin/approvals/summary') },
    { name: 'GET /admin/approvals/:id', read: everyApproval },
    { name: 'GET /admin/tool-requests', read: () => asOperator('/admin/tool-requests') },
    // None is asked for here; what it shows is for whoever runs the tool, parameters included.
    { name: 'GET /admin/tool-requests/:id', read: async () => (await request('/admin/tool-requests/none')).body },
    { name: 'GET /admin/secrets', read: () => asOperator('/admin/secrets') },
    { name: 'GET /admin/attachments', read: () => asOperator('/admin/attachments') },
    { name: 'GET /admin/attachments/:id', read: everyFile },
    // Nobody's file by that name, and no handle: what they show of one's own is in the tests of files.
    {
      name: 'GET /api/v1/agent/attachments/signed-url',
      read: async () => (await request(`/api/v1/agent/attachments/signed-url?bucket=b&path=p`)).body,
    },
    {
      name: 'GET /storage/v1/object/sign/*',
      read: async () => (await request('/storage/v1/object/sign/local-files/agent-inputs/x.txt?token=x')).body,
    },
    // A channel that serves pages shows them there; this one serves none.
    {
      name: 'GET /hooks/:channel/:connection/*',
      read: async () => (await request('/hooks/telegram/default/install')).body,
    },
    {
      name: 'GET /api/v1/agent/history',
      read: async () => (await request('/api/v1/agent/history?threadId=none')).body,
    },
    {
      name: 'GET /.well-known/adapter-card',
      read: async () => (await request('/.well-known/adapter-card')).body,
    },
    { name: 'GET /openapi.json', read: async () => (await request('/openapi.json')).body },
    { name: 'GET /docs/api', read: async () => (await request('/docs/api')).body },
    // Asked by this machine's own user, whose things the run below made; those of others are not there.
    ...ownLists.map((path) => ({ name: `GET ${path}`, read: async () => (await request(path)).body })),
    ...ownThings.map((path) => ({
      name: `GET ${path}`,
      read: async () => (await request(path.replace(':id', noId))).body,
    })),
    {
      name: 'GET /api/v1/tasks/list-execution-targets',
      read: async () => (await request('/api/v1/tasks/list-execution-targets')).body,
    },
    {
      name: 'GET /api/v1/tasks/get-task-run',
      read: async () => (await request('/api/v1/tasks/get-task-run?run_id=none')).body,
    },
    { name: 'GET /admin/pairings', read: () => asOperator('/admin/pairings') },
    { name: 'GET /admin/grants', read: () => asOperator('/admin/grants?state=all') },
    { name: 'GET /admin/principals', read: () => asOperator('/admin/principals') },
    { name: 'GET /admin/principals/links', read: () => asOperator('/admin/principals/links') },
    { name: 'GET /admin/runs', read: () => asOperator('/admin/runs?limit=500') },
    { name: 'GET /admin/runs/:id', read: () => everyRun('') },
    { name: 'GET /admin/runs/:id/events', showsText: true, showsErrors: true, read: () => everyRun('/events') },
    {
      name: 'GET /admin/deliveries/:id',
      showsText: true,
      read: everyDelivery,
    },
    {
      name: 'POST /api/v1/agent/run',
      showsText: true,
      read: async () => (await runApi(runBody(text))).body,
    },
  ]

  test('every route that can be read stands in the list of surfaces', () => {
    // Only the connections are looked at before a request comes.
    const app = createApp({ gateway: { connections: [] }, secrets: {} } as unknown as AppDeps)
    const readable = app.routes.filter(({ method }) => method === 'GET').map(({ path }) => `GET ${path}`)
    expect(readable.toSorted()).toEqual(
      surfaces.flatMap(({ name }) => (name.startsWith('GET ') ? [name] : [])).toSorted(),
    )
  })

  test('a run with everything that can go well or wrong', async () => {
    expect(await say(`${text} hello`)).toBe(200)
    await settled()
    expect(api.sent.map((sent) => sent.text).join()).toContain(text)
    // A file is fetched with the token in its address, from a path that only the vendor and we know.
    api.files.set('photo', { bytes: new TextEncoder().encode(text), path: `documents/${hidden.filePath}` })
    for (const fault of [undefined, htmlBadGateway, { kind: 'drop', when: 'before' } as const]) {
      api.failAlways('file', fault)
      await say(text, undefined, { document: { file_id: 'photo', file_name: 'a.txt' } })
      await settled()
    }
    const stranger = { id: 8, is_bot: false, first_name: hidden.strangerName }
    expect(await say(`${text} let me in`, stranger, { entities: [] })).toBe(200)
    for (const fault of [
      apiFault(400, `Bad Request: ${hidden.vendorError}`),
      apiFault(403, `Forbidden: ${hidden.vendorError}`),
      apiFault(500, hidden.vendorError),
      rateLimited(1),
      { ...htmlBadGateway, body: `<html>${hidden.vendorError}</html>` },
      { kind: 'drop', when: 'before' } as const,
      { kind: 'drop', when: 'after' } as const,
    ]) {
      api.failNext('sendMessage', fault)
      await say(text)
      await settled()
    }
    for (const command of ['/throw', '/stack', '/step', '/ask', '/forget']) await say(`${command} ${text}`)
    await settled()
    await post(`{"update_id": 1, "${hidden.garbage}`)
    await post(new Uint8Array([0xff, 0xfe, 0x80]))
    await post(JSON.stringify({ update_id: hidden.garbage, message: { message_id: {}, text } }))
    await post('x'.repeat(2_000_000))
    await post('{}', { 'x-telegram-bot-api-secret-token': hidden.wrongWebhookSecret })
    for (const [path, init] of [
      [`/${hidden.query}?${hidden.query}`, {}],
      [`/hooks/telegram/${hidden.query}`, { method: 'POST', body: text }],
      ['/admin/stats', { headers: { authorization: `Bearer ${hidden.wrongAdminToken}` } }],
      [
        '/metrics',
        { headers: { 'x-forwarded-for': hidden.header, authorization: `Bearer ${hidden.wrongAdminToken}` } },
      ],
      [`/admin/deliveries/${hidden.query}`, { headers: { authorization: `Bearer ${hidden.adminToken}` } }],
    ] satisfies [string, RequestInit][]) {
      const answer = await request(path, init)
      expect(answer.status).toBeGreaterThanOrEqual(400)
      answers.push(answer.body)
    }
    for (const body of [runBody(`/throw ${text}`), `{"${hidden.garbage}`, JSON.stringify({ threadId: { text } })])
      answers.push((await runApi(body)).body)
    const dead = await firstId('/admin/dead-letters', 'deadLetters')
    answers.push(await asOperator(`/admin/dead-letters/${dead}/resubmit`, 'POST'))
    await settled()
    expect(gateway.isRunning()).toBe(true)
    expect(await books()).toMatchObject({ answered: expect.toSatisfy((count: number) => count > 0) })
    // Last, because the bot is left alone for a while after this.
    api.failNext('sendMessage', apiFault(401, `Unauthorized ${hidden.vendorError} ${hidden.botToken}`))
    await say(text)
    const waiting = () => asOperator('/admin/deliveries?state=retry')
    await expect.poll(waiting, { timeout: 20_000 }).toContain('token_revoked')
  }, 180_000)

  test('an outage of the database, and a start with a wrong password', async () => {
    proxy.cut()
    expect(await say(text)).toBe(503)
    answers.push((await runApi(runBody(text))).body)
    await expect.poll(async () => (await request('/readyz')).status, { timeout: 30_000 }).toBe(503)
    for (const path of ['/readyz', '/metrics', '/admin/stats']) answers.push(await asOperator(path))
    proxy.restore()
    await expect.poll(async () => (await request('/readyz')).status, { timeout: 60_000 }).toBe(200)
    const url = new URL(environment['DATABASE_URL'] ?? '')
    url.password = hidden.wrongDatabasePassword
    const env = { ...environment, DATABASE_URL: url.href, PARLEY_ADMIN_TOKEN: 'short' }
    const [refused, misconfigured] = [
      await runParley({ cwd: folder, args: ['start'], env: { ...environment, DATABASE_URL: url.href } }),
      await runParley({
        cwd: folder,
        args: ['start'],
        env: { ...env, TELEGRAM_WEBHOOK_SECRET: hidden.wrongWebhookSecret },
      }),
    ]
    expect([refused.code, misconfigured.code]).toEqual([1, 1])
    answers.push(refused.output, misconfigured.output)
  }, 180_000)

  test('none of the secrets is anywhere, and what was said only where it is meant to be', async () => {
    const shown: string[] = []
    const places: string[] = []
    for (const { name, read, showsText = false, showsErrors = false } of surfaces) {
      const found = await read()
      expect(found.length, `${name} says something`).toBeGreaterThan(0)
      for (const [what, secret] of Object.entries(hidden))
        for (const form of formsOf(secret)) if (found.includes(form)) shown.push(`${what} in ${name}`)
      for (const [what, error] of Object.entries(thrown))
        expect(found.includes(error), `${what} in ${name}`).toBe(showsErrors)
      if (found.includes(text)) places.push(name)
      if (showsText) expect(found, `${name} shows what it is for`).toContain(text)
    }
    expect(shown).toEqual([])
    expect(places).toEqual(surfaces.flatMap(({ name, showsText }) => (showsText === true ? [name] : [])))
  }, 60_000)

  test('the log told the story all the same: every hop, by trace, and why it failed', () => {
    const lines = gateway
      .output()
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as LogLine] : []))
    const journey = lines.filter((line) => line.trace === lines.find((each) => each.outcome === 'accepted')?.trace)
    expect(journey.map((line) => line.event)).toEqual(['message_received', 'turn_ended', 'delivery_ended'])
    const events = new Set(lines.map((line) => line.event))
    for (const event of [
      'message_refused',
      'request_rejected',
      'accept_failed',
      'turn_failed',
      'delivery_failed',
      'promise_unhandled',
    ])
      expect(events).toContain(event)
    const failures = lines.filter((line) => line.event === 'turn_failed').map((line) => `${line.error} ${line.at}`)
    expect(failures.join()).toMatch(/TypeError .*parley\.config\.mjs:\d+:\d+/)
    const about = /^(message|turn|delivery|send)_/
    for (const line of lines.filter(({ event }) => about.test(event)))
      expect(line).toMatchObject({ trace: expect.stringMatching(/^[0-9a-f]{32}$/), connection: expect.any(String) })
  })

  test('the metrics are still readable, and count what happened', async () => {
    const families = readPrometheusText((await request('/metrics')).body)
    const value = (name: string, labels: Record<string, string>) =>
      families
        .get(name)
        ?.samples.find((sample) => Object.entries(labels).every(([key, each]) => sample.labels[key] === each))?.value ??
      0
    const connection = 'telegram/default'
    expect(value('parley_database_up', {})).toBe(1)
    for (const outcome of ['accepted', 'rejected', 'unreadable', 'failed'])
      expect(value('parley_inbound_events_total', { connection, outcome }), outcome).toBeGreaterThan(0)
    for (const outcome of ['delivered', 'refused', 'unknown', 'rate_limited'])
      expect(value('parley_sends_total', { connection, outcome }), outcome).toBeGreaterThan(0)
    expect(value('parley_agent_failures_total', { connection, code: 'agent_failed' })).toBeGreaterThan(0)
    expect(value('parley_messages', { connection, state: 'answered' })).toBe((await books())['answered'])
    expect(value('parley_messages', { connection, state: 'dead' })).toBe((await books())['dead'])
  })
})

type LogLine = { event: string; trace?: string; outcome?: string; error?: string; at?: string; connection?: string }

function runBody(said: string): string {
  const id = Math.random().toString(36).slice(2)
  return JSON.stringify({ threadId: id, runId: id, messages: [{ id, role: 'user', content: said }] })
}

/** As it is, and as it would look in a URL, in base64 and in hex. */
function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret)
  const base64 = bytes.toString('base64').replace(/=*$/, '')
  return [...new Set([secret, encodeURIComponent(secret), base64, bytes.toString('hex')])]
}
