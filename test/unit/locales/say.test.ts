// Sentences by key: parameters, plural forms, languages, an operator's own texts, and the sentences of a channel.
import { expect, test } from 'vitest'
import { createChannelSay, defineChannel } from '../../../src/contract/index.ts'
import { createSay, say } from '../../../src/locales/say.ts'
import { loopbackClientId } from '../../doubles/loopback/index.ts'

const texts = {
  'bird.sent': 'The bird flew to {city}.',
  'bird.count': { one: '{count} bird waits in {city}.', other: '{count} birds wait in {city}.' },
} as const
const german = { 'bird.sent': 'Der Vogel flog nach {city}.' }

test('a sentence is said with its parameters, which are not read as further placeholders', () => {
  expect(say('approval.expired', { summary: 'pay {code}' })).toBe(
    'Expired: pay {code}. Ask again if it is still wanted.',
  )
})

test('the parameter count chooses between one and several', () => {
  const speak = createSay({ en: texts })
  expect(speak('bird.count', { count: 1, city: 'Bern' })).toBe('1 bird waits in Bern.')
  expect(speak('bird.count', { count: 0, city: 'Bern' })).toBe('0 birds wait in Bern.')
})

test('a language says what it has, and the rest in English', () => {
  const speak = createSay({ en: texts, de: german })
  expect(speak('bird.sent', { city: 'Bern' }, 'de')).toBe('Der Vogel flog nach Bern.')
  expect(speak('bird.count', { count: 2, city: 'Bern' }, 'de')).toBe('2 birds wait in Bern.')
})

test("an operator's own text is said instead, in every language", () => {
  const speak = createSay({ en: texts, de: german }, { 'bird.sent': 'Off to {city}!' })
  expect(speak('bird.sent', { city: 'Bern' })).toBe('Off to Bern!')
  expect(speak('bird.sent', { city: 'Bern' }, 'de')).toBe('Off to Bern!')
})

test('keys and parameters are checked by the compiler', () => {
  // @ts-expect-error there is no such key
  say('approval.forgotten')
  // @ts-expect-error a parameter is missing
  say('approval.expired')
  // @ts-expect-error a parameter has another name
  say('approval.expired', { label: 'pay' })
  expect(createChannelSay(texts)('bird.sent', { city: 'Bern' })).toBe('The bird flew to Bern.')
})

test('a channel is handed its own sentences and the neutral ones, and names its keys after itself', () => {
  const { create: _create, ...rest } = loopbackClientId
  const heard: string[] = []
  const channel = defineChannel({
    ...rest,
    sentences: { [`${rest.channel}.landed`]: 'It landed.' },
    create(settings, deps) {
      heard.push(deps.say(`${rest.channel}.landed`), deps.say('approval.approve'))
      return loopbackClientId.create(settings, deps)
    },
  })
  expect(() => channel.create({}, { now: Date.now } as never)).toThrow()
  expect(heard).toEqual(['It landed.', 'Approve'])
  expect(() => defineChannel({ ...rest, sentences: { landed: 'It landed.' }, create: channel.create })).toThrow(
    `the sentence landed must be named ${rest.channel}.…`,
  )
})
