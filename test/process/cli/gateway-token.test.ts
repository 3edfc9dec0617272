// Which token goes where: that of the data folder stays with its own gateway, whatever address is asked.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { runInProcess } from './run-in-process.ts'

const stored = 'stored-admin-token-of-this-folder'
const configured = 'configured-admin-token-of-this-host'

let folder = ''
let server: Server
let url = ''
let asked: IncomingMessage[] = []
let answer: { readonly status: number; readonly headers: Record<string, string> } = { status: 200, headers: {} }

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-url-'))
  await mkdir(join(folder, 'data'), { mode: 0o700 })
  await writeFile(join(folder, 'data', 'admin-token'), `${stored}\n`, { mode: 0o600 })
  await writeFile(join(folder, 'other-token'), 'token-of-the-other-gateway\n', { mode: 0o600 })
  server = createServer((request, response) => {
    asked.push(request)
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    response.end('{"stats":[]}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
beforeEach(() => {
  asked = []
  answer = { status: 200, headers: {} }
})
afterAll(async () => {
  server.close()
  await rm(folder, { recursive: true, force: true })
})

function parley(words: readonly string[], env: Record<string, string> = {}) {
  const own = { PATH: process.env['PATH'] ?? '', PARLEY_DATA_DIR: join(folder, 'data'), ...env }
  return runInProcess(words, { cwd: folder, env: own })
}

const shown = (): readonly (string | undefined)[] => asked.map(({ headers }) => headers.authorization)

test.each([
  ['the token of the data folder', {}],
  ['PARLEY_ADMIN_TOKEN', { PARLEY_ADMIN_TOKEN: configured }],
  ['either, where the public address has another port', { PARLEY_PUBLIC_URL: 'http://127.0.0.1:1' }],
  ['either, where an unencrypted address calls itself public', { PARLEY_PUBLIC_URL: 'same' }],
])('%s is not sent to an address that was named', async (_name, env) => {
  const publicUrl = 'PARLEY_PUBLIC_URL' in env && env.PARLEY_PUBLIC_URL === 'same' ? { PARLEY_PUBLIC_URL: url } : {}
  const ended = await parley(['stats', '--url', url, '--json'], { ...env, ...publicUrl })
  expect(asked).toEqual([])
  expect(ended.code).toBe(2)
  expect(JSON.parse(ended.stdout)).toMatchObject({ error: { code: 'token_missing' } })
  expect(ended.stderr).toContain('--token-file or PARLEY_TOKEN')
})

test.each([
  ['--token', ['--token', 'token-of-the-other-gateway'], {}],
  ['--token-file', ['--token-file', 'other-token'], {}],
  ['PARLEY_TOKEN', [], { PARLEY_TOKEN: 'token-of-the-other-gateway' }],
])('a token named by %s is sent, and no other', async (_name, words, env) => {
  const ended = await parley(['stats', '--url', url, ...words], { PARLEY_ADMIN_TOKEN: configured, ...env })
  expect(ended).toMatchObject({ code: 0 })
  expect(shown()).toEqual(['Bearer token-of-the-other-gateway'])
})

test('a redirect is not followed, to whatever host it leads', async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    answer = { status, headers: { location: `${url.replace('127.0.0.1', 'localhost')}/admin/stats` } }
    const ended = await parley(['stats', '--url', url, '--token', 'token-of-the-other-gateway'])
    expect(ended.code).toBe(4)
    expect(ended.stderr).toContain('redirect')
  }
  expect(asked).toHaveLength(5)
})

test.each([
  ['another machine without encryption', 'http://192.0.2.1:8787', 'add --allow-http'],
  ['a name that only begins like this machine', 'http://localhost.example:8787', 'add --allow-http'],
  ['a number that only looks like this machine', 'http://127.0.0.1.example', 'add --allow-http'],
  ['a password in the address', 'https://admin:hunter22@gateway.example', 'must not hold a name or password'],
  ['an address with a query', 'https://gateway.example/?to=', 'must be an address'],
])('%s is refused before anything is sent', async (_name, address, says) => {
  const ended = await parley(['stats', '--url', address, '--token', 'token-of-the-other-gateway'])
  expect(ended.code).toBe(2)
  expect(ended.stderr).toContain(says)
  expect(ended.stderr).not.toContain('hunter22')
})

test('with --allow-http another machine is asked without encryption', async () => {
  const port = new URL(url).port
  // A name of this machine that nothing but the flag can tell from one of another machine.
  const ended = await parley([
    'stats',
    '--url',
    `http://0.0.0.0:${port}`,
    '--allow-http',
    '--token',
    'a-token-of-this-test',
  ])
  expect(ended).toMatchObject({ code: 0 })
  expect(shown()).toEqual(['Bearer a-token-of-this-test'])
})

test('a token file that holds no token, or two, is refused', async () => {
  await writeFile(join(folder, 'two'), 'one\ntwo\n')
  expect(await parley(['stats', '--url', url, '--token-file', 'two'])).toMatchObject({ code: 2 })
  expect(await parley(['stats', '--url', url, '--token-file', 'nowhere'])).toMatchObject({ code: 2 })
  expect(await parley(['stats', '--url', url, '--token-file', 'two', '--token', 'x'])).toMatchObject({ code: 2 })
  expect(asked).toEqual([])
})
