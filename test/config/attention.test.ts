// How agents listen in rooms, as an operator writes it down.
import { expect, test } from 'vitest'
import { readAttention } from '../../src/config/attention.ts'
import type { ConnectionConfig } from '../../src/contract/index.ts'

function problemsOf(attention: unknown, consent?: ConnectionConfig['consent']): readonly string[] {
  const problems: string[] = []
  // What a file without types may say.
  const given = { id: 'bot', attention } as Pick<ConnectionConfig, 'id' | 'attention'>
  readAttention({ ...given, ...(consent === undefined ? {} : { consent }) }, problems)
  return problems
}

test('without a word, rooms are answered where the agent is addressed, and nothing is remembered', () => {
  const problems: string[] = []
  expect(readAttention({ id: 'bot' }, problems)).toEqual({ mode: 'mention', places: new Map(), remember: undefined })
  expect(problems).toEqual([])
})

test('places keep their modes, whatever their ids are', () => {
  const places = { '-100': 'ambient', C0FFEE: 'thread' } as const
  const read = readAttention({ id: 'bot', attention: { mode: 'always', places } }, [])
  expect(read).toEqual({ mode: 'always', places: new Map(Object.entries(places)), remember: undefined })
})

test.each([
  ['a mode nobody knows', { mode: 'sometimes' }, 'connection "bot": attention.mode: must be one of always, mention'],
  ['a place with such a mode', { places: { '-1': 'loud' } }, 'connection "bot": attention.places.-1: must be one of'],
  ['another word', { modes: 'always' }, 'connection "bot": attention: Unrecognized key'],
  ['more than is ever shown', { remember: 101 }, 'connection "bot": attention.remember: Too big'],
  ['memory without a ground for it', { remember: 5 }, 'connection "bot": attention.remember needs consent'],
])('%s stops the start', (_, attention, problem) => {
  expect(problemsOf(attention)).toEqual([expect.stringContaining(problem)])
})

test('memory is fine with a ground for it', () => {
  expect(problemsOf({ remember: 5 }, { storeTranscript: 'everybody was told' })).toEqual([])
})
