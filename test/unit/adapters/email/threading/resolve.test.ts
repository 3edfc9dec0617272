// Which conversations a mail may ask for, and in which order.
import { expect, test } from 'vitest'
import { createReplyTokens, resolveThread, threadKey } from '../../../../../adapters/email/threading.ts'
import { createWebHmac } from '../../../../../src/lib/index.ts'

const tokens = createReplyTokens(createWebHmac(), {
  current: async () => 'a secret of this test',
  all: async () => ['a secret of this test'],
})
const none = { inReplyTo: [], references: [], threadIndex: undefined }
const facts = { id: 'm@a.example', tokenKey: undefined, tokens }
const name = async (id: string) => `t:${await threadKey(id)}`

test('a mail that answers nothing asks for nothing, and is found by its own id later', async () => {
  const key = await threadKey('m@a.example')
  expect(await resolveThread(none, facts)).toEqual({ id: 'm@a.example', key, candidates: [], also: [`t:${key}`] })
})

test('tokens come first, then what it answers, then its references from the end, each once', async () => {
  const own = `${await tokens.mint('k'.repeat(16))}.0123@parley.example`
  const head = { ...none, inReplyTo: ['c@a.example'], references: ['a@a.example', own, 'b@a.example', 'c@a.example'] }
  const { candidates } = await resolveThread(head, { ...facts, tokenKey: 'z'.repeat(16) })
  const others = await Promise.all(['c@a.example', 'b@a.example', 'a@a.example'].map(name))
  expect(candidates).toEqual([`t:${'z'.repeat(16)}`, `t:${'k'.repeat(16)}`, ...others])
})

test('an id of ours whose proof is wrong is anybody’s id', async () => {
  const forged = `${'k'.repeat(16)}${'a'.repeat(16)}.0123@parley.example`
  expect((await resolveThread({ ...none, inReplyTo: [forged] }, facts)).candidates).toEqual([await name(forged)])
})

test('Outlook’s index is asked for only where there are no references, and always remembered', async () => {
  const indexed = { ...none, threadIndex: 'AdZ' }
  expect(await resolveThread(indexed, facts)).toMatchObject({
    candidates: ['x:AdZ'],
    also: [expect.anything(), 'x:AdZ'],
  })
  const both = await resolveThread({ ...indexed, references: ['a@a.example'] }, facts)
  expect(both).toMatchObject({ candidates: [await name('a@a.example')], also: [expect.anything(), 'x:AdZ'] })
})

test('forty thousand references are no more work than a few', async () => {
  const references = Array.from({ length: 40_000 }, (_, at) => `${at}@a.example`)
  expect((await resolveThread({ ...none, references }, facts)).candidates).toHaveLength(32)
})
