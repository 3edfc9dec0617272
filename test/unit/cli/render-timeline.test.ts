// How a story looks in a terminal: one timeline, wrapped, coloured only where colour is wanted.
import { describe, expect, test } from 'vitest'
import type { Explanation } from '../../../src/api/explain/explain.ts'
import { renderCandidates, renderTimeline } from '../../../src/cli/explain.ts'
import { durationText } from '../../../src/lib/duration-text.ts'

const at = (seconds: number) => new Date(Date.parse('2026-11-17T09:30:00.000Z') + seconds * 1_000).toISOString()
const look = { isColourful: false, columns: 60, now: Date.parse(at(3_600)) }

const explanation: Explanation = {
  asked: 'v1',
  matched: 'vendor message id',
  facts: { message: null, turns: [], deliveries: [], edits: [], decisions: [] },
  story: {
    fate: 'turn',
    headline: 'A turn begun by a timer tea: answered.',
    lines: [
      { at: null, title: 'Turn', text: 'Began because of a timer tea, not because of a message.', tone: 'plain' },
      { at: at(61), title: 'Delivered', text: 'The reply\u001b[2J arrived\nas v1.', tone: 'good' },
    ],
    next: [{ text: 'look', command: 'parley deliveries retry x' }],
  },
}

describe('a rendered story', () => {
  test('keeps to the width, one column per thing', () => {
    expect(renderTimeline(explanation, look).split('\n')).toEqual([
      'A turn begun by a timer tea: answered.',
      'v1 (vendor message id)',
      '',
      '                  Turn       Began because of a timer tea,',
      '                             not because of a message.',
      '    09:31:01.000  Delivered  The reply\\u001b[2J arrived as',
      '                             v1.',
      '',
      'Ids',
      '',
      'What you can do',
      '  - look',
      '      parley deliveries retry x',
      '',
    ])
  })

  test('has colour on a terminal only, and lets nothing from outside paint', () => {
    expect(renderTimeline(explanation, look)).not.toContain('\u001b')
    const coloured = renderTimeline(explanation, { ...look, isColourful: true })
    expect(coloured).toContain('\u001b[32mDelivered')
    expect(coloured).not.toContain('\u001b[2J')
  })

  test('offers candidates by an id that names nothing else', () => {
    const hit = { kind: 'message', id: 'i1', matched: 'message id', connection: 'c/d', state: 'dead' } as const
    const text = renderCandidates('m1', [{ ...hit, at: at(0), messageId: 'm1' }], look)
    expect(text).toContain('  i1  message on c/d, dead, 1 h ago (message id)')
  })
})

test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_000, '1 s'],
  [59_940, '59.9 s'],
  [60_000, '1 min'],
  [61_000, '1 min 1 s'],
  [3_600_000, '1 h'],
  [5_400_000, '1 h 30 min'],
  [90_000_000, '1 d 1 h'],
])('%i ms are %s', (ms, words) => {
  expect(durationText(ms)).toBe(words)
})
