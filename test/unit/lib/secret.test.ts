// A secret shows itself only to the one who asks for it by name.
import { format, inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../../src/lib/errors.ts'
import { secret } from '../../../src/lib/secret.ts'

const value = 'xoxb-very-secret'

describe('a secret', () => {
  test('opens where it is asked to', () => {
    expect(secret(value).reveal()).toBe(value)
  })

  const key = secret(value)
  const shown: readonly (readonly [string, () => unknown])[] = [
    ['as text', () => String(key)],
    ['in a template', () => `token ${key}`],
    ['joined to text', () => ['token', key].join(' ')],
    ['as JSON', () => JSON.stringify({ key })],
    ['inspected', () => inspect(key)],
    ['inspected inside an object', () => inspect({ deep: { key } }, { depth: 9, showHidden: true })],
    ['formatted as a log line', () => format('%s %o %j', key, { key }, { key })],
    ['copied by spreading', () => JSON.stringify({ ...key })],
    ['through its own properties', () => JSON.stringify(Object.entries(key))],
    ['in the message of an error', () => new GatewayError('config_invalid', `bad ${key}`).stack],
  ]
  test.each(shown)('stays hidden %s', (_, show) => {
    expect(String(show())).not.toContain(value)
  })

  test('cannot be changed', () => {
    expect(() => Object.assign(key, { reveal: () => 'other' })).toThrow(TypeError)
  })
})
