// What an operator says about an agent elsewhere is checked when the configuration is read.
import { describe, expect, test } from 'vitest'
import { a2aAgent } from '../../../../../adapters/a2a/client/remote-agent.ts'
import { defineAgent } from '../../../../../src/agents/define-agent.ts'

describe('an agent elsewhere', () => {
  test.each([
    ['a word', () => a2aAgent('billing'), 'is named by the URL of its card'],
    ['a file', () => a2aAgent('file:///etc/passwd'), 'is named by the URL of its card'],
    ['a password in the URL', () => a2aAgent('https://user:pw@example.org'), 'is named by the URL of its card'],
    ['a token for an address', () => a2aAgent('@far@example.org', { token: 'canary' }), 'token needs a URL'],
    [
      'credentials for no origin',
      () => a2aAgent('https://example.org', { credentials: { 'example.org': {} } }),
      'must be origins',
    ],
    [
      'credentials in the clear',
      () => a2aAgent('https://example.org', { credentials: { 'http://other.example': { 'x-key': 'canary' } } }),
      'in the clear',
    ],
    ['no patience', () => a2aAgent('https://example.org', { limits: { timeoutMs: 0 } }), 'limits.timeoutMs'],
    ['trust in nobody', () => a2aAgent('https://example.org', { trust: {} }), 'trust needs keys'],
  ])('that is named by %s is refused at the start', (_name, make, words) => {
    expect(make).toThrow(words)
    expect(make).not.toThrow('canary')
  })

  test('has instructions and tools of its own', () => {
    const model = a2aAgent('https://example.org')
    expect(() => defineAgent({ slug: 'far', model, instructions: 'Be kind.' })).toThrow('unknown key "instructions"')
    expect(defineAgent({ slug: 'far', model }).cancelRemote).toBe(model.cancel)
  })
})
