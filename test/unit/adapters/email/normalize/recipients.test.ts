// Whom an address means.
import { describe, expect, test } from 'vitest'
import { isOurAddress, resolveRecipient } from '../../../../../adapters/email/normalize/addressing.ts'

const addresses = {
  domains: ['agents.example', 'alias.example'],
  agents: ['demo', 'front-desk', 'billing'],
  aliases: { support: 'front-desk', 'invoices@elsewhere.example': 'billing', lost: 'nobody-of-ours' },
}
const token = 'abcdefghijklmnopqrstuvwxyz234567'

describe('an address of an agent', () => {
  test.each([
    ['demo@agents.example', 'demo', 'demo@agents.example'],
    ['DEMO@Agents.Example', 'demo', 'demo@agents.example'],
    ['demo@alias.example', 'demo', 'demo@alias.example'],
    ['front-desk@agents.example', 'front-desk', 'front-desk@agents.example'],
    ['support@agents.example', 'front-desk', 'support@agents.example'],
    ['invoices@elsewhere.example', 'billing', 'invoices@elsewhere.example'],
    ['demo+whatever@agents.example', 'demo', 'demo@agents.example'],
    ['demo+@agents.example', 'demo', 'demo@agents.example'],
  ])('%s is for %s', (given, agent, address) => {
    expect(resolveRecipient(addresses, given)).toEqual({ kind: 'agent', agent, address })
  })

  test.each(['+', '-', '='])('carries a reply token after %s', (separator) => {
    expect(resolveRecipient(addresses, `front-desk${separator}${token}@agents.example`)).toEqual({
      kind: 'agent',
      agent: 'front-desk',
      address: 'front-desk@agents.example',
      token,
    })
  })
})

test.each([
  'nobody@agents.example',
  'demo@elsewhere.example',
  'support@elsewhere.example',
  'lost@agents.example',
  'demo-whatever@agents.example',
  '@agents.example',
  'demo',
  '',
  'constructor@agents.example',
])('%s is nobody', (given) => {
  expect(resolveRecipient(addresses, given)).toEqual({ kind: 'unknown' })
  expect(isOurAddress(addresses, given)).toBe(false)
})

test('reports come back to an address of their own, under a token or not', () => {
  expect(resolveRecipient(addresses, `bounce+${token}@agents.example`)).toEqual({ kind: 'bounce', token })
  expect(resolveRecipient(addresses, 'bounce@agents.example')).toEqual({ kind: 'bounce', token: '' })
  expect(resolveRecipient(addresses, `bounce+${token}@elsewhere.example`)).toEqual({ kind: 'unknown' })
})
