// The two ways to the name system: Node's resolver, and JSON over HTTPS.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDohLookup, createNodeLookup, type Lookup, type RecordType } from '../../../../../adapters/email/dns.ts'
import { type NameServer, startNameServer } from '../../../../doubles/dns-server.ts'

const ask = (lookup: Lookup, name: string, type: RecordType = 'TXT') => lookup(name, type, AbortSignal.timeout(5000))

describe('Node’s resolver', () => {
  let server: NameServer
  beforeAll(async () => {
    server = await startNameServer({
      'key.example': [['v=DKIM1; p=', 'abc']],
      'empty.example': [],
      'down.example': 2,
      'shut.example': 5,
    })
  })
  afterAll(() => server.close())

  test('gives records in their chunks, and tells nothing from not knowing', async () => {
    const lookup = createNodeLookup([server.address])
    expect(await ask(lookup, 'key.example')).toEqual({
      kind: 'records',
      records: [['v=DKIM1; p=', 'abc']],
      ttlMs: 300_000,
    })
    expect(await ask(lookup, 'empty.example')).toEqual({ kind: 'none', isNameKnown: true, ttlMs: 0 })
    expect(await ask(lookup, 'gone.example')).toEqual({ kind: 'none', isNameKnown: false, ttlMs: 0 })
    expect(await ask(lookup, 'down.example')).toEqual({ kind: 'temporary', reason: 'ESERVFAIL' })
    expect(await ask(lookup, 'shut.example')).toEqual({ kind: 'temporary', reason: 'EREFUSED' })
  })
})

describe('JSON over HTTPS', () => {
  const asked: string[] = []
  const answering = (body: unknown, status = 200) =>
    createDohLookup(async (url, init) => {
      asked.push(`${url} ${init.redirect} ${JSON.stringify(init.headers)}`)
      return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status })
    }, 'https://dns.example/query?ct=x')
  const row = (type: number, data: string, name = 'a.example.') => ({ name, type, TTL: 120, data })

  test('asks for one name and type, follows nobody, and takes JSON', async () => {
    await ask(answering({ Status: 3 }), 'a.example')
    expect(asked.at(-1)).toBe(
      'https://dns.example/query?ct=x&name=a.example&type=TXT manual {"accept":"application/dns-json"}',
    )
  })

  test.each<readonly [string, RecordType, unknown, unknown]>([
    ['quoted chunks', 'TXT', [row(16, '"v=DKIM1; " "p=a\\"b\\\\c\\059"')], [['v=DKIM1; ', 'p=a"b\\c;']]],
    ['bare text', 'TXT', [row(16, 'v=spf1 -all')], [['v=spf1 -all']]],
    ['an exchange', 'MX', [row(15, '10 mx.example.')], [{ exchange: 'mx.example', priority: 10 }]],
    ['an address behind an alias', 'A', [row(5, 'b.example.'), row(1, '192.0.2.1', 'b.example.')], ['192.0.2.1']],
  ])('reads %s', async (_, type, Answer, records) => {
    expect(await ask(answering({ Status: 0, Answer }), 'a.example', type)).toEqual({
      kind: 'records',
      records,
      ttlMs: 120_000,
    })
  })

  test.each([
    ['no such name', { Status: 3 }, { kind: 'none', isNameKnown: false }],
    ['no such record', { Status: 0 }, { kind: 'none', isNameKnown: true }],
    ['a failing server', { Status: 2 }, { kind: 'temporary', reason: 'ERCODE2' }],
    [
      'aliases in a circle',
      { Status: 0, Answer: [row(5, 'b.'), row(5, 'a.', 'b.'), row(5, 'b.')] },
      { kind: 'temporary', reason: 'ELOOP' },
    ],
    [
      'nine aliases',
      { Status: 0, Answer: Array.from({ length: 9 }, (_, at) => row(5, `${at}.`, `${at}.`)) },
      { kind: 'temporary', reason: 'ELOOP' },
    ],
    ['no JSON', '<html>', { kind: 'temporary', reason: 'EBADRESP' }],
    ['other JSON', '[]', { kind: 'temporary', reason: 'EBADRESP' }],
    ['a megabyte', 'x'.repeat(1_000_000), { kind: 'temporary', reason: 'EBADRESP' }],
  ])('tells %s', async (_, body, answer) => {
    expect(await ask(answering(body), 'a.example')).toMatchObject(answer)
  })

  test('an error of HTTP is no answer', async () => {
    expect(await ask(answering('', 502), 'a.example')).toEqual({ kind: 'temporary', reason: 'EHTTP502' })
  })
})
