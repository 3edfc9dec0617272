// The name system as mails ask it: remembered, bounded, and never mistaken.
import { describe, expect, test } from 'vitest'
import { createResolver } from '../../../../../adapters/email/dns.ts'
import { mailZone } from '../../../../doubles/signed-mails.ts'

const scene = (options = {}) => {
  const zone = mailZone().txt('a.example', 'one')
  let time = 0
  const resolver = createResolver({ lookup: zone.lookup, now: () => time }, options)
  const ask = (name: string, type = 'TXT') => resolver.forMail().resolve(name, type)
  return { zone, resolver, ask, pass: (ms: number) => (time += ms) }
}

describe('what was told', () => {
  test('is asked once until it is old, and at least for a minute, at most for an hour', async () => {
    const { zone, ask, pass } = scene()
    zone.answer('short.example', 'TXT', { kind: 'records', records: [['x']], ttlMs: 1 })
    zone.answer('long.example', 'TXT', { kind: 'records', records: [['x']], ttlMs: 1e12 })
    const names = ['short.example', 'long.example', 'none.example']
    const askAll = async () => {
      zone.asked.length = 0
      for (const name of names) await ask(name).catch(() => {})
      return zone.asked.map((asked) => asked.slice(4))
    }
    expect(await askAll()).toEqual(names)
    expect(await askAll()).toEqual([])
    pass(60_001)
    expect(await askAll()).toEqual(['short.example'])
    pass(240_000)
    expect(await askAll()).toEqual(['short.example', 'none.example'])
    pass(3_600_000)
    expect(await askAll()).toEqual(names)
  })

  test('is one entry however a name is written', async () => {
    const { zone, ask } = scene()
    expect([await ask('a.example'), await ask('A.Example.')]).toEqual([[['one']], [['one']]])
    expect(zone.asked).toEqual(['TXT a.example'])
  })

  test('is forgotten, the oldest first, when there is too much', async () => {
    const { zone, ask } = scene({ entries: 2 })
    for (const name of ['a.example', 'b.example', 'c.example', 'a.example']) await ask(name).catch(() => {})
    expect(zone.asked.map((asked) => asked.slice(4))).toEqual(['a.example', 'b.example', 'c.example', 'a.example'])
  })
})

describe('what was not told', () => {
  test('is told apart: no name, no record, nobody knows', async () => {
    const { zone, ask } = scene()
    zone.fail('down.example', 'EREFUSED')
    await expect(ask('no.example')).rejects.toMatchObject({ code: 'ENOTFOUND' })
    await expect(ask('a.example', 'MX')).rejects.toMatchObject({ code: 'ENODATA' })
    await expect(ask('down.example')).rejects.toMatchObject({ code: 'EREFUSED' })
    await expect(ask('not a name.example')).rejects.toMatchObject({ code: 'EBADNAME' })
    await expect(ask(`${'a.'.repeat(130)}example`)).rejects.toMatchObject({ code: 'EBADNAME' })
  })

  test('is not remembered', async () => {
    const { zone, ask } = scene()
    zone.fail('a.example')
    await expect(ask('a.example')).rejects.toMatchObject({ code: 'ESERVFAIL' })
    zone.txt('a.example', 'two')
    expect(await ask('a.example')).toEqual([['two']])
  })

  test('is unknown when it takes too long, or when the lookup itself fails', async () => {
    const { zone, resolver } = scene({ timeoutMs: 20 })
    zone.answer('slow.example', 'TXT', () => new Promise(() => {}))
    zone.answer('broken.example', 'TXT', () => Promise.reject(new Error('broken')))
    const mail = resolver.forMail()
    await expect(mail.resolve('slow.example', 'TXT')).rejects.toMatchObject({ code: 'ETIMEOUT' })
    await expect(mail.resolve('broken.example', 'TXT')).rejects.toMatchObject({ code: 'EFAILED' })
    expect(mail.unknown()).toEqual(['ETIMEOUT slow.example', 'EFAILED broken.example'])
  })
})

describe('one mail', () => {
  test('may ask so often and no more, whatever is remembered', async () => {
    const { zone, resolver } = scene({ lookupsPerMail: 2 })
    const mail = resolver.forMail()
    expect([await mail.resolve('a.example', 'TXT'), await mail.resolve('a.example', 'TXT')]).toEqual([
      [['one']],
      [['one']],
    ])
    await expect(mail.resolve('a.example', 'TXT')).rejects.toMatchObject({ code: 'ETOOMANY' })
    expect(zone.asked.length).toBe(1)
    expect(await resolver.forMail().resolve('a.example', 'TXT')).toEqual([['one']])
  })

  test.each([
    ['fifty chunks', [Array.from({ length: 50 }, () => 'x')]],
    ['a hundred kilobytes', [['x'.repeat(100_000)]]],
    ['a thousand records', Array.from({ length: 1000 }, () => ['x'])],
  ])('does not read %s', async (_, records) => {
    const { zone, ask } = scene()
    zone.txt('a.example', ...records)
    await expect(ask('a.example')).rejects.toMatchObject({ code: 'ETOOLARGE' })
  })
})
