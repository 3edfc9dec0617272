// One note, many inboxes: which ones, in which order, and under which name.
import { beforeAll, describe, expect, test } from 'vitest'
import { createRecipientExpander } from '../../../../../adapters/activitypub/deliver/expand-recipients.ts'
import type { InboxCall } from '../../../../../adapters/activitypub/wire/delivery.ts'
import type { RenderedCall } from '../../../../../src/contract/index.ts'
import type { JsonObject } from '../../../../../src/lib/json-value.ts'
import { createMemoryRecords, type MemoryRecords } from '../../../../../src/testing/memory-records.ts'
import { alice, carol, demo, drafts, origin, replyTo, saying } from '../render/reply-setup.ts'
import { plainCall } from './delivery-setup.ts'

const followers = [
  {
    actor: 'https://social.example/users/fay',
    inbox: 'https://social.example/users/fay/inbox',
    shared_inbox: alice.shared_inbox,
  },
  { actor: 'https://big.example/users/a', inbox: 'https://big.example/a', shared_inbox: 'https://big.example/inbox' },
  { actor: 'https://big.example/users/b', inbox: 'https://big.example/b', shared_inbox: 'https://big.example/inbox' },
  { actor: 'https://own.example/users/c', inbox: 'https://own.example/c', shared_inbox: null },
]

let records: MemoryRecords
let expand: (calls: readonly RenderedCall[]) => Promise<readonly RenderedCall[]>
beforeAll(async () => {
  records = createMemoryRecords()
  for (const each of followers) await records.put('follower', `demo ${each.actor}`, each, { agent: 'demo' })
  const other = { actor: 'https://else.example/z', inbox: 'https://else.example/z', shared_inbox: null }
  await records.put('follower', 'scribe z', other, { agent: 'scribe' })
  await records.put('follower', 'demo broken', { actor: 7 }, { agent: 'demo' })
  let ids = 0
  expand = createRecipientExpander({ origin, records, now: () => 0, newId: () => `id-${ids++}` })
})

const expanded = async (to: JsonObject = {}, text = 'Hello') =>
  expand(drafts(saying(text), replyTo(to)).map((call) => ({ call, primary: true })))
const callOf = ({ call }: RenderedCall) => call as InboxCall
const noteOf = (rendered: RenderedCall) => callOf(rendered).activity['object'] as JsonObject

describe('expanding a reply', () => {
  test('an open note goes once to each server of its author and the followers, and whoever asked comes first', async () => {
    const calls = await expanded()
    expect(calls.map(({ orderKey, primary }) => [orderKey, primary])).toEqual([
      [alice.shared_inbox, true],
      ['https://big.example/inbox', false],
      ['https://own.example/c', false],
    ])
    expect(calls.map((call) => [callOf(call).inbox, callOf(call).is_shared])).toEqual([
      [alice.shared_inbox, true],
      ['https://big.example/inbox', true],
      ['https://own.example/c', false],
    ])
    expect(new Set(calls.map((call) => JSON.stringify(callOf(call).activity))).size).toBe(1)
  })

  test('a direct note goes to the own inboxes of those it is for, and nowhere else', async () => {
    const calls = await expanded({ visibility: 'direct', participants: [alice, carol] })
    expect(calls.map(({ orderKey, primary }) => [orderKey, primary])).toEqual([
      [alice.inbox, true],
      [carol.inbox, false],
    ])
  })

  test('what is asked of one person beside an open answer goes to that person alone', async () => {
    const parts = [
      { kind: 'text' as const, mime: 'text/plain' as const, content: 'Let me see.' },
      { kind: 'policy' as const, policy: { kind: 'consent_required', message: 'May I?' } },
    ]
    const calls = await expand(drafts(saying('', { parts })).map((call) => ({ call, primary: true })))
    const isPrivate = (each: RenderedCall) => JSON.stringify(noteOf(each)).includes('May I?')
    expect(calls.filter(isPrivate).map(({ orderKey }) => orderKey)).toEqual([alice.inbox])
    expect(calls).toHaveLength(4)
  })

  test('what a note asks, every call made of it asks, and without the question it is the same note for the same people', async () => {
    const [asking] = drafts(
      saying('Let me see. May I?'),
      replyTo({ visibility: 'direct', participants: [alice, carol] }),
    )
    const [without] = drafts(saying('Let me see.'), replyTo({ visibility: 'direct', participants: [alice] }))
    if (asking === undefined || without === undefined) throw new Error('nothing was drafted')
    const question = { asks: ['action-1'], otherwise: without }
    const calls = await expand([{ call: asking, primary: true, question }])
    expect(calls.map(({ orderKey }) => orderKey)).toEqual([alice.inbox, carol.inbox])
    for (const each of calls) {
      const otherwise = each.question?.otherwise as InboxCall
      const note = otherwise.activity['object'] as JsonObject
      expect(each.question?.asks).toEqual(['action-1'])
      expect([otherwise.inbox, note['id']]).toEqual([callOf(each).inbox, noteOf(each)['id']])
      expect(JSON.stringify(note)).not.toContain('May I?')
    }
    const alone = await expand([{ call: asking, primary: true, question: { asks: ['action-1'], otherwise: null } }])
    expect(alone.map((each) => each.question?.otherwise)).toEqual([null, null])
  })

  test('activity and note say the same audience, and belong to the agent', async () => {
    const [call] = await expanded()
    if (call === undefined) throw new Error('nothing was expanded')
    const { activity } = callOf(call)
    const note = noteOf(call)
    expect([activity['to'], activity['cc']]).toEqual([note['to'], note['cc']])
    expect(activity).toMatchObject({
      type: 'Create',
      actor: demo,
      id: `${note['id']}#create`,
      published: note['published'],
    })
    expect(note).toMatchObject({ attributedTo: demo, url: note['id'], published: '1970-01-01T00:00:00.000Z' })
  })

  test('a thread nobody named gets a name of ours, the same in every part', async () => {
    const nameless = { reply_to_context: null, reply_to_conversation: null, visibility: 'direct' }
    const notes = (await expanded(nameless, 'word '.repeat(300))).map(noteOf)
    const [first] = notes
    expect(first?.['context']).toBe(`${first?.['id']}#context`)
    for (const note of notes)
      expect(note).toMatchObject({ context: first?.['context'], conversation: first?.['context'] })
  })

  test('the second answer of a turn does not hang on the first', async () => {
    const two = [...drafts(saying('One')), ...drafts(saying('Two'))].map((call) => ({ call, primary: true }))
    const notes = (await expand(two)).filter(({ primary }) => primary).map(noteOf)
    expect(notes.map(({ inReplyTo }) => inReplyTo)).toEqual([
      'https://social.example/notes/1',
      'https://social.example/notes/1',
    ])
    expect(notes[0]?.['id']).not.toBe(notes[1]?.['id'])
  })

  test('what is no note keeps its inbox, and waits its turn there', async () => {
    const call = plainCall('https://own.example/c')
    expect(await expand([{ call, primary: false }])).toEqual([
      { call, primary: false, orderKey: 'https://own.example/c' },
    ])
  })
})
