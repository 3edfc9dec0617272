// The log on Node: JSON lines of known facts, nothing else, whatever it is given.
import { expect, test } from 'vitest'
import { GatewayError, toRedactedErrorRecord } from '../../../src/lib/errors.ts'
import type { LogFields } from '../../../src/lib/log.ts'
import { errorLogFields } from '../../../src/lib/log.ts'
import { chooseErrorDetail, createNodeLog, createTextLogStream } from '../../../src/node/log.ts'

function logged(level: string, write: (log: ReturnType<typeof createNodeLog>) => void): Record<string, unknown>[] {
  const lines: string[] = []
  write(createNodeLog(level, { write: (line: string) => void lines.push(line) }))
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

test('the log writes level, time, event and facts as one JSON object per line', () => {
  const facts = { connection: 'c/default', trace: 'abc', turn: null, ms: 3 }
  expect(logged('info', (log) => log.info('turn_ended', facts))).toEqual([
    {
      level: 'info',
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      event: 'turn_ended',
      connection: 'c/default',
      trace: 'abc',
      ms: 3,
    },
  ])
})

test('the log leaves out what is below its level', () => {
  const events = logged('warn', (log) => {
    log.info('a')
    log.warn('b')
    log.error('c')
  }).map((line) => line['event'])
  expect(events).toEqual(['b', 'c'])
  expect(logged('silent', (log) => log.error('c'))).toEqual([])
})

test('drops fields it does not know and hides codes that are none', () => {
  // What the types forbid, a cast or a host application in JavaScript can still do.
  const facts = {
    token: 'secret',
    text: 'hello',
    reason: 'user said: hello',
    code: 'agent_failed',
    ms: 'x',
  } as unknown as LogFields
  const [line] = logged('info', (log) => log.info('turn_failed', facts))
  expect(line).toEqual({
    level: 'info',
    time: expect.any(String),
    event: 'turn_failed',
    reason: 'hidden',
    code: 'agent_failed',
  })
})

test('the log keeps a fact on one short line', () => {
  const [line] = logged('info', (log) => log.info('x', { path: `a\n{"forged":true}${'y'.repeat(1_000)}` }))
  expect(String(line?.['path'])).toHaveLength(200)
  expect(line?.['path']).not.toContain('\n')
})

test('the log tells of an exception its code, its class and where it was thrown, not what it says', () => {
  const facts = errorLogFields(new TypeError('token 7:AAE'), 'agent_failed')
  expect(facts).toEqual({
    code: 'agent_failed',
    error: 'TypeError',
    at: expect.stringMatching(/log\.test\.ts:\d+:\d+$/),
  })
  expect(errorLogFields(new GatewayError('step_failed', 'secret'), 'agent_failed')).toEqual({ code: 'step_failed' })
  expect(errorLogFields('secret', 'agent_failed')).toEqual({ code: 'agent_failed' })
})

test.each([
  ['a message that looks like a stack', () => new Error('x\n    at secret (/secret.js:1:1)')],
  ['a stack somebody wrote', () => Object.assign(new Error('x'), { stack: 'y\n    at secret (/secret.js:1:1)' })],
  ['a name somebody wrote', () => Object.assign(new Error('x'), { name: 'the secret name' })],
])('the log is not fooled by %s', (_name, make) => {
  expect(JSON.stringify(errorLogFields(make(), 'agent_failed'))).not.toContain('secret')
})

test('on a terminal a line is words: time, level, event and facts', () => {
  let shown = ''
  const terminal = { write: (text: string) => (shown += text) }
  createNodeLog('info', createTextLogStream(terminal)).warn('delivery_failed', {
    connection: 'slack/default',
    attempt: 2,
  })
  expect(shown).toMatch(/^\d\d:\d\d:\d\d warn {2}delivery_failed connection=slack\/default attempt=2\n$/)
})

test('characters that turn or hide text are escaped, as JSON and in words', () => {
  const told = { conversation: 'a\u202eb\u009b31m\u{e0041}\u200b' }
  const lines: string[] = []
  createNodeLog('info', { write: (line: string) => void lines.push(line) }).info('x', told)
  createNodeLog('info', createTextLogStream({ write: (line: string) => void lines.push(line) })).info('x', told)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject(told)
  expect(lines[1]).toContain('conversation=a\\u202eb\\u009b31m\\u{e0041}\\u200b')
  expect(lines.join('')).not.toMatch(/[\p{Cf}\u0080-\u009f]/u)
})

test('what was thrown is in full on a terminal in development or where it is asked for, and nowhere else', () => {
  expect(chooseErrorDetail(undefined, true, undefined)).toBe('full')
  expect(chooseErrorDetail(undefined, true, 'production')).toBe('place')
  expect(chooseErrorDetail(undefined, false, 'development')).toBe('place')
  expect(chooseErrorDetail('full', false, 'production')).toBe('full')
  expect(chooseErrorDetail('place', true, undefined)).toBe('place')
})

test('a thrown error stands under its line in words, and in a kept log not at all', () => {
  const thrown = toRedactedErrorRecord(new Error('card declined', { cause: new RangeError('limit\u202e') }))
  let shown = ''
  const terminal = { write: (text: string) => (shown += text) }
  createNodeLog('info', createTextLogStream(terminal), 'full').warn('turn_failed', { code: 'agent_failed' }, thrown)
  const rows = shown.split('\n')
  expect(rows[0]).toMatch(/warn {2}turn_failed code=agent_failed$/)
  expect(rows[1]).toBe('         Error: card declined')
  expect(rows[2]).toMatch(/^ {11}at .*log\.test\.ts:\d+/)
  expect(shown).toContain('         Caused by RangeError: limit\\u202e')
  let kept = ''
  createNodeLog('info', { write: (line: string) => (kept += line) }).warn(
    'turn_failed',
    { code: 'agent_failed' },
    thrown,
  )
  expect(kept).not.toContain('card declined')
})
