// How agents listen in rooms, as an operator writes it down.
import { expect, test } from 'vitest'
import { readReplyPolicy } from '../../../src/config/connection-settings.ts'
import type { ReplyPolicySettings } from '../../../src/contract/channel.ts'
import type { ConnectionConfig } from '../../../src/contract/index.ts'

function problemsOf(replyPolicy: unknown): readonly string[] {
  const problems: string[] = []
  // What a file without types may say.
  readReplyPolicy({ id: 'bot', replyPolicy } as Pick<ConnectionConfig, 'id' | 'replyPolicy'>, problems)
  return problems
}

const usual = { messages: 20, minutes: 60, bytes: 16_384 }

test('a little of what is said around an agent is remembered for an hour, or as much as is said, or nothing', () => {
  const read = (ambientContext: ReplyPolicySettings['ambientContext']) =>
    readReplyPolicy({ id: 'bot', ...(ambientContext === undefined ? {} : { replyPolicy: { ambientContext } }) }, [])
      .ambientContext
  expect(read(undefined)).toEqual(usual)
  expect(read({ messages: 5, minutes: 1440 })).toEqual({ ...usual, messages: 5, minutes: 1440 })
  expect(read(false)).toBeNull()
})

test('without a word, rooms are answered where the agent is addressed', () => {
  const problems: string[] = []
  expect(readReplyPolicy({ id: 'bot' }, problems)).toEqual({ mode: 'mention', rooms: new Map(), ambientContext: usual })
  expect(problems).toEqual([])
})

test('rooms keep their modes, whatever their ids are', () => {
  const rooms = { '-100': 'ambient', C0FFEE: 'thread' } as const
  const read = readReplyPolicy({ id: 'bot', replyPolicy: { mode: 'always', rooms } }, [])
  expect(read).toEqual({ mode: 'always', rooms: new Map(Object.entries(rooms)), ambientContext: usual })
})

test.each([
  ['a mode nobody knows', { mode: 'sometimes' }, 'connection "bot": replyPolicy.mode: must be one of always, mention'],
  ['a room with such a mode', { rooms: { '-1': 'loud' } }, 'connection "bot": replyPolicy.rooms.-1: must be one of'],
  [
    'more than a room keeps',
    { ambientContext: { messages: 201 } },
    'replyPolicy.ambientContext.messages: must be 200 or less',
  ],
  ['a memory of nothing', { ambientContext: { minutes: 0 } }, 'minutes: '],
  ['a word for no memory', { ambientContext: 'never' }, 'replyPolicy.ambientContext: must be false'],
  ['another word of memory', { ambientContext: { hours: 1 } }, 'hours'],
  ['another word', { modes: 'always' }, 'connection "bot": replyPolicy: Unrecognized key'],
])('%s stops the start', (_, replyPolicy, problem) => {
  expect(problemsOf(replyPolicy)).toEqual([expect.stringContaining(problem)])
})
