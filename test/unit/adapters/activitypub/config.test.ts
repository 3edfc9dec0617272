// Settings of the fediverse channel: what switches it on, what it refuses, and how lists are read.
import { describe, expect, test } from 'vitest'
import { activitypubSettingsSchema } from '../../../../adapters/activitypub/config.ts'
import { activitypub, activitypubChannel } from '../../../../adapters/activitypub/index.ts'
import { createAdapterFromFixtures } from '../../../../src/testing/adapter-fixtures.ts'
import { fixtures } from '../../../fixtures/activitypub/index.ts'

const read = (env: Readonly<Record<string, string>>) => activitypubChannel.fromEnvironment(env)
const settingsOf = (more: Readonly<Record<string, string>>) => {
  const reading = read({ ...fixtures.environment, ...more })
  if (reading === undefined || 'missing' in reading) throw new Error('the channel is off')
  return activitypubSettingsSchema.parse(reading.settings)
}

describe('the settings of the fediverse channel', () => {
  test('one word switches it on, and it needs an address', () => {
    expect(read({})).toBeUndefined()
    expect(read({ ACTIVITYPUB: 'off', PARLEY_PUBLIC_URL: 'https://a.example' })).toBeUndefined()
    expect(read({ ACTIVITYPUB: 'on' })).toEqual({ missing: ['PARLEY_PUBLIC_URL'] })
    expect(read(fixtures.environment)).toHaveProperty('settings')
  })

  test('lists hold hosts and actors, however they are spelt', () => {
    expect(
      settingsOf({
        ACTIVITYPUB_BLOCK: 'Bad.Example, https://social.example/users/Mallory',
        ACTIVITYPUB_ALLOW_BOTS: '*',
      }),
    ).toMatchObject({ block: ['bad.example', 'https://social.example/users/Mallory'], allowBots: true, allow: [] })
    expect(() => settingsOf({ ACTIVITYPUB_BLOCK: 'not a host' })).toThrow('must be a host')
  })

  test('what is misspelt is named with its variable', () => {
    expect(() => settingsOf({ ACTIVITYPUB_FOLLOW: 'maybe' })).toThrow('ACTIVITYPUB_FOLLOW')
    expect(() => settingsOf({ ACTIVITYPUB_VISIBILITY: 'secret' })).toThrow('ACTIVITYPUB_VISIBILITY')
    expect(() => settingsOf({ ACTIVITYPUB_LIMIT: 'many' })).toThrow()
    expect(() => settingsOf({ ACTIVITYPUB_READ_PARENTS: 'maybe' })).toThrow(/ACTIVITYPUB_READ_PARENTS/)
  })

  test.each([[undefined], ['http://agents.example'], ['http://127.0.0.1:8787']])(
    'an address that others do not believe (%s) stops the start, with what to set',
    (publicUrl) => {
      const ports = () => ({ ...fixtures.ports('', fetch), publicUrl }) as ReturnType<typeof fixtures.ports>
      expect(() => createAdapterFromFixtures({ ...fixtures, ports })).toThrow('set PARLEY_PUBLIC_URL')
    },
  )

  test('the start names the agents, and says which of them get no account', () => {
    const noticeFor = (...slugs: readonly string[]) => {
      const agents = () => slugs.map((slug) => ({ slug, label: slug, description: '', skills: [] }))
      return createAdapterFromFixtures({ ...fixtures, ports: (...given) => ({ ...fixtures.ports(...given), agents }) })
        .notice
    }
    expect(noticeFor('a', 'b', 'c', 'd')).toBe('mention @a@agents.example, @b@agents.example, @c@agents.example')
    const why = 'gets no account: the channel has something else at that address, give the agent another name'
    expect(noticeFor('inbox', 'a')).toBe(`mention @a@agents.example; inbox ${why}`)
    expect(noticeFor('actor')).toBe(`actor ${why}`)
  })

  test('plain http is for this machine alone', () => {
    const loopback = (origin: string) => activitypubSettingsSchema.safeParse({ insecureLoopback: [origin] }).success
    expect(loopback('http://127.0.0.1:9')).toBe(true)
    expect(loopback('http://social.localhost:9')).toBe(true)
    expect(loopback('http://social.example')).toBe(false)
  })

  test('what an operator writes becomes a connection', () => {
    expect(activitypub({ agent: 'demo', follow: 'manual' })).toEqual({
      channel: 'activitypub',
      id: 'default',
      agent: 'demo',
      settings: { follow: 'manual' },
    })
  })
})
