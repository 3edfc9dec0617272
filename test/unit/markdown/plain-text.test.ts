// A reply as plain text: statuses, kinds of parts, and what is never shown.
import { describe, expect, test } from 'vitest'
import type { NormalizedResponse, Part } from '../../../src/contract/index.ts'
import { partsText, plainText } from '../../../src/markdown/index.ts'

const reply = (changes: Partial<NormalizedResponse>): NormalizedResponse => ({
  thread_id: 't',
  in_reply_to: 'm',
  agent: 'demo',
  parts: [],
  status: 'completed',
  ...changes,
})
const said = (content: string): Part => ({ kind: 'text', mime: 'text/plain', content })

describe('a status', () => {
  test('that a policy part asks about is not explained twice', () => {
    const question: Part = { kind: 'policy', policy: { kind: 'approval_required', message: 'May I?' } }
    expect(plainText(reply({ status: 'input_required', parts: [question] }))).toBe('May I?')
  })

  test.each<[NormalizedResponse['status'], string, string]>([
    ['completed', 'Done.', 'hi'],
    ['input_required', 'I need to know more to go on. Please reply with details.', "hi\n\nI'm waiting for your reply."],
    ['refused', "I can't help with this.", "hi\n\nI can't do more about this."],
    [
      'failed',
      'Something went wrong, and I could not finish this. Please try again later.',
      'hi\n\nI could not finish this. Please try again later.',
    ],
    ['cancelled', 'I stopped here. Write again when you want me to go on.', 'hi\n\nI stopped here.'],
  ])('%s reads differently with and without words', (status, silent, spoken) => {
    expect(plainText(reply({ status }))).toBe(silent)
    expect(plainText(reply({ status, parts: [said('hi')] }))).toBe(spoken)
  })

  test('failed shows no code and no message, and no label where the words tell it already', () => {
    const error = { code: 'turn_deadline', message: 'at /srv/app.ts:12 password=hunter2', retryable: false }
    expect(plainText(reply({ status: 'failed', error }))).not.toMatch(/turn_deadline|hunter2/)
    const told = { code: 'failed', message: 'I could not finish this.', retryable: false }
    expect(plainText(reply({ status: 'failed', error: told, parts: [said('Half.'), said(told.message)] }))).toBe(
      'Half.\n\nI could not finish this.',
    )
  })
})

describe('a part', () => {
  test.each<[string, Part, string]>([
    ['text', said('a\r\nb'), 'a\nb'],
    [
      'HTML text without its tags',
      { kind: 'text', mime: 'text/html', content: '<p>a &lt;b&gt; <i>c</i></p>d' },
      'a <b> c\n\nd',
    ],
    ['a link', { kind: 'link', url: 'https://e.com/x', title: 'The page' }, 'The page (https://e.com/x)'],
    ['a link without a title', { kind: 'link', url: 'https://e.com/x' }, 'https://e.com/x'],
    ['a link with a dangerous scheme', { kind: 'link', url: 'javascript:alert(1)', title: 'Click' }, 'Click'],
    [
      'a file by name, never by address',
      { kind: 'file', bytes_ref: { kind: 'url', url: 'https://e.com/s?token=abc' }, name: 'a.pdf' },
      '[file: a.pdf]',
    ],
    [
      'an artifact',
      { kind: 'artifact', bytes_ref: { kind: 'inline', data_base64: '' }, artifact_type: 'chart' },
      '[artifact: chart]',
    ],
    ['a policy by its message', { kind: 'policy', policy: { kind: 'forbidden', message: 'Not here.' } }, 'Not here.'],
    ['a kind from the future', { kind: 'hologram', secret: 'x' }, '[unsupported content: hologram]'],
    ['a tool call not at all', { kind: 'tool_call', id: '1', name: 'a/b', args: { key: 'secret' } }, ''],
    ['M17 no control characters, overrides or half pairs', said('a\u0000\u0007\u202eb\ud800c'), 'ab\ufffdc'],
  ])('shows %s', (_name, part, expected) => {
    expect(partsText([part])).toBe(expected)
  })

  test('stands in order, with an empty line between', () => {
    expect(partsText([said('one'), said('  '), said('two')])).toBe('one\n\ntwo')
  })

  test('takes bounded time on hostile HTML', () => {
    const started = performance.now()
    partsText([{ kind: 'text', mime: 'text/html', content: '<'.repeat(200_000) }])
    expect(performance.now() - started).toBeLessThan(10_000)
  })
})
