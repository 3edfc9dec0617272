// An exception as operators are shown it: everything a developer needs, no secret, bounded, and made in linear time.
import { expect, test } from 'vitest'
import { formatThrownError, toRedactedErrorRecord } from '../../../src/lib/errors.ts'
import { secretValuesInEnvironment } from '../../../src/node/runtime.ts'

test("lines of the developer's own files come first, then those of packages; the gateway's own are left out", () => {
  const error = new Error('no such user')
  const gateway = new URL('../../../src/turns/run-turn.ts', import.meta.url).pathname
  error.stack = [
    'Error: no such user',
    '    at get (file:///app/node_modules/got/index.js:1:1)',
    `    at run (file://${gateway}:9:9)`,
    '    at lookUp (file:///app/agents/users.ts:6:72)',
    '    at node:internal/process/task_queues:105:5',
  ].join('\n')
  expect(toRedactedErrorRecord(error).stack).toEqual([
    'at lookUp (file:///app/agents/users.ts:6:72)',
    'at get (file:///app/node_modules/got/index.js:1:1)',
  ])
  error.stack = `Error: no such user\n    at run (file://${gateway}:9:9)`
  expect(toRedactedErrorRecord(error).stack).toEqual([`at run (file://${gateway}:9:9)`])
})

test('causes and the errors of several at once are told, nearest first, and a circle ends', () => {
  const inner = new TypeError('fetch failed', { cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }) })
  const error = new AggregateError([inner, new RangeError('too big')], 'both failed')
  expect(formatThrownError(toRedactedErrorRecord(error)).filter((row) => !row.startsWith('  '))).toEqual([
    'AggregateError: both failed',
    'Caused by TypeError: fetch failed',
    'Caused by RangeError: too big',
    'Caused by Error: connect (ECONNREFUSED)',
  ])
  const circle = new Error('a')
  circle.cause = new Error('b', { cause: circle })
  expect(toRedactedErrorRecord(circle).causes).toHaveLength(1)
})

test.each([
  ['a text', 'broken', { name: 'string', message: 'broken' }],
  ['a map', { reason: 'broken' }, { name: 'object', message: '{"reason":"broken"}' }],
  ['nothing', undefined, { name: 'undefined', message: 'undefined' }],
  [
    'an error that cannot be read',
    Object.defineProperty(new Error('x'), 'message', { get: () => JSON.parse('{') }),
    { name: 'Error', message: 'It could not be read.' },
  ],
])('%s can be thrown too', (_what, thrown, told) => {
  expect(toRedactedErrorRecord(thrown)).toMatchObject(told)
})

const bot = `123456789:${'AbC-_'.repeat(7)}`
test.each([
  ['Bearer abcdefgh12345678'],
  ['xoxb-123456-abcdef'],
  ['sk-proj-abcdefghijklmnop'],
  ['https://ada:hunter2@db.example/x'],
  ['https://x.example/?access_token=abcd1234'],
  [bot],
  ['{"password":"hunter2secret"}'],
  ['api_key=abcd1234'],
])('%s is not shown', (text) => {
  const told = JSON.stringify(toRedactedErrorRecord(new Error(`before ${text} after`)))
  const secret = /hunter2(?:secret)?|abcd?[efgh]*1234\w*|xoxb-\w+|sk-proj-\w+|AbC-_AbC/.exec(text)?.[0] ?? text
  expect(told).not.toContain(secret)
  expect(told).toContain('before ')
})

test('values of secrets in the environment are not shown, also as a password of a URL', () => {
  const known = secretValuesInEnvironment({
    STRIPE_KEY: 'live-value-of-a-key',
    DATABASE_URL: 'postgres://p:quiet-password@h/d',
    HOME: '/home/ada-lovelace',
  })
  const told = JSON.stringify(
    toRedactedErrorRecord(new Error('live-value-of-a-key quiet-password /home/ada-lovelace'), known),
  )
  expect(told).not.toMatch(/live-value|quiet-password/)
  expect(told).toContain('/home/ada-lovelace')
})

test('however long it is, it is 8 KB at most and made at once', () => {
  for (const unit of ['x', 'é€', '://a:', 'token=', 'sk-', '1', '-----BEGIN ', 'eyJ', '\n    at ', '?a_token=']) {
    const error = new Error(unit.repeat(200_000), { cause: new Error(unit.repeat(200_000)) })
    const startedAt = performance.now()
    const told = JSON.stringify(toRedactedErrorRecord(error))
    expect(performance.now() - startedAt).toBeLessThan(500)
    expect(new TextEncoder().encode(told).length).toBeLessThanOrEqual(8 * 1024)
  }
})
