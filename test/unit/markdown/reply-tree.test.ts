// A reply as a tree: every kind of part, what its status says, and which files it carries.
import { describe, expect, test } from 'vitest'
import type { NormalizedResponse, Part } from '../../../src/contract/index.ts'
import { plainText, replyFiles, replyTree } from '../../../src/markdown/index.ts'
import { plainOf } from './shown.ts'

const reply = (changes: Partial<NormalizedResponse>): NormalizedResponse => ({
  thread_id: 't',
  in_reply_to: 'm',
  agent: 'demo',
  parts: [],
  status: 'completed',
  ...changes,
})
const shown = (parts: readonly Part[], options = {}) => plainOf(replyTree(reply({ parts: [...parts] }), options))
const file: Part = { kind: 'file', bytes_ref: { kind: 'inline', data_base64: '' }, name: 'report.pdf', size: 1_234_567 }
const artifact: Part = { kind: 'artifact', bytes_ref: { kind: 'inline', data_base64: '' }, artifact_type: 'chart' }

describe('a part', () => {
  test.each<[string, Part, string]>([
    ['plain text as it is', { kind: 'text', mime: 'text/plain', content: '**a**\r\n- b' }, '**a**\n- b'],
    ['Markdown for what it says', { kind: 'text', mime: 'text/markdown', content: '**a**\n- b' }, 'a\n\n• b'],
    [
      'HTML for its words',
      { kind: 'text', mime: 'text/html', content: '<p>a &lt;b&gt; <i>c</i></p>d' },
      'a <b> c\n\nd',
    ],
    ['a link', { kind: 'link', url: 'https://e.com/x', title: 'The  page' }, 'The page (https://e.com/x)'],
    ['a link without a title', { kind: 'link', url: 'https://e.com/x' }, 'https://e.com/x'],
    ['a dangerous link', { kind: 'link', url: 'javascript:alert(1)', title: 'Click' }, 'Click'],
    ['a file', file, '[file: report.pdf, 1.2 MB]'],
    ['an artifact', artifact, '[artifact: chart]'],
    ['a policy', { kind: 'policy', policy: { kind: 'forbidden', message: 'Not *here*.' } }, 'Not *here*.'],
    ['a kind from the future', { kind: 'hologram' }, '[unsupported content: hologram]'],
    ['no tool call', { kind: 'tool_call', id: '1', name: 'a/b', args: { key: 'secret' } }, 'Done.'],
  ])('shows %s', (_, part, expected) => {
    expect(shown([part])).toBe(expected)
  })

  test('stands in order, and a name that may be called is one in plain text too', () => {
    const said: readonly Part[] = [
      { kind: 'text', mime: 'text/plain', content: 'ask @ada' },
      { kind: 'text', mime: 'text/markdown', content: '  ' },
      { kind: 'text', mime: 'text/markdown', content: 'or *@bob*' },
    ]
    expect(shown(said)).toBe('ask @ada\n\nor @bob')
    expect(
      JSON.stringify(replyTree(reply({ parts: [...said] }), { mayNotify: new Set(['@ada', '@bob']) })).match(
        /"mention"/g,
      ),
    ).toHaveLength(2)
  })
})

describe('files', () => {
  test('are listed apart, and left out of the words where the channel sends them', () => {
    expect(replyFiles(reply({ parts: [file, artifact, { kind: 'hologram' }] }))).toEqual([file, artifact])
    expect(shown([file], { showsFiles: false })).toBe('')
    expect(shown([{ kind: 'text', mime: 'text/plain', content: 'Here:' }, file], { showsFiles: false })).toBe('Here:')
  })
})

describe('a status', () => {
  const statuses = ['completed', 'input_required', 'refused', 'failed', 'cancelled'] as const
  const error = { code: 'turn_deadline', message: 'password=hunter2', retryable: false }

  test.each(statuses)('%s says the same as in plain text', (status) => {
    for (const content of ['', 'words']) {
      const said = reply({ status, error, parts: [{ kind: 'text', mime: 'text/plain', content }] })
      expect(plainOf(replyTree(said))).toBe(plainText(said))
    }
  })

  test('reads differently from every other', () => {
    for (const parts of [[], [file]]) {
      const texts = statuses.map((status) =>
        plainOf(replyTree(reply({ status, parts: [...parts] }), { showsFiles: false })),
      )
      expect(new Set(texts).size).toBe(statuses.length)
    }
  })
})
