// Whom an operator turns away while the gateway runs.
import { beforeEach, describe, expect, test } from 'vitest'
import { listHeader, readBlockList, writeBlockList } from '../../../../../adapters/activitypub/admin/block-list-csv.ts'
import { blockOperations } from '../../../../../adapters/activitypub/admin/blocks.ts'
import { createDocumentUrls } from '../../../../../adapters/activitypub/documents/urls.ts'
import { createBlockListCache } from '../../../../../adapters/activitypub/moderation.ts'
import type { JsonObject } from '../../../../../src/lib/json-value.ts'
import { createMemoryRecords, type MemoryRecords } from '../../../../../src/testing/memory-records.ts'
import { origin } from '../render/reply-setup.ts'
import { operated } from './run-operation.ts'

let records: MemoryRecords
let now = 0
beforeEach(() => {
  records = createMemoryRecords()
  now = 1_700_000_000_000
})
const ask = (name: string, input: JsonObject = {}) => {
  now += 1
  const deps = { records, places: createDocumentUrls(origin), listed: ['fixed.example'] }
  return operated(blockOperations(deps), records, { name, input, at: now })
}
const follow = (agent: string, actor: string) =>
  records.put('follower', `${agent} ${actor}`, { actor, inbox: `${actor}/inbox`, follow: `${actor}#f` }, { agent })

describe('a server that is turned away', () => {
  test('stands in the list with why, and a second time changes nothing', async () => {
    expect((await ask('blocks.add', { peer: '@Bad.Example', comment: 'spam\u0007' })).value).toEqual({
      added: 1,
      already: 0,
      followers: 0,
      isComplete: true,
    })
    const again = await ask('blocks.add', { peer: 'bad.example' })
    expect([again.value['already'], again.deliveryId]).toEqual([1, undefined])
    expect((await ask('blocks.list')).value).toMatchObject({
      blocks: [{ peer: 'bad.example', severity: 'suspend', comment: 'spam ' }],
      settings: ['fixed.example'],
      next: null,
    })
  })

  test.each([
    ['https://bad.example', 'bad.example'],
    ['https://Bad.Example/', 'bad.example'],
    ['https://Bad.example/users/x', 'https://bad.example/users/x'],
  ])('may be written as %s', async (peer, meant) => {
    await ask('blocks.add', { peer })
    expect(records.keys('blocked_peer')).toEqual([meant])
  })

  test('is not turned away by the address of a page, and that is said', async () => {
    await expect(ask('blocks.add', { peer: 'https://bad.example/@x' })).rejects.toThrow('give that of the actor')
  })

  test('has no followers any more, of any agent; others keep theirs', async () => {
    await follow('demo', 'https://bad.example/users/a')
    await follow('scribe', 'https://deep.bad.example/users/b')
    await follow('demo', 'https://good.example/users/c')
    const { value } = await ask('blocks.add', { peer: 'bad.example' })
    expect(value).toMatchObject({ followers: 2, isComplete: true })
    expect(records.keys('follower')).toEqual(['demo https://good.example/users/c'])
  })

  test('with very many followers is asked for again until all are gone', async () => {
    for (let at = 0; at < 1200; at += 1) await follow('demo', `https://bad.example/users/${at}`)
    expect((await ask('blocks.add', { peer: 'bad.example' })).value).toMatchObject({
      followers: 1000,
      isComplete: false,
    })
    expect((await ask('blocks.add', { peer: 'bad.example' })).value).toMatchObject({ followers: 200, isComplete: true })
    expect(records.keys('follower')).toEqual([])
  })

  test('is let in again; what the settings say, only they change', async () => {
    await ask('blocks.add', { peer: 'bad.example' })
    await ask('blocks.remove', { peer: 'bad.example' })
    expect((await ask('blocks.list')).value['blocks']).toEqual([])
    await expect(ask('blocks.remove', { peer: 'bad.example' })).rejects.toMatchObject({ code: 'not_found' })
    await expect(ask('blocks.remove', { peer: 'fixed.example' })).rejects.toThrow('ACTIVITYPUB_BLOCK')
  })

  test.each(['bots.example', 'example'])('is not this server, by %s', async (peer) => {
    await expect(ask('blocks.add', { peer })).rejects.toMatchObject({ code: 'bad_request' })
  })
})

describe('whoever asks about blocks', () => {
  test('knows of a new one after half a minute, and reads the list only when it has changed', async () => {
    let lists = 0
    const counting: MemoryRecords = {
      ...records,
      list: (...given) => {
        lists += 1
        return records.list(...given)
      },
    }
    const blocks = createBlockListCache({ records: counting, now: () => now, listed: ['fixed.example'] })
    const isAway = () => blocks.turnsAway('https://sub.bad.example/users/mallory')
    expect([await isAway(), await blocks.turnsAway('https://fixed.example/inbox')]).toEqual([false, true])
    await ask('blocks.add', { peer: 'bad.example' })
    expect(await isAway()).toBe(false)
    now += 30_000
    expect(await isAway()).toBe(true)
    const before = lists
    now += 60_000
    expect(await isAway()).toBe(true)
    expect(lists).toBe(before)
    await ask('blocks.remove', { peer: 'bad.example' })
    now += 30_000
    expect(await isAway()).toBe(false)
  })

  test('keeps to what is known while the store is away', async () => {
    await ask('blocks.add', { peer: 'bad.example' })
    let isDown = false
    const shaky = {
      ...records,
      get: (family: string, key: string) => (isDown ? Promise.reject(new Error('away')) : records.get(family, key)),
    }
    const blocks = createBlockListCache({ records: shaky, now: () => now, listed: [] })
    expect(await blocks.turnsAway('https://bad.example/')).toBe(true)
    isDown = true
    now += 60_000
    expect(await blocks.turnsAway('https://bad.example/')).toBe(true)
  })
})

const header = '#domain,#severity,#reject_media,#reject_reports,#public_comment,#obfuscate'
const csv = [
  header,
  'bad.example,suspend,true,true,"spam, and ""worse""\nfor years",false',
  'loud.example,silence,false,false,,false',
  'b*d.example,suspend,false,false,,true',
  'not a host,suspend,false,false,,false',
  'watched.example,noop,false,false,,false',
  'worse.example,suspend,false,false,,false',
].join('\r\n')

describe('a list of others', () => {
  test('is read with its commas, quotes and lines; what is hidden or no host is refused by its line', () => {
    const { rows, refused } = readBlockList(csv)
    expect(rows.map(({ line, host, severity }) => [line, host, severity])).toEqual([
      [2, 'bad.example', 'suspend'],
      [4, 'loud.example', 'silence'],
      [7, 'watched.example', 'noop'],
      [8, 'worse.example', 'suspend'],
    ])
    expect(rows[0]?.comment).toBe('spam, and "worse" for years')
    expect(refused.map(({ line }) => line)).toEqual([5, 6])
  })

  test('changes nothing in a dry run, and says what it would', async () => {
    const { value, deliveryId } = await ask('blocks.import', { csv, dryRun: true })
    expect(deliveryId).toBeUndefined()
    expect(value).toMatchObject({ added: 2, notTaken: 2, refused: 2, isDryRun: true })
    expect(value['notTakenRows']).toContainEqual({ line: 4, host: 'loud.example', severity: 'silence' })
    expect(records.keys('blocked_peer')).toEqual([])
  })

  test('blocks those it suspends, or all of them, and comes out again as it went in', async () => {
    await ask('blocks.import', { csv })
    expect(records.keys('blocked_peer')).toEqual(['bad.example', 'worse.example'])
    expect((await ask('blocks.import', { csv, all: true })).value).toMatchObject({ added: 2, already: 2 })
    await ask('blocks.add', { peer: 'https://good.example/users/mallory' })
    const { value } = await ask('blocks.export')
    const listed = readBlockList(String(value['csv']))
    expect(String(value['csv']).split('\n')[0]).toBe(header)
    expect(listed.refused).toEqual([])
    expect(listed.rows.map(({ host, severity }) => `${host} ${severity}`)).toEqual([
      'bad.example suspend',
      'loud.example silence',
      'watched.example noop',
      'worse.example suspend',
    ])
    expect(listed.rows[0]?.comment).toBe('spam, and "worse" for years')
  })

  test('that is only hosts, one to a line, blocks them', () => {
    expect(readBlockList('bad.example\n\nworse.example\n').rows.map(({ severity }) => severity)).toEqual([
      'suspend',
      'suspend',
    ])
  })

  test('is bounded in length, in rows, and in what one request may change', async () => {
    const rows = (count: number) => Array.from({ length: count }, (_, at) => `h${at}.example`).join('\n')
    expect(() => readBlockList('x'.repeat(1024 * 1024 + 1))).toThrow('split it')
    expect(() => readBlockList(rows(20_001))).toThrow('20000 rows')
    await expect(ask('blocks.import', { csv: rows(2001) })).rejects.toMatchObject({ code: 'bad_request' })
    expect((await ask('blocks.import', { csv: rows(2000) })).value).toMatchObject({ added: 2000 })
  })
})

test('a comment that looks like a formula is the same after it was written and read', () => {
  const row = { host: 'spam.example', severity: 'suspend', comment: '=they sell lists' }
  const written = `${listHeader}${writeBlockList([row])}`
  expect(written).toContain("'=they")
  expect(readBlockList(written).rows).toMatchObject([row])
})
