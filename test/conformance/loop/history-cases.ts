// What a model is shown of a long conversation.
import { expect } from 'vitest'
import { createSlidingWindowPolicy, type SlidingWindowOptions } from '../../../src/agents/history-window.ts'
import type { Sender } from '../../../src/contract/index.ts'
import type { HistoricalMessage } from '../../../src/contract/message.ts'
import type { Case } from '../conform.ts'

const sender = (name: string): Sender => ({ address: `@${name}@example.test`, auth_method: 'none', verified: false })
const turn = (index: number, role: 'user' | 'assistant', name = role as string): HistoricalMessage => ({
  id: String(index),
  role,
  sender: sender(name),
  parts: [{ kind: 'text', mime: 'text/plain', content: `turn ${index}` }],
  timestamp: new Date(index * 1000).toISOString(),
})
const turns = (count: number) =>
  Array.from({ length: count }, (_, index) => turn(index, index % 2 === 0 ? 'user' : 'assistant'))
const current = { role: 'user', sender: sender('ada') } as const
const trim = (history: readonly HistoricalMessage[], options: SlidingWindowOptions) =>
  createSlidingWindowPolicy(options)({ history, current })
const kept = (count: number, options: SlidingWindowOptions) => {
  const { messages, cacheBreakpointAfter, dropped } = trim(turns(count), options)
  return { indices: messages.map((message) => Number(message.id)), cacheBreakpointAfter, dropped }
}

const table: readonly [string, SlidingWindowOptions, number, number[], number | undefined, number][] = [
  ['HI-01', { keepHead: 2, maxTurns: 4 }, 4, [0, 1, 2, 3], 1, 0],
  ['HI-02', { keepHead: 2, maxTurns: 4 }, 8, [0, 1, 4, 5, 6, 7], 1, 2],
  ['HI-03', { keepHead: 2, maxTurns: 4 }, 9, [0, 1, 6, 7, 8], 1, 4],
  ['HI-04', { keepHead: 0, maxTurns: 3 }, 5, [2, 3, 4], undefined, 2],
  ['HI-05', { keepHead: 2, maxTurns: 6, step: 4 }, 8, [0, 1, 2, 3, 4, 5, 6, 7], 1, 0],
  ['HI-06', { keepHead: 2, maxTurns: 6, step: 4 }, 9, [0, 1, 6, 7, 8], 1, 4],
  ['HI-07', { keepHead: 2, maxTurns: 6, step: 4 }, 12, [0, 1, 6, 7, 8, 9, 10, 11], 1, 4],
  ['HI-08', { keepHead: 2, maxTurns: 6, step: 4 }, 13, [0, 1, 10, 11, 12], 1, 8],
  ['HI-09', { keepHead: 3, maxTurns: 4 }, 8, [0, 1, 2, 5, 6, 7], 2, 2],
]

export const historyCases: readonly Case[] = [
  ...table.map(([id, options, count, indices, cacheBreakpointAfter, dropped]) => ({
    id,
    claim: `${count} turns with ${JSON.stringify(options)} keep ${indices.join(' ')}`,
    run: () => expect(kept(count, options)).toEqual({ indices, cacheBreakpointAfter, dropped }),
  })),
  {
    id: 'HI-10',
    claim: 'two people in a row become one turn that names both',
    run: () => {
      const history = [turn(0, 'user', 'alice'), turn(1, 'user', 'bob'), turn(2, 'assistant')]
      const { messages, cacheBreakpointAfter, dropped } = trim(history, { keepHead: 2, maxTurns: 4 })
      expect(messages.map((message) => message.role)).toEqual(['user', 'assistant'])
      expect(
        messages[0]?.parts.map((part) => (part.kind === 'text' ? part['content' as keyof typeof part] : '')),
      ).toEqual(['@alice@example.test:', 'turn 0', '@bob@example.test:', 'turn 1'])
      expect({ cacheBreakpointAfter, dropped }).toEqual({ cacheBreakpointAfter: 0, dropped: 0 })
    },
  },
  {
    id: 'HI-11',
    claim: 'the beginning stays byte for byte the same while the window stands',
    run: () => {
      const start = (count: number) =>
        JSON.stringify(trim(turns(count), { keepHead: 2, maxTurns: 6, step: 4 }).messages.slice(0, 3))
      expect(new Set([9, 10, 11, 12].map(start)).size).toBe(1)
    },
  },
  {
    id: 'HI-12',
    claim: 'the last turn is kept however long it is',
    run: () => expect(kept(5, { keepHead: 2, maxTurns: 4, maxChars: 5 }).indices).toEqual([4]),
  },
  {
    id: 'HI-13',
    claim: 'a pinned turn stays between head and window',
    run: () => {
      const pin = (message: HistoricalMessage) => message.id === '4'
      const { messages } = trim(turns(12), { keepHead: 2, maxTurns: 4, pin })
      expect(messages.map((message) => Number(message.id))).toEqual([0, 1, 4, 5, 8, 9, 10, 11])
    },
  },
  {
    id: 'HI-14',
    claim: 'a frozen input is enough',
    run: () => {
      const frozen = Object.freeze(turns(12).map((each) => Object.freeze(each)))
      expect(trim(frozen, { keepHead: 2, maxTurns: 4 })).toEqual(trim(turns(12), { keepHead: 2, maxTurns: 4 }))
    },
  },
  {
    id: 'HI-15',
    claim: 'no history is no history, without a breakpoint',
    run: () => expect(trim([], {})).toEqual({ messages: [], dropped: 0, notes: [] }),
  },
]
