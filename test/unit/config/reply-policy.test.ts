// How agents listen in rooms, as an operator writes it down.
import { expect, test } from 'vitest'
import { readReplyPolicy } from '../../../src/config/connection-settings.ts'
import type { ConnectionConfig } from '../../../src/contract/index.ts'

function problemsOf(attention: unknown): readonly string[] {
  const problems: string[] = []
  // What a file without types may say.
  readReplyPolicy({ id: 'bot', attention } as Pick<ConnectionConfig, 'id' | 'attention'>, problems)
  return problems
}

const usual = { messages: 20, minutes: 60, bytes: 16_384 }

test('a little of what is said around an agent is remembered for an hour, or as much as is said, or nothing', () => {
  const read = (remember: NonNullable<ConnectionConfig['attention']>['remember']) =>
    readReplyPolicy({ id: 'bot', ...(remember === undefined ? {} : { attention: { remember } }) }, []).remember
  expect(read(undefined)).toEqual(usual)
  expect(read({ messages: 5, minutes: 1440 })).toEqual({ ...usual, messages: 5, minutes: 1440 })
  expect(read(false)).toBeNull()
})

test('without a word, rooms are answered where the agent is addressed', () => {
  const problems: string[] = []
  expect(readReplyPolicy({ id: 'bot' }, problems)).toEqual({ mode: 'mention', places: new Map(), remember: usual })
  expect(problems).toEqual([])
})

test('places keep their modes, whatever their ids are', () => {
  const places = { '-100': 'ambient', C0FFEE: 'thread' } as const
  const read = readReplyPolicy({ id: 'bot', attention: { mode: 'always', places } }, [])
  expect(read).toEqual({ mode: 'always', places: new Map(Object.entries(places)), remember: usual })
})

test.each([
  ['a mode nobody knows', { mode: 'sometimes' }, 'connection "bot": attention.mode: must be one of always, mention'],
  ['a place with such a mode', { places: { '-1': 'loud' } }, 'connection "bot": attention.places.-1: must be one of'],
  ['more than a room keeps', { remember: { messages: 201 } }, 'attention.remember.messages: must be 200 or less'],
  ['a memory of nothing', { remember: { minutes: 0 } }, 'minutes: '],
  ['a word for no memory', { remember: 'never' }, 'attention.remember: must be false'],
  ['another word of memory', { remember: { hours: 1 } }, 'hours'],
  ['another word', { modes: 'always' }, 'connection "bot": attention: Unrecognized key'],
])('%s stops the start', (_, attention, problem) => {
  expect(problemsOf(attention)).toEqual([expect.stringContaining(problem)])
})
