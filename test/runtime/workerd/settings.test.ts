// What a Worker refuses: settings that need Node, a schema that does not fit, the operator's routes without their switch.
import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { openWorkerFileStores, readWorkerSettings, type WorkerEnv } from '../../../src/worker/settings.ts'
import { createWorker } from '../../../src/worker.ts'
import { newChat, textUpdate, webhook } from '../journey.ts'
import { botToken, webhookSecret } from '../worker-settings.ts'
import { describeInWorkerd } from './harness.ts'

const adminToken = 'an-admin-token-for-this-test'

describeInWorkerd('the settings of a Worker', () => {
  const lines: string[] = []
  const write = (event: string, facts: object = {}) => void lines.push(JSON.stringify({ event, ...facts }))
  const log = { info: write, warn: write, error: write }
  beforeEach(() => {
    lines.length = 0
  })
  const get = async (
    path: string,
    changes: object = {},
    headers: Record<string, string> = {},
    method = 'GET',
    body: string | null = null,
  ) => {
    const context = createExecutionContext()
    const request = new Request(`https://parley.example${path}`, { method, headers, body })
    const response = await createWorker({}, { log }).fetch(request, { ...env, ...changes }, context)
    await waitOnExecutionContext(context)
    return { status: response.status, text: await response.text() }
  }
  const problemsOf = (changes: object, file = {}): string => {
    try {
      readWorkerSettings({ ...env, ...changes } as WorkerEnv, file)
      return ''
    } catch (error) {
      return error instanceof Error ? error.message : ''
    }
  }

  test.each(['/admin/stats', '/admin', '/', '/metrics'])('hide %s, also from a caller with the token', async (path) => {
    const authorization = `Bearer ${adminToken}`
    expect((await get(path, { PARLEY_ADMIN_TOKEN: adminToken }, { authorization })).status).toBe(404)
  })

  test('open the operator routes with a switch and a token, to whoever has it', async () => {
    const on = { PARLEY_ADMIN: 'on', PARLEY_ADMIN_TOKEN: adminToken }
    expect((await get('/admin/stats', on)).status).toBe(401)
    expect((await get('/admin/stats', on, { authorization: 'Bearer wrong' })).status).toBe(401)
    const books = await get('/admin/stats', on, { authorization: `Bearer ${adminToken}` })
    expect([books.status, JSON.parse(books.text)]).toEqual([200, { stats: expect.any(Array) }])
    expect(problemsOf({ PARLEY_ADMIN: 'on' })).toContain('set the secret PARLEY_ADMIN_TOKEN')
  })

  test('let an operator ask a channel, once for each change', async () => {
    const url = { PARLEY_PUBLIC_URL: 'https://parley.example', PARLEY_SEAL_KEY: 'ab'.repeat(32), ACTIVITYPUB: 'on' }
    const on = { PARLEY_ADMIN: 'on', PARLEY_ADMIN_TOKEN: adminToken, ...url }
    const ask = async (connection: string, name: string, input: object) => {
      const path = `/admin/connections/${connection}/operations/${name}`
      const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
      const { status, text } = await get(path, on, headers, 'POST', JSON.stringify(input))
      return { status, body: JSON.parse(text) }
    }
    const here = 'activitypub/default'
    expect(await ask(here, 'followers.list', {})).toMatchObject({ status: 200, body: { value: { followers: [] } } })
    expect(await ask(here, 'keys.rotate', { owner: 'instance' })).toMatchObject({
      status: 200,
      body: { value: { owner: 'instance', generation: 2 }, id: expect.any(String), isRepeat: false },
    })
    expect(await ask(here, 'keys.rotate', { owner: 'instance' })).toMatchObject({ status: 409 })
    expect(await ask('activitypub/other', 'followers.list', {})).toMatchObject({ status: 404 })
  })

  test('have no run API that only the own machine may call', async () => {
    const headers = { 'content-type': 'application/json' }
    expect((await get('/api/v1/agent/run', {}, headers, 'POST')).status).toBe(404)
    const connections = [{ channel: 'agui', id: 'demo', settings: {} }]
    expect(problemsOf({}, { connections })).toContain(
      '[agui] connection "demo" answers the gateway\'s own machine only',
    )
  })

  test('name every problem at once: Node variables, missing bindings, half a channel', () => {
    const problems = problemsOf({
      DATABASE_URL: 'postgres://x',
      PARLEY_DATA_DIR: '.parley',
      HYPERDRIVE: undefined,
      WAKE: undefined,
      SLACK_BOT_TOKEN: 'xoxb-half-a-channel',
    })
    for (const name of ['DATABASE_URL', 'PARLEY_DATA_DIR', 'HYPERDRIVE', 'WAKE', 'SLACK_SIGNING_SECRET'])
      expect(problems).toContain(name)
    expect(problemsOf({})).toBe('')
  })

  test('that are wrong are told in the log, and to the world only that they are', async () => {
    const wrong = { DATABASE_URL: 'postgres://user:password@host/db' }
    const { status, text } = await get('/hooks/telegram/default', wrong, {}, 'POST')
    expect([status, JSON.parse(text)]).toMatchObject([500, { error: { code: 'internal' } }])
    expect(text).not.toContain('DATABASE_URL')
    expect(lines.join()).toContain('DATABASE_URL is for Node')
    expect(lines.join()).not.toContain('user:password')
  })

  test('refuse a database that nobody has migrated, and say who does', async () => {
    const context = createExecutionContext()
    const request = new Request(
      'https://parley.example/hooks/telegram/default',
      webhook(textUpdate(newChat(), 1, 'hi')),
    )
    const response = await createWorker({}, { log }).fetch(request, { ...env, HYPERDRIVE: env.EMPTY }, context)
    await waitOnExecutionContext(context)
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({
      error: { code: 'schema_missing', remedy: expect.stringContaining('run parley migrate on it, with DATABASE_URL') },
    })
    expect((await get('/healthz', { HYPERDRIVE: env.EMPTY })).status).toBe(200)
    expect((await get('/readyz', { HYPERDRIVE: env.EMPTY })).status).toBe(503)
    for (const hidden of [botToken, webhookSecret]) expect(lines.join()).not.toContain(hidden)
  })

  test('keep files in the bound bucket where the public address is known, before it in a store that is set, else nowhere', () => {
    const filesWith = (changes: object) =>
      openWorkerFileStores(readWorkerSettings({ ...env, ...changes } as WorkerEnv, {}).config, env)
    const names = (changes: object) => filesWith(changes)?.stores.map(({ name, bucket }) => `${name}/${bucket}`)
    const unsealed = { PARLEY_PUBLIC_URL: 'https://bot.example.org/x' }
    const publicUrl = { ...unsealed, PARLEY_SEAL_KEY: 'ab'.repeat(32) }
    expect(filesWith({})).toBeUndefined()
    expect(problemsOf(unsealed)).toContain('set the secret PARLEY_SEAL_KEY')
    expect(names(publicUrl)).toEqual(['r2/attachments'])
    expect(filesWith(publicUrl)?.origin).toBe('https://bot.example.org')
    const supabase = { SUPABASE_URL: 'https://x.supabase.co', SUPABASE_SERVICE_KEY: 'key', SUPABASE_BUCKET: 'files' }
    expect(names({ ...publicUrl, ...supabase })).toEqual(['supabase/files', 'r2/attachments'])
    expect(problemsOf({ SUPABASE_URL: 'https://x.supabase.co' })).toContain('SUPABASE_BUCKET is missing')
  })
})
