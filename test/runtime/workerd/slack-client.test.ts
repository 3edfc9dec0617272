// Slack's own client in workerd: it needs Node's modules, a fetch that is no method, and no redirect called 'error'.
import { expect, test } from 'vitest'
import { createWebApiCaller } from '../../../adapters/slack/deliver/web-api.ts'
import { secret } from '../../../src/lib/secret.ts'

const apiUrl = 'https://slack.example/api/'

test('a call is made with one token, follows no redirect, and its answer is read', async () => {
  const asked: Request[] = []
  const call = createWebApiCaller(
    { apiUrl, callTimeoutMs: 9000 },
    {
      fetch: async (input, init) => {
        // The runtime's own Request refuses what its fetch would.
        asked.push(new Request(input, init))
        return Response.json({ ok: true, ts: '1.1' })
      },
    },
  )
  const args = { channel: 'C1', text: 'hello', blocks: [{ type: 'divider' }] }
  const answer = await call(secret('xoxb-1'), 'chat.postMessage', args, AbortSignal.timeout(5000))
  expect(answer).toMatchObject({ kind: 'ok', data: { ts: '1.1' } })
  const [request] = asked
  expect([request?.url, request?.redirect, request?.headers.get('authorization')]).toEqual([
    `${apiUrl}chat.postMessage`,
    'manual',
    'Bearer xoxb-1',
  ])
  expect(Object.fromEntries(new URLSearchParams(await request?.text()))).toEqual({
    ...args,
    blocks: JSON.stringify(args.blocks),
  })
})

test('refusals, limits and redirects are answers, not errors', async () => {
  const answered = (response: Response) =>
    createWebApiCaller({ apiUrl, callTimeoutMs: 9000 }, { fetch: async () => response })(
      secret('x'),
      'auth.test',
      {},
      AbortSignal.timeout(5000),
    )
  expect(await answered(Response.json({ ok: false, error: 'invalid_auth' }))).toEqual({
    kind: 'error',
    error: 'invalid_auth',
  })
  expect(await answered(new Response('', { status: 429, headers: { 'retry-after': '3' } }))).toEqual({
    kind: 'limited',
    afterMs: 3000,
  })
  expect(await answered(new Response('', { status: 302, headers: { location: 'https://e.example' } }))).toEqual({
    kind: 'http',
    status: 302,
  })
})
