// Whatever people call themselves and write: no command shows a terminal a character that moves its cursor, turns its text or hides.
import { readdir, readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runInProcess } from './run-in-process.ts'

const codePoints = [
  0x00, 0x07, 0x08, 0x0b, 0x0c, 0x0d, 0x1b, 0x7f, 0x80, 0x85, 0x90, 0x9b, 0x9c, 0x9d, 0x9f, 0xad, 0x34f, 0x61c, 0x115f,
  0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2060,
  0x2061, 0x2064, 0x2066, 0x2067, 0x2068, 0x2069, 0x206a, 0x206f, 0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfff9,
  0x1d173, 0xe0001, 0xe0041, 0xe007f, 0xe0100,
]
const hidden = String.fromCodePoint(...codePoints)
const hostile = `Mallory${hidden}\u001b[2J\u009b31m\r\nparley: forged line`
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu

const at = '2026-11-17T09:30:00.000Z'
const id = '01890000-0000-7000-8000-000000000000'

/** One row with every name a list may ask for. */
const row = {
  ...Object.fromEntries(
    [
      'id',
      'prefix',
      'label',
      'principal',
      'agent',
      'state',
      'connection',
      'owner',
      'status',
      'title',
      'subject',
      'reason',
      'purpose',
      'messageId',
      'summary',
      'role',
      'type',
      'content',
      'actor',
      'person',
      'action',
      'outcome',
      'code',
      'rule',
      'objectId',
      'inboxId',
      'trace',
      'slug',
      'address',
      'description',
      'shownName',
      'name',
      'kind',
      'mimeType',
      'filename',
      'tool',
      'error',
      'where',
      'weak',
      'remedy',
      'severity',
      'matched',
      'text',
      'note',
      'bounceReason',
      'sender',
      'path',
      'bucket',
      'expectation',
      'conversation',
      'room',
      'client',
      'workspace',
    ].map((name) => [name, hostile]),
  ),
  ...Object.fromEntries(
    [
      'at',
      'createdAt',
      'receivedAt',
      'lastActivityAt',
      'lastUsedAt',
      'expiresAt',
      'endedAt',
      'decidedAt',
      'updatedAt',
      'lastSeenAt',
    ].map((name) => [name, at]),
  ),
  seq: 1,
  lines: 1,
  attempt: 1,
  attempts: 1,
  bytes: 1,
  received: 1,
  messages: 1,
  size: 1,
  isLocal: true,
  scopes: [hostile],
  connections: [{ connection: hostile, by: hostile }],
  evidence: { assurance: hostile, issuer: hostile },
  resolvers: hostile,
  origin: { receivedVia: hostile },
  lastDecision: { action: hostile, outcome: hostile, code: hostile, at },
  grants: [{ subject: hostile, role: hostile, effect: 'allow' }],
  subjects: [hostile],
  identities: [hostile],
  links: [{ subject: hostile }],
  metadata: { said: hostile },
  call: { text: hostile },
}
const lists = [
  'tokens',
  'sessions',
  'messages',
  'grants',
  'pairings',
  'principals',
  'attachments',
  'deliveries',
  'deadLetters',
  'refused',
]
const moreLists = [
  'ignored',
  'runs',
  'events',
  'actions',
  'requests',
  'lines',
  'rejected',
  'agents',
  'stats',
  'findings',
  'effects',
]
const story = {
  asked: hostile,
  matched: hostile,
  facts: {
    message: { id: hostile, traceId: hostile, receivedAt: at },
    turns: [{ id: hostile, startedAt: at }],
    deliveries: [{ id: hostile, purpose: hostile, state: hostile, createdAt: at }],
    edits: [],
    decisions: [],
  },
  story: {
    fate: 'answered',
    headline: hostile,
    lines: [{ at, title: hostile, text: hostile, tone: 'good' }],
    next: [{ text: hostile, command: hostile }],
  },
}
const everything: Record<string, unknown> = {
  ...row,
  ...Object.fromEntries([...lists, ...moreLists].map((name) => [name, [row]])),
  session: row,
  delivery: row,
  run: row,
  action: row,
  grant: row,
  pairing: row,
  attachment: row,
  request: row,
  next: null,
  isOver: true,
  markdown: hostile,
  value: { list: [row] },
  duplicate: true,
  matching: 1,
  retried: 1,
  groups: [{ ...row, group: hostile, pending: 1, waiting: 1, turnedAway: 1, count: 1 }],
  explanation: story,
  link: { subject: hostile, principal: hostile },
  outcome: 'over',
}

let server: Server
let url = ''
let answer: { status: number; body: unknown } = { status: 200, body: everything }
beforeAll(async () => {
  server = createServer((_request, response) => {
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer.body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server.close())

const commands = [
  'stats',
  'agents',
  'deliveries list',
  `deliveries show ${id}`,
  'dead-letters list',
  'dead-letters list --state refused',
  `dead-letters resubmit ${id} --anew`,
  'runs list',
  `runs show ${id}`,
  `runs events ${id}`,
  `runs events ${id} --follow`,
  `runs cancel ${id}`,
  'approvals list',
  `approvals show ${id}`,
  `approvals accept ${id}`,
  'tool-requests list',
  `tool-requests show ${id}`,
  'sessions list',
  `sessions show ${id}`,
  `sessions export ${id}`,
  'attachments list',
  `attachments show ${id}`,
  'pairings list',
  'pairings approve BCDF2345',
  'grants list',
  'grants add telegram:1',
  'grants block telegram:1',
  'principals list',
  'principals link telegram:1 telegram:2',
  'tokens list',
  'tokens create --label x',
  'audit list',
  'audit rejected',
  `explain ${id}`,
  `sessions rename ${id} x`,
]

async function output(words: readonly string[]): Promise<{ code: number; text: string; stdout: string }> {
  const env = { PATH: process.env['PATH'] ?? '', PARLEY_DATA_DIR: '/nonexistent', PARLEY_TOKEN: 'a-token-of-this-test' }
  const ended = await runInProcess([...words, '--url', url], { cwd: tmpdir(), env })
  return { code: ended.code, text: ended.stdout + ended.stderr, stdout: ended.stdout }
}

test.each(commands)('parley %s shows what people chose, escaped and on its own line', async (words) => {
  answer = { status: 200, body: everything }
  const { text, code } = await output(words.split(' '))
  expect(text.replaceAll(/[\n\t]/g, '').match(unsafe)).toBeNull()
  if (!words.startsWith('sessions export')) expect(text).not.toMatch(/^parley: forged line/m)
  expect([0, 1]).toContain(code)
  expect(text).not.toContain('unexpected TypeError')
})

test.each(commands)('parley %s --json escapes too, and parses to the very same value', async (words) => {
  answer = { status: 200, body: everything }
  const { stdout } = await output([...words.split(' '), '--json'])
  expect(stdout.replaceAll('\n', '').match(unsafe)).toBeNull()
  expect(stdout.endsWith('\n')).toBe(true)
  for (const line of stdout.trimEnd().split('\n')) {
    const told = JSON.stringify(JSON.parse(line))
    if (told.includes('Mallory')) expect(told).toContain(JSON.stringify(hostile).slice(1, -1))
  }
})

test.each([['stats'], ['stats --json'], ['explain x'], ['tokens list --json']])(
  'a refusal that quotes people is escaped in parley %s',
  async (words) => {
    answer = { status: 400, body: { error: { code: hostile, remedy: `the name ${hostile} is wrong` } } }
    const { text, code } = await output(words.split(' '))
    expect(code).toBe(2)
    expect(text.replaceAll('\n', '').match(unsafe)).toBeNull()
    expect(text).not.toMatch(/^parley: forged line/m)
  },
)

test('nothing in the command line writes to a stream past the one place that escapes', async () => {
  const folder = join(import.meta.dirname, '..', '..', '..', 'src', 'cli')
  const found: string[] = []
  for (const name of await readdir(folder)) {
    const source = await readFile(join(folder, name), 'utf8')
    if (name !== 'output.ts' && /std(out|err)\.write|console\./.test(source)) found.push(name)
  }
  expect(found).toEqual([])
})
